# SPDX-License-Identifier: Apache-2.0
"""``plan``: a call with its arrays bound once, submitted again and again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn._usm import KINDS, allocated
from sycl_dnn.dispatch import allocation, arguments, noted, policy, structure
from sycl_dnn.dispatch.arguments import Collected
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.dispatch.operation import Operation, Plan
from sycl_dnn.dispatch.outputs import check_out
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.dispatch.program import Segment
from sycl_dnn.dispatch.record import NeedsAnotherDevice

__all__ = ["BoundPlan", "plan", "submit"]


class BoundPlan:
    """A call of a function with all its arrays. Made by ``plan``.

    Calling it submits the work and returns the result, always the same array. Weights were packed
    when they were bound; ``rebind`` packs them again.
    """

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, out: Any) -> None:
        self._operation = getattr(function, "operation", None) or Operation(function)
        self._signature = inspect.signature(function)
        self._given = self._signature.bind(*args, **kwargs).arguments
        self._out = out
        self._policy = policy.current()
        self._bind()

    def _bind(self) -> None:
        given = {n: _frozen(n, v) for n, v in self._given.items()}
        bound = inspect.BoundArguments(self._signature, given)
        found = Collected()
        self._token = found.token((bound.args, tuple(bound.kwargs.values())))
        queue = arguments.shared_queue(found.arrays, self._operation.name)
        if not arguments.is_describable(found.arrays):
            raise ValueError("plan: arrays must have positive strides without overlap")
        if self._out is not None:
            check_out(self._operation.name, self._out, found, queue)
        place, stream = place_of(queue)
        try:
            with policy.using(**self._policy._asdict()):
                made = noted.trace(
                    self._operation.name,
                    lambda: self._operation.build(place, bound.args, bound.kwargs, self._out),
                )
        except NeedsAnotherDevice as lack:
            raise lack.error from None
        self._fill(made, queue, stream, found)

    def _fill(self, made: Plan, queue: Any, stream: Any, found: Collected) -> None:
        executable = made.executable
        kind = allocation.coerced_kind(found.arrays)
        outs = None if self._out is None else {0: self._out.get_array()}
        registers = executable.registers(queue, stream, found.arrays, kind, outs, found.frozen)
        self._executable, self._registers = executable, registers
        self._queue, self._stream = queue, stream
        for stage in executable.stages:
            if not isinstance(stage, Segment):
                stage.allocate(registers, queue)
        self._result = self._results(made, found.objects)
        self._programs = [self._stage(s) for s in executable.stages]
        self._has_seeds = any(r.__class__ is bytes for r in registers)

    def _results(self, made: Plan, objects: list[Any]) -> Any:
        if self._out is not None:
            return self._out
        leaves = made.executable.leaves(self._registers, objects)
        return structure.build(made.form, leaves)

    def _stage(self, stage: Any) -> Any:
        if not isinstance(stage, Segment):
            return lambda: stage.run(self._registers, self._queue, self._stream)
        if any(self._registers[r].__class__ is bytes for r in stage.reads):
            # Their values differ from call to call.
            return lambda: stage.run(self._registers, self._queue, self._stream)
        arena = None
        if stage.program.arena_bytes:
            nbytes = stage.program.arena_bytes
            arena = allocated(KINDS["device"], nbytes, self._queue, "intermediate values")
        arrays = [self._registers[r] for r in stage.reads]
        return _core.BoundProgram(stage.program, self._stream, arrays, arena, self._result)

    def __call__(self) -> Any:
        """Submit; return the result, which is there when the queue has come to it."""
        self._prepare()
        for program in self._programs:
            program()
        return self._result

    def _prepare(self) -> None:
        if self._has_seeds:
            self._executable.draw_seeds(self._registers)

    @property
    def result(self) -> Any:
        """What calls write."""
        return self._result

    def rebind(self, out: Any = None, **arrays: Any) -> BoundPlan:
        """Take other arrays of the same shape, dtype and layout, by parameter name.

        Raises
        ------
        TypeError
            There is no such parameter.
        ValueError
            An array differs from the one that it takes the place of; nothing is changed then.
        """
        for name, value in arrays.items():
            if name not in self._given:
                raise TypeError(f"rebind: no array was bound as {name!r}")
            old, new = Collected().token(self._given[name]), Collected().token(value)
            if old != new:
                raise ValueError(
                    f"rebind: {name} must have shape, strides and dtype {old}, got {new}"
                )
        before = (self._given, self._out)
        self._given = {**self._given, **arrays}
        self._out = self._out if out is None else out
        try:
            self._bind()
        except Exception:
            self._given, self._out = before
            raise
        return self


def _frozen(name: str, value: Any) -> Any:
    """Return weights as constants of the plan, other values as they are."""
    if not name.startswith("weight") or isinstance(value, Frozen):
        return value
    return arguments.replaced(value, Frozen)


def plan(function: Callable[..., Any], *args: Any, out: Any = None, **kwargs: Any) -> BoundPlan:
    """Bind a call to its arrays, so that repeating it costs no more than submitting it.

    Parameters
    ----------
    function : callable
        One of ``sycl_dnn.functional``, or a function of yours that calls those.
    *args, out, **kwargs
        As for the function. What its parameters named ``weight...`` hold is packed now, once:
        after writing into those arrays, ``rebind`` them.

    Returns
    -------
    BoundPlan
    """
    return BoundPlan(function, args, kwargs, out)


def submit(plans: Sequence[BoundPlan]) -> None:
    """Submit several plans of one queue in order, in one call."""
    for bound in plans:
        bound._prepare()
    singles = [p for bound in plans for p in bound._programs]
    if all(isinstance(p, _core.BoundProgram) for p in singles):
        _core.submit_all(singles)
        return
    for program in singles:
        program()
