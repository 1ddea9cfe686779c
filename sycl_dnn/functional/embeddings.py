# SPDX-License-Identifier: Apache-2.0
"""Rows of a table by number, and numbers as vectors: embedding, one_hot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn import _core, errors
from sycl_dnn._dpnp import bits_as, in_dtype
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.rows_of_tables import Slices, taken
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import shape as nodes
from sycl_dnn.ops.arithmetic import EQ, cast
from sycl_dnn.ops.creation import iota
from sycl_dnn.program.place import place_of
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


_INDICES = ("int32", "int64")


def _gradient(
    input: Tensor, weight: Tensor, grad: Tensor, padding_idx: int | None, by_frequency: bool
) -> Tensor:
    """Return the gradient of the table: rows of ``grad`` summed by their number."""
    trace, (n, width), m = weight.trace, weight.shape, input.size
    if not (m and weight.size):
        return trace.zeros(weight.desc, weight.shape)
    wide = grad.dtype if grad.dtype in ("float32", "float64") else "float32"
    sums = row_sums(trace.engine, n, m, width, wide)
    plain = sums_by_number(trace.engine, n, m, width, wide)
    is_plain = not by_frequency and padding_idx is None

    def scattered(indices: dpnp.ndarray, dy: dpnp.ndarray) -> dpnp.ndarray:
        if is_plain:
            return plain(indices.ravel(), dy.reshape(m, width))
        found = Sorted(indices.ravel(), n, padding_idx)
        made = sums(found, dy.reshape(m, width))
        return made / dpnp.maximum(found.counts(), 1)[:, None] if by_frequency else made

    def looked_up(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"1": _rows(input, grads["0"], None, False)}

    # What is left out or scaled has no second derivative.
    rule = None if by_frequency or padding_idx is not None else looked_up
    made = trace.array_call(
        scattered, [input, trace.convert(grad, wide)], [Out(weight.shape, wide)], rule
    )[0]
    return trace.convert(made, weight.dtype)


def _rows(input: Tensor, weight: Tensor, padding_idx: int | None, by_frequency: bool) -> Tensor:
    """Record the rows of a table that ``input`` names, and their gradient."""

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"1": _gradient(input, weight, grads["0"], padding_idx, by_frequency)}

    out = Out((*input.shape, weight.shape[1]), weight.dtype)

    def composed() -> Tensor:
        call = _looked_up(input.trace.engine, input.size, weight, out)
        return input.trace.array_call(call, [input, weight], [out], rule)[0]

    if by_frequency:
        return composed()
    left_out = -1 if padding_idx is None else padding_idx
    slices = Slices(reshape(input, (input.size,)), weight.shape, 0, left_out=left_out)

    def flat() -> Tensor:
        return reshape(composed(), (input.size, weight.shape[1]))

    return reshape(taken(weight, slices, flat), out.shape)


def _check_embedding(input: Tensor, weight: Tensor, **refused: Any) -> None:
    if input.dtype not in _INDICES:
        raise TypeError(f"embedding: input must be int32 or int64, got {input.dtype}")
    check_unpacked("embedding", "weight", weight)
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight must have shape (V, D), got {weight.shape}")
    if input.size and not weight.shape[0]:
        raise ValueError(f"embedding: weight must have a row, got shape {weight.shape}")
    for argument, value in refused.items():
        if value:
            raise ValueError(f"embedding: {argument} must be omitted here, got {value}")


@operation
def embedding(
    input: dpnp.ndarray,
    weight: dpnp.ndarray | Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> dpnp.ndarray | Array:
    """Look up rows of a table.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Numbers of rows, 0 to V - 1. Others, negative ones too, give rows of NaN (of zeros where
        the table holds integers) and add nothing to the gradient. The call does not wait.
    weight : array (V, D) of any dtype
    padding_idx : int, optional
        Row whose gradient is 0; negative counts from the end.
    scale_grad_by_freq : bool
        Divide the gradient of a row by how often it is looked up.
    max_norm, norm_type, sparse
        Only ``max_norm=None`` and ``sparse=False``: the table is never written to, and its
        gradient is dense.

    Returns
    -------
    array (*S, D)

    Raises
    ------
    TypeError
        ``input`` is not an array of integers, or ``weight`` is of 4-bit numbers.
    ValueError
        ``weight`` is not a table, or ``padding_idx`` is out of range.

    Notes
    -----
    On CPUs both directions are kernels of the program, which sum in the order of ``input``. Where
    ``kernel_mode`` is "never", and for float64, float32 tables are multiplied by a sparse matrix
    of ones, as the gradient is; else dpnp does both.

    Source: oneDNN developer guide, "Matrix Multiplication", sparse (CSR) source.
    """
    _check_embedding(input, weight, max_norm=max_norm, sparse=sparse)
    n = weight.shape[0]
    if padding_idx is not None:
        padding_idx = checked_int("embedding", "padding_idx", padding_idx)
        if not -n <= padding_idx < n:
            raise ValueError(f"embedding: padding_idx must be in [{-n}, {n}), got {padding_idx}")
        padding_idx %= n

    return _rows(input, weight, padding_idx, scale_grad_by_freq)


def _looked_up(engine: Any, m: int, weight: Tensor, out: Out) -> Callable[..., dpnp.ndarray]:
    n, width = weight.shape
    if not (m and width):
        return lambda indices, table: dpnp.empty(
            out.shape, dtype=table.dtype, sycl_queue=table.sycl_queue, usm_type=table.usm_type
        )
    rows = rows_by_number(engine, n, m, width, weight.dtype)

    def looked_up(indices: dpnp.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        return rows(indices.ravel(), table).reshape(out.shape)

    return looked_up


@operation
def _one_hot(input, num_classes):
    if input.dtype not in _INDICES:
        raise TypeError(f"one_hot: input must be int32 or int64, got {input.dtype}")
    if num_classes == -1:
        raise ValueError("one_hot: num_classes must be given inside a traced function, got -1")
    n = checked_int("one_hot", "num_classes", num_classes, 1)

    def encoded(x: Node) -> Node:
        numbers = nodes.reshape(x, (*x.shape, 1))
        return cast(EQ(numbers, iota(n, dtype=x.dtype)), "int64")

    return computed(encoded, input)


def one_hot(input: dpnp.ndarray, num_classes: int = -1) -> dpnp.ndarray:
    """Return a vector of zeros for each number, with a 1 at its place.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Classes, counted from 0.
    num_classes : int
        -1: one more than the largest class. Finding it waits for the device, and is not
        possible inside a trace.

    Returns
    -------
    array (*S, num_classes) of int64
        Only zeros for a number that is not in [0, num_classes).

    Raises
    ------
    TypeError
        ``input`` is not an array of integers.
    ValueError
        ``num_classes`` is neither positive nor -1, or -1 for an empty array.
    """
    if num_classes == -1 and isinstance(input, dpnp.ndarray):
        if not input.size:
            raise ValueError("one_hot: num_classes must be given for an empty array, got -1")
        num_classes = max(int(input.max()) + 1, 1)
    return _one_hot(input, num_classes)


# --- Rows of a table by number, and sums of rows by number; all of it on the device


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
        made = dpnp.empty(
            self._out.dims, dtype="float32", sycl_queue=queue, usm_type=dense.usm_type
        )
        arrays = {
            "src": Memory(self._matrix, place.engine, parts),
            "weights": Memory(self._dense, place.engine, dpnp.ascontiguousarray(dense)),
            "dst": Memory(self._out, place.engine, made),
        }
        self._primitive.execute(stream, arrays)
        return made


#: Narrower rows are taken one by one: 16 times faster than by a product for single numbers.
_WIDE = 8


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
    return bits_as(numbers, f"uint{8 * numbers.itemsize}") < n


def scalar(value: float, like: dpnp.ndarray) -> dpnp.ndarray:
    """Return a number as an array of the dtype and on the queue of another."""
    return dpnp.full(
        (), value, dtype=like.dtype, sycl_queue=like.sycl_queue, usm_type=like.usm_type
    )


def rows_by_number(engine: Any, n: int, m: int, width: int, dtype: str) -> Rows:
    """Return the function that looks ``m`` rows of ``width`` elements up in ``n``.

    Numbers outside of [0, n) give rows of NaN, zeros for integers.
    """
    product = _product_or_none(dtype, engine, m, n, m, width) if width >= _WIDE else None
    if product is not None:
        return _by_product(product, n, m)
    absent = _NAN_BITS.get(dtype, float("nan") if dtypes.is_float(dtype) else 0)

    def taken(numbers: dpnp.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        rows = dpnp.take(table, numbers, axis=0, mode="clip")
        return dpnp.where(inside(numbers, n)[:, None], rows, scalar(absent, rows))

    return taken


def _by_product(product: SparseProduct, n: int, m: int) -> Rows:
    def multiplied(numbers: dpnp.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        place = {"sycl_queue": numbers.sycl_queue, "usm_type": numbers.usm_type}
        known = inside(numbers, n)
        limits = dpnp.asarray([1, float("nan")], dtype="float32", **place)
        values = dpnp.where(known, limits[0], limits[1])
        starts = dpnp.arange(m + 1, dtype="int32", **place)
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
        classes = dpnp.arange(
            n + 1, dtype=keys.dtype, sycl_queue=keys.sycl_queue, usm_type=keys.usm_type
        )
        #: (n + 1,): the end of each is the start of the next.
        self.starts = dpnp.searchsorted(self.keys, classes)

    def counts(self) -> dpnp.ndarray:
        """Return how often each number comes, (n,)."""
        return self.starts[1:] - self.starts[:-1]


def _sums_by_product(product: SparseProduct, found: Sorted, rows: dpnp.ndarray) -> dpnp.ndarray:
    ones = dpnp.ones(
        found.order.size, dtype="float32", sycl_queue=rows.sycl_queue, usm_type=rows.usm_type
    )
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


def sums_by_number(engine: Any, n: int, m: int, width: int, dtype: str) -> Rows:
    """Return the function of ``m`` numbers and rows that sums the rows into ``n``."""
    if width == 1 and dtype in ("float32", "float64") and engine.kind is _core.engine_kind.cpu:
        return _sums_of_single_numbers(n)
    sums = row_sums(engine, n, m, width, dtype)
    return lambda numbers, rows: sums(Sorted(numbers, n), rows)


def _sums_of_single_numbers(n: int) -> Rows:
    """Return the same for rows of one element on CPUs, without sorting: 10 times faster."""

    def counted(numbers: dpnp.ndarray, rows: dpnp.ndarray) -> dpnp.ndarray:
        keys = dpnp.where(inside(numbers, n), numbers, scalar(n, numbers))
        made = dpnp.bincount(keys, weights=rows.ravel(), minlength=n + 1)
        return in_dtype(made[:n], rows.dtype).reshape(n, 1)

    return counted
