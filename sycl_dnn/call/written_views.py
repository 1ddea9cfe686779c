# SPDX-License-Identifier: Apache-2.0
"""Writes to values of a running function, seen through all views of the same memory, as in torch.

After a write, a tensor stands for another value. Tensors that share memory have one list of marks,
to which each write adds one. A write to a view propagates to its base; other views are taken again
when they are read.
"""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sycl_dnn import tree
from sycl_dnn.call.recorded_tensor import RecordedTensor
from sycl_dnn.onednn.dtypes import is_complex
from sycl_dnn.trace import cloning, functions
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.indexing import full_key, numbers_of, taken, taken_from
from sycl_dnn.trace.torch_methods import VIEWS, unspoilt
from sycl_dnn.trace.values import alias
from sycl_dnn.trace.write_marks import ASSIGNMENT, ReadAfterWrite

#: Views in which several elements share one place in memory.
_REPEATING = frozenset(("broadcast_to", "expand"))
#: ``x[key]``, of a key as it is, and of one with an item for each axis.
_INDEXING = (taken, taken_from)
#: Functions that return a copy in torch where the strides require it; ``x.view`` never does.
_COPYING = frozenset(("flatten", "reshape"))


#: By the function of a view of complex numbers: the source after a write of a value to the view.
_OF_PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "conj": lambda source, value: functions.conj(value),
    "imag": lambda source, value: functions.complex(functions.real(source), value),
    "real": lambda source, value: functions.complex(value, functions.imag(source)),
    "view_as_complex": lambda source, value: functions.view_as_real(value),
    "view_as_real": lambda source, value: functions.view_as_complex(value),
}


class Origin(NamedTuple):
    """The origin of a view: the call that returned it, and its index among the results."""

    source: RecordedTensor
    body: Callable[..., Any]
    args: Any
    kwargs: dict[str, Any]
    place: int

    @property
    def name(self) -> str:
        """The function of the layer; empty for others."""
        return getattr(getattr(self.body, "__self__", None), "name", "")


def origin_of(recording: Any, tensor: RecordedTensor) -> Origin | None:
    """Return the origin of a tensor that is a view of another; None for other tensors."""
    if id(tensor) not in recording.origins:
        recording.origins[id(tensor)] = _find_origin(recording, tensor)
    return recording.origins[id(tensor)]  # type: ignore[no-any-return]


def _find_origin(recording: Any, tensor: RecordedTensor) -> Origin | None:
    if id(tensor.marks) not in recording.viewed:
        return None
    at = bisect.bisect_right(recording.calls, tensor.number, key=lambda call: call[4]) - 1
    if at < 0:
        return None
    body, args, kwargs, _, first = recording.calls[at]
    for source in () if body is None else tree.leaves((list(args), kwargs)):
        if source.__class__ is RecordedTensor and source.marks is tensor.marks:
            return Origin(source, body, args, kwargs, tensor.number - first)
    return None


def write(recording: Any, tensor: RecordedTensor, result: RecordedTensor, writer: str) -> None:
    """Let a tensor represent ``result``, and update the tensors that it is a view of.

    Tensors that it may be a copy of in torch must not be read afterwards.

    Raises RuntimeError if elements of the view are one in memory, or the tensor was there before a
    function that is run apart.
    """
    if recording.is_gradient_free:  # as to its data
        result = recording.logged(_replaced, tensor, result)
    chain = [(tensor, result)]
    while (origin := origin_of(recording, tensor)) and _shares_memory(recording, origin, tensor):
        if origin.name in _REPEATING:
            raise RuntimeError(
                f"{writer}: more than one element of the written tensor of shape {tensor.shape} is "
                f"a single one in memory ({origin.name}); clone() it first"
            )
        of_parts = _OF_PARTS.get(origin.name)
        if of_parts is not None and (is_complex(tensor.dtype) or is_complex(origin.source.dtype)):
            result = recording.joined(of_parts, of_parts, (origin.source, result), {})
        elif origin.body is not cloning.stop:
            result = recording.joined(
                _put_back, _put_back,
                (origin.source, result, origin.body, list(origin.args), origin.place),
                origin.kwargs,
            )  # fmt: skip
        if origin.body is cloning.stop or recording.is_gradient_free:
            result = recording.logged(_replaced, origin.source, result)
        tensor = origin.source
        chain.append((tensor, result))
    if any(written.number < recording.n_fixed for written, _ in chain):
        raise RuntimeError(
            f"{writer}: a function given to checkpoint or custom_vjp cannot write to a tensor that "
            "it did not make; write to a copy (x * 1, x.clone())"
        )
    for written, value in chain:
        renew(recording, written, value)
    if id(tensor.marks) in recording.viewed:
        recording.fresh |= {id(written): len(tensor.marks) for written, _ in chain}


def is_detached(recording: Any, tensor: RecordedTensor) -> bool:
    """Whether a tensor is ``detach()`` of another, or a view of it: gradients see no writes."""
    origin = origin_of(recording, tensor)
    while origin is not None and origin.body is not cloning.stop:
        origin = origin_of(recording, origin.source)
    return origin is not None


@contextlib.contextmanager
def unwritten(trace: Any) -> Iterator[None]:
    """Refuse writes inside to values that a recording knows already: what runs has its own rule.

    Views of what was written are taken again before: inside, they would be part of what runs.
    """
    for tensor in list(getattr(trace, "seen", ())):
        if tensor.__class__ is RecordedTensor and tensor.marks and id(tensor.marks) in trace.viewed:
            with contextlib.suppress(ReadAfterWrite):
                refresh(trace, tensor, "a function")
    before = getattr(trace, "n_fixed", 0)
    trace.n_fixed = len(getattr(trace, "seen", ()))
    try:
        yield
    finally:
        trace.n_fixed = before


def renew(recording: Any, tensor: RecordedTensor, result: RecordedTensor) -> None:
    """Let a tensor represent another value; its views are recomputed when they are read."""
    stand_for(recording, tensor, result)
    if id(tensor.marks) in recording.viewed:
        tensor.marks.append(ASSIGNMENT)
        recording.fresh[id(tensor)] = len(tensor.marks)


def _shares_memory(recording: Any, origin: Origin, view: RecordedTensor) -> bool:
    """Whether writes to a view certainly change its source in torch."""
    if origin.name in _COPYING:
        return id(view) in recording.views
    return origin.name in VIEWS or origin.body in (*_INDEXING, cloning.stop)


def _replaced(source: Any, value: Any) -> Any:
    """Return the value after a write to ``source.data``, whose gradient is that of ``source``."""
    trace = source.trace
    new = trace.view(source, alias(value), lambda grad: grad)
    trace.kept_entries.add(id(trace.tape[-1]))  # also in a block without gradients
    return new


def _put_back(
    source: Any, value: Any, body: Any, args: list[Any], place: int, /, **kwargs: Any
) -> Any:
    """Return ``source`` after a write of ``value`` to its view ``body(*args, **kwargs)``."""
    numbers = numbers_of(source)
    swapped = [numbers if v is source else v for v in args]
    named = {k: numbers if v is source else v for k, v in kwargs.items()}
    places = tree.leaves(body(*swapped, **named))[place]
    flat = functions.reshape(source, (source.size,))
    updated = functions.index_put(
        flat, [functions.reshape(places, (places.size,))],
        functions.reshape(value, (places.size,)),
    )  # fmt: skip
    return functions.reshape(updated, source.shape)


def stand_for(recording: Any, tensor: RecordedTensor, result: RecordedTensor) -> None:
    """Let a tensor represent ``result``, which nothing else refers to."""
    origin_of(recording, tensor)  # known by its number, which changes
    before = (tensor.shape, tensor.dtype, tensor.strides)
    seen = recording.seen
    seen[tensor.number] = RecordedTensor(recording, tensor.number, *before)
    recording.calls.append((None, (tensor, tensor.number, result.number), {}, None, len(seen)))
    tensor.number, tensor.strides = result.number, result.strides
    seen[result.number] = tensor


def refresh(recording: Any, tensor: RecordedTensor, reader: str) -> None:
    """Recompute a view if its source was written to since.

    Raises ReadAfterWrite if in torch the tensor may have been written to, or not.
    """
    n_writes = len(tensor.marks)
    if recording.fresh.get(id(tensor), 0) == n_writes:
        return
    origin = origin_of(recording, tensor)
    if origin is None or origin.name in _COPYING and id(tensor) not in recording.views:
        raise ReadAfterWrite(
            f"{reader}: a tensor of shape {tensor.shape} is read that may share memory with one "
            "that was written to since, by reshape() or flatten(), which copy in some cases; use "
            "view() for these, or clone()"
        )
    unspoilt(reader, origin.source)
    n_known = len(recording.seen)
    view = recording.joined(origin.body, origin.body, origin.args, origin.kwargs)
    view = tree.leaves(view)[origin.place]
    if view.number < n_known:  # the source itself
        view = clone_of(view)
    stand_for(recording, tensor, view)
    recording.fresh[id(tensor)] = n_writes


def is_written_part(recording: Any, x: RecordedTensor, key: Any, value: Any) -> bool:
    """Whether ``x[key] = value`` ends ``x[key] += ...``, which has written to ``x`` already."""
    if value.__class__ is not RecordedTensor or value.marks is not x.marks:
        return False
    origin = origin_of(recording, value)
    if origin is None or origin.source is not x or origin.body not in _INDEXING:
        return False
    items = full_key(x, key)
    if any(hasattr(item, "shape") for item in items):
        return False
    return items == full_key(x, origin.args[1])
