# SPDX-License-Identifier: Apache-2.0
"""Run cases, in this process or in several."""

from __future__ import annotations

import collections
import json
import os
import selectors
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from conformance.verify import device_runs, expected_results, known_faults, tolerance
from conformance.verify.case_reader import ALL_DRIVERS, key_of
from conformance.verify.graph import graph_driver
from conformance.verify.graph.document import Broken
from conformance.verify.outcomes import Beyond, Failure, Limits, Outcome, Result
from conformance.verify.rules import RULES
from sycl_dnn.device import is_simulated
from sycl_dnn.errors import InvalidArguments, OutOfMemory, Unimplemented
from sycl_dnn.tools.cases.call import Call, memory_bytes
from sycl_dnn.tools.cases.case_files import Case
from sycl_dnn.tools.cases.case_process import CaseProcess
from sycl_dnn.tools.cases.driver import Refusal
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.explain.probe import Log, environment, stream_on

_PROGRAM = Path(__file__).parents[1]


def _check_limits(call: Call, limits: Limits) -> None:
    needed = memory_bytes(call)
    if needed > limits.memory:
        raise Beyond(f"a case must need at most {limits.memory} bytes, this one {needed}")
    work = DRIVERS[call.driver].operations(call)
    if work > limits.operations:
        raise Beyond(f"a case must need at most {limits.operations} products, this one {work}")


def _as_chosen(call: Call, impl: str) -> Call:
    """Return the call with the algorithm that ``convolution_auto`` selected: winograd, on GPUs."""
    if call.params.get("algorithm") != "convolution_auto" or "wino" not in impl:
        return call
    return replace(call, params=call.params | {"algorithm": "convolution_winograd"})


def _judge(call: Call, done: device_runs.Run, device: str) -> tuple[str, str, float]:
    """Return status, reason and error of a finished run on a kind of device."""
    expected, call = expected_results.expected(call, done.inputs), _as_chosen(call, done.impl)
    if call.attr.dropout is not None and "attr_dropout_mask" in done.outputs:
        done.outputs.pop("attr_dropout_mask")
    rule, wrong, trusted, worst = RULES[call.driver], [], True, 0.0
    for name, actual in done.outputs.items():
        if name in done.problems:
            wrong.append((name, f"{name}: {done.problems[name]}"))
        if name not in expected:
            continue
        verdict = tolerance.check(
            call, name, actual, expected[name], rule(call, name), done.dtype(name)
        )
        worst = max(worst, verdict.error)
        trusted &= verdict.trusted
        if verdict.problem:
            wrong.append((name, verdict.problem))
    text = "; ".join(problem for _, problem in wrong)
    if wrong:
        names = [name for name, _ in wrong]
        fault = known_faults.explain(call, done.impl, names, device, done.warned)
        return ("KNOWN", f"{fault} [{text}]", worst) if fault else ("FAILED", text, worst)
    if not trusted:
        return "MISTRUSTED", "too many zeros in the result to say anything", worst
    return "PASSED", "", worst


def _of_primitive(call: Call, stream: Any, key: str, limits: Limits) -> Outcome:
    _check_limits(call, limits)
    done = device_runs.run(call, stream, key, DRIVERS[call.driver].fill)
    if not limits.check:
        return Outcome("SUBMITTED", impl=done.impl)
    return Outcome(*_judge(call, done, stream.engine.kind.name), done.impl)


def _outcome(case: Case, stream: Any, limits: Limits) -> Outcome:
    run = graph_driver.run if case.driver == "graph" else _of_primitive
    return run(case.call(ALL_DRIVERS), stream, key_of(case), limits)


def _known(case: Case, problem: Failure, device: str) -> str:
    """Return the name of the fault that makes an execution fail."""
    if case.driver not in DRIVERS:
        return ""
    return known_faults.explain(case.call(), problem.impl, ["execution"], device)


def _first_line(error: Exception) -> str:
    return str(error.args[0] if error.args else error).split("\n")[0]


def run_case(case: Case, stream: Any, limits: Limits = Limits()) -> Result:  # noqa: B008
    """Run one case on the stream's device.

    Parameters
    ----------
    case : Case
    stream : sycl_dnn.onednn.Stream
    limits : cases that need more are refused

    Returns
    -------
    Result
        Never raises for what a case or the library does; bugs of this package appear only as
        ``FAILED`` with the exception's message.
    """
    start, error, impl = time.perf_counter(), 0.0, ""
    try:
        status, reason, error, impl = _outcome(case, stream, limits)
    except Unimplemented as problem:
        status, reason = "UNIMPLEMENTED", _first_line(problem)
    except (Beyond, OutOfMemory) as problem:
        status, reason = "LIMITS", _first_line(problem)
    except Refusal as problem:
        status, reason = "SKIPPED", _first_line(problem)
    except (InvalidArguments, Broken) as problem:
        status, reason = "INVALID", _first_line(problem)
    except Failure as problem:
        impl, fault = problem.impl, _known(case, problem, stream.engine.kind.name)
        status, reason = ("KNOWN" if fault else "FAILED"), f"{fault} {problem}".strip()
    except Exception as problem:
        status, reason = "FAILED", f"{type(problem).__name__}: {_first_line(problem)}"
    seconds = time.perf_counter() - start
    return Result(
        case.driver, case.line, case.place, status, reason, float(error), impl, round(seconds, 4)
    )


# --- The worker process


def _reasons(text: str) -> list[str]:
    """Return ``implementation: reason`` from the log, each once."""
    from sycl_dnn.onednn import reasons as log

    matches = []
    for line in text.splitlines():
        fields = line.split(",")
        reason = log._parse(line, fields[6]) if len(fields) > 7 else log._parse(line, "")
        # For graphs the log says which pattern an operation matches.
        if reason and "node matching" not in reason:
            matches.append(reason)
    return list(dict.fromkeys(matches))


def serve(device: str, limits: dict[str, Any]) -> None:
    """Run cases until standard input ends; results of a simulated device are not read."""
    results = os.fdopen(os.dup(1), "w", buffering=1)
    log = Log()
    stream = stream_on(device)
    if is_simulated(stream.sycl_queue.sycl_device.device_type.name):
        limits["check"] = False
    for line in sys.stdin:
        result = run_case(Case(**json.loads(line)), stream, Limits(**limits)).as_dict()
        text = log.take()
        if result["status"] in ("UNIMPLEMENTED", "SKIPPED", "INVALID"):
            result["reasons"] = _reasons(text)
        results.write(json.dumps(result) + "\n")


# --- Cases distributed over worker processes; one that ends or hangs its process is a failure


class _Worker(CaseProcess):
    """A process that runs at most one case at a time."""

    def __init__(self, device: str, limits: Limits) -> None:
        words = [str(_PROGRAM), "worker", device, json.dumps(asdict(limits))]
        super().__init__([sys.executable, *words], environment())
        self.case: Case | None = None
        self.since = 0.0

    def start(self, case: Case) -> None:
        self.case, self.since = case, time.monotonic()
        self.give(asdict(case))


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

    def _drop(self, one: _Worker) -> str:
        self.selector.unregister(one.stdout)
        return one.end()

    def _ready(self) -> Iterator[tuple[_Worker, dict[str, Any]]]:
        """Wait for results; a worker that ended or hangs is a failure."""
        for key, _ in self.selector.select(timeout=1.0):
            one = key.data
            result, seconds = one.take(), time.monotonic() - one.since
            if result is None:
                how = f"the process died: {self._drop(one)}; {one.last_line()}"
                result = _failure(one.case, how, seconds)
            yield one, result
        for one in list(self.busy):
            seconds = time.monotonic() - one.since
            if seconds > self.timeout:
                one.process.kill()
                self._drop(one)
                yield one, _failure(one.case, f"not done after {self.timeout:g} s", seconds)

    def run(self, cases: Iterable[Case], count: int) -> Iterator[dict[str, Any]]:
        """Iterate over results as they arrive."""
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
        one.start(case)

    def close(self) -> None:
        """Kill the workers that are still running."""
        for one in list(self.busy):
            one.process.kill()
            self._drop(one)
        self.busy.clear()
