# SPDX-License-Identifier: Apache-2.0
"""Sums of rows by number: what the gradient of a look-up in a table takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn import _core, errors
from sycl_dnn.dispatch.dtypes import DATA_TYPES
from sycl_dnn.dispatch.places import place_of

#: ``function(indices, values, rows)``: values[i] * rows[i] added to row indices[i] of zeros.
RowSums = Callable[[dpnp.ndarray, dpnp.ndarray, dpnp.ndarray], dpnp.ndarray]


def _sum_of_rows(n: int, m: int, width: int, engine: Any) -> RowSums:
    """Return a product with a sparse matrix, n by m, that has one value for each index."""
    f32, s32 = DATA_TYPES["float32"], DATA_TYPES["int32"]
    matrix = _core.MemoryDesc.csr((n, m), f32, m, s32, s32)
    rows, out = (_core.MemoryDesc((k, width), f32, "ab") for k in (m, n))
    pd = _core.matmul(engine, src=matrix, weights=rows, dst=out)
    product = _core.Primitive(pd)

    def summed(indices: dpnp.ndarray, values: dpnp.ndarray, dy: dpnp.ndarray) -> dpnp.ndarray:
        from sycl_dnn.onednn import Memory

        queue = dy.sycl_queue
        order = dpnp.argsort(indices)
        counts = dpnp.bincount(indices, minlength=n)
        ends = dpnp.zeros(n + 1, dtype="int32", sycl_queue=queue)
        ends[1:] = dpnp.cumsum(counts)
        parts = [dpnp.take(values, order), order.astype("int32"), ends]
        made = dpnp.empty((n, width), dtype="float32", sycl_queue=queue)
        place, stream = place_of(queue)
        given = {"src": (matrix, parts), "weights": (rows, dy), "dst": (out, made)}
        product.execute(stream, {k: Memory(d, place.engine, a) for k, (d, a) in given.items()})
        return made

    return summed


def _sum_by_counting(n: int, width: int, dtype: str) -> RowSums:
    """Return the same for devices and dtypes that have no sparse products."""

    def summed(indices: dpnp.ndarray, values: dpnp.ndarray, dy: dpnp.ndarray) -> dpnp.ndarray:
        columns = dpnp.arange(width, sycl_queue=dy.sycl_queue)
        flat = (indices[:, None] * width + columns).ravel()
        weights = (dy * values[:, None]).ravel()
        total = dpnp.bincount(flat, weights=weights, minlength=n * width)
        return total.astype(dtype).reshape(n, width)

    return summed


def row_sums(engine: Any, n: int, m: int, width: int, dtype: str) -> RowSums:
    """Return the function that sums ``m`` rows of ``width`` elements into ``n``."""
    if dtype == "float32":
        try:
            return _sum_of_rows(n, m, width, engine)
        except errors.Unimplemented:
            pass
    return _sum_by_counting(n, width, dtype)
