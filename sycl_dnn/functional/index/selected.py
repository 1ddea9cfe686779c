# SPDX-License-Identifier: Apache-2.0
"""Indexed selection and writing along an axis: the basis of gather and scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn.functional.arithmetic.convert import in_parts
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import LOGICAL_AND, LT, cast, where
from sycl_dnn.ops.selection import ADD_AT, GATHER_DISTINCT, SCATTER, SCATTER_ADD, gathered, inside
from sycl_dnn.ops.shape import broadcast_to
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape


def wrapped(index: Node, n: int) -> Node:
    """Return an index with negative entries counted from the end of ``n`` elements."""
    return where(LT(index, number(0, index.dtype)), index + n, index)


def selected(
    x: Tensor, index: Tensor, axis: int, *, wraps: bool = False, are_distinct: bool = False
) -> Tensor:
    """Record the selection of elements along an axis, which is not empty, by an index.

    The index (int32 or int64) has the rank of ``x`` and broadcasts with its other axes.
    Out-of-range entries give NaN, or 0 for integers and complex numbers. ``wraps``: whether
    negative ones count from the end; ``are_distinct``: none is out of range or occurs twice.
    """
    fill_value = math.nan if dtypes.is_float(str(x.dtype)) else 0

    def definition(values: Node, i: Node) -> Node:
        if are_distinct:
            return GATHER_DISTINCT(values, i, axes=(axis,))
        return gathered(values, wrapped(i, x.shape[axis]) if wraps else i, axis, fill_value)

    parts = in_parts(x)
    return parts.joined([computed(definition, part, index) for part in parts.tensors])


def written(
    x: Tensor, values: Tensor, index: Tensor, axis: int, *, is_added: bool = False
) -> Tensor:
    """Record a tensor with values written or added at an index along an axis.

    The index (int32 or int64) has the same rank and broadcasts with the other axes of ``values``;
    out-of-range entries are ignored. Narrow floats are added in float32; of several values written
    to an element any one is kept.
    """

    def definition(old: Node, new: Node, i: Node) -> Node:
        if not is_added:
            return SCATTER(old, new, i, axis=axis)
        wide = dtypes.wide(old.dtype) if old.is_float else old.dtype
        if wide == old.dtype:
            return ADD_AT(old, new, i, axis=axis)
        sums = SCATTER_ADD(cast(new, wide), i, axis=axis, shape=old.shape)
        return cast(cast(old, wide) + sums, old.dtype)

    parts = in_parts(x)
    pairs = zip(parts.tensors, in_parts(values).tensors, strict=True)
    return parts.joined([computed(definition, old, new, index) for old, new in pairs])


def flat_index(trace: Any, items: Sequence[Any], sizes: Sequence[int]) -> Tensor:
    """Record a flat index over axes of ``sizes`` from one index per axis; -1 if out of range.

    The items are integers that broadcast (else IndexError); negative ones count from the end.
    """
    shapes = [tuple(item.shape) for item in items]
    try:
        shape = broadcast_shape(*shapes)
    except ValueError:
        raise IndexError(f"index: arrays must broadcast, got shapes {shapes}") from None

    def definition(*indices: Node) -> Node:
        flat, is_inside = None, None
        for node, n in zip(indices, sizes, strict=True):
            index = wrapped(cast(node, "int64"), n)
            fits = inside(index, n)
            is_inside = fits if is_inside is None else LOGICAL_AND(is_inside, fits)
            flat = index if flat is None else flat * n + index
        assert flat is not None
        assert is_inside is not None
        return broadcast_to(where(is_inside, flat, number(-1, "int64")), shape)

    return computed(definition, *[as_tensor(trace, item) for item in items])


def as_tensor(trace: Any, item: Any) -> Tensor:
    """Return an index that is a tensor, or an array that a function refers to itself."""
    if isinstance(item, np.ndarray):
        return trace.literal(item, "int64")
    return item if isinstance(item, Tensor) else trace.capture(item)
