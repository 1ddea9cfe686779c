# SPDX-License-Identifier: Apache-2.0
"""sort, argsort, topk, unique, nonzero and masked_select."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import host_view
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.convert import asarray, astype, constant_call, converted
from sycl_dnn.functional.arithmetic.operands import (
    arrays_like,
    by_values,
    check_values,
    host_or_dpnp,
    not_an_array,
)
from sycl_dnn.functional.index.gathering import gathered
from sycl_dnn.functional.index.keys_with_arrays import items_of
from sycl_dnn.functional.reduction.extremes import ValuesAndIndices
from sycl_dnn.functional.shape.arrangement import expand
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.kernels.launching import host_sequence, new_results
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import (
    BITS,
    BITWISE_AND,
    BITWISE_NOT,
    BITWISE_XOR,
    EQ,
    GE,
    GT,
    ISNAN,
    LOGICAL_AND,
    LOGICAL_OR,
    LT,
    cast,
    where,
)
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.selection import SCATTER_TO_ZEROS, pad
from sycl_dnn.ops.shape import SUM, broadcast_to
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.indexing import places_of
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.steps import OnHost, Out, Step
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, narrow, readable, reshape, transpose, untaped

#: Maximum row length to sort by counting, which takes quadratic time.
MAX_LENGTH = 256
#: Comparisons above which a CPU's host sorts faster than kernels count.
_MAX_COUNTED = 1 << 15
#: What the loops of the host order, and elements up to which NumPy, between programs, is slower.
_ORDERED, _MAX_ORDERED = ("float32", "int32"), 1 << 16
#: Length of the parts of a long row whose first elements are found separately.
_PART = 64


def can_count(x: Tensor) -> bool:
    """Whether kernels can compare the elements."""
    return x.dtype in REGISTERS


def sort_key(x: Node, *, descending: bool) -> Node:
    """Map elements to integers that are larger for what comes first; NaN is the largest value."""
    if x.is_float:
        x = cast(x, dtypes.wide(x.dtype))
        # Adding 0 turns -0 into +0.
        bits = BITS(x + 0.0)
        bound = number((1 << (63 if bits.dtype == "int64" else 31)) - 1, bits.dtype)
        ordered = where(GE(bits, number(0, bits.dtype)), bits, BITWISE_XOR(bits, bound))
        x = where(ISNAN(x), bound, ordered)
    elif x.dtype == "uint64":  # by the sign, with the order of signed integers
        x = cast(BITWISE_XOR(x, number(1 << 63, "uint64")), "int64")
    elif x.dtype != "int64":
        x = cast(x, "int64" if x.dtype == "uint32" else "int32")
    return x if descending else BITWISE_NOT(x)


def _ranks(keys: Tensor) -> Tensor:
    """Count the elements of each row (*, n) that precede an element; ties keep their order."""
    *outer, n = keys.shape
    positions = computed(lambda x: broadcast_to(iota(n), (n,)), keys)
    rows = [
        reshape(t, (*s, *broadcast))
        for broadcast in ((1, n), (n, 1))
        for t, s in ((keys, outer), (positions, ()))
    ]

    def definition(a: Node, i: Node, b: Node, j: Node) -> Node:
        """Compare with all others along the last axis."""
        is_before = LOGICAL_OR(GT(a, b), LOGICAL_AND(EQ(a, b), LT(i, j)))
        return SUM(cast(is_before, "int32"), axes=(len(outer) + 1,))

    return reshape(computed(definition, *rows), keys.shape)


def _placed(values: Tensor, ranks: Tensor, count: int) -> Tensor:
    """Return the first ``count`` values of each row in order."""
    axis, shape = values.ndim - 1, (*values.shape[:-1], count)

    def definition(v: Node, at: Node) -> Node:
        return SCATTER_TO_ZEROS(v, at, axis=axis, shape=shape)

    return computed(definition, values, ranks)


def first_indices(x: Tensor, count: int, *, descending: bool) -> Tensor:
    """Record the indices of the first elements of rows (R, n), in order: (R, count), int64.

    Long rows are reduced part by part until few candidates are left.
    """
    rows, n = x.shape
    keys = computed(lambda v: sort_key(v, descending=descending), x)
    indices = computed(lambda v: broadcast_to(iota(n, 1, 2, "int64"), (rows, n)), x)
    part_length = max(_PART, 4 * count)
    while n > part_length:
        n_parts = math.ceil(n / part_length)
        n_padding = n_parts * part_length - n
        if n_padding:
            # The lowest key sorts last; it ties at most with the lowest number, which precedes it.
            lowest = -(1 << (63 if keys.dtype == "int64" else 31))
            keys = computed(lambda v: pad(v, [(0, 0), (0, n_padding)], lowest), keys)  # noqa: B023
            indices = computed(lambda v: pad(v, [(0, 0), (0, n_padding)]), indices)  # noqa: B023
        keys, indices = (reshape(t, (rows, n_parts, part_length)) for t in (keys, indices))
        ranks = _ranks(keys)
        n = n_parts * count
        keys, indices = (reshape(_placed(t, ranks, count), (rows, n)) for t in (keys, indices))
    return _placed(indices, _ranks(keys), count)


def ordered(
    name: str, x: Tensor, dim: Any, descending: bool, count: int | None = None
) -> tuple[int, Tensor]:
    """Return the axis, and the indices of the first ``count`` elements in order."""
    axis = check_axis(name, dim, x.ndim)
    if not x.ndim:
        return axis, zeros(x.trace, (), "int64")
    count = x.shape[axis] if count is None else count
    if not x.size:
        return axis, zeros(x.trace, (*x.shape[:axis], count, *x.shape[axis + 1 :]), "int64")
    if count == 0:
        return axis, zeros(x.trace, (*x.shape[:axis], 0, *x.shape[axis + 1 :]), "int64")
    n = x.shape[axis]
    is_few = x.trace.is_on_cpu and x.dtype in _ORDERED and x.size <= _MAX_ORDERED
    if is_few and x.trace.policy.kernels != "never":
        return axis, _by_row(x, axis, count, _ordered_rows, descending=descending)
    if can_count(x):
        may_count = n <= MAX_LENGTH or 4 * count <= MAX_LENGTH
        if x.trace.is_on_cpu and not (may_count and x.size * min(n, _PART) <= _MAX_COUNTED):
            return axis, _sorted_on_host(x, axis, descending, count)
        if may_count:
            return axis, _by_row(x, axis, count, first_indices, descending=descending)
    # Sorting as float32 preserves the order of narrow dtypes.
    keys = converted(x, "float32") if x.dtype in dtypes.CARRIED else x

    def call(a: dpnp.ndarray) -> dpnp.ndarray:
        result = dpnp.argsort(a, axis=axis, descending=descending, stable=True)
        return result.astype("int64", copy=False)

    result = constant_call(x.trace, call, [keys], x.shape, "int64")
    return axis, narrow(result, axis, 0, count)


def _sorted_on_host(x: Tensor, axis: int, descending: bool, count: int) -> Tensor:
    """Record the indices of the first elements in order, by NumPy.

    NumPy sorts 64-bit integers by vector instructions, 20 times as fast as indices of other
    numbers: a key of 32 bits and the index below it are one of them.
    """

    def packed(v: Node) -> Node:
        key = BITWISE_NOT(sort_key(v, descending=descending))
        if key.dtype == "int64":
            return key
        return cast(key, "int64") * number(1 << 32, "int64") + iota(
            v.shape[axis], axis, v.ndim, "int64"
        )

    def by_numpy(a: np.ndarray) -> np.ndarray:
        if not is_packed:
            return first(_stable_order(a, axis))
        if count <= a.shape[axis] // 4:
            return np.sort(first(np.partition(a, count - 1, axis)), axis)
        return first(np.sort(a, axis))

    def first(a: np.ndarray) -> np.ndarray:
        return a[(slice(None),) * axis + (slice(count),)]

    with untaped(x.trace):
        is_packed = dtypes.bits_of(x.dtype) < 64 and x.dtype != "uint32"
        keys = computed(packed, x)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        result = constant_call(x.trace, OnHost("sort", by_numpy), [keys], shape, "int64")
        low = number((1 << 32) - 1, "int64")
        return computed(lambda v: BITWISE_AND(v, low), result) if is_packed else result


def _stable_order(a: np.ndarray, axis: int) -> np.ndarray:
    """Return ``np.argsort(a, axis, kind="stable")``; 6 times as fast if no elements are equal."""
    order = np.argsort(a, axis)
    ordered = np.moveaxis(np.take_along_axis(a, order, axis), axis, 0)
    has_equal = np.any(ordered[1:] == ordered[:-1])
    return np.argsort(a, axis, kind="stable") if has_equal else order


def _ordered_rows(rows: Tensor, count: int, *, descending: bool) -> Tensor:
    """Record the indices of the first elements of rows by the host's loops: (R, count), int64."""
    trace, src = rows.trace, readable(rows, 2)
    (result,) = new_results(trace, [Out((rows.shape[0], count), "int64")])
    sizes = *rows.shape, count, *src.strides, int(rows.dtype == "float32"), int(descending)
    order = ("order", ((0, 0), (1, 0)), sizes, (), ())
    kernel = host_sequence([order], "sort", [("sort", "host", False, ["src", "dst"])])
    trace.add_step(Step(kernel, {"src": src}, {"dst": result}))
    return result


def _by_row(x: Tensor, axis: int, count: int, record: Any, *, descending: bool) -> Tensor:
    """Return the indices of the first elements along an axis by a function of rows."""
    order = [*(a for a in range(x.ndim) if a != axis), axis]
    with untaped(x.trace):
        moved = transpose(x, order)
        rows = reshape(moved, (math.prod(moved.shape[:-1]), x.shape[axis]))
        result = record(rows, count, descending=descending)
        result = reshape(result, (*moved.shape[:-1], count))
        return transpose(result, [order.index(a) for a in range(x.ndim)])


_SORTED = """{summary}

Parameters
----------
input : array of any shape and real dtype
dim : int
descending : bool
    Largest first.
stable : bool
    Ignored: sorting is always stable.

Returns
-------
{returns}

Raises
------
ValueError
    There is no such axis.
TypeError
    ``input`` is complex.

Notes
-----
NaN counts as the largest. {notes}Source: ``torch.{name}``.
"""


@operation
@templated(
    _SORTED,
    returns="""values : array
    Shape and dtype of ``input``.
indices : array of int64
    Their former indices along ``dim``.""",
    notes="Gradients flow back to the elements' former positions. ",
)
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = True
) -> ValuesAndIndices:
    """Sort along an axis."""
    axis, indices = ordered("sort", input, dim, descending)
    return ValuesAndIndices(gathered("sort", input, axis, indices, are_distinct=True), indices)


@operation
@templated(_SORTED, returns="array of int64\n    Shape of ``input``.", notes="")
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = True
) -> dpnp.ndarray:
    """Return the indices that sort an array along an axis."""
    return ordered("argsort", input, dim, descending)[1]


@operation
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesAndIndices:
    """Return the ``k`` largest or smallest elements along an axis.

    Parameters
    ----------
    input : array of any shape and real dtype
    k : int
    dim : int
    largest : bool
    sorted : bool
        Ignored: results are always sorted.

    Returns
    -------
    values : array
        ``k`` elements along ``dim``; same dtype as ``input``.
    indices : array of int64
        Their indices; ties are resolved in favor of the first.

    Raises
    ------
    ValueError
        There is no such axis, or ``k`` is negative or greater than its length.
    TypeError
        ``input`` is complex.

    Notes
    -----
    NaN counts as the largest value. Source: ``torch.topk``.
    """
    axis = check_axis("topk", dim, input.ndim)
    n = input.shape[axis] if input.ndim else 1
    k = checked_int("topk", "k", k, 0)
    if k > n:
        raise ValueError(f"topk: k must be at most {n}, got {k}")
    axis, indices = ordered("topk", input, dim, largest, k)
    return ValuesAndIndices(gathered("topk", input, axis, indices, are_distinct=True), indices)


# --- Value-dependent shapes: the host waits for the device


def _with_values(name: str, input: Any) -> dpnp.ndarray:
    check_values(name, "input", input)
    return astype(input, "float32") if isinstance(input, Array) else input


@by_values
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the unique elements, or the unique slices along an axis.

    Parameters
    ----------
    input : array of any shape and real dtype
    sorted : bool
        Ignored: results are always sorted.
    return_inverse : bool
        Also return the index of each element among the unique ones.
    return_counts : bool
        Also return how often each occurs.
    dim : int, optional
        Compare slices along this axis.

    Returns
    -------
    array (k,), or slices (*A, k, *B), or a tuple
        With ``return_inverse`` an array of int64 of the shape of ``input``, or (n,); with
        ``return_counts`` one (k,) of int64.

    Raises
    ------
    TypeError
        ``input`` is not an array, or is traced by ``compile`` or ``plan``.
    ValueError
        There is no such axis.

    Notes
    -----
    The host waits for the device to learn the number of results. NaNs are all distinct. Not
    differentiable. Source: ``torch.unique``.
    """
    x = _with_values("unique", input)
    axis = None if dim is None else check_axis("unique", dim, x.ndim)
    numbers, values_of = host_or_dpnp(x)
    # Without counts NumPy looks for the values in a hash table, which is slower than sorting.
    found = numbers.unique(
        values_of, return_inverse=return_inverse, return_counts=True, axis=axis, equal_nan=False
    )
    values, *rest = arrays_like(x, found if return_counts else found[:-1])
    rest = [places.astype("int64", copy=False) for places in rest]
    if return_inverse:
        rest[0] = rest[0].reshape(x.shape if dim is None else (-1,))
    values = asarray(values, input.dtype) if isinstance(input, Array) else values
    return (values, *rest) if rest else values


@by_values
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of nonzero elements.

    Parameters
    ----------
    input : array of any shape and dtype
    as_tuple : bool
        Return one array (k,) per axis.

    Returns
    -------
    array (k, number of axes) of int64, or a tuple

    Raises
    ------
    TypeError
        ``input`` is not an array, or is traced by ``compile`` or ``plan``.

    Notes
    -----
    The host waits for the device to learn the number of results. Source: ``torch.nonzero``.
    """
    x = _with_values("nonzero", input)
    if not x.ndim:
        count = int(math.prod(x.shape) and bool(x != 0))
        if as_tuple:
            return (dpnp.zeros(count, dtype="int64", sycl_queue=x.sycl_queue),)
        return dpnp.zeros((count, 0), dtype="int64", sycl_queue=x.sycl_queue)
    numbers, values = host_or_dpnp(x)
    if numbers is dpnp:
        found = tuple([p.astype("int64", copy=False) for p in dpnp.nonzero(x)])
        return found if as_tuple else dpnp.stack(found, axis=1)
    places = places_of(values)
    if as_tuple:
        return tuple(arrays_like(x, places))
    result = dpnp.empty((len(places[0]), x.ndim), dtype="int64", sycl_queue=x.sycl_queue)
    for axis, place in enumerate(places):
        host_view(result.get_array())[:, axis] = place
    return result


def masked_select(input: Tensor, mask: dpnp.ndarray) -> Tensor:
    """Return the elements at which a mask is true.

    Parameters
    ----------
    input : array of any dtype
    mask : array of bool
        Shapes broadcast.

    Returns
    -------
    array (k,) of the dtype of ``input``

    Raises
    ------
    TypeError
        ``mask`` is not an array of bool, or is traced by ``compile`` or ``plan``.
    ValueError
        The shapes do not broadcast.

    Notes
    -----
    The host waits for the device to learn the number of results. Unselected elements have zero
    gradient. Source: ``torch.masked_select``.
    """
    for name, value in (("input", input), ("mask", mask)):
        if not isinstance(value, (dpnp.ndarray, Array, Tensor)):
            raise not_an_array("masked_select", name, value)
    if str(mask.dtype) != "bool":
        raise TypeError(f"masked_select: mask must be an array of bool, got {mask.dtype}")
    shape = broadcast_shape(input.shape, mask.shape)
    x, chosen = expand(input, shape), expand(mask, shape)
    is_plain = type(x) is type(chosen) is dpnp.ndarray
    return items_of(x, chosen) if is_plain else x[chosen]
