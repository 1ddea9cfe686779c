# SPDX-License-Identifier: Apache-2.0
"""A worker process for cases, which may crash."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
from collections import deque
from typing import IO, Any, cast


class CaseProcess:
    """A process that reads requests and writes responses as lines of JSON.

    ``variables``: environment; by default that of this process. ``stdout``: standard output of the
    process; ``errors``: its last lines of standard error.
    """

    def __init__(self, command: list[str], variables: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=variables
        )
        pipes = self.process.stdin, self.process.stdout, self.process.stderr
        self.stdin, self.stdout, self.stderr = (cast("IO[str]", one) for one in pipes)
        self.errors: deque[str] = deque(maxlen=40)
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def _read_errors(self) -> None:
        for line in self.stderr:
            self.errors.append(line.rstrip())

    def give(self, question: dict[str, Any]) -> None:
        """Send a request."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.write(json.dumps(question) + "\n")
            self.stdin.flush()

    def take(self) -> Any:
        """Wait for a response; None if the process has ended."""
        line = self.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()

    def end(self) -> str:
        """Wait for the process to end; return its signal or status."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        try:
            status = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join(10)
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def last_line(self) -> str:
        """Return the last line of standard error, after the process has ended."""
        return self.errors[-1] if self.errors else "nothing on standard error"
