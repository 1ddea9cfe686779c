# SPDX-License-Identifier: Apache-2.0
"""Rows of a table by number, and sums of rows by number, as products with sparse matrices.

The numbers are looked at on the host anyway, so the matrices are made there: their index arrays
are small beside the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import _core, errors
from sycl_dnn.dispatch.dtypes import DATA_TYPES
from sycl_dnn.dispatch.places import place_of

#: ``function(numbers, table)``: rows of the table.
Rows = Callable[[np.ndarray, dpnp.ndarray], dpnp.ndarray]
#: ``function(numbers, values, rows)``: values[i] * rows[i] added to row numbers[i] of zeros.
RowSums = Callable[[np.ndarray, np.ndarray, dpnp.ndarray], dpnp.ndarray]


class SparseProduct:
    """A float32 matrix of (n, m) with ``count`` elements, times dense (m, width).

    Raises
    ------
    Unimplemented
        The engine has no such product.
    """

    def __init__(self, engine: Any, n: int, m: int, count: int, width: int) -> None:
        f32, s32 = DATA_TYPES["float32"], DATA_TYPES["int32"]
        self._matrix = _core.MemoryDesc.csr((n, m), f32, count, s32, s32)
        self._dense, self._out = (_core.MemoryDesc((k, width), f32, "ab") for k in (m, n))
        pd = _core.matmul(engine, src=self._matrix, weights=self._dense, dst=self._out)
        self._primitive = _core.Primitive(pd)

    def __call__(
        self, values: np.ndarray, columns: np.ndarray, ends: np.ndarray, dense: dpnp.ndarray
    ) -> dpnp.ndarray:
        """Multiply; row ``i`` has the elements ``ends[i]`` to ``ends[i + 1]``."""
        from sycl_dnn.onednn import Memory

        queue, count = dense.sycl_queue, len(values)
        place, stream = place_of(queue)
        bits = values.astype(np.float32).view(np.int32)
        # One transfer for all three.
        whole = np.concatenate([bits, columns, ends]).astype(np.int32)
        there = dpnp.asarray(whole, sycl_queue=queue)
        parts = [there[:count].view("float32"), there[count : 2 * count], there[2 * count :]]
        made = dpnp.empty(self._out.dims, dtype="float32", sycl_queue=queue)
        arrays = {
            "src": Memory(self._matrix, place.engine, parts),
            "weights": Memory(self._dense, place.engine, dpnp.ascontiguousarray(dense)),
            "dst": Memory(self._out, place.engine, made),
        }
        self._primitive.execute(stream, arrays)
        return made


def rows_by_number(engine: Any, n: int, m: int, width: int, dtype: str) -> Rows:
    """Return the function that looks ``m`` rows of ``width`` elements up in ``n``."""
    try:
        product = SparseProduct(engine, m, n, m, width) if dtype == "float32" else None
    except errors.Unimplemented:
        product = None

    def taken(numbers: np.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        there = dpnp.asarray(numbers, sycl_queue=table.sycl_queue)
        return dpnp.take(table, there, axis=0)

    def multiplied(numbers: np.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        return product(np.ones(m), numbers, np.arange(m + 1), table)

    return taken if product is None else multiplied


def _sums_by_product(engine: Any, n: int, m: int, width: int) -> RowSums:
    product = SparseProduct(engine, n, m, m, width)

    def summed(numbers: np.ndarray, values: np.ndarray, rows: dpnp.ndarray) -> dpnp.ndarray:
        order = np.argsort(numbers, kind="stable")
        ends = np.zeros(n + 1, np.int32)
        np.cumsum(np.bincount(numbers, minlength=n), out=ends[1:])
        return product(values[order], order, ends, rows)

    return summed


def _sums_by_counting(n: int, width: int, dtype: str) -> RowSums:
    """Return the same for devices and dtypes that have no sparse products."""

    def summed(numbers: np.ndarray, values: np.ndarray, rows: dpnp.ndarray) -> dpnp.ndarray:
        queue = rows.sycl_queue
        flat = (numbers[:, None] * width + np.arange(width)).ravel()
        factors = dpnp.asarray(values[:, None], dtype=dtype, sycl_queue=queue)
        weights = (rows * factors).ravel()
        there = dpnp.asarray(flat, sycl_queue=queue)
        total = dpnp.bincount(there, weights=weights, minlength=n * width)
        return total.astype(dtype).reshape(n, width)

    return summed


def row_sums(engine: Any, n: int, m: int, width: int, dtype: str) -> RowSums:
    """Return the function that sums ``m`` rows of ``width`` elements into ``n``."""
    if dtype == "float32":
        try:
            return _sums_by_product(engine, n, m, width)
        except errors.Unimplemented:
            pass
    return _sums_by_counting(n, width, dtype)
