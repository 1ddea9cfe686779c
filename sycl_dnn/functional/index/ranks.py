# SPDX-License-Identifier: Apache-2.0
"""Sorting of short rows by counting the elements that precede each one."""

from __future__ import annotations

import math

from sycl_dnn.ir.node import Node, number
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import (
    BITS,
    BITWISE_NOT,
    BITWISE_XOR,
    EQ,
    GE,
    GT,
    ISNAN,
    LOGICAL_AND,
    LOGICAL_OR,
    LT,
    cast,
    where,
)
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.ops.selection import SCATTER, pad
from sycl_dnn.ops.shape import SUM, broadcast_to
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

#: Maximum row length to sort by counting, which takes quadratic time.
MAX_LENGTH = 256
#: Length of the parts of a long row whose first elements are found separately.
_PART = 64


def can_count(x: Tensor) -> bool:
    """Whether kernels can compare the elements."""
    return x.desc is not None and x.dtype in REGISTERS


def sort_key(x: Node, *, descending: bool) -> Node:
    """Map elements to integers that are larger for what comes first; NaN is the largest value."""
    if x.is_float:
        x = cast(x, dtypes.wide(x.dtype))
        # Adding 0 turns -0 into +0.
        bits = BITS(x + 0.0)
        bound = number((1 << (63 if bits.dtype == "int64" else 31)) - 1, bits.dtype)
        ordered = where(GE(bits, number(0, bits.dtype)), bits, BITWISE_XOR(bits, bound))
        x = where(ISNAN(x), bound, ordered)
    elif x.dtype != "int64":
        x = cast(x, "int32")
    return x if descending else BITWISE_NOT(x)


def _ranks(keys: Tensor) -> Tensor:
    """Count the elements of each row (*, n) that precede an element; ties keep their order."""
    *outer, n = keys.shape
    positions = computed(lambda x: broadcast_to(iota(n), (n,)), keys)
    rows = [
        reshape(t, (*s, *broadcast))
        for broadcast in ((1, n), (n, 1))
        for t, s in ((keys, outer), (positions, ()))
    ]

    def definition(a: Node, i: Node, b: Node, j: Node) -> Node:
        """Compare with all others along the last axis."""
        is_before = LOGICAL_OR(GT(a, b), LOGICAL_AND(EQ(a, b), LT(i, j)))
        return SUM(cast(is_before, "int32"), axes=(len(outer) + 1,))

    return reshape(computed(definition, *rows), keys.shape)


def _placed(values: Tensor, ranks: Tensor, count: int) -> Tensor:
    """Return the first ``count`` values of each row in order."""
    axis, shape = values.ndim - 1, (*values.shape[:-1], count)

    def definition(v: Node, at: Node) -> Node:
        return SCATTER(full(0, shape, v.dtype), v, at, axis=axis)

    return computed(definition, values, ranks)


def first_indices(x: Tensor, count: int, *, descending: bool) -> Tensor:
    """Record the indices of the first elements of rows (R, n), in order: (R, count), int64.

    Long rows are reduced part by part until few candidates are left.
    """
    rows, n = x.shape
    keys = computed(lambda v: sort_key(v, descending=descending), x)
    indices = computed(lambda v: broadcast_to(iota(n, 1, 2, "int64"), (rows, n)), x)
    part_length = max(_PART, 4 * count)
    while n > part_length:
        n_parts = math.ceil(n / part_length)
        n_padding = n_parts * part_length - n
        if n_padding:
            # The lowest key sorts last; it ties at most with the lowest number, which precedes it.
            lowest = -(1 << (63 if keys.dtype == "int64" else 31))
            keys = computed(lambda v: pad(v, [(0, 0), (0, n_padding)], lowest), keys)  # noqa: B023
            indices = computed(lambda v: pad(v, [(0, 0), (0, n_padding)]), indices)  # noqa: B023
        keys, indices = (reshape(t, (rows, n_parts, part_length)) for t in (keys, indices))
        ranks = _ranks(keys)
        n = n_parts * count
        keys, indices = (reshape(_placed(t, ranks, count), (rows, n)) for t in (keys, indices))
    return _placed(indices, _ranks(keys), count)
