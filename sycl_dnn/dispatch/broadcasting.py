# SPDX-License-Identifier: Apache-2.0
"""Shapes that broadcast, and few dense axes in place of many: what oneDNN's fast kernels take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.dispatch.views import reshape


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that NumPy's rules broadcast to; ValueError if they do not fit."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    made = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise ValueError(f"shapes must broadcast together, got {', '.join(map(str, shapes))}")
        made.append(wide.pop() if wide else 1)
    return tuple(made)


def expand_rank(x: Tensor, rank: int) -> Tensor:
    """Return ``x`` with axes of size 1 in front."""
    return x if x.ndim == rank else reshape(x, (1,) * (rank - x.ndim) + x.shape)


@contextlib.contextmanager
def untaped(trace: Trace) -> Iterator[None]:
    """Record steps of an operation that has a gradient rule as a whole."""
    tape, trace.tape = trace.tape, []
    try:
        yield
    finally:
        trace.tape = tape


def axis_order(x: Tensor | None, rank: int) -> tuple[int, ...]:
    """Return the axes of ``x``, outermost first; in order for None or oneDNN's own layouts."""
    if x is None or x.strides is None:
        return tuple(range(rank))
    return tuple(sorted(range(rank), key=lambda a: (-x.strides[a], -x.shape[a], a)))


def laid_out(x: Tensor, order: Sequence[int], dtype: str | None = None) -> Tensor:
    """Return ``x`` dense with its axes in ``order``, copied if it lies otherwise."""
    dtype = dtype or x.dtype
    strides = layout.permuted_strides(x.shape, order)
    if x.strides is not None and dtype == x.dtype:
        pairs = zip(x.shape, x.strides, strides, strict=True)
        if all(n == 1 or s == wanted for n, s, wanted in pairs):
            return x
    return x.trace.reorder(x, layout.strided(x.shape, dtype, strides))


def grid(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return a dense tensor as if its axes, in the order in which they lie, were ``sizes``."""
    sizes = tuple(sizes)
    return x.view(sizes, layout.row_major_strides(sizes))


def spread(x: Tensor, shape: tuple[int, ...], order: Sequence[int]) -> Tensor:
    """Return ``x`` repeated along its axes of size 1, dense with its axes in ``order``."""
    if x.shape == shape:
        return laid_out(x, order)
    x = x.trace.plain(x)
    # A copy from strides of 0 is one pass of oneDNN's compiled reorder.
    steps = zip(x.shape, shape, x.strides, strict=True)
    repeated = x.view(shape, tuple(s if n == m else 0 for n, m, s in steps))
    strides = layout.permuted_strides(shape, order)
    return x.trace.reorder(repeated, layout.strided(shape, x.dtype, strides))
