# SPDX-License-Identifier: Apache-2.0
"""Views, arrays that are repeated and their sums, parts of arrays, and arrays made of parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, Shape

#: Of one axis: the first element, the step (not 0) and the number of elements.
Cut = tuple[int, int, int]


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape that NumPy's rules broadcast to; ValueError if they do not fit."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise ValueError(f"shapes must broadcast together, got {', '.join(map(str, shapes))}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


# --- Views


def _reshape_infer(inputs: tuple[Node, ...], *, shape: Shape) -> tuple[Shape, str]:
    (x,) = inputs
    if math.prod(shape) != x.size:
        raise ValueError(f"reshape: shape must have {x.size} elements, got {shape}")
    return shape, x.dtype


RESHAPE = Operation("reshape", _reshape_infer, lambda node, g: [reshape(g, node.inputs[0].shape)])


def reshape(x: Node, shape: Sequence[int]) -> Node:
    """Return the elements in another shape."""
    shape = tuple(shape)
    if x.operation is RESHAPE:
        x = x.inputs[0]
    return x if x.shape == shape else RESHAPE(x, shape=shape)


def _inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([axes.index(k) for k in range(len(axes))])


TRANSPOSE = Operation(
    "transpose",
    lambda inputs, *, axes: (tuple([inputs[0].shape[k] for k in axes]), inputs[0].dtype),
    lambda node, g: [transpose(g, _inverse(node.attributes["axes"]))],
)


def transpose(x: Node, axes: Sequence[int]) -> Node:
    """Return the elements with permuted axes."""
    axes = tuple([k % x.ndim for k in axes])
    if x.operation is TRANSPOSE:
        axes = tuple([x.attributes["axes"][k] for k in axes])
        x = x.inputs[0]
    return x if axes == tuple(range(x.ndim)) else TRANSPOSE(x, axes=axes)


def swapped(x: Node) -> Node:
    """Return the elements with the last two axes exchanged."""
    *rest, rows, columns = range(x.ndim)
    return transpose(x, (*rest, columns, rows))


def _kept(inputs: tuple[Node, ...], *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    return tuple([1 if k in axes else n for k, n in enumerate(x.shape)]), x.dtype


#: Sums over axes, which stay with size 1.
SUM = Operation("sum", _kept, lambda node, g: [broadcast_to(g, node.inputs[0].shape)])


def sum_to(x: Node, shape: Shape) -> Node:
    """Return ``x`` summed over the axes along which ``shape`` was broadcast to it."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    padded = (1,) * lead + shape
    axes = tuple([k for k, (n, m) in enumerate(zip(x.shape, padded, strict=True)) if n != m])
    return reshape(SUM(x, axes=axes) if axes else x, shape)


def _broadcast_infer(inputs: tuple[Node, ...], *, shape: Shape) -> tuple[Shape, str]:
    (x,) = inputs
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"broadcast_to: shape must be one that {x.shape} fits, got {shape}")
    return shape, x.dtype


BROADCAST = Operation(
    "broadcast_to", _broadcast_infer, lambda node, g: [sum_to(g, node.inputs[0].shape)]
)


def broadcast_to(x: Node, shape: Sequence[int]) -> Node:
    """Return ``x`` repeated along axes of size 1 and new leading ones."""
    shape = tuple(shape)
    return x if x.shape == shape else BROADCAST(x, shape=shape)


# --- Parts


def _slice_infer(inputs: tuple[Node, ...], *, cuts: tuple[Cut, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    for n, (start, step, length) in zip(x.shape, cuts, strict=True):
        last = start + (length - 1) * step
        if length and not (0 <= start < n and 0 <= last < n):
            raise IndexError(f"slice: elements {start} to {last} must exist, got size {n}")
    return tuple([length for _, _, length in cuts]), x.dtype


def _slice_vjp(node: Node, g: Node) -> list[Node]:
    return [PLACE(g, cuts=node.attributes["cuts"], shape=node.inputs[0].shape)]


SLICE = Operation("slice", _slice_infer, _slice_vjp)
#: Zeros with an array in a part of them: the gradient of a slice, and of padding the value.
PLACE = Operation(
    "place",
    lambda inputs, *, cuts, shape: (shape, inputs[0].dtype),
    lambda node, g: [part(g, node.attributes["cuts"])],
)


def part(x: Node, cuts: Sequence[Cut]) -> Node:
    """Return a part of an array: start, step and length for each axis."""
    cuts = tuple(cuts)
    return (
        x
        if all(c == (0, 1, n) for c, n in zip(cuts, x.shape, strict=True))
        else SLICE(x, cuts=cuts)
    )


def narrow(x: Node, axis: int, start: int, length: int, step: int = 1) -> Node:
    """Return ``length`` elements along an axis, from ``start``."""
    cuts = [(0, 1, n) for n in x.shape]
    cuts[axis % x.ndim] = (start, step, length)
    return part(x, cuts)


def flip(x: Node, axis: int) -> Node:
    """Return the elements in reverse order along an axis."""
    n = x.shape[axis]
    return narrow(x, axis, n - 1, n, -1) if n > 1 else x


def pad(x: Node, widths: Sequence[tuple[int, int]]) -> Node:
    """Return the array between zeros: how many before and after it on each axis."""
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
    cuts = tuple([(before, 1, n) for n, (before, _) in zip(x.shape, widths, strict=True)])
    return x if shape == x.shape else PLACE(x, cuts=cuts, shape=shape)


def _concat_infer(inputs: tuple[Node, ...], *, axis: int) -> tuple[Shape, str]:
    first = inputs[0]
    for other in inputs[1:]:
        same = [n for k, n in enumerate(other.shape) if k != axis]
        if same != [n for k, n in enumerate(first.shape) if k != axis] or other.ndim != first.ndim:
            raise ValueError(
                f"concat: shapes must be equal but for axis {axis}, got {first.shape} and "
                f"{other.shape}"
            )
        if other.dtype != first.dtype:
            raise TypeError(
                f"concat: arrays must have one dtype, got {first.dtype} and {other.dtype}"
            )
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in inputs)
    return tuple(shape), first.dtype


def _concat_vjp(node: Node, g: Node) -> list[Node]:
    axis, start, parts = node.attributes["axis"], 0, []
    for given in node.inputs:
        parts.append(narrow(g, axis, start, given.shape[axis]))
        start += given.shape[axis]
    return parts


CONCAT = Operation("concat", _concat_infer, _concat_vjp)


def concat(arrays: Sequence[Node], axis: int = 0) -> Node:
    """Return arrays joined along an axis."""
    axis %= arrays[0].ndim
    return arrays[0] if len(arrays) == 1 else CONCAT(*arrays, axis=axis)
