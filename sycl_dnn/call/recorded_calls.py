# SPDX-License-Identifier: Apache-2.0
"""Run a user's function on each call, and recognize what it does.

``vjp`` and similar transforms run the Python code of a function over values without data. The
functions it calls, in order and with their values, are the key of its program: a path through the
calls of earlier runs. While a run follows a known path, nothing is traced. Where it leaves one, the
calls so far are replayed on a trace, which records the rest. So nothing that the function reads
can be out of date, and a captured array is an argument of the program like any other.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import tree
from sycl_dnn.call import argument_writes, cache
from sycl_dnn.call.arguments import Collected
from sycl_dnn.call.call_paths import Point, Results
from sycl_dnn.call.call_tokens import Unknown, function_token, token
from sycl_dnn.call.capturing import FromNumber, Number, in_arrays, takes_numbers
from sycl_dnn.call.placed_call import PlacedCall, Plan
from sycl_dnn.call.recorded_tensor import RecordedTensor, described
from sycl_dnn.call.running_function import RunningFunction
from sycl_dnn.lower.host_sequences import on_host
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.segments import finalized, live_steps
from sycl_dnn.trace import nested_arguments, policy
from sycl_dnn.trace.frozen import Frozen, Passed, Seed, argument_of
from sycl_dnn.trace.indexing import taken
from sycl_dnn.trace.module_arrays import ModuleArray, plain
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.refusals import VALUES
from sycl_dnn.trace.trace_state import placement_error
from sycl_dnn.trace.values import Tensor

_calls = cache.plans.calls
#: Keys of indexing and of captures in the table of calls.
_ITEM, _CAPTURE = (taken, *policy.SOURCES), ("capture", *policy.SOURCES)
#: Number of values of a float that are compiled in before it becomes an argument.
_MAX_FLOATS = 3
_INTEGERS = (np.dtype("int32"), np.dtype("int64"))


class HeldPlan(Plan):
    """A plan whose executable takes arrays that a function captured, after those of the call.

    ``subject``: key of the plan in the table of calls, which does not keep it alive.
    """

    def __init__(self, executable: Executable, form: Any, is_recorded: bool) -> None:
        """``is_recorded``: otherwise the executable takes the arrays of a call, and draws seeds."""
        #: In the order of the arguments.
        self._passed = executable.give(Passed) if is_recorded else []
        self._held = [v.number for v in self._passed if type(v) is HeldArray]
        #: They are drawn once in a call, which may run several plans: values that the function
        #: reads are those of its result.
        self._seeds = [v for v in self._passed if type(v) not in (HeldArray, FromNumber)]
        super().__init__(executable, form)
        self.subject = (object(),)

    def held(self, captured: Sequence[Any]) -> list[Any]:
        """Return those of the arrays that a run captured that the executable takes."""
        return [captured[number] for number in self._held]

    def given(self, placed: PlacedCall, held: Sequence[Any]) -> list[Any]:
        """Return the arguments: arrays of a call, its numbers and seeds, and the arrays held."""
        call, drawn = placed.call, placed.call.drawn
        drawn += [seed.drawn() for seed in self._seeds[len(drawn) :]]
        arrays, seeds = iter(held), iter(drawn)
        values = [
            next(arrays) if type(v) is HeldArray
            else v.drawn(call.numbers) if type(v) is FromNumber else next(seeds)
            for v in self._passed
        ]  # fmt: skip
        return [*call.objects[: len(call.arrays)], *values]

    def arrays(self, placed: PlacedCall, held: Sequence[Any]) -> list[Any]:
        """Return the arrays of ``given``, which is noted in the call."""
        call, n_given = placed.call, len(placed.call.arrays)
        call.objects = self.given(placed, held)
        frozen = {
            i: v for i, v in enumerate(call.objects) if i >= n_given and isinstance(v, Frozen)
        }
        if frozen:
            call.frozen = {**(call.frozen or {}), **frozen}
        return [*call.arrays, *[_array_of(v, placed.queue) for v in call.objects[n_given:]]]


def _array_of(value: Any, queue: Any) -> Any:
    if isinstance(value, Seed):
        return value.array(queue)
    return value.get_array() if hasattr(value, "get_array") else value


class HeldArray(Passed):
    """An array that a run captured, by its number among those."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Recording(RunningFunction):
    """A run of a function that follows the recorded paths, and a trace if it left them.

    The base class of ``RunningFunction`` repeats recorded calls without Python.

    ``point``: current position; None after a call that cannot be recognized. ``held``: arrays that
    the function captured, in order.
    """

    is_repeated = True

    def __init__(self, start: Point, placed: PlacedCall) -> None:
        super().__init__(None, placed.place.engine, placed.queue)
        self._placed = placed
        self.point = start
        #: Whether the function has returned: its reverse pass is recorded, or it is all over.
        self.has_returned = False
        #: The point at which the function returned, and the key of its result.
        self._end: Point | None = None
        self._key: Any = None
        self._arguments: Sequence[Any] = ()
        self._given: list[Any] = []
        #: Whether there are gradients of the next arguments.
        self._has_gradient = False
        #: Results of the last call.
        self._last: Results | None = None
        #: Number of values that the function has read.
        self.n_evaluated = 0

    def arguments_of(self, args: Sequence[Any], kwargs: Any, wrt: Any) -> tuple[list[Any], Any]:
        """Return the arguments of the call with a value for each array.

        Those that ``wrt`` numbers, by default all of ``args``, have gradients: as the leaves of
        torch, the function cannot write to them.
        """
        self._arguments, values = args, []
        for number, value in enumerate(args):
            self._has_gradient = wrt is None or number in wrt
            values.append(nested_arguments.replaced(value, self.argument))
        self._has_gradient = False
        return values, nested_arguments.replaced(list(kwargs.values()), self.argument)

    def is_constant(self, number: int) -> bool:
        """Whether an array of the call is only a constant of its arguments, such as a buffer."""
        flat = [tree.flatten(argument) for argument in self._arguments]
        uses = [(v, c) for vs, s in flat for v, c in zip(vs, tree.constants(s), strict=True)]
        flags = [is_constant for value, is_constant in uses if value is self._given[number]]
        return bool(flags) and all(flags)

    def argument(self, value: Any, original: Any = None) -> RecordedTensor:
        """Return the value of the next array of the call."""
        marks = argument_writes.ArgumentMarks(len(self.given), None, self._has_gradient)
        recorded = _calls.argument(self, value, marks)
        if recorded is NotImplemented:
            recorded = self.shown_as(described(value))
            recorded.marks = marks
        self._given.append(value)
        self.given.append(recorded)
        return recorded  # type: ignore[no-any-return]

    # --- Calls

    @property
    def trace(self) -> Trace:
        """The trace; from here on all is recorded there, too."""
        if self.traced is None:
            self.traced, self.is_traced = Trace(self.engine, training=True), True
            self.traced.fuses_kernels = self.policy.kernels != "never"
            for value in self._given:
                self._note(self.traced.described(argument_of(self.traced, value)))
            self._repeat_calls()
        return self.traced

    def _repeat_calls(self) -> None:
        """Repeat the calls so far on the trace, and the assignments between them."""
        assigned = [args for body, args, *_ in self.calls if body is None]
        for tensor, before, _ in reversed(assigned):
            tensor.number = before
        for body, args, kwargs, settings, _ in list(self.calls):
            if body is None:
                args[0].number = args[2]
            else:
                self._results(self._called_with(body, args, kwargs, settings))

    def _called_with(self, body: Any, args: Any, kwargs: Any, settings: Any) -> Any:
        n_captured = len(self.traced.captured)
        with policy.restored(settings):
            result = self._called(body, args, kwargs)
        if self._has_constants(n_captured):
            self.point = None
        return result

    def _has_constants(self, start: int = 0) -> bool:
        """Whether the trace has arrays that later calls do not know, captured from ``start`` on."""
        return any(not isinstance(value, Passed) for _, value, _ in self.trace.captured[start:])

    def joined(
        self,
        function: Any,
        body: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        """Return the result of a call, tracing it unless it follows a recorded path."""
        settings = policy.current()
        point, key = self.point, None
        if point is not None:
            try:
                if function.__class__ is types.FunctionType:
                    function = function_token(self, function)
                key = (function, settings, token(self, args), token(self, kwargs))
            except (Unknown, RecursionError):
                self.point = point = None
        if self.traced is None:
            if point is not None:
                known_step = point.next.get(key)
                if known_step is not None:
                    results, self.point = known_step
                    self.calls.append((body, args, kwargs, settings, len(self.seen)))
                    return self._noted(results)
            _ = self.trace
        self.calls.append((body, args, kwargs, settings, len(self.seen)))
        results = self._results(self._called_with(body, args, kwargs, settings))
        if self.point is not None:
            _, after = known_step = self.point.next.get(key) or (results, Point())
            self.point.next[key], self.point = known_step, after
        return self._noted(results)

    def _noted(self, results: Results) -> Any:
        self._last = results
        return results.build(self)

    def called(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result of a function of the layer."""
        args, kwargs = self._with_numbers(function, args, kwargs)
        return self.joined(function, function.repeated, args, kwargs)

    def _with_numbers(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return arguments in which floats that vary from run to run are values of the program."""
        values = [*args, *kwargs.values()]
        places = [i for i, v in enumerate(values) if type(v) in (float, np.float64)]
        if not places or self.point is None or not takes_numbers(function.name, values):
            return args, kwargs
        try:
            rest = [None if i in places else token(self, v) for i, v in enumerate(values)]
        except (Unknown, RecursionError):
            return args, kwargs
        floats = tuple([float(values[i]) for i in places])
        seen_floats = self.point.floats.setdefault((function, *kwargs, *rest), [])
        if floats in seen_floats or len(seen_floats) < _MAX_FLOATS:
            if floats not in seen_floats:
                seen_floats.append(floats)
            return args, kwargs
        numbers: Any = self._placed.call.numbers
        for column, (place, value) in enumerate(zip(places, floats, strict=True)):
            if any(value != other[column] for other in seen_floats):
                values[place] = Number.of_call(self, len(numbers))
                numbers.append(value)
        n = len(args)
        return in_arrays(function.name, values[:n], dict(zip(kwargs, values[n:], strict=True)))

    def logged(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function over tensors of the trace."""
        self._refresh_read(args)
        return self.joined(body, body, args, kwargs)

    def run(self, function: Any, args: tuple[Any, ...], kwargs: Any, out: Any) -> Any:
        """Run a function of the layer that is not in the table of calls here."""
        if out is None and any(type(v) is dpnp.ndarray for v in args):
            args = tuple([self.capture(v) if type(v) is dpnp.ndarray else v for v in args])
            known_result = cache.plans.calls.call(function.subject(), args, kwargs, None)
            if known_result is not NotImplemented:
                return known_result
        if out is not None:
            return function.run(args, kwargs, out)
        noted = self._noting(function.subject(), args, kwargs)
        return noted(function.run(args, kwargs, out), function.repeated, function.is_view)

    def _noting(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a function that adds the next call to the call table, if it is the only one."""
        before, n_calls, n_evaluated = self.point, len(self.calls), self.n_evaluated

        def noted(result: Any, body: Any, is_view: bool) -> Any:
            n_new, results, after = len(self.calls) - n_calls, self._last, self.point
            if before is None or after is None or n_new != 1 or self.n_evaluated != n_evaluated:
                return result
            if results is not None:
                _calls.remember_run(
                    before, subject, args, kwargs, body, policy.current(), results.single, results,
                    is_view, after,
                )  # fmt: skip
            return result

        return noted

    def item(self, tensor: RecordedTensor, key: Any) -> Any:
        """Return ``tensor[key]``."""
        args = (tensor, key)
        result = _calls.call(_ITEM, args, {}, None)
        if result is not NotImplemented:
            return result
        items = key if type(key) is tuple else (key,)
        if any(map(_is_index_array, items)):
            items = tuple([self.capture(plain(v)) if _is_index_array(v) else v for v in items])
            return self.item(tensor, items)
        noted = self._noting(_ITEM, args, {})
        result = taken(tensor, key)
        return noted(result, taken, getattr(result, "marks", None) is tensor.marks)

    def capture(self, value: Any) -> RecordedTensor:
        """Return the value of an array that the function refers to itself."""
        if isinstance(value, Seed) and type(value) is not Seed:  # evaluated when the program runs
            kind = ("seed", type(value), value.dtype)
            return self.joined(kind, lambda: self.trace.capture(value), (), {})
        return super().capture(value)

    def _captured_as(self, value: Any) -> RecordedTensor:
        known_value = NotImplemented
        if not self.has_returned:
            known_value = _calls.capture(_CAPTURE, self, value, [])
        if known_value is not NotImplemented:
            return known_value  # type: ignore[no-any-return]
        array = value.get_array() if hasattr(value, "get_array") else value
        if getattr(array, "sycl_queue", self.queue) != self.queue:
            raise placement_error(array.sycl_queue, self.queue)
        if self.has_returned:  # a rule of the user's, which later runs do not call
            self._end = None
        number, before = len(self.held), self.point
        self.held.append(value)
        is_plain = type(value) is dpnp.ndarray
        kind = (array.shape, array.strides, array.dtype) if is_plain else Collected().token(value)
        body = functools.partial(_held_value, self, number)
        captured = self.joined(("capture", kind), body, (), {})
        results, after = self._last, self.point
        if is_plain and before and after and results and results.single:
            _calls.remember_capture(
                before, _CAPTURE, value, _held_value, policy.current(), results.single, results,
                after,
            )  # fmt: skip
        return captured  # type: ignore[no-any-return]

    # --- Plans

    def evaluated(self, tensor: RecordedTensor, name: str) -> Any:
        """Return the array of a value by running the calls so far.

        Raises TypeError if the reverse pass is recorded, which reads no values.
        """
        if self.has_returned:
            value = self.independent_value(tensor)
            if value is None:
                raise TypeError(f"{name}: {VALUES}")
            return value
        self.n_evaluated += 1
        key = ("value", tensor.number)
        plan = None if self.point is None else self.point.plans.get(key)
        if plan is None:
            trace, real = self.trace, self.hidden(tensor)
            finals = finalized(trace, [real], keeps_arguments=True)
            steps = on_host(trace, _without_updates(trace, finals[0], name), finals)
            executable = Executable(trace, steps, finals, list(trace.arguments))
            _, form = nested_arguments.result_of(real, name)
            plan = HeldPlan(executable, form, True)
            if self.point is not None:
                self.point.plans[key] = plan
        return self._placed.run(plan, plan.held(self.held))

    @property
    def n_given(self) -> int:
        """The number of arrays of the call."""
        return len(self._given)

    def plan(self, result: Any) -> Any:
        """Return the plan of an earlier run like this one; None if there is none."""
        # Calls of the user's gradient rules, recorded by the reverse pass, are on no path.
        self._end, self.point = self.point, None
        if self._end is None:
            return None
        try:
            if result.__class__ is RecordedTensor:
                self._key = token(self, result)
            else:
                leaves, structure = tree.flatten(result)
                self._key = (structure, *[token(self, leaf) for leaf in leaves])
        except Unknown:
            return None
        return self._end.plans.get(self._key)

    def keep(self, plan: Any) -> None:
        """Store the plan of this run, unless it has arrays that later runs cannot supply."""
        if self._end is not None and self._key is not None and not self._has_constants():
            self._end.plans[self._key] = plan

    def end(self) -> None:
        """End the run: its values cannot be used any more."""
        super().end()
        self.point, self._end = None, None

    def identity(self, function: Any) -> Any:
        """Return the key of a function; a unique one where ``Unknown`` would be raised."""
        try:
            return token(self, function)
        except (Unknown, RecursionError):
            return object()


def _held_value(run: Recording, number: int) -> Tensor:
    """Return the tensor of an array that a run has captured, on its trace."""
    trace, value = run.trace, run.held[number]
    return trace.capture_as(HeldArray(number), lambda: argument_of(trace, value))


def _is_index_array(item: Any) -> bool:
    """Whether an item of a key is an array of integers that the function refers to itself."""
    return type(item) in (dpnp.ndarray, ModuleArray) and item.dtype in _INTEGERS


def _without_updates(trace: Trace, tensor: Tensor, name: str) -> list[Any]:
    """Return the steps so far except updates of arrays, which run once per call.

    Raises TypeError if the value depends on an update.
    """
    updates = {
        id(step): {t.storage for t in step.outputs.values()}
        for step in trace.steps
        if any(t.storage.argument is not None for t in step.outputs.values())
    }
    others = [s for s in trace.steps if id(s) not in updates]
    steps = live_steps(others, [tensor.storage], keeps_collectives=False)
    live, updated = {id(step) for step in steps}, set[Any]()
    for step in trace.steps:
        updated |= updates.get(id(step), set())
        if id(step) in live and any(t.storage in updated for t in step.inputs.values()):
            raise TypeError(
                f"{name}: the values of an array that a function updates are not known until it "
                "has returned"
            )
    return steps
