# SPDX-License-Identifier: Apache-2.0
"""``plan``: a call with its arrays bound once, submitted again and again."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn._core import WatchedSpans
from sycl_dnn.call import arguments
from sycl_dnn.call.arguments import Collected
from sycl_dnn.call.captures import Captures, Check, nothing_captured
from sycl_dnn.call.capturing import FromNumber
from sycl_dnn.call.cpu_fallback import refusal
from sycl_dnn.call.operation import UserFunction
from sycl_dnn.call.placed_call import PlacedCall, Plan
from sycl_dnn.onednn.memory import KINDS, allocated
from sycl_dnn.program.segments import Segment
from sycl_dnn.trace import array_writes, nested_arguments, policy, profile_notes
from sycl_dnn.trace.frozen import Frozen
from sycl_dnn.trace.module_arrays import in_manner
from sycl_dnn.trace.steps import NeedsAnotherDevice


class BoundCall:
    """A call with bound arrays, which costs only the submission.

    Calling it submits the work and returns the result, always the same arrays.
    """

    #: Whether the plan is still valid.
    _check: Check

    def _fill(self, plan: Plan, placed: PlacedCall) -> None:
        """Bind the registers of a plan to the arrays of a call."""
        executable = self._executable = plan.executable
        self._queue, self._stream = placed.queue, placed.stream
        executable.finish_builds()  # calls change the result of the last one
        registers = placed.registers(plan, submits=False)
        self._registers = registers
        for stage in executable.stages:
            if not isinstance(stage, Segment):
                stage.allocate(registers, placed.queue)
        #: Values that differ from call to call, by register.
        self._seeds = {r: s for r, s in executable.seeds.items() if not isinstance(s, FromNumber)}
        self._written = executable.written(registers)
        self._result = in_manner(placed.results(plan, registers))
        self._programs = [self._stage(s) for s in executable.stages]

    def _stage(self, stage: Any) -> Any:
        if not isinstance(stage, Segment) or not self._seeds.keys().isdisjoint(stage.reads):
            return lambda: stage.run(self._registers, self._queue, self._stream)
        arena = None
        if stage.program.arena_bytes:
            nbytes = stage.program.arena_bytes
            arena = allocated(KINDS["device"], nbytes, self._queue, "intermediate values")
        arrays = [self._registers[r] for r in stage.reads]
        return _core.BoundProgram(stage.program, self._stream, arrays, arena, self._result)

    def __call__(self) -> Any:
        """Submit; return the result, which is complete when the queue has reached it."""
        self._prepare()
        self._executable.submit(self._stream, self._programs, self._written)
        return self._result

    def _prepare(self) -> None:
        """Update what may have changed since the last call."""
        if not self._check():
            self._bind()
        for register, seed in self._seeds.items():
            self._registers[register] = seed.array(self._queue)

    def _bind(self) -> None:
        raise NotImplementedError

    @property
    def result(self) -> Any:
        """The arrays that calls write to."""
        return self._result


class BoundPlan(BoundCall):
    """A call of a function with all its arrays, as ``plan`` returns it.

    Calling it submits the work and returns the result, always the same array. Arrays named by
    ``constants`` are packed when it is bound; ``rebind`` packs them again.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        out: Any,
        constants: Sequence[str] = (),
    ) -> None:
        self._function = function
        self._operation = arguments.operation_of(function) or UserFunction(function)
        self._signature = inspect.signature(function)
        self._constants = (constants,) if isinstance(constants, str) else tuple(constants)
        for name in self._constants:
            if name not in self._signature.parameters:
                raise ValueError(
                    f"plan: constants must name parameters of the function, got {name!r}"
                )
        self._arguments = self._signature.bind(*args, **kwargs).arguments
        self._out = out
        self._policy = policy.current()
        self._bind()

    def _bind(self) -> None:
        values = {n: self._frozen(n, v) for n, v in self._arguments.items()}
        bound = inspect.BoundArguments(self._signature, values)  # type: ignore[arg-type]
        collected = self._collected(bound.args, bound.kwargs)
        is_ours = arguments.operation_of(self._function) is not None
        before = (
            None if is_ours else Captures(self._function, (*bound.args, *bound.kwargs.values()))
        )
        draws: Any = contextlib.nullcontext()
        if before is not None:
            before.read_once.check(self._operation.name)
            draws = before.read_once.without_draws(self._operation.name)
        placed = PlacedCall(self._operation.name, collected, self._out)
        try:
            with policy.using(**self._policy._asdict()), draws:
                plan = profile_notes.trace(
                    self._operation.name,
                    lambda: self._operation.build(
                        placed.place, bound.args, bound.kwargs, self._out
                    ),
                )
        except NeedsAnotherDevice as cause:
            raise refusal(self._operation.name, cause, placed.queue, collected.arrays) from None
        # Of captures that were replaced meanwhile, the next call binds the new ones.
        is_same = before is None or before.has_same_arrays()
        check = nothing_captured if is_ours else self._captures(plan)
        self._check = check if is_same else lambda *_: False
        self._fill(plan, placed)

    def _captures(self, plan: Any) -> Check:
        spans = WatchedSpans()
        captures = Captures(self._function, are_unwritten=spans.are_unwritten)
        captures.watch((value for _, value, _ in plan.executable.captured), spans)
        return captures

    def _collected(self, args: Any, kwargs: Any) -> Collected:
        collected = Collected()
        try:
            collected.token((args, tuple(kwargs.values())))
        except TypeError as error:
            raise arguments.named(error, "plan", self._function, args, kwargs) from None
        return collected

    def _frozen(self, name: str, value: Any) -> Any:
        """Freeze the arguments that ``constants`` names; return others unchanged."""
        return nested_arguments.replaced(value, _freeze) if name in self._constants else value

    def rebind(self, out: Any = None, **arrays: Any) -> BoundPlan:
        """Replace arrays, by parameter name, with others of the same shape, dtype and layout.

        Raises
        ------
        TypeError
            The parameter does not exist.
        ValueError
            An array differs from the one that it replaces; nothing has changed.
        """
        for name, value in arrays.items():
            if name not in self._arguments:
                raise TypeError(f"rebind: no array was bound as {name!r}")
            old, new = Collected().token(self._arguments[name]), Collected().token(value)
            if old != new:
                raise ValueError(
                    f"rebind: {name} must have shape, strides and dtype {old}, got {new}"
                )
        before = (self._arguments, self._out)
        self._arguments = {**self._arguments, **arrays}
        self._out = self._out if out is None else out
        try:
            self._bind()
        except Exception:
            self._arguments, self._out = before
            raise
        return self


def _freeze(value: Any) -> Any:
    return value if isinstance(value, Frozen) else Frozen(value)


def plan(
    function: Callable[..., Any],
    *args: Any,
    out: Any = None,
    constants: str | Sequence[str] = (),
    **kwargs: Any,
) -> BoundPlan:
    """Bind a call to its arrays, so that repeating it costs only the submission.

    Parameters
    ----------
    function : callable
        One of ``sycl_dnn.functional``, or your function that calls those. If anything it reads
        from outside has changed, the next call binds it again, to new results.
    *args, out, **kwargs
        As for the function, including trees of arrays.
    constants : str or sequence of str
        Parameters whose arrays are constant: they are packed once, now. ``rebind`` them after
        writing to them.

    Returns
    -------
    BoundPlan

    Raises
    ------
    ValueError
        ``constants`` names no parameter, or an array has negative strides.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> x = F.zeros(2)
    >>> step = sycl_dnn.plan(F.exp, x)
    >>> step().tolist()  # reads what x holds now
    [1.0, 1.0]
    """
    return BoundPlan(function, args, kwargs, out, constants)


def submit(plans: Sequence[BoundCall]) -> None:
    """Submit several plans of one queue in order, in one call.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> first = sycl_dnn.plan(F.exp, F.zeros(2))
    >>> second = sycl_dnn.plan(F.add, first.result, F.ones(2))
    >>> sycl_dnn.submit([first, second])
    >>> second.result.tolist()
    [2.0, 2.0]
    """
    for bound in plans:
        bound._prepare()
    singles = [p for bound in plans for p in bound._programs]
    try:
        if all(isinstance(p, _core.BoundProgram) for p in singles):
            _core.submit_all(singles)
        else:
            for program in singles:
                program()
    finally:
        array_writes.note(*(array for bound in plans for array in bound._written))
