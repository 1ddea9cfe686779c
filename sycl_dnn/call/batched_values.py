# SPDX-License-Identifier: Apache-2.0
"""Values of one sample that represent those of a batch, and the calls of functions over them.

``vmap`` runs a function once. Each mapped argument is a ``BatchedTensor``: it has the shape of a
sample, and a value of the trace with the batch as its first axis. A call of a function of the layer
is a call over those, as its row in ``batching_rules`` says, or one for each sample.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call import batched_axes, batching_rules
from sycl_dnn.call.batched_call import Call, NoRule, aligned
from sycl_dnn.call.running_function import by_trace
from sycl_dnn.trace import cloning, nested_arguments
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.indexing import full_key, numbers_of, put, taken_from
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.torch_methods import VIEWS, alias, overwritten, unspoilt, written
from sycl_dnn.trace.trace_state import TraceState
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.write_marks import ASSIGNMENT, OfOthers

#: Most calls of a function without a row, one for each sample.
MAX_CALLS = 256
_VALUES = (
    "{}: a value differs along the axis that vmap maps, so code cannot depend on it; use "
    "sycl_dnn.functional.where"
)
#: Items of keys that each select along their own axes.
_BASIC = (int, slice, type(None), type(Ellipsis))


class _OfWhole(OfOthers):
    """The marks of a batched value: writes to it are writes to its whole."""

    __slots__ = ("whole",)

    def __init__(self, whole: Any) -> None:
        super().__init__(whole)
        self.whole = whole

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Write all samples."""
        written(value.whole, writer, value.trace.whole_of(result))
        return value


class BatchedTensor(Tensor):
    """One sample of a batch: its shape and dtype. ``whole`` is the batch, its axis first."""

    __slots__ = ("_batching", "whole")
    #: Writes are those of the whole, which may be an argument.
    is_argument = False

    def __init__(self, batching: Batching, whole: Any) -> None:
        self._batching, self.whole = batching, whole
        self._shape, self.dtype, self.strides = whole.shape[1:], whole.dtype, None

    @property
    def trace(self) -> Any:
        """The batching, whose functions are those of ``vmap``.

        Raises RuntimeError if the mapped function has returned.
        """
        if self._batching.is_ended:
            raise self.leaked()
        return self._batching

    @property
    def marks(self) -> Any:
        """Those of the whole; writes go there."""
        return None if self.whole.marks is None else _OfWhole(self.whole.marks)

    def note_view(self) -> None:
        """Note that ``x.view``, which never copies, returned the tensor."""
        self.whole.note_view()

    def share_marks(self, marks: _OfWhole) -> None:
        """Note that the tensor is a view of one with these marks."""
        self.whole.share_marks(marks.whole)

    def __repr__(self) -> str:
        return f"Tensor({self.shape}, {self.dtype}, one of {self.whole.shape[0]})"


class Batching:
    """One run of a mapped function, in place of a trace for its batched values.

    ``outer``: what records the calls over wholes; ``size``: number of samples.
    """

    def __init__(self, outer: Any, size: int) -> None:
        self.outer, self.size = outer, size
        self.depth = outer.depth + 1
        self.is_ended = False

    __call__ = TraceState.__call__

    def __getattr__(self, name: str) -> Any:
        if callable(getattr(Trace, name, None)):  # a method that records steps
            return functools.partial(self.logged, by_trace, name)
        return getattr(self.outer, name)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Make gradients inside a ``with`` block those of samples."""
        root = self.root
        before, root.batching = root.batching, self
        try:
            yield
        finally:
            root.batching = before

    @property
    def root(self) -> Any:
        """The running function that all calls belong to."""
        return self.outer.root if isinstance(self.outer, Batching) else self.outer

    def contains(self, trace: Any) -> bool:
        """Whether values of a trace are the same for all samples."""
        return trace is self.outer or (
            isinstance(self.outer, Batching) and self.outer.contains(trace)
        )

    # --- Values

    def wrapped(self, whole: Any) -> BatchedTensor:
        """Return the sample of a batch."""
        return BatchedTensor(self, whole)

    def is_batched(self, value: Any) -> bool:
        """Whether a value differs from sample to sample."""
        return value.__class__ is BatchedTensor and value._batching is self

    def whole_of(self, value: Any) -> Any:
        """Return a batch: of equal samples if the value is not batched."""
        if self.is_batched(value):
            return value.whole
        return F.expand(F.unsqueeze(self.capture(value), 0), (self.size, *value.shape))

    def sample(self, value: Any, number: int) -> Any:
        """Return a value in one sample."""
        return F.select(value.whole, 0, number) if self.is_batched(value) else value

    def capture(self, value: Any) -> Any:
        """Return the value of an array that the function refers to itself."""
        return value if isinstance(value, Tensor) else self.outer.capture(value)

    def evaluated(self, tensor: Any, name: str) -> Any:
        """Raise TypeError: a value differs from sample to sample."""
        raise TypeError(_VALUES.format(name))

    # --- Calls

    def called(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result of a function of the layer."""
        rule = batching_rules.rule_of(function)
        if rule is not None:
            try:
                return self.mapped(rule(Call(self, function, args, kwargs)))
            except NoRule:
                pass
        result = self.each(function.name, function.function, args, kwargs)
        if function.name in VIEWS:  # a copy, which would not see writes to its source
            raise NotImplementedError(f"vmap: {function.name} has no rule for these arguments")
        return result

    def mapped(self, wholes: Any) -> Any:
        """Return nested batches as values of samples."""
        return tree.map(lambda v: self.wrapped(v) if isinstance(v, Tensor) else v, wholes)

    def each(
        self, name: str, run: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Return the results of one call for each sample, as a batch.

        Raises NotImplementedError if there are too many samples, or none.
        """
        if not 0 < self.size <= MAX_CALLS:
            raise NotImplementedError(
                f"vmap: {name} runs once for each sample, of which there must be 1 to {MAX_CALLS}, "
                f"got {self.size}"
            )
        results = [
            run(*tree.map(lambda v: self.sample(v, i), list(args)),  # noqa: B023
                **tree.map(lambda v: self.sample(v, i), dict(kwargs)))  # noqa: B023
            for i in range(self.size)
        ]  # fmt: skip

        def stacked(first: Any, *others: Any) -> Any:
            is_tensor = isinstance(first, Tensor)
            return self.wrapped(F.stack([first, *others])) if is_tensor else first

        return tree.map(stacked, *results)

    def joined(
        self, function: Any, body: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:  # fmt: skip
        """Return the result of a call over tensors of the trace, for each sample."""
        if body is numbers_of:  # the same for all samples
            return body(self.sample(args[0], 0))
        if body is taken_from:
            return self.wrapped(batched_axes.taken(self, *args))

        def run(*args: Any, **kwargs: Any) -> Any:
            return self.outer.joined(function, body, args, kwargs)

        return self.each(getattr(body, "__name__", "a function"), run, args, kwargs)

    def logged(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function over tensors of the trace, for each sample."""
        if body in _OF_WHOLES:
            whole = self.outer.logged(body, args[0].whole)
            return self.wrapped(alias(args[0].whole, whole) if body is cloning.stop else whole)
        run = functools.partial(self.outer.logged, body)
        return self.each(getattr(body, "__name__", "a function"), run, args, kwargs)

    # --- Writes

    def assign(self, tensor: BatchedTensor, key: Any, value: Any) -> None:
        """Do as ``tensor[key] = value`` for each sample."""
        items = key if isinstance(key, tuple) else (key,)
        if not all(type(item) in _BASIC for item in items):
            overwritten(tensor, ASSIGNMENT, put(tensor, key, value))
            return
        full = full_key(tensor, key)
        if self.is_batched(value):
            rank = sum(not isinstance(item, int) for item in full)
            value = aligned(value.whole, rank) if value.ndim <= rank else value.whole
        whole_key = (slice(None), *full)
        tensor.whole[whole_key] = value

    def refresh(self, tensor: BatchedTensor, reader: str) -> None:
        """Recompute a view if its source was written to since."""
        unspoilt(reader, tensor.whole)

    # --- Gradients

    def differentiated(
        self, inner_vjp: Callable[..., Any], function: Callable[..., Any], args: Any, kwargs: Any,
        wrt: tuple[int, ...] | None, has_aux: bool,
    ) -> Any:  # fmt: skip
        """Return the result of a function and its pullback, for each sample.

        All arguments differ from sample to sample, so their gradients do.
        """

        def of_wholes(*wholes: Any, **kwargs: Any) -> Any:
            return self.over_wholes(functools.partial(function, **kwargs), wholes)

        of_wholes.__name__ = getattr(function, "__name__", "vjp")
        with self.outside():
            wholes = self.wholes_of(tuple(args))
            result, pullback = inner_vjp(self.outer, of_wholes, wholes, kwargs, wrt, has_aux)
        primary = result[0] if has_aux else result
        return self.mapped(result), _BatchedPullback(self, pullback, primary)

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Let calls inside a ``with`` block be over wholes."""
        root = self.root
        before, root.batching = root.batching, None
        try:
            yield
        finally:
            root.batching = before

    def over_wholes(self, function: Callable[..., Any], wholes: Sequence[Any]) -> Any:
        """Return the wholes of what a function of samples returns, also after the mapped one."""
        before, self.is_ended = self.is_ended, False
        try:
            with self.running():
                return self.wholes_of(function(*self.mapped(wholes)))
        finally:
            self.is_ended = before

    def wholes_of(self, value: Any) -> Any:
        """Return nested values with batches for those of samples."""

        def whole(leaf: Any) -> Any:
            is_array = isinstance(leaf, Tensor) or nested_arguments.is_array(leaf)
            return self.whole_of(leaf) if is_array else leaf

        return tree.map(whole, value)


class _BatchedPullback:
    """The pullback of each sample."""

    def __init__(self, batching: Batching, pullback: Any, primary: Any) -> None:
        self._batching, self._pullback, self._primary = batching, pullback, primary

    def __call__(self, dy: Any = 1.0) -> tuple[Any, ...]:
        """Return one gradient for each positional argument; as the pullback of ``vjp``."""
        batching, trace = self._batching, nested_arguments.trace_of(dy)
        if trace is not None and trace.contains(batching):  # of vmap inside this one
            return trace.each("pullback", self, (dy,), {})  # type: ignore[no-any-return]
        if isinstance(dy, (int, float)):
            if not isinstance(self._primary, Tensor) or self._primary.size != batching.size:
                raise ValueError(
                    "pullback: dy must be an array nested like the result; a number is accepted "
                    "for results of one element"
                )
            dy = F.full_like(self._primary, dy)
        else:
            dy = batching.wholes_of(dy)
        return tuple(batching.mapped(list(self._pullback(dy))))


#: Functions over tensors that are the same for a whole.
_OF_WHOLES = frozenset((cloning._cloned, cloning.stop))
