# SPDX-License-Identifier: Apache-2.0
"""Cases spread over worker processes; a case that kills or hangs its process is a failure."""

from __future__ import annotations

import collections
import contextlib
import json
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import IO, Any, cast

from sycl_dnn.verify import worker
from sycl_dnn.verify.cases import Case
from sycl_dnn.verify.outcome import Limits, Result


class _Worker:
    """A process with at most one case in hand."""

    def __init__(self, device: str, limits: Limits) -> None:
        command = [sys.executable, "-m", "sycl_dnn.verify.worker", device]
        command += [json.dumps(asdict(limits))]
        self.errors: collections.deque[str] = collections.deque(maxlen=20)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=worker.environment(),
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
