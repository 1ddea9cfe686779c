# SPDX-License-Identifier: Apache-2.0
"""Other looks at a tensor's elements, with their gradients: shape, order of axes, slices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dpnp

from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor


def row_major(x: Tensor) -> Tensor:
    """Return the tensor dense with its last axis innermost, copied if it is not."""
    if x.desc is None:
        return x.trace.array_call(dpnp.copy, [x], [Out(x.shape, x.dtype)])[0]
    wanted = layout.row_major(x.shape, x.dtype)
    return x if x.desc == wanted else x.trace.reorder(x, wanted)


def viewable_strides(x: Tensor, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return strides that show ``x`` in another shape; None if that takes a copy."""
    if x.desc is not None and not x.desc.is_plain:
        return None
    old = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n != 1]
    new = [n for n in shape if n != 1]
    found: list[int] = []
    while old:
        # Take axes from both sides until they hold the same number of elements.
        taken, wanted = [old.pop(0)], [new.pop(0)]
        while (n := math.prod(t[0] for t in taken)) != (m := math.prod(wanted)):
            if m < n:
                wanted.append(new.pop(0))
            else:
                taken.append(old.pop(0))
        gaps = zip(taken, taken[1:], strict=False)
        if any(outer[1] != inner[0] * inner[1] for outer, inner in gaps):
            return None
        steps = layout.row_major_strides(wanted)
        found += [s * taken[-1][1] for s in steps]
    # Axes of size 1 as if they counted: oneDNN tells layouts apart by their strides, too.
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step if n == 1 else found.pop())
        step = strides[-1] * n
    return tuple(reversed(strides))


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the elements in another shape; one size may be -1."""
    shape = tuple(shape)
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape = tuple(x.size // max(known, 1) if n == -1 else n for n in shape)
    if math.prod(shape) != x.size:
        raise ValueError(f"reshape: shape must have {x.size} elements, got {shape}")
    if shape == x.shape:
        return x
    strides = viewable_strides(x, shape) if x.size else layout.row_major_strides(shape)
    source = x
    if strides is None:
        source, strides = row_major(x), layout.row_major_strides(shape)
    return x.trace.view(x, source.view(shape, strides), lambda g: reshape(g, x.shape))


def transpose(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return a view with permuted axes."""
    axes = tuple(a % x.ndim for a in axes)
    back = tuple(axes.index(i) for i in range(x.ndim))
    plain = x.trace.plain(x)
    made = plain.view(tuple(plain.shape[a] for a in axes), tuple(plain.strides[a] for a in axes))
    return x.trace.view(x, made, lambda g: transpose(g, back))


def narrow(x: Tensor, axis: int, start: int, length: int, step: int = 1) -> Tensor:
    """Return a view of ``length`` elements along an axis, from ``start``."""
    axis %= x.ndim
    plain = x.trace.plain(x)
    shape = tuple(length if i == axis else n for i, n in enumerate(plain.shape))
    strides = tuple(s * step if i == axis else s for i, s in enumerate(plain.strides))
    made = plain.view(shape, strides, start * plain.strides[axis])
    return x.trace.view(x, made, lambda g: _scattered(x, g, axis, start, step))


def _scattered(x: Tensor, grad: Tensor, axis: int, start: int, step: int) -> Tensor:
    """Return zeros of the shape of ``x`` with ``grad`` where the view was."""
    trace = x.trace
    whole = trace.zeros(layout.like(trace.plain(x).desc, x.dtype), x.shape)
    place = whole.view(
        grad.shape,
        tuple(s * step if i == axis else s for i, s in enumerate(whole.strides)),
        start * whole.strides[axis],
    )
    made = trace.written_into(whole, place, grad)
    return trace.view(grad, made, lambda g: narrow(g, axis, start, grad.shape[axis], step))
