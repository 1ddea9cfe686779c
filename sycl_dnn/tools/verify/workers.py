# SPDX-License-Identifier: Apache-2.0
"""Cases spread over worker processes; a case that kills or hangs its process is a failure.

oneDNN tells why it declines only in its log, which is switched on by the environment at the start
and goes to standard output. So standard output of this process is a temporary file that is read
after each refusal, and results have a channel of their own.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from sycl_dnn.tools.verify.case_files import Case
from sycl_dnn.tools.verify.driver import Limits, Result

if TYPE_CHECKING:
    from typing import IO


_LOG = {"ONEDNN_VERBOSE": "dispatch,check", "ONEDNN_VERBOSE_TIMESTAMP": "0"}


class Log:
    """What the library wrote to standard output since the last look."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        os.dup2(self.file.fileno(), 1)

    def take(self) -> str:
        """Return the text and forget it."""
        sys.stdout.flush()
        size = os.fstat(1).st_size
        text = os.pread(self.file.fileno(), min(size, 1 << 20), 0).decode(errors="replace")
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        return text


def _reasons(text: str) -> list[str]:
    """Return ``implementation: reason`` from the log, each once."""
    from sycl_dnn.onednn import reasons as log

    found = []
    for line in text.splitlines():
        fields = line.split(",")
        reason = log._parse(line, fields[6]) if len(fields) > 7 else log._parse(line, "")
        # Of graphs the log tells which pattern an operation matches.
        if reason and "node matching" not in reason:
            found.append(reason)
    return list(dict.fromkeys(found))


def stream_on(device: str) -> Any:
    """Return a Stream on the device that is meant."""
    import sycl_dnn
    from sycl_dnn import onednn as dnnl

    queue = sycl_dnn.default_queue(device or None)
    return dnnl.Stream(dnnl.Engine(queue), queue)


def serve(device: str, limits: dict[str, Any]) -> None:
    """Run cases until standard input ends; a simulated device is not asked for results."""
    results = os.fdopen(os.dup(1), "w", buffering=1)
    log = Log()
    from sycl_dnn.device import is_simulated
    from sycl_dnn.tools.verify.case_files import Case
    from sycl_dnn.tools.verify.driver import Limits
    from sycl_dnn.tools.verify.runner import run_case

    stream = stream_on(device)
    if is_simulated(stream.sycl_queue.sycl_device.device_type.name):
        limits["check"] = False
    for line in sys.stdin:
        result = run_case(Case(**json.loads(line)), stream, Limits(**limits)).as_dict()
        text = log.take()
        if result["status"] in ("REFUSED", "INVALID"):
            result["reasons"] = _reasons(text)
        results.write(json.dumps(result) + "\n")


def environment() -> dict[str, str]:
    """Return the environment that a worker needs."""
    return {**os.environ, **_LOG}


if __name__ == "__main__":
    serve(sys.argv[1], json.loads(sys.argv[2]))


# --- Cases spread over worker processes; a case that kills or hangs its process is a failure


class _Worker:
    """A process with at most one case in hand."""

    def __init__(self, device: str, limits: Limits) -> None:
        command = [sys.executable, "-m", "sycl_dnn.tools.verify.workers", device]
        command += [json.dumps(asdict(limits))]
        self.errors: collections.deque[str] = collections.deque(maxlen=20)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        pipes = self.process.stdin, self.process.stdout, self.process.stderr
        self.stdin, self.stdout, self.stderr = (cast("IO[str]", pipe) for pipe in pipes)
        threading.Thread(target=self._drain, daemon=True).start()
        self.case: Case | None = None
        self.since = 0.0

    def _drain(self) -> None:
        for line in self.stderr:
            self.errors.append(line.rstrip())

    def give(self, case: Case) -> None:
        """Start a case."""
        self.case, self.since = case, time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.stdin.write(json.dumps(asdict(case)) + "\n")
            self.stdin.flush()

    def take(self) -> dict[str, Any] | None:
        """Return the result of the case in hand; None if the process has died."""
        line = self.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def end(self) -> int:
        """End the process and return its status."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def obituary(self, status: int) -> str:
        """Return why the process is gone."""
        how = f"exit status {status}"
        if status < 0:
            how = signal.Signals(-status).name
        last = self.errors[-1] if self.errors else "nothing on standard error"
        return f"the process died: {how}; {last}"


def _failure(case: Case | None, reason: str, seconds: float) -> dict[str, Any]:
    assert case is not None, "a worker has a case in hand until its result is there"
    result = Result(case.driver, case.line, case.place, "FAILED", reason, seconds=seconds)
    return result.as_dict()


class Pool:
    """Worker processes for one device."""

    def __init__(self, device: str, limits: Limits, timeout: float) -> None:
        self.device, self.limits, self.timeout = device, limits, timeout
        self.selector = selectors.DefaultSelector()
        self.busy: set[_Worker] = set()

    def _start(self) -> _Worker:
        one = _Worker(self.device, self.limits)
        self.selector.register(one.stdout, selectors.EVENT_READ, one)
        return one

    def _drop(self, one: _Worker) -> int:
        self.selector.unregister(one.stdout)
        return one.end()

    def _ready(self) -> Iterator[tuple[_Worker, dict[str, Any]]]:
        """Wait for results; a worker that died or hangs gives a failure."""
        for key, _ in self.selector.select(timeout=1.0):
            one = key.data
            result, seconds = one.take(), time.monotonic() - one.since
            if result is None:
                result = _failure(one.case, one.obituary(self._drop(one)), seconds)
            yield one, result
        for one in list(self.busy):
            seconds = time.monotonic() - one.since
            if seconds > self.timeout:
                one.process.kill()
                self._drop(one)
                yield one, _failure(one.case, f"not done after {self.timeout:g} s", seconds)

    def run(self, cases: Iterable[Case], count: int) -> Iterator[dict[str, Any]]:
        """Iterate over results as they come."""
        waiting = iter(cases)
        idle: collections.deque[_Worker] = collections.deque()
        for case in waiting:
            self._assign(idle, case)
            if len(self.busy) >= count:
                break
        while self.busy:
            for one, result in self._ready():
                if one not in self.busy:
                    continue
                self.busy.discard(one)
                if one.process.poll() is None:
                    idle.append(one)
                following = next(waiting, None)
                if following is not None:
                    self._assign(idle, following)
                yield result
        for one in idle:
            self._drop(one)

    def _assign(self, idle: Any, case: Case) -> None:
        one = idle.popleft() if idle else self._start()
        self.busy.add(one)
        one.give(case)

    def close(self) -> None:
        """Kill what is still at work."""
        for one in list(self.busy):
            one.process.kill()
            self._drop(one)
        self.busy.clear()
