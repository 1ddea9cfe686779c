# SPDX-License-Identifier: Apache-2.0
"""Scans: cumulative operations along an axis, in either direction."""

from __future__ import annotations

import math

from sycl_dnn.ir.node import Node, Number, Operation, Shape, number
from sycl_dnn.ops.arithmetic import EQ, EXP, ISFINITE, STOP_GRADIENT, cast, where
from sycl_dnn.ops.selection import SCATTER_ADD, narrow, place
from sycl_dnn.ops.shape import SUM


def _along(inputs: tuple[Node, ...], *, axis: int, is_reversed: bool) -> tuple[Shape, str]:
    x, *others = inputs
    for other in others:
        if (other.shape, other.dtype) != (x.shape, x.dtype):
            raise ValueError(
                "linear_recurrence: factors and terms must have one shape and dtype, got "
                f"{x.shape} of {x.dtype} and {other.shape} of {other.dtype}"
            )
    return x.shape, x.dtype


def _places(inputs: tuple[Node, ...], *, axis: int, is_reversed: bool) -> tuple[Shape, str]:
    return inputs[0].shape, "int64"


def neighbor(x: Node, axis: int, value: Number, *, is_reversed: bool) -> Node:
    """Return the element that comes before each in a scan, a value before the first."""
    n = x.shape[axis]
    if not n:
        return x
    rest = narrow(x, axis, int(is_reversed), n - 1)
    cuts = [(0, 1, m) for m in x.shape]
    cuts[axis] = (int(not is_reversed), 1, n - 1)
    return place(rest, cuts, x.shape, value)


def _cumsum_vjp(node: Node, g: Node) -> list[Node]:
    axis, is_reversed = node.attributes["axis"], node.attributes["is_reversed"]
    return [CUMSUM(g, axis=axis, is_reversed=not is_reversed)]


def _sums_back(factors: Node, g: Node, axis: int, *, is_reversed: bool) -> Node:
    """Return the gradients of a recurrence's states: ``g[i] + factor * gradient[i + 1]``.

    ``factors`` lead to each state, and ``is_reversed`` says of the recurrence which is the first.
    """
    to_next = neighbor(factors, axis, 0, is_reversed=not is_reversed)
    return LINEAR_RECURRENCE(to_next, g, axis=axis, is_reversed=not is_reversed)


def _cumprod_vjp(node: Node, g: Node) -> list[Node]:
    """As torch, which divides by each element of a row without zeros: NaN at infinities."""
    (x,), axis = node.inputs, node.attributes["axis"]
    is_reversed = node.attributes["is_reversed"]
    sums = CUMSUM(node * g, axis=axis, is_reversed=not is_reversed)
    is_zero = EQ(x, number(0, x.dtype))
    n_zeros = SUM(cast(is_zero, "int32"), axes=(axis,))
    # Unselected elements must stay finite, or the gradient would be NaN.
    quotient = sums / where(is_zero, number(1, x.dtype), x)
    # Products of the preceding elements, times sums of the following ones.
    before = neighbor(node, axis, 1, is_reversed=is_reversed)
    slope = before * _sums_back(x, g, axis, is_reversed=is_reversed)
    return [where(EQ(n_zeros, number(0, "int32")), quotient, slope)]


def _recurrence_vjp(node: Node, g: Node) -> list[Node]:
    factors, axis = node.inputs[0], node.attributes["axis"]
    is_reversed = node.attributes["is_reversed"]
    sums = _sums_back(factors, g, axis, is_reversed=is_reversed)
    return [sums * neighbor(node, axis, 0, is_reversed=is_reversed), sums]


def _logcumsumexp_vjp(node: Node, g: Node) -> list[Node]:
    """With factors of at most 1, since the results grow: nothing overflows.

    Weights are divided by their sum: they have the rounding errors of the results, which may be
    large numbers. So they do not depend on the results.
    """
    (x,), axis, result = node.inputs, node.attributes["axis"], STOP_GRADIENT(node)
    is_reversed = node.attributes["is_reversed"]
    zero, one = number(0, x.dtype), number(1, x.dtype)
    following = neighbor(result, axis, math.inf, is_reversed=not is_reversed)
    # Equal infinities differ by 0.
    shrink = where(EQ(result, following), one, EXP(result - following))
    weights, is_finite = EXP(x - result), ISFINITE(result)
    total = LINEAR_RECURRENCE(
        neighbor(shrink, axis, 0, is_reversed=is_reversed), where(is_finite, weights, zero),
        axis=axis, is_reversed=is_reversed,
    )  # fmt: skip
    shares = g / where(is_finite, total, one)
    return [weights * LINEAR_RECURRENCE(shrink, shares, axis=axis, is_reversed=not is_reversed)]


def _extreme_vjp(node: Node, g: Node) -> list[Node]:
    (x,), axis = node.inputs, node.attributes["axis"]
    index = INDICES[node.operation](x, **node.attributes)
    return [SCATTER_ADD(g, index, axis=axis, shape=x.shape)]


CUMSUM = Operation("cumsum", _along, _cumsum_vjp)
CUMPROD = Operation("cumprod", _along, _cumprod_vjp)
#: ``h[i] = a[i] * h[i - 1] + b[i]`` of factors ``a`` and terms ``b``, from 0.
LINEAR_RECURRENCE: Operation = Operation("linear_recurrence", _along, _recurrence_vjp)
LOGCUMSUMEXP = Operation("logcumsumexp", _along, _logcumsumexp_vjp)
#: The extreme so far; of equal ones, and of NaN, the last one has the gradient.
CUMMAX: Operation = Operation("cummax", _along, _extreme_vjp)
CUMMIN: Operation = Operation("cummin", _along, _extreme_vjp)
#: By extreme: where it is.
INDICES = {
    CUMMAX: Operation("cummax_index", _places, is_flat=True),
    CUMMIN: Operation("cummin_index", _places, is_flat=True),
}
