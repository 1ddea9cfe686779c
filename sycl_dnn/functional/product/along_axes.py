# SPDX-License-Identifier: Apache-2.0
"""Sparse weighted sums along axes: the basis of adaptive pooling and resizing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.functional.index.selected import selected
from sycl_dnn.functional.product.product import product
from sycl_dnn.functional.shape.joining import join
from sycl_dnn.trace.pointwise import mul
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, reshape, transpose


class Taps(NamedTuple):
    """Output i of an axis of ``n_in`` elements is the sum of ``weights[i, k] * x[columns[i, k]]``.

    Column ``n_in`` is a zero.
    """

    columns: np.ndarray
    weights: np.ndarray
    n_in: int

    @classmethod
    def of(cls, matrix: np.ndarray) -> Taps:
        """Return the taps of a matrix (T, S) whose rows are nonzero only within one window each."""
        known = matrix != 0
        first = known.argmax(axis=1)
        ends = matrix.shape[1] - known[:, ::-1].argmax(axis=1)
        return cls.between(first, np.where(known.any(axis=1), ends, first), matrix)

    @classmethod
    def between(cls, first: np.ndarray, ends: np.ndarray, matrix: np.ndarray) -> Taps:
        """Return the taps of windows (T,) of a matrix (T, S), including their zeros."""
        n_in = matrix.shape[1]
        columns = first[:, None] + np.arange(max(ends - first, default=0))
        # Shorter windows are padded with the zero column.
        columns = np.where(columns < ends[:, None], columns, n_in)
        weights = np.take_along_axis(np.pad(matrix, ((0, 0), (0, 1))), columns, 1)
        return cls(columns, weights, n_in)

    def matrix(self) -> np.ndarray:
        """Return the weights as a matrix (T, S)."""
        made = np.zeros((len(self.columns), self.n_in + 1))
        rows = np.broadcast_to(np.arange(len(self.columns))[:, None], self.columns.shape)
        np.add.at(made, (rows, self.columns), self.weights)
        return made[:, : self.n_in]


def along_axes(x: Tensor, taps: Mapping[int, Taps]) -> Tensor:
    """Replace the given axes of (N, C, *S) by the sums of their taps.

    Computed in float32: with several axes, narrow intermediate results would be rounded.
    """
    trace, dtype = x.trace, x.dtype
    wide = x if dtype == "float64" else trace.convert(x, "float32")
    made = transpose(wide, (0, *range(2, x.ndim), 1))
    # Multiplication by 0 would turn infinities outside the window into NaN.
    along = _summed if x.trace.keeps_nan else _multiplied
    # Axes that shrink most come first, so that the others process less.
    for axis in sorted(taps, key=lambda a: len(taps[a].columns) / taps[a].n_in):
        made = along(made, axis - 1, taps[axis])
    return trace.convert(transpose(made, (0, x.ndim - 1, *range(1, x.ndim - 1))), dtype)


def _multiplied(x: Tensor, axis: int, taps: Taps) -> Tensor:
    matrix = taps.matrix()
    n_out, n_in = matrix.shape
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    shape = (*x.shape[:axis], n_out, *x.shape[axis + 1 :])
    if inner == 1:
        right = x.trace.convert(x.trace.literal(matrix.T, x.dtype), x.dtype)
        return reshape(product(reshape(x, (outer, n_in)), right), shape)
    left = x.trace.convert(x.trace.literal(matrix[None], x.dtype), x.dtype)
    return reshape(product(left, reshape(x, (outer, n_in, inner))), shape)


def _summed(x: Tensor, axis: int, taps: Taps) -> Tensor:
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    x, shape = reshape(x, (outer, taps.n_in, inner)), x.shape
    if taps.columns.max(initial=0) == taps.n_in:
        x = join([x, filled(x.trace, 0.0, (outer, 1, inner), x.dtype)], 1)
    columns = x.trace.literal(taps.columns.reshape(1, -1, 1), "int64")
    found = selected(x, columns, 1)
    weights = x.trace.convert(x.trace.literal(taps.weights[..., None], x.dtype), x.dtype)
    terms = mul(reshape(found, (outer, *taps.columns.shape, inner)), weights)
    made = reduce(algorithm.reduction_sum, terms, (2,))
    return reshape(made, (*shape[:axis], len(taps.columns), *shape[axis + 1 :]))
