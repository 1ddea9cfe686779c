# SPDX-License-Identifier: Apache-2.0
"""Run a user's function over values without data, whose calls a trace records.

The function sees values that have shape and dtype. It may write to them and to views of them, as in
torch: from then on a value stands for another tensor of the trace.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from sycl_dnn import tree
from sycl_dnn._core import RecordedRun
from sycl_dnn.call import argument_writes, written_views
from sycl_dnn.call.call_paths import Results
from sycl_dnn.call.call_tokens import PLAIN
from sycl_dnn.call.capturing import Number
from sycl_dnn.call.recorded_tensor import Opaque, RecordedTensor
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.place import place_of
from sycl_dnn.program.segments import finalized, live_steps
from sycl_dnn.trace import nested_arguments, policy
from sycl_dnn.trace.frozen import Frozen, Seed, argument_of
from sycl_dnn.trace.indexing import put, taken
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.torch_methods import overwritten, unspoilt
from sycl_dnn.trace.trace_state import TraceState, running, running_trace
from sycl_dnn.trace.values import MixedTraces, Tensor
from sycl_dnn.trace.write_marks import ASSIGNMENT, OfCapture


class RunningFunction(RecordedRun):
    """One run of a function: its values, the calls so far, and the trace that records them.

    It has the methods of a trace that functions call while a function runs; they are calls of the
    function, too.

    seen : all values, by number
    calls : function, arguments, settings of the calls so far, and how many values were seen before
        each; no function for a write
    origins : by id of a tensor: its origin as a view, if requested before
    views : ids of the tensors that ``x.view`` returned
    fresh : by id of a view: the number of writes after which it was written or taken again

    ``traced``: None: the function is not traced yet; ``engine``, ``queue``: those of the trace by
    default.
    """

    #: Number of leading values that must not be written to.
    n_fixed = 0
    #: Whether the function runs at each call.
    is_repeated = False
    #: Whether a block without gradients is running.
    is_gradient_free = False
    #: The batching of the ``vmap`` that runs, whose gradients are those of samples.
    batching: Any = None
    depth = 0
    contains = TraceState.contains

    def __init__(self, traced: Trace | None, engine: Any = None, queue: Any = None) -> None:
        super().__init__()
        self.traced: Any = traced
        self.is_traced = traced is not None
        self.engine = engine if traced is None else traced.engine
        self._queue = queue
        self.policy = policy.current()
        self.keeps_nan = self.policy.nan == "propagate"
        self.is_ended = False
        self.represented: dict[int, tuple[str, bool]] = {}
        #: The values of the trace by number, and the numbers by id.
        self._real: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._captured: dict[int, RecordedTensor] = {}
        #: Arrays that the function has made of numbers, by number of the value.
        self._made: dict[int, Any] = {}
        #: Modules and the copies that the function runs with: ``changes()`` of their attributes,
        #: and ``restore()`` of what both hold.
        self.watched: list[Any] = []
        #: As of ``TraceState``.
        self.modules: set[int] = set()
        self.buffers: dict[Any, Any] = {}
        self.given: list[RecordedTensor] = []
        self.rewritten: dict[Any, Any] = {}
        self.origins: dict[int, Any] = {}
        self.views: set[int] = set()
        self.fresh: dict[int, int] = {}

    @property
    def trace(self) -> Trace:
        """The trace; from here on all is recorded there, too."""
        return self.traced  # type: ignore[no-any-return]

    @property
    def queue(self) -> Any:
        """The queue of the arrays of the call."""
        return self.traced.queue if self._queue is None else self._queue

    @property
    def has_queue(self) -> bool:
        """Whether the queue is known."""
        return self._queue is not None or self.traced.has_queue

    @property
    def training(self) -> bool:
        """Whether a gradient follows."""
        return self.traced is None or self.traced.training

    @property
    def is_lowered(self) -> bool:
        """Whether values are stored in a narrower dtype than that of the function."""
        return self.traced is not None and self.traced.is_lowered

    @property
    def is_compiled(self) -> bool:
        """Whether steps are rewritten before they run."""
        return self.traced is not None and self.traced.is_compiled

    # --- Values

    def argument(self, value: Any, original: Any = None) -> RecordedTensor:
        """Return the value of an argument that is a tensor of the trace.

        ``original`` is the tensor over the caller's array, if ``value`` was converted from it.
        """
        recorded = self.shown(value)
        whole = None if original is None or original is value else self.shown(original)
        return argument_writes.marked(self, recorded, whole)  # type: ignore[no-any-return]

    def arguments(self, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call with a value for each array."""

        def swap(value: Any) -> RecordedTensor:
            return self.argument(self.traced.described(argument_of(self.traced, value)))

        swapped = {name: nested_arguments.replaced(v, swap) for name, v in kwargs.items()}
        return [nested_arguments.replaced(v, swap) for v in args], swapped

    def replace(self, tensor: RecordedTensor, result: RecordedTensor, writer: str) -> None:
        """Let a value, and those that it is a view of, represent the result of a write.

        Raises TypeError if the result differs from sample to sample, and the value does not.
        """
        if result.__class__ is not RecordedTensor:
            raise TypeError(
                f"{writer}: values that differ along the axis of vmap cannot be written to an "
                "array that is the same for all samples; make it of a mapped one, as by zeros_like"
            )
        written_views.write(self, tensor, result, writer)

    def assign(self, tensor: RecordedTensor, key: Any, value: Any) -> None:
        """Do as ``tensor[key] = value``."""
        if not written_views.is_written_part(self, tensor, key, value):
            overwritten(tensor, ASSIGNMENT, put(tensor, key, value))

    def item(self, tensor: RecordedTensor, key: Any) -> Any:
        """Return ``tensor[key]``."""
        return taken(tensor, key)

    def restore(self, tensor: RecordedTensor, argument: RecordedTensor) -> None:
        """Let a tensor represent its argument again, whose memory was updated."""
        if tensor.number != argument.number:
            written_views.renew(self, tensor, argument)

    def refresh(self, tensor: RecordedTensor, reader: str) -> None:
        """Recompute a view if its source has been written to."""
        written_views.refresh(self, tensor, reader)

    def shown_as(self, description: Any) -> Any:
        """Return the next value; an empty description means that it is not a tensor."""
        number = len(self.seen)
        value: Any = RecordedTensor(self, number, *description) if description else Opaque(number)
        self.seen.append(value)
        return value

    def checked(self, tensor: RecordedTensor) -> RunningFunction:
        """Return the recording of a value, unless its function has returned."""
        if self.is_ended:
            raise tensor.leaked()
        return self

    def hidden(self, value: Any) -> Any:
        """Replace values that the function sees by those of the trace."""
        _ = self.trace
        return tree.map(self._hidden, value)

    def _hidden(self, value: Any) -> Any:
        kind = value.__class__
        if kind is RecordedTensor:
            if value._recording is not self:
                raise MixedTraces(value, self, value.trace)
            return self._real[value.number]
        if kind is Opaque:
            return self._real[value.number]
        if type(value) is Number:
            return value.on(self.traced)
        if kind is slice:
            return slice(*(self._hidden(v) for v in (value.start, value.stop, value.step)))
        return value

    def shown(self, value: Any) -> Any:
        """Return the values that a function sees in place of a result of the trace."""
        if value.__class__ is Tensor and id(value) not in self._numbers:
            self._note(value)
            return self.shown_as((value.shape, value.dtype, value.strides))
        return self._results(value).build(self)

    def _results(self, value: Any) -> Results:
        """Return the form of a result, and note its new values."""
        if isinstance(value, Tensor):
            return Results(None, [self._leaf(value)])
        leaves, structure = tree.flatten(value)
        return Results(structure, [self._leaf(v) for v in leaves])

    def _leaf(self, value: Any) -> Any:
        if value.__class__ in PLAIN or isinstance(value, (float, np.generic)):
            return [value]
        number = self._numbers.get(id(value))
        if number is not None:
            return number
        self._note(value)
        is_tensor = isinstance(value, Tensor)
        return (value.shape, value.dtype, value.strides) if is_tensor else ()

    def _note(self, value: Any) -> None:
        self._numbers.setdefault(id(value), len(self._real))
        self._real.append(value)

    # --- Calls

    def _called(self, body: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of a call on the trace."""
        with running(self.traced):
            return body(*self._all_hidden(args), **self._all_hidden(kwargs))

    def _all_hidden(self, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: self._hidden_in(v) for name, v in values.items()}
        return [self._hidden_in(v) for v in values]

    def _hidden_in(self, value: Any) -> Any:
        """Do as ``hidden``, without a tree for single values."""
        kind = value.__class__
        is_single = kind is RecordedTensor or kind in PLAIN
        return self._hidden(value) if is_single else tree.map(self._hidden, value)

    def joined(
        self,
        function: Any,
        body: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        """Return the result of a call, which the trace recognizes by ``function``."""

        def known(*args: Any, **kwargs: Any) -> Any:
            return self.traced.joined(function, body, args, kwargs)

        return self._recorded(body, known, args, kwargs)

    def _recorded(
        self, body: Callable[..., Any], run: Callable[..., Any], args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Return the result of ``run``, a call of ``body``."""
        self.calls.append((body, args, kwargs, None, len(self.seen)))
        return self.shown(self._called(run, args, kwargs))

    def called(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result of a function of the layer."""
        return self._recorded(function.repeated, function.repeated, args, kwargs)

    def run(self, function: Any, args: tuple[Any, ...], kwargs: Any, out: Any) -> Any:
        """Run a function of the layer that is not in the table of calls here."""
        is_plain = out is None and not kwargs and nested_arguments.is_flat(args)
        if is_plain and not policy.current().debug_nans:
            return function.inline(args)
        return function.run(args, kwargs, out)

    def logged(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function over tensors of the trace."""
        self._refresh_read(args)
        return self._recorded(body, body, args, kwargs)

    def _refresh_read(self, args: Iterable[Any]) -> None:
        """Recompute views among the arguments of a call whose sources have been written to."""
        for value in args:
            if value.__class__ is RecordedTensor:
                unspoilt("a function", value)
            elif value.__class__ in (list, tuple):
                self._refresh_read(value)

    def capture(self, value: Any) -> RecordedTensor:
        """Return the value of an array that the function refers to itself."""
        captured = self._captured.get(id(value))
        if captured is None:
            captured = self._captured_as(value)
            captured.marks = OfCapture()
            if not isinstance(value, Seed):
                self._captured[id(value)] = captured
        return captured

    def made(self, value: Any, is_known: bool) -> RecordedTensor:
        """Return the value of a new array; ``is_known``: it is made of numbers of the code."""
        captured = self.capture(value)
        captured.marks = []  # writes to it change no other
        if is_known and not hasattr(self, "evaluated"):  # else other calls have other numbers
            self._made[captured.number] = value
        return captured

    def _captured_as(self, value: Any) -> RecordedTensor:
        return self.logged(self.trace.capture, value)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(Trace, name, None)):
            raise AttributeError(f"a recording has no {name}")

        return functools.partial(self.logged, by_trace, name)

    __call__ = TraceState.__call__

    def identity(self, function: Any) -> Any:
        """Return the key of a function."""
        return function

    def independent_value(self, tensor: RecordedTensor) -> Any:
        """Return the array of a value that depends on no array of a call; None for any other.

        Such are the factories' results and what is computed from them, the same in each call.
        """
        trace, real = self.trace, self.hidden(tensor)
        finals = finalized(trace, [real])
        steps = live_steps(trace.steps, [finals[0].storage], keeps_collectives=False)
        written = {t.storage for step in steps for t in step.outputs.values()}
        read = {t.storage for step in steps for t in step.inputs.values()} | {finals[0].storage}
        given = [s for s in read if s.argument is not None]
        made = {self._real[number].storage: array for number, array in self._made.items()}
        unknown = [s for s in given if s not in made]
        if unknown or any(s.memory is None and s not in written for s in read - {*given}):
            return None
        executable = Executable(trace, steps, finals, given)
        arrays = [made[s].get_array() for s in given]
        registers = executable.run(
            self.queue, place_of(self.queue)[1], arrays, KINDS["device"],
            frozen={n: Frozen(made[s]) for s in given if (n := s.argument) is not None},
        )  # fmt: skip
        _, form = nested_arguments.result_of(real, "a value")
        return form.build(executable.leaves(registers, []))

    # --- The result

    def running(self) -> contextlib.AbstractContextManager[None]:
        """Make this the running trace while the function runs."""
        return running(self)

    def changes(self) -> list[Any]:
        """Return the changes of module attributes so far."""
        return [change for watched in self.watched for change in watched.changes()]

    def result(
        self, function: Callable[..., Any], args: Any, kwargs: Any,
        completed: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Run the function; return its result over tensors of the trace, and end the run.

        ``completed``: ``completed(result)`` returns the result with the values of attributes that
        the function assigned. Raises NeedsArrays if it assigned some, and there is no
        ``completed``.
        """
        try:
            with self.running():
                result = self.returned(function(*args, **kwargs))
                argument_writes.write_back(self)
            if completed is not None:
                result = completed(result)
            for change in () if completed else self.changes():
                raise change.refusal()
            return self.hidden(result)
        except MixedTraces as mixed:
            raise mixed.without(self) from None
        finally:
            self.end()

    def returned(self, result: Any) -> Any:
        """Return the result of the function with values for the arrays in it."""
        if result.__class__ is RecordedTensor:
            return unspoilt("the result", result)
        for leaf in tree.leaves(result):
            unspoilt("the result", leaf)
        return nested_arguments.replaced(result, self.capture)

    def end(self) -> None:
        """End the run: its values cannot be used any more."""
        self.is_ended, self.represented = True, {}
        for tensor in self.given:  # marks refer to the modules that hold the tensors
            tensor.marks = []
        self.seen, self._real, self.calls, self._captured, self._made = [], [], [], {}, {}
        self.origins, self.views, self.fresh = {}, set(), {}
        for watched in reversed(self.watched):
            watched.restore()
        self.buffers, self.watched, self.given, self.rewritten = {}, [], [], {}
        self._numbers, self.traced = {}, None


def by_trace(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method of the trace."""
    return getattr(running_trace(), name)(*args, **kwargs)
