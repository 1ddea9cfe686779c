# SPDX-License-Identifier: Apache-2.0
"""scatter_reduce: sums, means, products and extremes of elements with one index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import div
from sycl_dnn.functional.arithmetic.comparison import eq, where
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.index.gathering import aligned
from sycl_dnn.functional.index.selected import selected, written
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.creation import full
from sycl_dnn.ops.selection import SCATTER, SCATTER_MAX, SCATTER_MIN, SCATTER_MUL
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp

#: By name: the operation that combines elements of ``input`` with values.
_PAIRWISE = {"prod": SCATTER_MUL, "amax": SCATTER_MAX, "amin": SCATTER_MIN}


def _neutral(reduce: str, dtype: str) -> float:
    """Return the number that does not change a reduction."""
    if reduce == "prod":
        return 1
    if dtypes.is_float(dtype):
        return -math.inf if reduce == "amax" else math.inf
    limits = np.iinfo(dtype)
    return int(limits.min if reduce == "amax" else limits.max)


def _counts(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return how many entries of the index name each element of ``x``."""
    ones = computed(lambda i: full(1, i.shape, "int64"), index)
    return written(zeros(x.trace, x.shape, "int64"), ones, index, axis, is_added=True)


def _summed(
    x: Tensor, values: Tensor, index: Tensor, axis: int, is_mean: bool, include_self: bool
) -> Tensor:
    counts = _counts(x, index, axis)
    initial = x if include_self else where(eq(counts, 0), x, 0)
    total = written(initial, values, index, axis, is_added=True)
    if not is_mean:
        return total
    one = number(1, "int64")
    divisor = computed(lambda n: n + 1 if include_self else ops.MAXIMUM(n, one), counts)
    return converted(
        div(total, divisor, rounding_mode=None if x.is_float else "floor"), str(x.dtype)
    )


def _pairwise(
    reduce: str, x: Tensor, values: Tensor, index: Tensor, axis: int, include_self: bool
) -> Tensor:
    """Reduce, for each element of ``x``, all values with its index."""
    dtype = str(x.dtype)

    def definition(old: Node, new: Node, i: Node) -> Node:
        if old.is_float:
            old, new = (ops.cast(v, dtypes.wide(dtype)) for v in (old, new))
        if not include_self:
            neutral = full(_neutral(reduce, dtype), new.shape, new.dtype)
            old = SCATTER(old, neutral, i, axis=axis)
        return ops.cast(_PAIRWISE[reduce](old, new, i, axis=axis), dtype)

    return computed(definition, x, values, index)


def _extreme(
    reduce: str, x: Tensor, values: Tensor, index: Tensor, axis: int, include_self: bool
) -> Tensor:
    """Return extremes; equal elements share the gradient."""
    wide = dtypes.wide(str(x.dtype)) if x.is_float else "float32"

    def rule(dy: Tensor) -> dict[str, Tensor]:
        def is_of_self(old: Node, best: Node, count: Node) -> Node:
            ties = ops.EQ(old, best)
            if not include_self:
                ties = ops.LOGICAL_AND(ties, ops.EQ(count, number(0, "int64")))
            return ops.cast(ties, wide)

        own = computed(is_of_self, x, result, _counts(x, index, axis))
        others = computed(
            lambda v, best: ops.cast(ops.EQ(v, best), wide), values, selected(result, index, axis)
        )
        ties = written(own, others, index, axis, is_added=True)
        zero = number(0, wide)

        def given(tie: Node, g: Node, count: Node) -> Node:
            is_tie = ops.NE(tie, zero)
            part = ops.cast(g, wide) / ops.where(is_tie, count, number(1, wide))
            return ops.cast(ops.where(is_tie, part, zero), g.dtype)

        dy_and_ties = [selected(t, index, axis) for t in (dy, ties)]
        return {
            "input": computed(given, own, dy, ties), "src": computed(given, others, *dy_and_ties)
        }  # fmt: skip

    result = x.trace.closed(
        {"input": x, "src": values},
        lambda: _pairwise(reduce, x, values, index, axis, include_self), rule,
    )  # fmt: skip
    return result


@operation
def scatter_reduce(
    input: Tensor, dim: int, index: dpnp.ndarray, src: Tensor, reduce: str,
    *, include_self: bool = True,
) -> Tensor:  # fmt: skip
    """Reduce elements by index: ``out[i, index[i, j, k], k]`` with ``src[i, j, k]`` for ``dim=1``.

    Parameters
    ----------
    input : array of any shape and real dtype except bool
        Not written to; the result is a new array.
    dim : int
    index : array of int32 or int64
        Same rank as ``input``; only axis ``dim`` may be longer.
    src : array
        Same dtype as ``input``; no axis may be shorter than that of ``index``.
    reduce : str
        "sum", "mean", "prod", "amax" or "amin".
    include_self : bool
        Whether elements of ``input`` are reduced, too; if not, they are kept only where no
        index names them.

    Returns
    -------
    array
        Shape and dtype of ``input``.

    Raises
    ------
    TypeError
        ``index`` is not an integer array, or the dtypes differ.
    ValueError
        The shapes do not match, or there is no such reduction.

    Notes
    -----
    The host does not read the index; out-of-range entries are ignored. Equal extremes share the
    gradient. Differentiable to any order, except products with three zeros: twice. Source:
    ``torch.scatter_reduce``.
    """
    name = "scatter_reduce"
    if reduce not in ("sum", "mean", *_PAIRWISE):
        choices = "'sum', 'mean', 'prod', 'amax' or 'amin'"
        raise ValueError(f"{name}: reduce must be {choices}, got {reduce!r}")
    check_arrays(name, src=src)
    if input.dtype == "bool":
        raise TypeError(f"{name}: input must not be bool")
    parts = aligned(name, input, dim, index, src)
    if parts is None:
        return input
    axis, index, values = parts
    x = input if input.ndim else reshape(input, (1,))
    if reduce in ("sum", "mean"):
        result = _summed(x, values, index, axis, reduce == "mean", include_self)
    else:
        record = _pairwise if reduce == "prod" else _extreme
        result = record(reduce, x, values, index, axis, include_self)
    return reshape(result, input.shape)
