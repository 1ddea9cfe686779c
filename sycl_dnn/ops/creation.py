# SPDX-License-Identifier: Apache-2.0
"""Array creation: constants, index sequences, triangular masks."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Number, Operation, Shape, number
from sycl_dnn.ops.arithmetic import GE, LE, where
from sycl_dnn.ops.shape import broadcast_to


def full(value: Number, shape: Sequence[int], dtype: str) -> Node:
    """Return a constant array."""
    return broadcast_to(number(value, dtype), shape)


def _iota_infer(inputs: tuple[Node, ...], *, shape: Shape, dtype: str) -> tuple[Shape, str]:
    return shape, dtype


#: 0, 1, 2... in the order of a row-major array.
IOTA = Operation("iota", _iota_infer, is_flat=True)


def iota(length: int, axis: int = 0, rank: int = 1, dtype: str = "int32") -> Node:
    """Return 0, 1, 2... along an axis; the other axes have size 1."""
    shape = tuple([length if k == axis % rank else 1 for k in range(rank)])
    return IOTA(shape=shape, dtype=dtype)


def triangle(x: Node, diagonal: int, *, is_lower: bool) -> Node:
    """Return matrices with zeros above or below a diagonal."""
    rows, columns = (iota(x.shape[k], k, 2) for k in (-2, -1))
    holds = (LE if is_lower else GE)(columns - rows, number(diagonal, "int32"))
    return where(holds, x, number(0, x.dtype))
