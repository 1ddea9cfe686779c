# SPDX-License-Identifier: Apache-2.0
"""Matrix products."""

from __future__ import annotations

from sycl_dnn.ir.node import Node, Operation, Shape
from sycl_dnn.ops.shape import broadcast_shape, reshape, sum_to, swapped, transpose


def _infer(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    a, b = inputs
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul: operands must be (*, M, K) and (*, K, N), got {a.shape} and {b.shape}"
        )
    if a.dtype != b.dtype:
        raise TypeError(f"matmul: operands must have one dtype, got {a.dtype} and {b.dtype}")
    return (*broadcast_shape(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), a.dtype


def _vjp(node: Node, g: Node) -> tuple[Node, Node]:
    a, b = node.inputs
    return sum_to(MATMUL(g, swapped(b)), a.shape), sum_to(MATMUL(swapped(a), g), b.shape)


#: (*, M, K) times (*, K, N); batch axes broadcast.
MATMUL = Operation("matmul", _infer, _vjp)


def matmul(a: Node, b: Node) -> Node:
    """Multiply matrices, vectors, or batches of matrices, as NumPy does."""
    left = reshape(a, (1, *a.shape)) if a.ndim == 1 else a
    right = reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
    result = MATMUL(left, right)
    shape = result.shape[: result.ndim - 2]
    shape += (result.shape[-2],) if a.ndim > 1 else ()
    shape += (result.shape[-1],) if b.ndim > 1 else ()
    return reshape(result, shape)


def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """Return ``x @ weight.T + bias`` for ``weight`` (N, K)."""
    rows = reshape(x, (-1 if not x.ndim else x.size // max(x.shape[-1], 1), x.shape[-1]))
    result = MATMUL(rows, transpose(weight, (1, 0)))
    result = result if bias is None else result + bias
    return reshape(result, (*x.shape[:-1], weight.shape[0]))
