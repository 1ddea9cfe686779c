# SPDX-License-Identifier: Apache-2.0
"""Regular pieces of the spatial axes: cut out of tensors, put together to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn._core import PostOps, PrimitiveAttr
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.dispatch.views import narrow


class Span(NamedTuple):
    """Elements start, start + step... of one axis."""

    start: int
    length: int
    step: int = 1


def cut(x: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return a view of (N, C, *S) with these elements of each spatial axis."""
    for axis, (span, size) in enumerate(zip(spans, x.shape[2:], strict=True), start=2):
        if span != Span(0, size):
            x = narrow(x, axis, *span)
    return x


def _view(whole: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return ``cut`` of a plain tensor, not on the tape."""
    strides = whole.strides[2:]
    start = sum(s.start * n for s, n in zip(spans, strides, strict=True))
    steps = tuple(s.step * n for s, n in zip(spans, strides, strict=True))
    shape = (*whole.shape[:2], *(s.length for s in spans))
    return whole.view(shape, (*whole.strides[:2], *steps), start)


def _adding() -> PrimitiveAttr:
    attr, ops = PrimitiveAttr(), PostOps()
    ops.append_sum()
    attr.set_post_ops(ops)
    return attr


def cut_every(x: Tensor, every: Sequence[Sequence[Span]]) -> list[Tensor]:
    """Return ``cut`` for each of many pieces, whose gradients are added up in one place."""
    if len(every) == 1:
        return [cut(x, every[0])]
    trace = x.trace
    views = {str(i): _view(trace.plain(x), spans) for i, spans in enumerate(every)}

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        whole = trace.zeros(layout.channels_last(x.shape, x.dtype), x.shape)
        for name, grad in grads.items():
            place = _view(whole, every[int(name)])
            trace.steps.append(trace.copy_step(trace.plain(grad), place, _adding()))
        back = lambda e, g: {n: cut(g["dst"], every[int(n)]) for n in e.inputs}  # noqa: E731
        trace.tape.append(Entry("added pieces", dict(grads), {"dst": whole}, rule=back))
        return {"src": whole}

    trace.tape.append(Entry("pieces", {"src": x}, views, rule=rule))
    return list(views.values())


def assembled(
    trace: Trace,
    shape: tuple[int, ...],
    pieces: Sequence[tuple[Tensor, Sequence[Span]]],
    covered: bool = True,
) -> Tensor:
    """Return (N, C, *S), channels last, of tensors that lie at these elements of it.

    ``covered`` says that nothing is left over; else the rest is zero.
    """
    dtype = pieces[0][0].dtype
    # oneDNN takes no view whose last step would go beyond the end, so there is room for it.
    reach = [max(p[1][i].length * p[1][i].step for p in pieces) for i in range(len(shape) - 2)]
    room = (*shape[:2], *map(max, shape[2:], reach))
    desc = layout.channels_last(room, dtype)
    whole = trace.new(desc, room) if covered else trace.zeros(desc, room)
    for tensor, spans in pieces:
        trace.written_into(whole, _view(whole, spans), trace.plain(tensor))
    named = {str(i): tensor for i, (tensor, _) in enumerate(pieces)}
    every = [spans for _, spans in pieces]

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {str(i): cut(grads["dst"], spans) for i, spans in enumerate(every)}

    trace.tape.append(Entry("assembled", named, {"dst": whole}, rule=rule))
    return cut(whole, [Span(0, n) for n in shape[2:]])


def padded(x: Tensor, after: Sequence[int]) -> Tensor:
    """Return ``x`` with so many zeros after the end of each spatial axis."""
    if not any(after):
        return x
    sizes = [n + a for n, a in zip(x.shape[2:], after, strict=True)]
    spans = [Span(0, n) for n in x.shape[2:]]
    return assembled(x.trace, (*x.shape[:2], *sizes), [(x, spans)], covered=False)
