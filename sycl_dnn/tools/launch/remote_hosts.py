# SPDX-License-Identifier: Apache-2.0
"""``launch --hosts``: a launcher on each host, started by ssh, and all of them ended together."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from urllib.parse import urlsplit

from sycl_dnn.tools.launch.rank_processes import FORWARDED, run_children

#: Variables that the other hosts get, by how their names begin; those of ranks they set themselves.
_PASSED_ON = (
    "CCL_", "DPCPP_", "FI_", "I_MPI_", "LD_LIBRARY_PATH", "OMP_", "ONEAPI_", "PATH", "PYTHONPATH",
    "SYCL_", "VIRTUAL_ENV", "ZE_",
)  # fmt: skip


class HostProcess:
    """The launcher of one host. It ends when its input does, as it does where ssh is cut."""

    def __init__(self, shell: Sequence[str], host: str, command: Sequence[str]) -> None:
        self.name = f"host {host}"
        self.last_line = ""  # the launcher there has repeated it
        passed = [f"{n}={v}" for n, v in os.environ.items() if n.startswith(_PASSED_ON)]
        line = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(['env', *passed, *command])}"
        self._process = subprocess.Popen(
            [*shell, host, line], stdin=subprocess.PIPE, start_new_session=True
        )

    def pass_output_on(self) -> None:
        """Do nothing: lines have the number of their rank already."""

    def status(self) -> int | None:
        """Return the exit status as in a shell; None while it runs."""
        found = self._process.poll()
        return found if found is None or found >= 0 else 128 - found

    def signal(self, number: int) -> None:
        """Ask the launcher there to end its ranks; kill what connects to it if ``number`` says."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if number == signal.SIGKILL and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def forward(self, number: int) -> None:
        """Pass a signal on by its name: ssh does not."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(f"{signal.Signals(number).name}\n".encode())
                self._process.stdin.flush()

    def close(self) -> None:
        """End what is left of the connection."""
        self.signal(signal.SIGKILL)
        self._process.wait()


def run_on_hosts(
    hosts: Sequence[str], shell: str, port: int, options: Sequence[str], program: Sequence[str]
) -> int:
    """Run a job on several hosts; return the status of the first that failed, or 0.

    Parameters
    ----------
    hosts : sequence of str
        As ``ssh`` takes them: ``[user@]host`` or ``ssh://[user@]host[:port]``. The first has
        rank 0, and the others reach it under this name.
    shell : str
        Command that takes a host and a line for its shell, such as ``ssh -o BatchMode=yes``.
    port : int
        Where rank 0 listens.
    options : sequence of str
        Further options of each launcher.
    program : sequence of str
        What each rank runs, with its arguments.

    Raises
    ------
    OSError
        ``shell`` cannot be started.
    """
    address = address_of(hosts[0])
    launch = [sys.executable, "-m", "sycl_dnn", "launch", *options, "--nodes", str(len(hosts)),
              "--master-addr", address, "--master-port", str(port), "--end-with-input"]  # fmt: skip
    return run_children([
        partial(HostProcess, shlex.split(shell), host, [*launch, "--node-rank", str(i), *program])
        for i, host in enumerate(hosts)
    ])  # fmt: skip


def address_of(host: str) -> str:
    """Return the name under which other hosts reach one that ``ssh`` takes.

    Examples
    --------
    >>> address_of("someone@node01"), address_of("ssh://someone@node01:2222")
    ('node01', 'node01')
    """
    if host.startswith("ssh://"):
        return urlsplit(host).hostname or host
    return host.rpartition("@")[2]


def end_with_input() -> None:
    """Begin to read standard input: signals to pass on; at its end this process is told to end."""
    known = {number.name.encode(): number for number in FORWARDED}

    def read() -> None:
        while text := os.read(0, 4096):
            for name in text.split():
                if name in known:
                    os.kill(os.getpid(), known[name])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=read, daemon=True).start()
