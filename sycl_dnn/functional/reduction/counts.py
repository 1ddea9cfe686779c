# SPDX-License-Identifier: Apache-2.0
"""Counts: count_nonzero, and the histograms bincount and histc."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.comparison import ne
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.arithmetic.operands import (
    arrays_like,
    by_values,
    check_values,
    host_or_dpnp,
)
from sycl_dnn.functional.index.selected import written
from sycl_dnn.functional.reduction.sums import sum
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.creation import full
from sycl_dnn.ops.reduction import MAX, MIN
from sycl_dnn.ops.shape import broadcast_to
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


@operation
def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Count the elements that are not 0, among them NaN.

    Parameters
    ----------
    input : array (*)
    dim : int or sequence of int, optional
        Axes to reduce, all by default.

    Returns
    -------
    array of int64

    Raises
    ------
    ValueError
        There is no such axis, or one is repeated.

    Notes
    -----
    Source: ``torch.count_nonzero``.
    """
    return sum(ne(input, 0), dim)


@by_values
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count the occurrences of each number of a vector, or sum their weights.

    Parameters
    ----------
    input : array (n,) of integers
        Not negative.
    weights : array (n,), optional
    minlength : int
        Minimum length of the result.

    Returns
    -------
    array (max(input) + 1,) of int64, or of float32 or float64 with ``weights``

    Raises
    ------
    TypeError
        ``input`` is not an array of integers, or is traced by ``compile`` or ``plan``.
    ValueError
        ``input`` has another number of axes or a negative number, ``weights`` another shape, or
        ``minlength`` is negative.

    Notes
    -----
    The host waits for the device to learn the length. Not differentiable. Source:
    ``torch.bincount``.
    """
    for argument, x in (("input", input), ("weights", weights)):
        if x is not None:
            check_values("bincount", argument, x)
    minlength = checked_int("bincount", "minlength", minlength, 0)
    if dpnp.dtype(input.dtype).kind not in "iu":
        raise TypeError(f"bincount: input must be of integers, got {input.dtype}")
    if input.ndim != 1:
        raise ValueError(f"bincount: input must have one axis, got shape {input.shape}")
    if weights is not None and weights.shape != input.shape:
        raise ValueError(f"bincount: weights must have shape {input.shape}, got {weights.shape}")
    numbers, values = host_or_dpnp(input)
    if input.size and int(values.min()) < 0:
        raise ValueError(f"bincount: input must not be negative, got {int(values.min())}")
    dtype = "int64"
    if weights is not None:
        dtype = "float32" if weights.dtype == "float32" else "float64"
        _, weights = host_or_dpnp(weights)
        weights = weights.astype(dtype, copy=False)
    if not input.size:
        return dpnp.zeros(minlength, dtype=dtype, sycl_queue=input.sycl_queue)
    size = max(int(values.max()) + 1, minlength)
    result = numbers.bincount(values.astype("int64", copy=False), weights, minlength=size)
    return arrays_like(input, [result.astype(dtype, copy=False)])[0]


@operation
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the elements in intervals of equal width.

    Parameters
    ----------
    input : array (*)
        Floating point.
    bins : int
        At least 1.
    min, max : number
        Range of the intervals; if they are equal, that of the elements, and counts are NaN if it is
        not finite. Elements outside the range are not counted.

    Returns
    -------
    array (bins,)
        dtype of ``input``.

    Raises
    ------
    TypeError
        The dtype is not floating point.
    ValueError
        ``bins`` is less than 1, or the range is not finite or empty.

    Notes
    -----
    Not differentiable. Source: ``torch.histc``.
    """
    check_float("histc", input=input)
    bins = checked_int("histc", "bins", bins, 1)
    if not (math.isfinite(min) and math.isfinite(max) and min <= max):
        raise ValueError(f"histc: max must be finite and at least min, got {min} and {max}")
    wide = dtypes.wide(str(input.dtype))
    counts = zeros(input.trace, (bins,), "int64")  # float32 would stop at 2**24
    if not input.size:
        return converted(counts, str(input.dtype))

    def place(v: Node) -> Node:
        """Return the interval of each element, -1 for none."""
        v = ops.cast(v, wide)
        low, high = (number(bound, wide) for bound in (min, max))
        if min == max:
            low, high = MIN(v, axes=(0,)), MAX(v, axes=(0,))
            is_point = ops.EQ(low, high)
            one = number(1, wide)
            low, high = ops.where(is_point, low - one, low), ops.where(is_point, high + one, high)
        at = ops.FLOOR((v - low) / (high - low) * bins)
        last = number(bins - 1, wide)
        at = ops.where(ops.GT(at, last), last, at)
        is_inside = ops.LOGICAL_AND(ops.GE(v, low), ops.LE(v, high))
        return ops.cast(ops.where(is_inside, at, broadcast_to(number(-1, wide), v.shape)), "int64")

    flat = reshape(input, (input.size,))
    ones = computed(lambda v: full(1, v.shape, "int64"), flat)
    counts = written(counts, ones, computed(place, flat), 0, is_added=True)
    result = converted(counts, str(input.dtype))
    if min != max:
        return result

    def limited(found: Node, v: Node) -> Node:
        ends = [ops.ISFINITE(extreme(v, axes=(0,))) for extreme in (MIN, MAX)]
        return ops.where(ops.LOGICAL_AND(*ends), found, number(math.nan, found.dtype))

    return computed(limited, result, flat)
