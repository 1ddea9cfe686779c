# SPDX-License-Identifier: Apache-2.0
"""A process that runs cases: texts come on standard input, results go back, one JSON a line.

oneDNN tells why it declines only in its log, which is switched on by the environment at the start
and goes to standard output. So standard output of this process is a temporary file that is read
after each refusal, and results have a channel of their own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

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
    from sycl_dnn.onednn import _reasons as log

    found = []
    for line in text.splitlines():
        fields = line.split(",")
        reason = log._parse(line, fields[6]) if len(fields) > 7 else log._parse(line, "")
        if reason:
            found.append(reason)
    return list(dict.fromkeys(found))


def stream_on(device: str) -> Any:
    """Return a Stream on the device that is meant."""
    import sycl_dnn
    from sycl_dnn import onednn as dnnl

    queue = sycl_dnn.default_queue(device or None)
    return dnnl.Stream(dnnl.Engine(queue), queue)


def serve(device: str, memory: int, operations: int) -> None:
    """Run cases until standard input ends."""
    results = os.fdopen(os.dup(1), "w", buffering=1)
    log = Log()
    from sycl_dnn.verify.cases import Case
    from sycl_dnn.verify.runner import Limits, run_case

    stream, limits = stream_on(device), Limits(memory, operations)
    for line in sys.stdin:
        result = run_case(Case(**json.loads(line)), stream, limits).as_dict()
        text = log.take()
        if result["status"] in ("REFUSED", "INVALID"):
            result["reasons"] = _reasons(text)
        results.write(json.dumps(result) + "\n")


def environment() -> dict[str, str]:
    """Return the environment that a worker needs."""
    return {**os.environ, **_LOG}


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
