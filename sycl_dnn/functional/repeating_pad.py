# SPDX-License-Identifier: Apache-2.0
"""Padding with an array's own elements: mirrored, the border's, or those of the other end.

The array is copied into the middle of the result. Then each axis in turn gets its borders, slice
by slice, from what the axes before have filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dpnp

from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace import Trace

#: Elements before and after, for each axis.
Widths = Sequence[tuple[int, int]]
#: PyTorch's modes, and what NumPy calls them.
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _borders(mode: str, n: int, before: int, after: int) -> Iterator[tuple[int, int, int]]:
    """Yield (to, from, length): where slices of a padded axis of n inner elements come from."""
    end = before + n
    if mode == "circular":
        yield from ((0, n, before), (end, before, after))
    elif mode == "reflect":
        yield from ((before - k, before + k, 1) for k in range(1, before + 1))
        yield from ((end - 1 + k, end - 1 - k, 1) for k in range(1, after + 1))
    else:
        yield from ((k, before, 1) for k in range(before))
        yield from ((end + k, end - 1, 1) for k in range(after))


def _slices(
    whole: Tensor, shape: Sequence[int], widths: Widths, mode: str
) -> list[tuple[Tensor, Tensor]]:
    """Return (border, source), views of ``whole``, in the order in which they are filled."""
    made = []
    for axis, (before, after) in enumerate(widths):
        for to, source, length in _borders(mode, shape[axis], before, after):
            sizes = (*whole.shape[:axis], length, *whole.shape[axis + 1 :])
            step = whole.strides[axis]
            if length:
                first, second = (whole.view(sizes, whole.strides, i * step) for i in (to, source))
                made.append((first, second))
    return made


def _middle(whole: Tensor, shape: Sequence[int], widths: Widths) -> Tensor:
    start = sum(b * s for (b, _), s in zip(widths, whole.strides, strict=True))
    return whole.view(tuple(shape), whole.strides, start)


def _fresh(trace: Trace, like: Tensor, shape: Sequence[int], dtype: str) -> Tensor:
    desc = layout.like(like.desc, dtype, shape)
    return Tensor(trace, Storage(desc), desc, dtype, tuple(shape))


def _gradient(grad: Tensor, x: Tensor, widths: Widths, mode: str) -> Tensor:
    """Add the gradients of all copies to those of the originals, in float32."""
    trace, plain = x.trace, x.trace.plain(grad)
    wide = "float64" if x.dtype == "float64" else "float32"
    whole = _fresh(trace, plain, plain.shape, wide)
    trace.written_into(whole, whole, plain)
    for border, source in reversed(_slices(whole, x.shape, widths, mode)):
        trace.added_to(source, border)
    made = trace.convert(_middle(whole, x.shape, widths), x.dtype)
    return trace.view(grad, made, lambda g: repeated(g, widths, mode))


def _by_dpnp(x: Tensor, shape: Sequence[int], widths: Widths, mode: str) -> Tensor:
    def padded(array: dpnp.ndarray) -> dpnp.ndarray:
        return dpnp.pad(array, widths, mode=MODES[mode])

    return x.trace.array_call(padded, [x], [Out(tuple(shape), x.dtype)])[0]


def repeated(x: Tensor, widths: Widths, mode: str) -> Tensor:
    """Pad a tensor; the widths are not negative and within what the mode can reach."""
    shape = tuple(n + b + a for n, (b, a) in zip(x.shape, widths, strict=True))
    if not x.is_float:
        return _by_dpnp(x, shape, widths, mode)
    trace, plain = x.trace, x.trace.plain(x)
    made = _fresh(trace, plain, shape, x.dtype)
    if x.size:
        trace.written_into(made, _middle(made, x.shape, widths), plain)
        for border, source in _slices(made, x.shape, widths, mode):
            trace.written_into(made, border, source)
    else:
        made = trace.zeros(made.desc, shape)
    return trace.view(x, made, lambda g: _gradient(g, x, widths, mode))
