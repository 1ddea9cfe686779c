# SPDX-License-Identifier: Apache-2.0
"""Processes of a job on this host: cores, environment, output and termination."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

#: Seconds for ranks to report errors after one has failed, and to end when signaled.
_LAST_WORDS, _GRACE = 3.0, 5.0
_POLL = 0.02
_PR_SET_PDEATHSIG = 1
#: Signals forwarded to ranks: schedulers send them before the time limit.
FORWARDED = (signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Layout:
    """Placement of a job's ranks on hosts and cores."""

    ranks: int
    nodes: int
    node_rank: int
    address: str
    port: int
    pins: bool
    has_prefix: bool


def cores_of(local_rank: int, ranks: int, cores: Sequence[int]) -> list[int]:
    """Return the cores of one rank: adjacent, equally many for each; shared if there are too few.

    Examples
    --------
    >>> cores_of(1, 2, [0, 1, 2, 3])
    [2, 3]
    >>> cores_of(2, 4, [0, 1])
    [0]
    """
    if ranks > len(cores):
        return [cores[local_rank % len(cores)]]
    share, remainder = divmod(len(cores), ranks)
    start = local_rank * share + min(local_rank, remainder)
    return list(cores[start : start + share + (local_rank < remainder)])


def environment_of(local_rank: int, layout: Layout, n_cores: int) -> dict[str, str]:
    """Return the environment of one rank; the user's thread settings are kept."""
    result = dict(os.environ)
    if layout.pins:
        result.setdefault("OMP_NUM_THREADS", str(n_cores))
        result.setdefault("DPCPP_CPU_NUM_CUS", str(n_cores))
    return result | {
        "RANK": str(layout.node_rank * layout.ranks + local_rank),
        "WORLD_SIZE": str(layout.nodes * layout.ranks),
        "LOCAL_RANK": str(local_rank),
        "LOCAL_WORLD_SIZE": str(layout.ranks),
        "MASTER_ADDR": layout.address,
        "MASTER_PORT": str(layout.port),
        "PYTHONUNBUFFERED": "1",
    }


class RankProcess:
    """One rank: a process in its own session, and the threads that relay its output."""

    def __init__(self, command: Sequence[str], local_rank: int, layout: Layout) -> None:
        self.rank = layout.node_rank * layout.ranks + local_rank
        #: Name in the launcher's messages.
        self.name = f"rank {self.rank}"
        all_cores = sorted(os.sched_getaffinity(0))
        cores = cores_of(local_rank, layout.ranks, all_cores)
        pipe = subprocess.PIPE if layout.has_prefix else None
        # Inherited by the child, then restored.
        os.sched_setaffinity(0, cores if layout.pins else all_cores)
        try:
            self.process = subprocess.Popen(
                command,
                env=environment_of(local_rank, layout, len(cores)),
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                preexec_fn=_die_with_parent(),
            )
        finally:
            os.sched_setaffinity(0, all_cores)
        self._readers: list[threading.Thread] = []
        #: Its last line of standard error; empty if the launcher does not read it.
        self.last_line = ""

    def pass_output_on(self) -> None:
        """Start relaying the rank's lines, prefixed with its number."""
        for source, target in (
            (self.process.stdout, sys.stdout),
            (self.process.stderr, sys.stderr),
        ):
            if source is not None:
                thread = threading.Thread(
                    target=self._copy_lines, args=(source, target), daemon=True
                )
                thread.start()
                self._readers.append(thread)

    def _copy_lines(self, source: IO[bytes], target: Any) -> None:
        for line in source:
            text = line.decode(errors="replace").rstrip("\n")
            target.write(f"[{self.rank}] {text}\n")
            target.flush()
            if text.strip() and source is self.process.stderr:
                self.last_line = text.strip()

    def status(self) -> int | None:
        """Return the exit status as in a shell; None while it is running."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Send a signal to the process and its children."""
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def forward(self, number: int) -> None:
        """Forward a signal to the process only: its children may not expect it."""
        self.process.send_signal(number)

    def close(self) -> None:
        """End the rest of its session, and wait for the last lines."""
        self.signal(signal.SIGKILL)
        self.process.wait()
        # A killed rank has not removed its shared memory.
        for path in Path("/dev/shm").glob(f"{self.process.pid}:*"):
            path.unlink(missing_ok=True)
        for thread in self._readers:
            thread.join(_GRACE)


def _die_with_parent() -> Callable[[], None]:
    """Return a function for the child that requests to be killed with the launcher."""
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class _Asked(Exception):
    """The job received a signal to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Child(Protocol):
    """A child of the launcher: a rank, or a launcher on another host."""

    name: str
    last_line: str

    def pass_output_on(self) -> None:
        """Start relaying its output."""

    def status(self) -> int | None:
        """Return the exit status as in a shell; None while it is running."""

    def signal(self, number: int) -> None:
        """Send a terminating signal."""

    def forward(self, number: int) -> None:
        """Forward a signal that does not terminate it."""

    def close(self) -> None:
        """End whatever is left of it."""


def run_job(command: Sequence[str], layout: Layout) -> int:
    """Run the ranks of this host; return the status of the first that failed, or 0.

    ``command``: the command of every rank. Raises OSError if the command cannot be started.
    """
    return run_children([partial(RankProcess, command, i, layout) for i in range(layout.ranks)])


def run_children(starts: Sequence[Callable[[], Child]]) -> int:
    """Start all children and run them to completion; return the first failing status, or 0."""
    children: list[Child] = []
    failed = None
    handlers = {n: signal.signal(n, _raise_asked) for n in (signal.SIGINT, signal.SIGTERM)}
    handlers |= {n: signal.signal(n, partial(_forward, children)) for n in FORWARDED}
    try:
        for start in starts:
            children.append(start())
        for child in children:
            child.pass_output_on()
        failed = _first_failure(children)
        if failed is None:
            return 0
        status = int(failed.status() or 1)
        _end(children, signal.SIGTERM, _LAST_WORDS)
        return status
    except _Asked as asked:
        _end(children, asked.number, 0.0)
        return 128 + asked.number
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_IGN if children else handler)
        for child in children:
            child.close()
        if failed is not None:  # at the end, where readers look first
            last_line = f": {failed.last_line}" if failed.last_line else ""
            print(f"launch: {failed.name} ended with {failed.status()}{last_line}",
                  file=sys.stderr, flush=True)  # fmt: skip
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _raise_asked(number: int, frame: Any) -> None:
    raise _Asked(number)


def _forward(children: Sequence[Child], number: int, frame: Any) -> None:
    for child in children:
        child.forward(number)


def _first_failure(children: Sequence[Child]) -> Child | None:
    """Wait until a child fails and return it; None once all have succeeded."""
    while True:
        statuses = [(child.status(), child) for child in children]
        for status, child in statuses:
            if status:
                return child
        if all(status is not None for status, _ in statuses):
            return None
        time.sleep(_POLL)


def _end(children: Sequence[Child], number: int, patience: float) -> None:
    """Wait a while for children to end by themselves, then signal them."""
    if not _all_end(children, patience):
        for child in children:
            if child.status() is None:
                child.signal(number)
        _all_end(children, _GRACE)


def _all_end(children: Sequence[Child], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while any(child.status() is None for child in children):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL)
    return True
