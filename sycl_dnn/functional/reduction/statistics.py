# SPDX-License-Identifier: Apache-2.0
"""What is made of sums and maxima: norm, var, std, with the mean, logsumexp, normalize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic import double_precision
from sycl_dnn.functional.arithmetic.comparison import clamp
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import check_eps
from sycl_dnn.functional.reduction.sums import axes_of, documented, mean, without
from sycl_dnn.trace import nan_kept
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.pointwise import add, binary, div, eltwise, linear_map, mul, sub
from sycl_dnn.trace.pointwise_gradients import select
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, untaped

A = algorithm


def _sum(x: Tensor, axes: Sequence[int]) -> Tensor:
    return reduce(A.reduction_sum, x, axes)


def _wide(x: Tensor) -> Tensor:
    """Return float32 for narrower dtypes: squares and exponentials would lose most of theirs."""
    return x if x.dtype == "float64" else converted(x, "float32")


def _at_zero(at: Tensor, value: Tensor) -> Tensor:
    """Return ``value``, but 0 where ``at`` is 0."""
    return select(binary(A.binary_eq, at, filled(at.trace, 0.0, (), at.dtype), "bool"),
                  filled(at.trace, 0.0, (), value.dtype), value)  # fmt: skip


@operation
@documented("Computed in float32 at least, after the maximum is subtracted.")
def logsumexp(
    input: dpnp.ndarray | Array, dim: int | Sequence[int], keepdim: bool = False
) -> dpnp.ndarray | Array:
    """Return the logarithm of the sum of exponentials."""
    check_float("logsumexp", input=input)
    axes = axes_of("logsumexp", dim, input.ndim)
    x = _wide(input)
    if double_precision.is_needed(x):
        return without(double_precision.log_sum(x, axes), axes, keepdim)
    with untaped(x.trace):
        if x.size:
            highest = reduce(A.reduction_max, x, axes)
            limit = filled(x.trace, math.inf, (), x.dtype)
            is_infinite = binary(A.binary_eq, eltwise(highest, A.eltwise_abs), limit, "bool")
            shift = select(is_infinite, filled(x.trace, 0.0, (), x.dtype), highest)
            powers = eltwise(sub(x, shift), A.eltwise_exp)
            # oneDNN's exponential of NaN is infinity.
            total = _sum(nan_kept.kept(x, powers), axes)
            made = add(eltwise(total, A.eltwise_log), shift)
        else:
            made = eltwise(_sum(x, axes), A.eltwise_log)

    def rule(grad: Tensor) -> Tensor:
        shares = sub(x, made)
        powers = nan_kept.exponential(shares, partial(eltwise, shares, A.eltwise_exp))
        return mul(powers, grad)

    made = x.trace.view(x, made, rule)
    return converted(without(made, axes, keepdim), input.dtype)


def _variance(name: str, input: Tensor, dim: Any, correction: float) -> tuple[Tensor, tuple]:
    check_float(name, input=input)
    axes = axes_of(name, dim, input.ndim)
    x = _wide(input)
    n = math.prod(x.shape[a] for a in axes)
    free = n - correction
    factor = 1.0 / free if free > 0 else math.inf

    def centred() -> Tensor:
        return sub(x, reduce(A.reduction_mean, x, axes))

    def value(centred: Tensor) -> Tensor:
        return linear_map(_sum(eltwise(centred, A.eltwise_square), axes), factor)

    with untaped(x.trace):
        distances = centred()
        made = value(distances)
    rule = lambda grad: mul(distances, linear_map(grad, 2.0 * factor))  # noqa: E731
    return x.trace.view(x, made, rule, lambda: value(centred())), axes


_ORDER = 'p : number or "fro"\n    Order; 2 for "fro", also inf, -inf and 0.\n'
_CORRECTION = "correction : number\n    Subtracted from the number of elements in the divisor.\n"
_TWO_PASSES = "Computed in float32 at least, as the mean of squares after the mean is subtracted."


@operation
@documented(_TWO_PASSES, parameters=_CORRECTION)
def var(
    input: dpnp.ndarray | Array,
    dim: int | Sequence[int] | None = None,
    *,
    correction: float = 1,
    keepdim: bool = False,
) -> dpnp.ndarray | Array:
    """Return the variance over axes."""
    made, axes = _variance("var", input, dim, correction)
    return converted(without(made, axes, keepdim), input.dtype)


@operation
@documented(_TWO_PASSES, parameters=_CORRECTION)
def std(
    input: dpnp.ndarray | Array,
    dim: int | Sequence[int] | None = None,
    *,
    correction: float = 1,
    keepdim: bool = False,
) -> dpnp.ndarray | Array:
    """Return the standard deviation over axes."""
    made, axes = _variance("std", input, dim, correction)
    roots: list[Tensor] = []

    def body() -> Tensor:
        roots[:] = [eltwise(made, A.eltwise_sqrt)]
        return roots[0]

    def rule(grad: Tensor) -> dict[str, Tensor]:
        slope = linear_map(div(grad, roots[0]), 0.5)
        return {"variance": _at_zero(roots[0], slope)}

    root = made.trace.closed({"variance": made}, body, rule)
    return converted(without(root, axes, keepdim), input.dtype)


_BOTH = """Return the {what} and the mean over axes.

Parameters
----------
input : array (*)
    Floating-point.
dim : int or sequence of int, optional
    All axes without it.
correction : number
    Subtracted from the number of elements in the divisor of the variance.
keepdim : bool
    Whether to keep the axes with size 1.

Returns
-------
tuple of two arrays

Raises
------
TypeError
    The dtype is not floating-point.
ValueError
    There is no such axis.

Notes
-----
Source: ``torch.{name}``.
"""


def _with_mean(name: str, what: str, spread: Any) -> Any:
    def call(
        input: dpnp.ndarray | Array, dim: int | Sequence[int] | None = None, *,
        correction: float = 1, keepdim: bool = False,
    ) -> tuple[dpnp.ndarray | Array, dpnp.ndarray | Array]:  # fmt: skip
        check_float(name, input=input)
        made = spread(input, dim, correction=correction, keepdim=keepdim)
        return made, mean(input, dim, keepdim)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _BOTH.format(name=name, what=what)
    return operation(call)


var_mean = _with_mean("var_mean", "variance", var)
std_mean = _with_mean("std_mean", "standard deviation", std)


def _power_sum(x: Tensor, p: float, axes: Sequence[int]) -> Tensor:
    """Return the norm of finite, positive order p; not on the tape."""
    if p == 2:
        return eltwise(_sum(eltwise(x, A.eltwise_square), axes), A.eltwise_sqrt)
    size = eltwise(x, A.eltwise_abs)
    if p == 1:
        return _sum(size, axes)
    return eltwise(_sum(eltwise(size, A.eltwise_pow, 1.0, p), axes), A.eltwise_pow, 1.0, 1 / p)


def _norm_slope(x: Tensor, y: Tensor, p: float, grad: Tensor) -> Tensor:
    """Return the gradient of a norm of order p, 0 where the norm has none."""
    if p == 1:
        return mul(nan_kept.sign(x, x.dtype), grad)
    if p == 2:
        return mul(x, _at_zero(y, div(grad, y)))
    size = eltwise(x, A.eltwise_abs)
    share = _at_zero(y, div(grad, eltwise(y, A.eltwise_pow, 1.0, p - 1)))
    slope = mul(nan_kept.sign(x, x.dtype), eltwise(size, A.eltwise_pow, 1.0, p - 1))
    return mul(_at_zero(x, slope) if p < 1 else slope, share)


def _extreme_size(kind: algorithm, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the largest or smallest absolute value."""
    if not nan_kept.is_asked_for(x):
        return reduce(kind, eltwise(x, A.eltwise_abs), axes, keeps_nan=True)
    made: list[Tensor] = []

    def body() -> Tensor:
        made[:] = [reduce(kind, eltwise(x, A.eltwise_abs), axes)]
        return made[0]

    def rule(grad: Tensor) -> dict[str, Tensor]:
        hits = binary(A.binary_eq, eltwise(x, A.eltwise_abs), made[0], x.dtype)
        count = clamp(_sum(hits, axes), min=1.0)
        return {"x": mul(mul(nan_kept.sign(x, x.dtype), hits), div(grad, count))}

    return x.trace.closed({"x": x}, body, rule)


def _order(p: Any) -> float:
    if p == "fro":
        return 2.0
    if isinstance(p, (int, float)):
        return float(p)
    raise ValueError(f"norm: p must be a number or 'fro', got {p!r}")


@operation
@documented("Computed in float32 at least. For an order of inf or -inf the gradient at NaN is\n"
            'that of PyTorch only after ``set_nan("propagate")``.', parameters=_ORDER)  # fmt: skip
def norm(
    input: dpnp.ndarray | Array,
    p: float | str = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> dpnp.ndarray | Array:
    """Return the norm of vectors along axes."""
    check_float("norm", input=input)
    axes, p = axes_of("norm", dim, input.ndim), _order(p)
    x = _wide(input)
    if math.isinf(p):
        kind = A.reduction_max if p > 0 else A.reduction_min
        made = _extreme_size(kind, x, axes)
    elif p == 0:
        zero = filled(x.trace, 0.0, (), x.dtype)
        made = _sum(binary(A.binary_ne, x, zero, x.dtype), axes)
    else:
        with untaped(x.trace):
            made = _power_sum(x, p, axes)
        y = made.view(made.shape, made.strides)
        made = x.trace.view(x, y, lambda grad: _norm_slope(x, y, p, grad))
    return converted(without(made, axes, keepdim), input.dtype)


# --- Vectors divided by their norms


@operation
def normalize(
    input: dpnp.ndarray | Array,
    p: float = 2.0,
    dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
) -> dpnp.ndarray | Array:
    """Divide vectors by their norm of order p: ``x / max(norm(x), eps)``.

    Parameters
    ----------
    input : array (*)
        float32, bfloat16 or float16.
    p : float
    dim : int or sequence of int, optional
        The axes of the vectors; None for all.
    eps : float
        The smallest divisor.

    Returns
    -------
    array (*)
        Shape and dtype of ``input``.

    Raises
    ------
    ValueError
        There is no axis ``dim``, or ``eps`` is negative.
    TypeError
        The dtype is not floating-point.

    Notes
    -----
    Source: oneDNN developer guide, "Reduction" and "Binary".
    """
    check_float("normalize", input=input)
    check_eps("normalize", eps)
    wide = input.trace.convert(input, "float32") if input.dtype != "float64" else input
    length = clamp(norm(wide, p, dim, keepdim=True), min=eps)
    return binary(algorithm.binary_div, wide, length, input.dtype)
