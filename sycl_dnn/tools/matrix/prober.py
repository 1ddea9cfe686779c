# SPDX-License-Identifier: Apache-2.0
"""A process that describes cases and catches oneDNN's log; one for each device and ISA level.

The level is a limit that oneDNN reads from the environment once, and its reasons are only in the
log on standard output: both need a process of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from sycl_dnn.device import is_simulated
from sycl_dnn.tools.matrix.probe import Answer, answer_of, probe
from sycl_dnn.tools.verify import workers
from sycl_dnn.tools.verify.case_files import Case

_LIMIT = "ONEDNN_MAX_CPU_ISA"


class ProbeError(RuntimeError):
    """The process that describes cases does not start, because there is no such device."""


def _facts(stream: Any) -> dict[str, Any]:
    import sycl_dnn
    from sycl_dnn import onednn as dnnl

    device, version = stream.sycl_queue.sycl_device, dnnl.version()
    kind = device.device_type.name
    return {
        "device": device.name,
        "kind": kind,
        "isa": dnnl.get_effective_cpu_isa().name if kind == "cpu" else "",
        "simulated": is_simulated(kind),
        "driver": device.driver_version,
        "threads": os.cpu_count() if kind == "cpu" else 0,
        "oneDNN": ".".join(str(version[part]) for part in ("major", "minor", "patch")),
        "commit": version["hash"],
        "sycl_dnn": sycl_dnn.__version__,
    }


def serve(device: str) -> None:
    """Write facts, then an answer for each case on standard input, one JSON a line."""
    results = os.fdopen(os.dup(1), "w", buffering=1)
    log = workers.Log()
    stream = workers.stream_on(device)
    results.write(json.dumps(_facts(stream)) + "\n")
    for line in sys.stdin:
        asked = json.loads(line)
        found = probe(Case(**asked["case"]), stream.engine, log, asked["every"])
        results.write(json.dumps(found.as_dict()) + "\n")


class Prober:
    """Describes cases on one device under one limit of the instruction set.

    Parameters
    ----------
    device : str
        ``"cpu"``, ``"gpu"`` or a filter string of dpctl's; empty is the default device.
    isa : str
        oneDNN's name of a level, such as ``"avx2"``; empty is no limit.

    Attributes
    ----------
    facts : dict
        What the process says of itself: device, kind, isa, simulated, driver and versions.

    Raises
    ------
    ProbeError
        The process does not start; the text is its last word.
    """

    def __init__(self, device: str = "", isa: str = "") -> None:
        self.device, self.isa = device, isa
        self._start()

    def _start(self) -> None:
        environment = workers.environment()
        if self.isa:
            environment[_LIMIT] = self.isa.upper()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, self.device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise ProbeError(f"{self.device or 'default device'}: {self._last_word()}")
        self.facts = json.loads(line)

    def _last_word(self) -> str:
        _, errors = self.process.communicate()
        return (errors.strip().splitlines() or ["it said nothing"])[-1]

    def ask(self, case: Case, every: bool = False) -> Answer:
        """Return the answer to one case; ``died`` if it took the process with it."""
        with contextlib.suppress(BrokenPipeError):
            asked = {"case": asdict(case), "every": every}
            self.process.stdin.write(json.dumps(asked) + "\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if line.endswith("\n"):
            return answer_of(json.loads(line))
        last = self._last_word()
        self._start()
        return Answer("died", error=f"the process died: {last}")

    def answers(self, cases: Iterable[Case]) -> Iterator[tuple[Case, Answer]]:
        """Iterate over cases with their answers."""
        for case in cases:
            yield case, self.ask(case)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()

    def __enter__(self) -> Prober:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


_START = "import sys; from sycl_dnn.tools.matrix.prober import serve; serve(sys.argv[1])"
