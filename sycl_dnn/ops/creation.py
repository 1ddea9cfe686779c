# SPDX-License-Identifier: Apache-2.0
"""Arrays made of nothing: one value everywhere, numbers in order, triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Number, Operation, number
from sycl_dnn.ops.arithmetic import GE, LE, where
from sycl_dnn.ops.shape import broadcast_to, reshape


def full(value: Number, shape: Sequence[int], dtype: str) -> Node:
    """Return one value everywhere."""
    return broadcast_to(number(value, dtype), shape)


IOTA = Operation("iota", lambda inputs, *, length, dtype: ((length,), dtype), is_flat=True)


def triangle(x: Node, diagonal: int, *, is_lower: bool) -> Node:
    """Return a matrix, or several, with zeros above or below a diagonal."""
    rows = reshape(IOTA(length=x.shape[-2], dtype="int64"), (x.shape[-2], 1))
    columns = IOTA(length=x.shape[-1], dtype="int64") - rows
    holds = (LE if is_lower else GE)(columns, number(diagonal, "int64"))
    return where(holds, x, number(0, x.dtype))
