# SPDX-License-Identifier: Apache-2.0
"""Run cases on a device and compare the results with NumPy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from conformance import device_runs, expected_results, known_faults, tolerance
from conformance.device_runs import Failure
from conformance.rules import RULES
from sycl_dnn.device import is_simulated
from sycl_dnn.errors import InvalidArguments, OutOfMemory, Unimplemented
from sycl_dnn.tools.cases.call import Call, memory_bytes
from sycl_dnn.tools.cases.case_files import Case, Reader, words_of_text
from sycl_dnn.tools.cases.driver import Refusal
from sycl_dnn.tools.cases.drivers import DRIVERS

#: Bytes that a case may need, on device and host together, and products of its reference.
MEMORY, PRODUCTS = 2 << 30, 4 << 30
#: Statuses of a result that no test may have; the others are PASSED, SUBMITTED (to a simulated
#: device, which computes nothing), UNIMPLEMENTED, SKIPPED, LIMITS, INVALID and KNOWN.
FAILURES = ("MISTRUSTED", "FAILED")


class Beyond(Refusal):
    """A case that exceeds the limits above."""


class Outcome(NamedTuple):
    """Status, reason and implementation of a case.

    reason : why it was refused, which known fault it has, or what is wrong
    impl : oneDNN's name of the implementation
    """

    status: str
    reason: str = ""
    impl: str = ""


def cases_of(line: str) -> Iterator[Case]:
    """Iterate over the cases of a line; its files are relative to the current folder."""
    return Reader().cases(words_of_text(line, "line"), Path())


def replay(line: str) -> str:
    """Return the command that repeats a case, quoted for a shell."""
    test = "tests/conformance/test_conformance.py::test_case"
    return f"pytest -m '' {test} --cases {shlex.quote(line)}"


def _check_limits(call: Call) -> None:
    needed, work = memory_bytes(call), DRIVERS[call.driver].operations(call)
    if needed > MEMORY:
        raise Beyond(f"a case must need at most {MEMORY} bytes, this one {needed}")
    if work > PRODUCTS:
        raise Beyond(f"a case must need at most {PRODUCTS} products, this one {work}")


def _as_chosen(call: Call, impl: str) -> Call:
    """Return the call with the algorithm that ``convolution_auto`` selected: winograd, on GPUs."""
    if call.params.get("algorithm") != "convolution_auto" or "wino" not in impl:
        return call
    return replace(call, params=call.params | {"algorithm": "convolution_winograd"})


def _compare(call: Call, done: device_runs.Run) -> tuple[dict[str, str], bool]:
    """Describe errors in each output; return also whether the values are conclusive."""
    expected, call = expected_results.expected(call, done.inputs), _as_chosen(call, done.impl)
    wrong = {name: text for name, text in done.problems.items() if name in done.outputs}
    trusted = True
    for name in (name for name in done.outputs if name in expected):
        rule, dtype = RULES[call.driver](call, name), done.dtype(name)
        verdict = tolerance.check(call, name, done.outputs[name], expected[name], rule, dtype)
        trusted &= verdict.trusted
        if verdict.problem:
            wrong[name] = "; ".join(filter(None, (wrong.get(name), verdict.problem)))
    return wrong, trusted


def _outcome(case: Case, stream: Any) -> Outcome:
    call, device = case.call(), stream.engine.kind.name
    _check_limits(call)
    done = device_runs.run(call, stream, case.line)
    if is_simulated(device):
        return Outcome("SUBMITTED", impl=done.impl)
    wrong, trusted = _compare(call, done)
    if wrong:
        text = "; ".join(f"{name}: {problem}" for name, problem in wrong.items())
        fault = known_faults.explain(call, done.impl, list(wrong), device, done.warned)
        reason = f"{fault} [{text}]" if fault else text
        return Outcome("KNOWN" if fault else "FAILED", reason, done.impl)
    if not trusted:
        return Outcome("MISTRUSTED", "too many zeros in the result to say anything", done.impl)
    return Outcome("PASSED", impl=done.impl)


def _first_line(error: Exception) -> str:
    return str(error.args[0] if error.args else error).split("\n")[0]


#: Exceptions -> status; a subclass comes before its base.
_REFUSALS = {
    Unimplemented: "UNIMPLEMENTED",
    Beyond: "LIMITS",
    OutOfMemory: "LIMITS",
    Refusal: "SKIPPED",
    InvalidArguments: "INVALID",
}


def run_case(case: Case, stream: Any) -> Outcome:
    """Run one case on the stream's device.

    Parameters
    ----------
    case : Case
    stream : sycl_dnn.onednn.Stream

    Returns
    -------
    Outcome
        Refusals by oneDNN and by this tool are outcomes; bugs of this package raise.
    """
    try:
        return _outcome(case, stream)
    except Failure as problem:
        device = stream.engine.kind.name
        fault = known_faults.explain(case.call(), problem.impl, ["execution"], device)
        status = "KNOWN" if fault else "FAILED"
        return Outcome(status, f"{fault} {problem}".strip(), problem.impl)
    except tuple(_REFUSALS) as problem:
        status = next(s for kind, s in _REFUSALS.items() if isinstance(problem, kind))
        return Outcome(status, _first_line(problem))
