# SPDX-License-Identifier: Apache-2.0
"""torch functions that look for elements: searchsorted, bucketize, isin."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.onednn import dtypes


def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """Return the positions in sorted rows before which elements would be inserted.

    One row is for all elements; several are for the elements of the same row of ``input``.
    """
    _check_side(right, side)
    if sorter is not None:
        sorted_sequence = F.take_along_dim(sorted_sequence, sorter, -1)
    is_number = not hasattr(input, "shape")
    if is_number:
        input = F.full((), input, device=sorted_sequence.device)
    rows = _rows(sorted_sequence, input)
    points = F.unsqueeze(input, -1)
    is_before = F.le(rows, points) if right or side == "right" else F.lt(rows, points)
    if dtypes.is_float(str(points.dtype)):  # NaN is behind all others
        is_before = F.logical_or(is_before, F.isnan(points))
    return F.sum(is_before.astype("int64"), -1, dtype="int32" if out_int32 else "int64")


def _check_side(right: bool, side: str | None) -> None:
    if side not in (None, "left", "right") or (right and side == "left"):
        rule = "left, right or None, and agree with right"
        raise ValueError(f"searchsorted: side must be {rule}, got {side!r}, right={right}")


def _rows(sorted_sequence: Any, input: Any) -> Any:
    """Return the sorted rows so that they broadcast with the elements behind another axis."""
    shape, own = tuple(input.shape), tuple(sorted_sequence.shape)
    if len(own) == 1:
        return sorted_sequence
    if len(own) != len(shape) or own[:-1] != shape[:-1]:
        rule = "have one axis, or the shape of input but for the last axis"
        raise ValueError(f"searchsorted: sorted_sequence must {rule}, got shapes {own} and {shape}")
    return F.unsqueeze(sorted_sequence, -2)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """Return the index of the interval between boundaries that contains each element."""
    if boundaries.ndim != 1:
        raise ValueError(f"bucketize: boundaries must have 1 axis, got {tuple(boundaries.shape)}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Whether elements are among those of another array, or are not, if ``invert``."""
    elements, others = (
        x if hasattr(x, "shape") else F.full((), x, device=other.device)
        for x, other in ((elements, test_elements), (test_elements, elements))
    )
    found = F.any(F.eq(F.unsqueeze(elements, -1), F.reshape(others, (-1,))), -1)
    return F.logical_not(found) if invert else found
