# SPDX-License-Identifier: Apache-2.0
"""One case from text to result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sycl_dnn.errors import InvalidArguments, OutOfMemory, Unimplemented
from sycl_dnn.onednn import faults
from sycl_dnn.tools.verify import data, execution, tolerance
from sycl_dnn.tools.verify.call import Call, memory_bytes
from sycl_dnn.tools.verify.case_files import Case
from sycl_dnn.tools.verify.driver import Failure, Limits, Outcome, Refusal, Result
from sycl_dnn.tools.verify.drivers import ALL_DRIVERS, DRIVERS
from sycl_dnn.tools.verify.graph.document import Broken

if TYPE_CHECKING:
    pass


def _check_limits(call: Call, limits: Limits) -> None:
    needed = memory_bytes(call)
    if needed > limits.memory:
        raise Refusal(f"a case must need at most {limits.memory} bytes, this one {needed}")
    work = DRIVERS[call.driver].operations(call)
    if work > limits.operations:
        raise Refusal(f"a case must need at most {limits.operations} products, this one {work}")


def _judge(call: Call, done: execution.Run) -> tuple[str, str, float]:
    """Return status, reason and error of a finished run."""
    wanted = data.expected(call, done.inputs)
    if call.attr.dropout is not None and "attr_dropout_mask" in done.outputs:
        done.outputs.pop("attr_dropout_mask")
    rule, wrong, trusted, worst = DRIVERS[call.driver].rule, [], True, 0.0
    for name, got in done.outputs.items():
        if name in done.problems:
            wrong.append((name, f"{name}: {done.problems[name]}"))
        if name not in wanted:
            continue
        verdict = tolerance.check(call, name, got, wanted[name], rule(call, name), done.dtype(name))
        worst = max(worst, verdict.error)
        trusted &= verdict.trusted
        if verdict.problem:
            wrong.append((name, verdict.problem))
    text = "; ".join(problem for _, problem in wrong)
    if wrong:
        fault = faults.explain(call, done.impl, [name for name, _ in wrong])
        return ("KNOWN", f"{fault} [{text}]", worst) if fault else ("FAILED", text, worst)
    if not trusted:
        return "MISTRUSTED", "too many zeros in the result to say anything", worst
    return "PASSED", "", worst


def _of_primitive(call: Call, stream: Any, key: str, limits: Limits) -> Outcome:
    _check_limits(call, limits)
    done = execution.run(call, stream, key, DRIVERS[call.driver].fill)
    if not limits.check:
        return Outcome("SUBMITTED", impl=done.impl)
    return Outcome(*_judge(call, done), done.impl)


def _outcome(case: Case, stream: Any, limits: Limits) -> Outcome:
    run = ALL_DRIVERS[case.driver].run or _of_primitive
    return run(case.call(), stream, case.key, limits)


def _known(case: Case, problem: Failure) -> str:
    """Return the name of the fault that makes an execution fail."""
    if case.driver not in DRIVERS:
        return ""
    return faults.explain(case.call(), problem.impl, ["execution"])


def _first_line(error: Exception) -> str:
    return str(error.args[0] if error.args else error).split("\n")[0]


def run_case(case: Case, stream: Any, limits: Limits = Limits()) -> Result:  # noqa: B008
    """Run one case on the stream's device.

    Parameters
    ----------
    case : Case
    stream : sycl_dnn.onednn.Stream
    limits : refuse what needs more

    Returns
    -------
    Result
        Never raises for what a case or the library does; only bugs of this package come through
        as ``FAILED`` with the exception's text.
    """
    start, error, impl = time.perf_counter(), 0.0, ""
    try:
        status, reason, error, impl = _outcome(case, stream, limits)
    except (Refusal, Unimplemented, OutOfMemory) as problem:
        status, reason = "REFUSED", _first_line(problem)
    except (InvalidArguments, Broken) as problem:
        status, reason = "INVALID", _first_line(problem)
    except Failure as problem:
        impl, fault = problem.impl, _known(case, problem)
        status, reason = ("KNOWN" if fault else "FAILED"), f"{fault} {problem}".strip()
    except Exception as problem:
        status, reason = "FAILED", f"{type(problem).__name__}: {_first_line(problem)}"
    seconds = time.perf_counter() - start
    return Result(
        case.driver, case.line, case.place, status, reason, float(error), impl, round(seconds, 4)
    )
