# SPDX-License-Identifier: Apache-2.0
"""Views, broadcasting, and sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, Shape


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the broadcast shape; ValueError if shapes do not broadcast."""
    distinct = {shape for shape in shapes if shape}
    if len(distinct) < 2:
        return distinct.pop() if distinct else ()
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
    """Reshape an array."""
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
    """Permute the axes."""
    axes = tuple([k % x.ndim for k in axes])
    if x.operation is TRANSPOSE:
        axes = tuple([x.attributes["axes"][k] for k in axes])
        x = x.inputs[0]
    return x if axes == tuple(range(x.ndim)) else TRANSPOSE(x, axes=axes)


def swapped(x: Node) -> Node:
    """Exchange the last two axes."""
    *rest, rows, columns = range(x.ndim)
    return transpose(x, (*rest, columns, rows))


def _kept(inputs: tuple[Node, ...], *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    return tuple([1 if k in axes else n for k, n in enumerate(x.shape)]), x.dtype


#: Sum over axes, which keep size 1.
SUM = Operation("sum", _kept, lambda node, g: [broadcast_to(g, node.inputs[0].shape)])


def sum_to(x: Node, shape: Shape) -> Node:
    """Sum ``x`` over the axes along which ``shape`` was broadcast to it."""
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
    """Broadcast ``x`` to a shape."""
    shape = tuple(shape)
    return x if x.shape == shape else BROADCAST(x, shape=shape)
