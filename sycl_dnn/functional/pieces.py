# SPDX-License-Identifier: Apache-2.0
"""Regular pieces of the spatial axes: cut out of tensors, put together to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Entry, Trace
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
    desc = layout.channels_last(shape, dtype)
    whole = trace.new(desc, shape) if covered else trace.zeros(desc, shape)
    for tensor, spans in pieces:
        start = sum(s.start * n for s, n in zip(spans, whole.strides[2:], strict=True))
        steps = tuple(s.step * n for s, n in zip(spans, whole.strides[2:], strict=True))
        place = whole.view(tensor.shape, (*whole.strides[:2], *steps), start)
        trace.written_into(whole, place, trace.plain(tensor))
    named = {str(i): tensor for i, (tensor, _) in enumerate(pieces)}
    every = [spans for _, spans in pieces]

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {str(i): cut(grads["dst"], spans) for i, spans in enumerate(every)}

    trace.tape.append(Entry("assembled", named, {"dst": whole}, rule=rule))
    return whole


def padded(x: Tensor, after: Sequence[int]) -> Tensor:
    """Return ``x`` with so many zeros after the end of each spatial axis."""
    if not any(after):
        return x
    sizes = [n + a for n, a in zip(x.shape[2:], after, strict=True)]
    spans = [Span(0, n) for n in x.shape[2:]]
    return assembled(x.trace, (*x.shape[:2], *sizes), [(x, spans)], covered=False)
