# SPDX-License-Identifier: Apache-2.0
"""Cases of every primitive, compared between a device and the CPU engine."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from sycl_dnn.errors import DnnlError, Unimplemented
from sycl_dnn.tools.cases.call import Call
from sycl_dnn.tools.cases.case_files import Case, read_file
from sycl_dnn.tools.cases.case_process import CaseProcess
from sycl_dnn.tools.cases.data import Arrays
from sycl_dnn.tools.cases.execution import Execution, from_forward, prepare, stream_on
from sycl_dnn.tools.check_gpu.function_sample import BEYOND_DRIVER

#: Maximum difference relative to the largest value; integers may differ by one.
TOLERANCE = {"f32": 1e-4, "f16": 4e-3, "bf16": 2e-2}
_NARROW = ("f16", "bf16")

Row = dict[str, str]


def cases() -> list[Case]:
    """Return the sample."""
    return list(read_file(Path(__file__).with_name("sample.in")))


def in_f32(call: Call) -> Call:
    """Return a call with floating-point tensors converted to f32, which every CPU supports."""
    tensors = {
        name: replace(tensor, dtype="f32") if tensor.dtype in _NARROW else tensor
        for name, tensor in call.tensors.items()
    }
    return replace(call, tensors=tensors, forward=call.forward and in_f32(call.forward))


def executed(call: Call, stream: Any, key: str, arrays: Arrays) -> tuple[Execution, str]:
    """Run a call, preceded by its forward call if it has one.

    ``key``: determines the values drawn; ``arrays``: given values by argument. The second is a
    warning about a known fault of oneDNN, or empty.
    """
    pd, hint, warned = prepare(call, stream.engine)
    workspace: dict[str, Any] = {}
    if call.forward is not None:
        inputs, workspace = from_forward(call.forward, hint, stream, key, arrays)
        arrays = inputs | arrays
    execution = Execution(call, pd, stream, key)
    execution.arrays |= arrays
    execution.run(workspace)
    return execution, " ".join(warned)


def _largest(array: np.ndarray) -> float:
    return float(np.abs(array).max(initial=0.0))


def wrong(execution: Execution, expected: Arrays) -> str:
    """Describe the outputs that differ from the CPU's; "" if there are none."""
    outputs, problems = execution.results()
    matches = [f"{name}: {problem}" for name, problem in problems.items()]
    for name in outputs.keys() & expected.keys():
        dtype = execution.buffers[name].desc.data_type.name
        limit = TOLERANCE.get(dtype)
        scale = 1.0 if limit is None else max(_largest(expected[name]), 1e-6)
        off = _largest(outputs[name] - expected[name]) / scale
        if not off <= (1.0 if limit is None else limit):  # also true for NaN
            matches.append(f"{name} ({dtype}) is off by {off:.1e}")
    return "; ".join(sorted(matches))


def _first_line(error: Exception) -> str:
    # The full text includes oneDNN's reasons, which repeat the case in another process.
    return str(error.args[0] if error.args else error).partition("\n")[0][:300]


def one(case: Case, stream: Any, reference: Any) -> Row:
    """Return the row of a case on ``stream``, compared with ``reference`` if not None."""
    row = {"line": case.line, "status": "passed", "impl": "", "what": ""}
    call = case.call()
    try:
        execution, warned = executed(call, stream, case.line, {})
        row["impl"] = execution.pd.impl_info
    except Unimplemented as error:
        return row | {"status": "refused", "what": _first_line(error)}
    except Exception as error:  # any failure belongs in the report
        is_refused = reference is None and BEYOND_DRIVER in _first_line(error)
        status = "refused" if is_refused else "failed"
        return row | {"status": status, "what": f"{type(error).__name__}: {_first_line(error)}"}
    if reference is None:
        return row | {"status": "submitted"}
    try:
        expected, _ = executed(in_f32(call), reference, case.line, execution.arrays)[0].results()
    except DnnlError as error:
        return row | {"status": "refused", "what": f"by the CPU engine: {_first_line(error)}"}
    problem = wrong(execution, expected)
    status = "known" if warned else "failed"
    return row | {"status": status, "what": f"{problem} {warned}".strip()} if problem else row


# --- A separate process for the cases, so that crashes and hangs are reported as rows


def serve(device: str, reference: str) -> None:
    """Respond to each case on standard input with its row; ``reference`` is a device, or empty."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # redirects output of libraries to the log
    stream = stream_on(device)
    compared = stream_on(reference) if reference else None
    for line in sys.stdin:
        answers.write(json.dumps(one(Case(**json.loads(line)), stream, compared)) + "\n")


class Worker:
    """A process that runs one case at a time and is restarted after a crash or hang."""

    def __init__(self, device: str, reference: str) -> None:
        module = "sycl_dnn.tools.check_gpu.primitive_sample"
        self.command = [sys.executable, "-m", module, device, reference]
        self.process: CaseProcess | None = None

    def ask(self, case: Case, seconds: float) -> Row:
        """Return the row of a case, with a time limit."""
        process = self.process = self.process or CaseProcess(self.command)
        process.give(asdict(case))
        has_answer = bool(select.select([process.stdout], [], [], seconds)[0])
        answer = process.take() if has_answer else None
        if answer is not None:
            return answer
        if has_answer:
            status, problem = "crashed", f"the process died: {process.end()}"
        else:
            process.kill()
            status, problem = "hung", f"not done after {seconds:.0f} s"
        print(*process.errors, sep="\n", file=sys.stderr)  # to the check's log
        self.process = None
        return {"line": case.line, "status": status, "impl": "", "what": problem}

    def close(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()


def rows(device: str, reference: str, chosen: list[Case], limit: float) -> Iterator[Row]:
    """Yield the rows of cases.

    ``device``: the dpctl filter string of the device under test. ``reference``: that of the CPU;
    empty to only submit. ``limit``: seconds per case.
    """
    worker = Worker(device, reference)
    try:
        for case in chosen:
            yield worker.ask(case, limit)
    finally:
        worker.close()


if __name__ == "__main__":
    serve(*sys.argv[1:])
