# SPDX-License-Identifier: Apache-2.0
"""``launch --hosts``: a launcher on each host, started by ssh and ended together."""

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

#: Prefixes of variables passed to other hosts, which set those of ranks themselves.
_PASSED_ON = (
    "CCL_", "DPCPP_", "FI_", "I_MPI_", "LD_LIBRARY_PATH", "OMP_", "ONEAPI_", "PATH", "PYTHONPATH",
    "SYCL_", "VIRTUAL_ENV", "ZE_",
)  # fmt: skip


class HostProcess:
    """The launcher on one host. It ends when its input does, as it does if ssh is interrupted."""

    def __init__(self, shell: Sequence[str], host: str, command: Sequence[str]) -> None:
        self.name = f"host {host}"
        self.last_line = ""  # the remote launcher prints it
        passed = [f"{n}={v}" for n, v in os.environ.items() if n.startswith(_PASSED_ON)]
        line = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(['env', *passed, *command])}"
        self._process = subprocess.Popen(
            [*shell, host, line], stdin=subprocess.PIPE, start_new_session=True
        )

    def pass_output_on(self) -> None:
        """Do nothing: lines are already prefixed with their rank."""

    def status(self) -> int | None:
        """Return the exit status as in a shell; None while it is running."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Tell the remote launcher to end its ranks; for SIGKILL, kill the connection."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if number == signal.SIGKILL and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def forward(self, number: int) -> None:
        """Forward a signal by name, since ssh does not."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(f"{signal.Signals(number).name}\n".encode())
                self._process.stdin.flush()

    def close(self) -> None:
        """End whatever is left of the connection."""
        self.signal(signal.SIGKILL)
        self._process.wait()


def run_on_hosts(
    hosts: Sequence[str], shell: str, port: int, options: Sequence[str], program: Sequence[str]
) -> int:
    """Run a job on several hosts; return the status of the first that failed, or 0.

    ``hosts``: as accepted by ``ssh``: ``[user@]host`` or ``ssh://[user@]host[:port]``. The first
    has rank 0, and the others reach it under this name. ``shell``: command that takes a host and a
    shell command, such as ``ssh -o BatchMode=yes``. ``port``: port of rank 0. ``options``:
    additional options of each launcher. ``program``: command of each rank, with its arguments.
    Raises OSError if ``shell`` cannot be started.
    """
    address = address_of(hosts[0])
    launch = [sys.executable, "-m", "sycl_dnn", "launch", *options, "--nodes", str(len(hosts)),
              "--master-addr", address, "--master-port", str(port), "--end-with-input"]  # fmt: skip
    return run_children([
        partial(HostProcess, shlex.split(shell), host, [*launch, "--node-rank", str(i), *program])
        for i, host in enumerate(hosts)
    ])  # fmt: skip


def address_of(host: str) -> str:
    """Return the host name for connections from other hosts.

    Examples
    --------
    >>> address_of("someone@node01"), address_of("ssh://someone@node01:2222")
    ('node01', 'node01')
    """
    if host.startswith("ssh://"):
        return urlsplit(host).hostname or host
    return host.rpartition("@")[2]


def end_with_input() -> None:
    """Start reading signals to forward from standard input; end the process with the input."""
    numbers = {number.name.encode(): number for number in FORWARDED}

    def read() -> None:
        while text := os.read(0, 4096):
            for name in text.split():
                if name in numbers:
                    os.kill(os.getpid(), numbers[name])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=read, daemon=True).start()
