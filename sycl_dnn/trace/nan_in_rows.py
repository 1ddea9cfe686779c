# SPDX-License-Identifier: Apache-2.0
"""NaN and infinities in reductions, as in PyTorch; oneDNN's maxima ignore NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.trace.pointwise import LARGEST, binary, div, linear_map
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled

A = algorithm
#: ``reduce(kind, x, axes)``; the axes are kept.
Reduce = Callable[[algorithm, Tensor, Sequence[int]], Tensor]


def nan_marks(x: Tensor, axes: Sequence[int], reduce: Reduce) -> Tensor:
    """Return NaN where ``x`` has a NaN along ``axes``, else 0."""
    marks = binary(A.binary_ne, x, x, _wide(x))
    found = reduce(A.reduction_max, marks, axes)
    return div(_number(found, 0.0), linear_map(found, -1.0, 1.0))


def extreme(
    kind: algorithm, x: Tensor, made: Tensor, axes: Sequence[int], reduce: Reduce
) -> Tensor:
    """Return the extremes ``made`` of ``x``, but NaN where it has NaN, infinite if all of it is."""
    is_max = kind is A.reduction_max
    # oneDNN starts from this value, so anything less becomes this value.
    # In float16 it is infinite.
    wide = {"float64": float(np.finfo("float64").max), "float16": math.inf}
    start = -wide.get(x.dtype, LARGEST)
    start = start if is_max else -start
    reached = binary(A.binary_ge if is_max else A.binary_le, x, _number(x, start), _wide(x))
    found = reduce(A.reduction_max, reached, axes)
    bound = linear_map(linear_map(found, 1.0, -0.5), math.inf if is_max else -math.inf)
    made = binary(A.binary_min if is_max else A.binary_max, made, bound, made.dtype)
    return binary(A.binary_add, made, nan_marks(x, axes, reduce), made.dtype)


def _number(x: Tensor, value: float) -> Tensor:
    return filled(x.trace, value, (1,) * x.ndim, x.dtype)


def _wide(x: Tensor) -> str:
    return x.dtype if x.dtype == "float64" else "float32"
