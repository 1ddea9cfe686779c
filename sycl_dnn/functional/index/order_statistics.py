# SPDX-License-Identifier: Apache-2.0
"""Elements by rank: median, nanmedian, kthvalue, quantile, nanquantile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn.call.operation import named, operation, templated
from sycl_dnn.functional.index.gathering import gathered
from sycl_dnn.functional.index.ordering import ordered
from sycl_dnn.functional.reduction.extremes import ValuesAndIndices
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.shape import SUM, broadcast_to
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, narrow, reshape, transpose, untaped

_TEXT = """{summary}

Parameters
----------
input : array (*A, n, *B)
    {dtypes}
{parameters}keepdim : bool
    Whether to keep the axis with size 1.

Returns
-------
{returns}

Raises
------
ValueError
    {errors}
TypeError
    {types}

Notes
-----
{notes}Differentiable to any order. Source: ``torch.{name}``.
"""
_PAIR = """values : array
    dtype of ``input``.
indices : array of int64
    Their indices along ``dim``."""


def _of_rank(name: str, x: Tensor, axis: int, order: Tensor, rank: Tensor) -> ValuesAndIndices:
    """Return elements, and their indices, by their rank (kept axis) in the order of each row."""
    indices = gathered(name, order, axis, rank)
    is_one = bool(x.ndim) and indices.shape[axis] == 1
    return ValuesAndIndices(gathered(name, x, axis, indices, are_distinct=is_one), indices)


def _without_axis(pair: ValuesAndIndices, axis: int, keepdim: bool) -> ValuesAndIndices:
    if keepdim or not pair.indices.ndim:
        return pair
    shape = [n for a, n in enumerate(pair.indices.shape) if a != axis]
    return ValuesAndIndices(*(reshape(t, shape) for t in pair))


def _count_nan(x: Node, axis: int) -> Node:
    if not x.is_float:
        shape = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
        return broadcast_to(number(0, "int64"), shape)
    return SUM(ops.cast(ops.ISNAN(x), "int64"), axes=(axis,))


def _along(name: str, x: Tensor, axis: int, skips_nan: bool) -> ValuesAndIndices:
    """Return the medians along an axis, which is kept: the lower of two; the first NaN if any."""
    _, order = ordered(name, x, axis, False)
    if not x.ndim:
        return ValuesAndIndices(x, order)
    n = x.shape[axis]

    def rank(v: Node) -> Node:
        n_nan, zero = _count_nan(v, axis), number(0, "int64")
        if skips_nan:
            last = n - 1 - n_nan
            return ops.FLOOR_DIVIDE(ops.MAXIMUM(last, zero), number(2, "int64"))
        return ops.where(ops.GT(n_nan, zero), n - n_nan, number((n - 1) // 2, "int64"))

    return _of_rank(name, x, axis, order, computed(rank, x))


def _of_all(name: str, x: Tensor, skips_nan: bool) -> Tensor:
    """Return the median of all elements; equal ones share the gradient."""
    if not x.size:
        if not x.is_float:
            raise ValueError(f"{name}: input must not be empty, got shape {x.shape}")
        return filled(x.trace, math.nan, (), str(x.dtype))
    flat = reshape(x, (x.size,))
    with untaped(x.trace):
        value = _along(name, flat, 0, skips_nan).values
    if not x.is_float:
        return reshape(value, ())

    def shared(v: Node, median: Node, g: Node) -> Node:
        both_nan = ops.LOGICAL_AND(ops.ISNAN(v), ops.ISNAN(median))
        is_equal = ops.LOGICAL_OR(ops.EQ(v, median), both_nan)
        count = SUM(ops.cast(is_equal, v.dtype), axes=(0,))
        return ops.where(is_equal, g / count, number(0, v.dtype))

    copy = value.view(value.shape, value.strides)
    return reshape(x.trace.view(flat, copy, lambda g: computed(shared, flat, value, g)), ())


def _median(name: str, summary: str, notes: str, skips_nan: bool) -> Any:
    def call(
        input: Tensor, dim: int | None = None, keepdim: bool = False
    ) -> Tensor | ValuesAndIndices:
        if dim is None:
            return _of_all(name, input, skips_nan)
        axis = check_axis(name, dim, input.ndim)
        if input.ndim and not input.shape[axis]:
            raise ValueError(f"{name}: input must not be empty along dim, got shape {input.shape}")
        if not input.size:
            shape = tuple(1 if a == axis else n for a, n in enumerate(input.shape))
            empty = [zeros(input.trace, shape, d) for d in (str(input.dtype), "int64")]
            return _without_axis(ValuesAndIndices(*empty), axis, keepdim)
        return _without_axis(_along(name, input, axis, skips_nan), axis, keepdim)

    doc = _TEXT.format(
        summary=summary, name=name, notes=notes, dtypes="Any real dtype.",
        parameters="dim : int, optional\n    All elements by default.\n",
        returns=f"array without axes, or with ``dim`` a named tuple\n{_PAIR}",
        errors="There is no such axis, or it is empty.", types="``input`` is complex.",
    )  # fmt: skip
    return operation(named(call, name, doc))


_TIES = "Without ``dim``, equal elements share the gradient. "
median = _median(
    "median", "Return the median, of two the lower one.", f"NaN if there is one. {_TIES}", False
)
nanmedian = _median("nanmedian", "Return the median of the elements that are not NaN.", _TIES, True)


@operation
@templated(
    _TEXT, dtypes="Any real dtype.", returns=_PAIR, types="``input`` is complex.", notes="NaN is "
    "the largest. ", errors="There is no such axis, or ``k`` is not in [1, n].",
)  # fmt: skip
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> ValuesAndIndices:
    """Return the k-th smallest elements along an axis, and their indices.

    k : int
        From 1 to n.
    dim : int
    """
    name = "kthvalue"
    axis = check_axis(name, dim, input.ndim)
    k, n = checked_int(name, "k", k, 1), input.shape[axis] if input.ndim else 1
    if k > n:
        raise ValueError(f"{name}: k must be at most {n}, got {k}")
    _, order = ordered(name, input, axis, False, k)
    if not input.ndim:
        return ValuesAndIndices(input, order)
    indices = order if not order.size else narrow(order, axis, k - 1, 1)
    pair = ValuesAndIndices(gathered(name, input, axis, indices, are_distinct=True), indices)
    return _without_axis(pair, axis, keepdim)


# --- Quantiles

#: By name: the rank of the lower element from the exact one.
_ROUNDED: dict[str, Callable[[Node], Node]] = {
    "linear": ops.FLOOR, "lower": ops.FLOOR, "midpoint": ops.FLOOR, "higher": ops.CEIL,
    "nearest": ops.ROUND,
}  # fmt: skip


def _checked_q(name: str, x: Tensor, q: Any) -> Tensor:
    if isinstance(q, Tensor):
        if q.ndim > 1 or q.dtype != x.dtype:
            raise ValueError(
                f"{name}: q must be a number or {x.dtype} with at most one axis, got {q.dtype} "
                f"{q.shape}"
            )
        return q
    if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 <= q <= 1:
        raise ValueError(f"{name}: q must be in [0, 1], got {q!r}")
    return filled(x.trace, float(q), (), str(x.dtype))


def _check_quantile(name: str, x: Tensor, interpolation: str) -> None:
    if str(x.dtype) not in ("float32", "float64"):
        raise TypeError(f"{name}: input must be float32 or float64, got {x.dtype}")
    if interpolation not in _ROUNDED:
        choices = ", ".join(map(repr, _ROUNDED))
        raise ValueError(f"{name}: interpolation must be one of {choices}, got {interpolation!r}")


def _quantile(
    name: str, x: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str,
    skips_nan: bool,
) -> Tensor:  # fmt: skip
    _check_quantile(name, x, interpolation)
    q = _checked_q(name, x, q)
    flat = reshape(x, (x.size,)) if dim is None or not x.ndim else x
    axis = check_axis(name, 0 if dim is None else dim, flat.ndim)
    if not x.size:
        raise ValueError(f"{name}: input must not be empty, got shape {x.shape}")
    rest = [a for a in range(flat.ndim) if a != axis]
    rows, n = transpose(flat, (*rest, axis)), flat.shape[axis]
    _, order = ordered(name, rows, -1, False)

    def rank(v: Node, share: Node) -> Node:
        n_nan = ops.cast(_count_nan(v, v.ndim - 1), v.dtype)
        if skips_nan:
            return share * ops.MAXIMUM(n - 1 - n_nan, number(0, v.dtype))
        last = number(n - 1, v.dtype)
        return ops.where(ops.GT(n_nan, number(0, v.dtype)), last, share * last)

    def elements(rounded: Callable[[Node], Node]) -> Tensor:
        places = computed(lambda v, share: ops.cast(rounded(rank(v, share)), "int64"), rows, shares)
        return _of_rank(name, rows, rows.ndim - 1, order, places).values

    shares = reshape(q, (q.size,))
    result = elements(_ROUNDED[interpolation])
    if interpolation in ("linear", "midpoint"):

        def between(low: Node, high: Node, v: Node, share: Node) -> Node:
            exact = rank(v, share)
            half = broadcast_to(number(0.5, v.dtype), exact.shape)
            weight = half if interpolation == "midpoint" else exact - ops.FLOOR(exact)
            return ops.LERP(low, high, weight)

        result = computed(between, result, elements(ops.CEIL), rows, shares)
    shape = [1 if dim is None or a == axis else m for a, m in enumerate(x.shape)]
    if not keepdim:
        shape = [] if dim is None else [flat.shape[a] for a in rest]
    moved = transpose(result, (result.ndim - 1, *range(result.ndim - 1)))
    return reshape(moved, (*q.shape, *shape))


_Q = """q : number, or array (m,)
    Shares, in [0, 1]. An array has the dtype of ``input``, and is differentiable.
dim : int, optional
    The axis, all elements by default.
interpolation : str
    Between two elements: "linear", "lower", "higher", "nearest" or "midpoint".
"""


def _of_shares(name: str, summary: str, notes: str, skips_nan: bool) -> Any:
    def call(
        input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *,
        interpolation: str = "linear",
    ) -> Tensor:  # fmt: skip
        return _quantile(name, input, q, dim, keepdim, interpolation, skips_nan)

    doc = _TEXT.format(
        summary=summary, name=name, dtypes="float32 or float64, not empty.", parameters=_Q,
        returns="array, or with an array ``q`` one (m, ...)", types="Another dtype.", notes=notes,
        errors="There is no such axis or interpolation, ``input`` is empty, or ``q`` is wrong.",
    )  # fmt: skip
    return operation(named(call, name, doc))


_UNREAD = "The\nhost does not read an array ``q``: shares out of range give NaN. "
quantile = _of_shares(
    "quantile", "Return quantiles along an axis.", f"NaN where there is one. {_UNREAD}", False
)
nanquantile = _of_shares(
    "nanquantile", "Return quantiles of the elements that are not NaN.",
    f"NaN of nothing else. {_UNREAD}", True,
)  # fmt: skip
