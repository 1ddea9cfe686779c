# SPDX-License-Identifier: Apache-2.0
"""Rows of a table by number, and sums of rows by number; all of it on the device.

On CPUs both are products with sparse matrices, which are made of the numbers there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn import _core, errors
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.place import place_of

#: ``function(numbers, table)``: rows of the table.
Rows = Callable[[dpnp.ndarray, dpnp.ndarray], dpnp.ndarray]
#: ``function(numbers, rows)``: sums of rows by number.
RowSums = Callable[["Sorted", dpnp.ndarray], dpnp.ndarray]
#: NaN as the bits of dtypes that dpnp lacks.
_NAN_BITS = {"bfloat16": 0x7FC0, "float8_e4m3": 0x7F, "float8_e5m2": 0x7F}


class SparseProduct:
    """A float32 matrix of (n, m) with ``m`` elements, times dense (m, width).

    Raises
    ------
    Unimplemented
        The engine has no such product.
    """

    def __init__(self, engine: Any, n: int, m: int, count: int, width: int) -> None:
        f32, s32 = dtypes.DATA_TYPES["float32"], dtypes.DATA_TYPES["int32"]
        self._matrix = _core.MemoryDesc.csr((n, m), f32, count, s32, s32)
        self._dense, self._out = (_core.MemoryDesc((k, width), f32, "ab") for k in (m, n))
        pd = _core.matmul(engine, src=self._matrix, weights=self._dense, dst=self._out)
        self._primitive = _core.Primitive(pd)

    def __call__(
        self, values: dpnp.ndarray, columns: dpnp.ndarray, starts: dpnp.ndarray, dense: dpnp.ndarray
    ) -> dpnp.ndarray:
        """Multiply; row ``i`` has the elements ``starts[i]`` to ``starts[i + 1]``."""
        from sycl_dnn.onednn.memory import Memory

        queue = dense.sycl_queue
        place, stream = place_of(queue)
        parts = [values, *(a.astype("int32", copy=False) for a in (columns, starts))]
        made = dpnp.empty(self._out.dims, dtype="float32", sycl_queue=queue)
        arrays = {
            "src": Memory(self._matrix, place.engine, parts),
            "weights": Memory(self._dense, place.engine, dpnp.ascontiguousarray(dense)),
            "dst": Memory(self._out, place.engine, made),
        }
        self._primitive.execute(stream, arrays)
        return made


def _product_or_none(dtype: str, *sizes: Any) -> SparseProduct | None:
    if dtype != "float32":
        return None
    try:
        return SparseProduct(*sizes)
    except errors.Unimplemented:
        return None


def inside(numbers: dpnp.ndarray, n: int) -> dpnp.ndarray:
    """Return where ``numbers``, int32 or int64, are in [0, n)."""
    # Negative numbers are large ones without a sign.
    return numbers.view(f"uint{8 * numbers.itemsize}") < n


def scalar(value: float, like: dpnp.ndarray) -> dpnp.ndarray:
    """Return a number as an array of the dtype and on the queue of another."""
    return dpnp.full((), value, dtype=like.dtype, sycl_queue=like.sycl_queue)


def rows_by_number(engine: Any, n: int, m: int, width: int, dtype: str) -> Rows:
    """Return the function that looks ``m`` rows of ``width`` elements up in ``n``.

    Numbers outside of [0, n) give rows of NaN, zeros for integers.
    """
    product = _product_or_none(dtype, engine, m, n, m, width)
    if product is not None:
        return _by_product(product, n, m)
    absent = _NAN_BITS.get(dtype, float("nan") if dtypes.is_float(dtype) else 0)

    def taken(numbers: dpnp.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        rows = dpnp.take(table, numbers, axis=0, mode="clip")
        return dpnp.where(inside(numbers, n)[:, None], rows, scalar(absent, rows))

    return taken


def _by_product(product: SparseProduct, n: int, m: int) -> Rows:
    def multiplied(numbers: dpnp.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        queue = numbers.sycl_queue
        known = inside(numbers, n)
        limits = dpnp.asarray([1, float("nan")], dtype="float32", sycl_queue=queue)
        values = dpnp.where(known, limits[0], limits[1])
        starts = dpnp.arange(m + 1, dtype="int32", sycl_queue=queue)
        return product(values, dpnp.where(known, numbers, 0), starts, table)

    return multiplied


class Sorted:
    """Numbers in order, and where each of 0 to n - 1 starts; others come last and do not count."""

    def __init__(self, numbers: dpnp.ndarray, n: int, left_out: int | None = None) -> None:
        keys = dpnp.where(inside(numbers, n), numbers, n)
        if left_out is not None:
            keys = dpnp.where(keys == left_out, n, keys)
        #: Which number comes first, second...
        self.order = dpnp.argsort(keys, kind="stable")
        self.keys = dpnp.take(keys, self.order)
        classes = dpnp.arange(n + 1, dtype=keys.dtype, sycl_queue=keys.sycl_queue)
        #: (n + 1,): the end of each is the start of the next.
        self.starts = dpnp.searchsorted(self.keys, classes)

    def counts(self) -> dpnp.ndarray:
        """Return how often each number comes, (n,)."""
        return self.starts[1:] - self.starts[:-1]


def _sums_by_product(product: SparseProduct, found: Sorted, rows: dpnp.ndarray) -> dpnp.ndarray:
    ones = dpnp.ones(found.order.size, dtype="float32", sycl_queue=rows.sycl_queue)
    return product(ones, found.order, found.starts, rows)


def _sums_by_doubling(found: Sorted, rows: dpnp.ndarray) -> dpnp.ndarray:
    """Return the same for devices and dtypes that have no sparse products.

    Each row adds the one ``step`` before it if that has its number, for steps 1, 2, 4...; then
    the last row of a number holds the sum of all of them.
    """
    rows, step = dpnp.take(rows, found.order, axis=0), 1
    zero = scalar(0, rows)
    while step < len(rows):
        is_same = (found.keys[step:] == found.keys[:-step])[:, None]
        rows[step:] = rows[step:] + dpnp.where(is_same, rows[:-step], zero)
        step *= 2
    last = dpnp.take(rows, found.starts[1:] - 1, axis=0, mode="clip")
    return dpnp.where((found.counts() > 0)[:, None], last, zero)


def row_sums(engine: Any, n: int, m: int, width: int, dtype: str) -> RowSums:
    """Return the function that sums ``m`` rows of ``width`` elements into ``n``."""
    product = _product_or_none(dtype, engine, n, m, m, width)
    if product is None:
        return _sums_by_doubling
    return lambda found, rows: _sums_by_product(product, found, rows)
