# SPDX-License-Identifier: Apache-2.0
"""Sparse weighted sums along axes: the basis of adaptive pooling and resizing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.selection import gather, gathered
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order, reshape, transpose


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
        is_nonzero = matrix != 0
        first = is_nonzero.argmax(axis=1)
        ends = matrix.shape[1] - is_nonzero[:, ::-1].argmax(axis=1)
        return cls.between(first, np.where(is_nonzero.any(axis=1), ends, first), matrix)

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
        result = np.zeros((len(self.columns), self.n_in + 1))
        rows = np.broadcast_to(np.arange(len(self.columns))[:, None], self.columns.shape)
        np.add.at(result, (rows, self.columns), self.weights)
        return result[:, : self.n_in]

    def transposed(self) -> Taps:
        """Return the taps of the transposed matrix; elements that are read twice stay apart."""
        n_out, count = self.columns.shape
        columns = self.columns.ravel()
        order = np.argsort(columns, kind="stable")
        order = order[columns[order] < self.n_in]
        columns = columns[order]
        counts = np.bincount(columns, minlength=self.n_in)
        slots = np.arange(len(columns)) - (np.cumsum(counts) - counts)[columns]
        shape = (self.n_in, max(counts, default=0))
        outputs, weights = np.full(shape, n_out), np.zeros(shape)
        outputs[columns, slots] = order // max(count, 1)
        weights[columns, slots] = self.weights.ravel()[order]
        return Taps(outputs, weights, n_out)


#: Minimum length of an innermost axis, and minimum number of channels, to fill vectors.
_LONG, _MANY = 32, 16


def along_axes(x: Tensor, taps: Mapping[int, Taps]) -> Tensor:
    """Replace axes of (N, C, *S) by the sums of their taps.

    Intermediate results are in float32, since narrow dtypes would round them.
    """
    wide = dtypes.wide(x.dtype)
    growth = {axis: len(axis_taps.columns) / axis_taps.n_in for axis, axis_taps in taps.items()}
    result, order = x, tuple(range(x.ndim))
    # Vectors are along the innermost axis. It stays as it is while other axes shrink.
    first = next((a for a in reversed(axis_order(result, x.ndim)) if x.shape[a] > 1), 1)
    shrinks = any(n < 1 for axis, n in growth.items() if axis != first)
    if x.shape[1] >= _MANY and (x.shape[first] < _LONG or not shrinks):
        first = 1
    result, order = _with_innermost(result, order, first)
    # Axes that shrink most come first, so that the others process less.
    axes = sorted(taps, key=lambda a: max(growth[a], 1.0) if a == first else growth[a])
    for axis in axes:
        if axis == order[-1]:
            sizes = dict(zip(order, result.shape, strict=True))
            others = [a for a in order[1:] if a != axis]
            inner = 1 if sizes[1] >= _MANY else max(others, key=lambda a: sizes[a])
            result, order = _with_innermost(result, order, inner)
        dtype = x.dtype if axis == axes[-1] else wide
        result = weighted_sums(result, order.index(axis), taps[axis], dtype)
    inverse = [order.index(axis) for axis in range(x.ndim)]
    return transpose(result, inverse)


def _with_innermost(x: Tensor, order: tuple[int, ...], axis: int) -> tuple[Tensor, tuple[int, ...]]:
    """Return a tensor and the order of its axes with an axis moved to the end."""
    new_order = (*[a for a in order if a != axis], axis)
    return transpose(x, [order.index(a) for a in new_order]), new_order


#: Maximum number of taps that a kernel unrolls.
_FEW = 9


def weighted_sums(x: Tensor, axis: int, taps: Taps, dtype: str | None = None) -> Tensor:
    """Sum only the taps: multiplying infinities elsewhere by 0 would give NaN.

    Computed in float32 if ``x`` is narrow; the result has its dtype, or another one.
    """
    dtype, wide = dtype or x.dtype, dtypes.wide(x.dtype) if x.is_float else x.dtype
    trace, (n_out, count) = x.trace, taps.columns.shape
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    has_zeros = taps.columns.max(initial=0) == taps.n_in
    n_parts = count if 0 < count <= _FEW else 1
    tables = [
        trace.literal(t[None, ..., None], "int32") for t in np.split(taps.columns, n_parts, 1)
    ]
    is_weighted = not (taps.weights == (taps.columns < taps.n_in)).all()
    if is_weighted:
        parts = np.split(taps.weights, n_parts, axis=1)
        tables += [trace.convert(trace.literal(t[None, ..., None], wide), wide) for t in parts]

    def definition(values: Node, *tables: Node) -> Node:
        terms = [
            gathered(values, index, 1) if has_zeros else gather(values, [index], [1])
            for index in tables[:n_parts]
        ]
        if is_weighted or count > 1:
            terms = [cast(term, wide) for term in terms]
        if is_weighted:
            terms = [t * weights for t, weights in zip(terms, tables[n_parts:], strict=True)]
        total = SUM(terms[0], axes=(2,)) if n_parts == 1 else sum(terms[1:], terms[0])
        return cast(total, dtype)

    def record() -> Tensor:
        values = reshape(x, (outer, taps.n_in, 1, inner))
        result = computed(definition, values, *tables)
        return reshape(result, (*x.shape[:axis], n_out, *x.shape[axis + 1 :]))

    return trace.closed(
        {"x": x}, record, lambda dy: {"x": weighted_sums(dy, axis, taps.transposed(), x.dtype)}
    )
