# SPDX-License-Identifier: Apache-2.0
"""Other looks at a tensor's elements, with their gradients: shape, order of axes, slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dpnp

from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.errors import InvalidArguments


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
    """Return a view of ``length`` elements along an axis, from ``start``.

    A copy by dpnp where rows lie within each other's steps, which oneDNN does not describe.
    """
    axis %= x.ndim
    plain = x.trace.plain(x)
    key = (slice(None),) * axis + (slice(start, start + length * step, step),)

    def rule(grad: Tensor) -> Tensor:
        return _scattered(x, grad, axis, start, step)

    shape = tuple(length if i == axis else n for i, n in enumerate(plain.shape))
    strides = tuple(s * step if i == axis else s for i, s in enumerate(plain.strides))
    try:
        made = plain.view(shape, strides, start * plain.strides[axis])
    except InvalidArguments:
        return x.trace.array_call(
            lambda a: a[key], [x], [Out(shape, x.dtype)], lambda e, g: {"0": rule(g["0"])}
        )[0]
    return x.trace.view(x, made, rule)


def _scattered(x: Tensor, grad: Tensor, axis: int, start: int, step: int) -> Tensor:
    """Return zeros of the shape of ``x`` with ``grad`` where the view was."""
    trace = x.trace
    desc = layout.like(trace.plain(x).desc, x.dtype)
    whole = Tensor(trace, Storage(desc), desc, x.dtype, x.shape)
    strides = tuple(s * step if i == axis else s for i, s in enumerate(whole.strides))
    try:
        whole.view(grad.shape, strides)
    except InvalidArguments:
        return _spread(x, grad, axis, slice(start, start + grad.shape[axis] * step, step))
    whole = trace.zeros(desc, x.shape)
    place = whole.view(grad.shape, strides, start * whole.strides[axis])
    made = trace.written_into(whole, place, grad)
    return trace.view(grad, made, lambda g: narrow(g, axis, start, grad.shape[axis], step))


def _spread(x: Tensor, grad: Tensor, axis: int, place: slice) -> Tensor:
    """Return the same by dpnp."""
    key, shape = (slice(None),) * axis + (place,), x.shape

    def spread(dy: dpnp.ndarray) -> dpnp.ndarray:
        made = dpnp.zeros(shape, dtype=dy.dtype, sycl_queue=dy.sycl_queue)
        made[key] = dy
        return made

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": narrow(grads["0"], axis, place.start, grad.shape[axis], place.step)}

    return x.trace.array_call(spread, [grad], [Out(shape, grad.dtype)], rule)[0]
