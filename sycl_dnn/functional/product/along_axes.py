# SPDX-License-Identifier: Apache-2.0
"""Sparse weighted sums along axes: the basis of adaptive pooling and resizing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.selection import gather, gathered
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose


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

    def transposed(self) -> Taps:
        """Return the taps of the transposed matrix; elements that are read twice stay apart."""
        n_out, count = self.columns.shape
        columns = self.columns.ravel()
        order = np.argsort(columns, kind="stable")
        order = order[columns[order] < self.n_in]
        columns = columns[order]
        counts = np.bincount(columns, minlength=self.n_in)
        places = np.arange(len(columns)) - (np.cumsum(counts) - counts)[columns]
        shape = (self.n_in, max(counts, default=0))
        turned, weights = np.full(shape, n_out), np.zeros(shape)
        turned[columns, places] = order // max(count, 1)
        weights[columns, places] = self.weights.ravel()[order]
        return Taps(turned, weights, n_out)


def along_axes(x: Tensor, taps: Mapping[int, Taps]) -> Tensor:
    """Replace the given axes of (N, C, *S) by the sums of their taps.

    Computed in float32: with several axes, narrow intermediate results would be rounded.
    """
    trace, dtype = x.trace, x.dtype
    wide = x if dtype == "float64" else trace.convert(x, "float32")
    made = transpose(wide, (0, *range(2, x.ndim), 1))
    # Axes that shrink most come first, so that the others process less.
    for axis in sorted(taps, key=lambda a: len(taps[a].columns) / taps[a].n_in):
        made = _summed(made, axis - 1, taps[axis])
    return trace.convert(transpose(made, (0, x.ndim - 1, *range(1, x.ndim - 1))), dtype)


#: Taps up to which a kernel has an instruction for each.
_FEW = 4


def _summed(x: Tensor, axis: int, taps: Taps) -> Tensor:
    """Sum the taps, and nothing else: a product by 0 would make NaN of infinities elsewhere."""
    trace, (n_out, count) = x.trace, taps.columns.shape
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    has_zeros = taps.columns.max(initial=0) == taps.n_in
    n_parts = count if count <= _FEW else 1
    tables = [
        trace.literal(columns[None, ..., None], "int32")
        for columns in np.split(taps.columns, n_parts, axis=1)
    ] + [
        trace.convert(trace.literal(weights[None, ..., None], x.dtype), x.dtype)
        for weights in np.split(taps.weights, n_parts, axis=1)
    ]

    def definition(values: Node, *tables: Node) -> Node:
        terms = [
            (gathered(values, at, 1) if has_zeros else gather(values, [at], [1])) * weights
            for at, weights in zip(tables[:n_parts], tables[n_parts:], strict=True)
        ]
        return SUM(terms[0], axes=(2,)) if n_parts == 1 else sum(terms[1:], terms[0])

    def made() -> Tensor:
        values = reshape(x, (outer, taps.n_in, 1, inner))
        result = computed(definition, values, *tables)
        return reshape(result, (*x.shape[:axis], n_out, *x.shape[axis + 1 :]))

    return trace.closed({"x": x}, made, lambda dy: {"x": _summed(dy, axis, taps.transposed())})
