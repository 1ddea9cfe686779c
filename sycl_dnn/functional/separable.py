# SPDX-License-Identifier: Apache-2.0
"""Linear maps of single axes by constant matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape, transpose
from sycl_dnn.functional.matmul import product


def along_axes(x: Tensor, matrices: Mapping[int, np.ndarray]) -> Tensor:
    """Multiply axes of (N, C, *S) by matrices (T, S), given by number of the axis.

    Computed in float32: a second axis would round narrower intermediate results.
    """
    trace, dtype = x.trace, x.dtype
    wide = x if dtype == "float64" else trace.convert(x, "float32")
    made = transpose(wide, (0, *range(2, x.ndim), 1))
    # Axes that shrink come first: the others then have less to do.
    order = sorted(matrices, key=lambda a: matrices[a].shape[0] / matrices[a].shape[1])
    for axis in order:
        made = _along(made, axis - 1, matrices[axis])
    return trace.convert(transpose(made, (0, x.ndim - 1, *range(1, x.ndim - 1))), dtype)


def _along(x: Tensor, axis: int, matrix: np.ndarray) -> Tensor:
    n_out, n_in = matrix.shape
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    shape = (*x.shape[:axis], n_out, *x.shape[axis + 1 :])
    if inner == 1:
        right = x.trace.convert(x.trace.literal(matrix.T), x.dtype)
        return reshape(product(reshape(x, (outer, n_in)), right), shape)
    left = x.trace.convert(x.trace.literal(matrix[None]), x.dtype)
    return reshape(product(left, reshape(x, (outer, n_in, inner))), shape)
