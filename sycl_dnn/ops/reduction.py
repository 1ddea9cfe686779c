# SPDX-License-Identifier: Apache-2.0
"""Reductions (reduced axes keep size 1), cumulative operations and normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, Shape, number
from sycl_dnn.ops.arithmetic import (
    ABS,
    CAST,
    EQ,
    EXP,
    EXP_NONPOSITIVE,
    GT,
    ISINF,
    LOG,
    LOGICAL_AND,
    LT,
    NE,
    POW,
    SIGN,
    SQRT,
    SQUARE,
    STOP_GRADIENT,
    cast,
    where,
)
from sycl_dnn.ops.scan import CUMPROD, neighbor
from sycl_dnn.ops.selection import narrow
from sycl_dnn.ops.shape import SUM, broadcast_to

Axes = tuple[int, ...]


def _kept(inputs: tuple[Node, ...], *, axes: Axes) -> tuple[Shape, str]:
    return SUM.infer(inputs, axes=axes)


def _not_empty(inputs: tuple[Node, ...], *, axes: Axes) -> tuple[Shape, str]:
    (x,) = inputs
    if any(x.shape[k] == 0 for k in axes):
        raise ValueError(f"axes must not be empty, got shape {x.shape}")
    return _kept(inputs, axes=axes)


def all_axes(x: Node, axes: int | Sequence[int] | None) -> Axes:
    """Return axes as sorted nonnegative numbers; None means all."""
    if axes is None:
        return tuple(range(x.ndim))
    axes = (axes,) if isinstance(axes, int) else axes
    return tuple(sorted({k % x.ndim for k in axes}))


def _extreme_vjp(node: Node, g: Node) -> list[Node]:
    """Split the gradient among ties, as in ``torch.amax``; NaN where the extreme is NaN."""
    (x,), axes = node.inputs, node.attributes["axes"]
    hits = cast(EQ(x, node), x.dtype)
    return [hits * (g / SUM(hits, axes=axes))]


def _shared(g: Node, x: Node, extreme: Node, axes: Axes) -> Node:
    """Split the gradient among ties, including NaN, as in ``torch.max`` over all elements."""
    hits = cast(EQ(x, extreme), x.dtype)
    is_nan = cast(LOGICAL_AND(NE(x, x), NE(extreme, extreme)), x.dtype)
    shares = hits + is_nan
    return shares * (g / SUM(shares, axes=axes))


def _shared_vjp(node: Node, g: Node) -> list[Node]:
    return [_shared(g, node.inputs[0], node, node.attributes["axes"])]


MAX = Operation("max", _not_empty, _extreme_vjp)
MIN = Operation("min", _not_empty, _extreme_vjp)
#: Like MAX, with a different gradient for NaN.
MAX_OF_ALL = Operation("max_of_all", _not_empty, _shared_vjp, definition=MAX)
MIN_OF_ALL = Operation("min_of_all", _not_empty, _shared_vjp, definition=MIN)


def _products_of_others(x: Node, axis: int) -> Node:
    """Return for each element the product of the others along an axis, right with zeros."""
    before, after = (
        neighbor(CUMPROD(x, axis=axis, is_reversed=is_reversed), axis, 1, is_reversed=is_reversed)
        for is_reversed in (False, True)
    )
    return before * after


def _prod_vjp(node: Node, g: Node) -> list[Node]:
    (x,), axes = node.inputs, node.attributes["axes"]
    if not x.size:
        return [x]
    *outer, axis = axes
    # With several axes: combine partial products over all but the last.
    rest = PROD(x, axes=(axis,))
    share = _products_of_others(x, axis)
    if not outer:
        return [g * share]
    (inner,) = _prod_vjp(PROD(rest, axes=tuple(outer)), g)
    return [inner * share]


PROD = Operation("prod", _kept, _prod_vjp)
#: Logical reductions, and indices of the first extreme.
ANY = Operation("any", lambda i, *, axes: (_kept(i, axes=axes)[0], "bool"), is_flat=True)
ALL = Operation("all", lambda i, *, axes: (_kept(i, axes=axes)[0], "bool"), is_flat=True)
ARGMAX = Operation(
    "argmax", lambda i, *, axes: (_not_empty(i, axes=axes)[0], "int64"), is_flat=True
)
ARGMIN = Operation(
    "argmin", lambda i, *, axes: (_not_empty(i, axes=axes)[0], "int64"), is_flat=True
)


# --- Along one axis, which keeps its size


def _along(inputs: tuple[Node, ...], *, axis: int) -> tuple[Shape, str]:
    (x,) = inputs
    return x.shape, x.dtype


def _shifted(x: Node, axis: int) -> Node:
    """Subtract the maximum of each slice, so that exponentials are finite."""
    return x - STOP_GRADIENT(MAX(x, axes=(axis,))) if x.size else x


def _softmax(x: Node, *, axis: int) -> Node:
    powers = EXP_NONPOSITIVE(_shifted(x, axis))
    return powers * (1 / SUM(powers, axes=(axis,)))


def softmax_gradient(y: Node, g: Node, *, axis: int) -> Node:
    """Return the gradient of softmax by its input, from its result."""
    return y * (g - SUM(g * y, axes=(axis,)))


def _softmax_vjp(node: Node, g: Node) -> list[Node]:
    return [softmax_gradient(node, g, **node.attributes)]


def _log_softmax(x: Node, *, axis: int) -> Node:
    shifted = _shifted(x, axis)
    return shifted - LOG(SUM(EXP_NONPOSITIVE(shifted), axes=(axis,)))


def _log_softmax_vjp(node: Node, g: Node) -> list[Node]:
    return [g - EXP_NONPOSITIVE(node) * SUM(g, axes=(node.attributes["axis"],))]


SOFTMAX = Operation("softmax", _along, _softmax_vjp, definition=_softmax)
LOG_SOFTMAX = Operation("log_softmax", _along, _log_softmax_vjp, definition=_log_softmax)


# --- Composed reductions


def _mean(x: Node, *, axes: Axes) -> Node:
    total = SUM(x, axes=axes)
    return total / float(x.size // total.size if total.size else 0)


def _first(x: Node, axes: Axes) -> Node:
    """Return the first element along each axis, with size 1."""
    if x.operation is CAST:
        return cast(_first(x.inputs[0], axes), x.dtype)
    for axis in axes:
        x = narrow(x, axis, 0, 1)
    return x


def _centered(x: Node, axes: Axes) -> Node:
    """Subtract the mean; exactly 0 if all elements are equal."""
    if x.size:
        x = x - STOP_GRADIENT(_first(x, axes))
    return x - _mean(x, axes=axes)


def _var(x: Node, *, axes: Axes, correction: float) -> Node:
    total = SUM(SQUARE(_centered(x, axes)), axes=axes)
    n = x.size // total.size if total.size else 0
    # No more elements than the correction gives NaN or infinity, as in torch.
    return total / max(n - correction, 0.0)


def _var_vjp(node: Node, g: Node) -> list[Node]:
    (x,), axes = node.inputs, node.attributes["axes"]
    free = (x.size // node.size if node.size else 0) - node.attributes["correction"]
    return [(x - _mean(x, axes=axes)) * (g * (2.0 / free if free else math.inf))]


def _std(x: Node, *, axes: Axes, correction: float) -> Node:
    factor = _square_factor(x, axes)
    variance = VAR(x * factor, axes=axes, correction=correction)
    return SQRT(variance) / factor


def _std_vjp(node: Node, g: Node) -> list[Node]:
    (x,), axes = node.inputs, node.attributes["axes"]
    free = (x.size // node.size if node.size else 0) - node.attributes["correction"]
    # The gradient at 0 is 0 rather than the infinite slope of the root.
    zero = number(0, x.dtype)
    is_zero = EQ(node, zero)
    slope = where(is_zero, zero, g * (1.0 / free if free else math.inf))
    return [(x - _mean(x, axes=axes)) / where(is_zero, number(1, x.dtype), node) * slope]


#: By dtype: exponents of 2 of the numbers whose squares lose nothing, and of a factor for others.
_SQUARED = {"float32": (50, 80), "float64": (400, 640)}


def _square_factor(x: Node, axes: Axes) -> Node:
    """Return the power of 2 by which to multiply so that squares neither overflow nor vanish."""
    one = number(1, x.dtype)
    if not x.size or x.dtype not in _SQUARED:
        return one
    limit, factor = _SQUARED[x.dtype]
    largest = STOP_GRADIENT(MAX(ABS(x), axes=axes))
    at_most = where(GT(largest, number(2.0**limit, x.dtype)), number(2.0**-factor, x.dtype), one)
    is_small = LT(largest, number(2.0**-limit, x.dtype))
    return where(is_small, number(2.0**factor, x.dtype), at_most)


def _logsumexp(x: Node, *, axes: Axes) -> Node:
    if not x.size:
        return LOG(SUM(x, axes=axes))
    largest = STOP_GRADIENT(MAX(x, axes=axes))
    # Rows with an infinite maximum: no shift, so that infinities are preserved.
    shift = where(ISINF(largest), number(0, x.dtype), largest)
    return LOG(SUM(EXP(x - shift), axes=axes)) + shift


def _logsumexp_vjp(node: Node, g: Node) -> list[Node]:
    return [EXP(node.inputs[0] - node) * g]


def _is_of_one(x: Node, axes: Axes) -> bool:
    """Whether slices have one element, whose norm is its absolute value, however large."""
    return all(x.shape[k] == 1 for k in axes)


def _norm(x: Node, *, axes: Axes, order: float) -> Node:
    if order == 0:
        return SUM(cast(NE(x, number(0, x.dtype)), x.dtype), axes=axes)
    if _is_of_one(x, axes):
        return ABS(x)
    if math.isinf(order):
        return (MAX if order > 0 else MIN)(ABS(x), axes=axes)
    if order == 1:
        return SUM(ABS(x), axes=axes)
    if order == 2:
        return SQRT(SUM(SQUARE(x), axes=axes))
    return _power(SUM(_power(ABS(x), order), axes=axes), 1 / order)


def _norm_vjp(node: Node, g: Node) -> list[Node]:
    """Return the gradient of a norm, 0 where it is not differentiable."""
    (x,), axes, order = node.inputs, node.attributes["axes"], node.attributes["order"]
    zero = number(0, x.dtype)
    if order == 0:
        return [broadcast_to(zero, x.shape)]
    if math.isinf(order):
        return [SIGN(x) * _shared(g, ABS(x), node, axes)]
    if order == 1:
        return [SIGN(x) * g]
    is_zero = EQ(node, zero)
    safe = where(is_zero, number(1, x.dtype), node)
    if _is_of_one(x, axes):
        return [where(is_zero, zero, x / safe) * g]
    if order == 2:
        return [x * where(is_zero, zero, g / safe)]
    slope = SIGN(x) * _power(ABS(x), order - 1)
    slope = where(EQ(x, zero), zero, slope) if order < 1 else slope
    return [slope * where(is_zero, zero, g / _power(safe, order - 1))]


def _power(x: Node, exponent: float) -> Node:
    return POW(x, number(exponent, x.dtype))


MEAN = Operation("mean", _kept, definition=_mean)
VAR = Operation(
    "var", lambda i, *, axes, correction: _kept(i, axes=axes), _var_vjp, definition=_var
)
STD = Operation(
    "std", lambda i, *, axes, correction: _kept(i, axes=axes), _std_vjp, definition=_std
)
LOGSUMEXP = Operation("logsumexp", _kept, _logsumexp_vjp, definition=_logsumexp)
NORM = Operation("norm", lambda i, *, axes, order: _kept(i, axes=axes), _norm_vjp, definition=_norm)
