# SPDX-License-Identifier: Apache-2.0
"""torch functions that look for elements: searchsorted, bucketize, isin."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import (
    GE,
    GT,
    LE,
    LOGICAL_AND,
    LOGICAL_NOT,
    MINIMUM,
    TRUNC_DIVIDE,
    cast,
    where,
)
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.ops.selection import gather
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, untaped

#: Test elements up to which each one is compared.
_MAX_COMPARED = 16


def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """Return the positions in sorted rows before which elements would be inserted.

    Parameters
    ----------
    sorted_sequence : array (n,) or (*A, n)
        In ascending order, or in that of ``sorter``.
    input : array (*), or (*A, m) with several rows, or a number
        Another dtype is promoted with that of the rows.
    out_int32 : bool
        Return int32 instead of int64.
    right : bool, and side : {"left", "right"}
        Whether positions are behind equal elements.
    sorter : array of int64, optional
        Indices that sort the rows.

    Returns
    -------
    array (*) or (*A, m) of int64 or int32
        0 to ``n``; ``n`` for NaN.

    Raises
    ------
    ValueError
        The shapes do not match, or ``side`` is another word, or "left" with ``right``.

    Notes
    -----
    One kernel that searches by halves. Not differentiable. Source: ``torch.searchsorted``.
    """
    _check_side(right, side)
    if sorter is not None:
        sorted_sequence = F.take_along_dim(sorted_sequence, sorter, -1)
    is_number = not hasattr(input, "shape")
    if is_number:
        input = F.full((), input, device=sorted_sequence.device)
    _check_rows(sorted_sequence, input)
    is_right = right or side == "right"
    return _position(sorted_sequence, input, is_right, "int32" if out_int32 else "int64")


@operation
def _position(sequence: Tensor, x: Tensor, is_right: bool, dtype: str) -> Tensor:
    """Return where elements would be inserted into a vector, or into the same row of an array."""
    n, of_row = sequence.shape[-1], sequence.ndim > 1
    kind = "int64" if sequence.size >= 1 << 30 else "int32"
    is_behind = GT if is_right else GE

    def definition(keys: Node, v: Node) -> Node:
        """Add the powers of two, from the largest, that leave smaller elements before them."""
        first, place = number(0, kind), full(0, v.shape, kind)
        if of_row:
            first = TRUNC_DIVIDE(iota(v.size, 0, 1, kind), number(x.shape[-1], kind)) * n
        for power in reversed(range(n.bit_length())):
            end = place + (1 << power)
            last = MINIMUM(end, number(n, kind)) - 1
            key = gather(keys, [last + first], (0,))
            is_before = LOGICAL_NOT(is_behind(key, v))  # as in torch, all are before NaN
            place = where(LOGICAL_AND(LE(end, number(n, kind)), is_before), end, place)
        return cast(place, dtype)

    if not sequence.size:
        return zeros(x.trace, x.shape, dtype)
    common = dtypes.promote(str(sequence.dtype), str(x.dtype))
    vectors = [reshape(converted(t, common), (t.size,)) for t in (sequence, x)]
    with untaped(x.trace):
        return reshape(computed(definition, *vectors), x.shape)


def _check_side(right: bool, side: str | None) -> None:
    if side not in (None, "left", "right") or (right and side == "left"):
        rule = "left, right or None, and agree with right"
        raise ValueError(f"searchsorted: side must be {rule}, got {side!r}, right={right}")


def _check_rows(sorted_sequence: Any, input: Any) -> None:
    shape, own = tuple(input.shape), tuple(sorted_sequence.shape)
    if len(own) > 1 and (len(own) != len(shape) or own[:-1] != shape[:-1]):
        rule = "have one axis, or the shape of input but for the last axis"
        raise ValueError(f"searchsorted: sorted_sequence must {rule}, got shapes {own} and {shape}")


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """Return the index of the interval between boundaries that contains each element.

    Parameters
    ----------
    input : array (*), or a number
    boundaries : array (n,)
        In ascending order.
    out_int32 : bool
        Return int32 instead of int64.
    right : bool
        Whether intervals contain their lower boundary, not the upper one.

    Returns
    -------
    array (*) of int64 or int32
        0 to ``n``.

    Raises
    ------
    ValueError
        ``boundaries`` has another number of axes.

    Notes
    -----
    Not differentiable. Source: ``torch.bucketize``.
    """
    if boundaries.ndim != 1:
        raise ValueError(f"bucketize: boundaries must have 1 axis, got {tuple(boundaries.shape)}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Whether elements occur in another array.

    Parameters
    ----------
    elements, test_elements : arrays of any shapes and real dtypes, or one of them a number
    assume_unique : bool
        Ignored.
    invert : bool
        Whether they are not.

    Returns
    -------
    array of bool
        Shape of ``elements``.

    Notes
    -----
    Many test elements are sorted, and each element is searched by halves. NaN is among none.
    Source: ``torch.isin``.
    """
    elements, others = (
        x if hasattr(x, "shape") else F.full((), x, device=other.device)
        for x, other in ((elements, test_elements), (test_elements, elements))
    )
    found = _are_among(elements, others)
    return F.logical_not(found) if invert else found


def _are_among(elements: Any, others: Any) -> Any:
    others = F.reshape(others, (math.prod(others.shape),))
    if others.size <= _MAX_COMPARED:
        return F.any(F.eq(F.unsqueeze(elements, -1), others), -1)
    is_bool = str(others.dtype) == "bool"
    others = F.sort(F.astype(others, "uint8") if is_bool else others).values
    places = F.clamp(searchsorted(others, elements), max=others.shape[0] - 1)
    return F.eq(F.take(others, places), elements)
