# SPDX-License-Identifier: Apache-2.0
"""cross, trace, cov, corrcoef and diff."""

from __future__ import annotations

from typing import Any

from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.binary import div, mul, sub
from sycl_dnn.functional.arithmetic.comparison import clamp, ne
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import sqrt
from sycl_dnn.functional.arithmetic.operands import (
    check_arrays,
    check_real,
    checked_operands,
    result_dtype,
)
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.reduction.sums import mean, sum
from sycl_dnn.functional.shape.arrangement import roll
from sycl_dnn.functional.shape.axes import diagonal
from sycl_dnn.functional.shape.joining import cat, narrow
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, reshape, transpose

_TEXT = """{summary}

Parameters
----------
{parameters}
Returns
-------
array
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
_REAL = {"types": "``input`` is bool or complex.", "notes": ""}


@operation
@templated(
    _TEXT, returns="The broadcast shape; torch's promoted dtype.", types="An operand is no array.",
    errors="The axis does not have 3 elements, or shapes do not broadcast.", notes="",
)  # fmt: skip
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors of three elements along an axis.

    input, other : arrays (*A, 3, *B)
        Shapes broadcast.
    dim : int, optional
        By default the first axis with 3 elements.
    """
    name = "cross"
    check_arrays(name, input=input, other=other)
    checked_operands(name, input=input, other=other)
    if "bool" in (input.dtype, other.dtype):
        raise TypeError(f"{name}: input and other must not be bool")
    shape = broadcast_shape(input.shape, other.shape)
    if input.ndim != other.ndim:
        raise ValueError(f"{name}: other must have {input.ndim} axes, got shape {other.shape}")
    if dim is None and 3 not in shape:
        raise ValueError(f"{name}: input must have an axis of 3 elements, got shape {input.shape}")
    axis = shape.index(3) if dim is None else check_axis(name, dim, len(shape))
    for argument, x in (("input", input), ("other", other)):
        if not x.ndim or x.shape[axis] != 3:
            raise ValueError(
                f"{name}: {argument} must have 3 elements along axis {axis}, got shape {x.shape}"
            )
    products = [mul(roll(input, -k, axis), roll(other, k - 3, axis)) for k in (1, 2)]
    return sub(*products)


@operation
@templated(
    _TEXT, returns="Without axes.", errors="``input`` has another number of axes.",
    types="``input`` is no array.", notes="",
)  # fmt: skip
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix.

    input : array (m, n)
    """
    if input.ndim != 2:
        raise ValueError(f"trace: input must have 2 axes, got shape {input.shape}")
    return sum(diagonal(input))


def _variables(name: str, x: Tensor) -> Tensor:
    check_real(name, input=x)
    if x.dtype == "bool":
        raise TypeError(f"{name}: input must not be bool")
    if x.ndim > 2:
        raise ValueError(f"{name}: input must have at most 2 axes, got shape {x.shape}")
    return x if x.is_float else converted(x, "float32")


def _weights(name: str, argument: str, x: Tensor, weights: Any) -> Tensor | None:
    if weights is None:
        return None
    check_arrays(name, **{argument: weights})
    if weights.shape != (x.shape[1],):
        raise ValueError(f"{name}: {argument} must have shape {(x.shape[1],)}, got {weights.shape}")
    return converted(weights, str(x.dtype))


@operation
@templated(
    _TEXT, returns="(n, n), or without axes for one variable.",
    errors="``input`` has more than two axes, or the weights another shape.", **_REAL,
)  # fmt: skip
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the covariance matrix of variables, the rows of a matrix.

    input : array (n, m), or (m,) for one variable
        Any real dtype except bool; integers become float32.
    correction : int
        Subtracted from the number of observations.
    fweights, aweights : arrays (m,), optional
        How often each observation occurs, and its importance.
    """
    x = _variables("cov", input)
    x = x if input.ndim == 2 else reshape(x, (1, input.size))
    counts, shares = (_weights("cov", n, x, w)
                      for n, w in (("fweights", fweights), ("aweights", aweights)))  # fmt: skip
    given = [w for w in (counts, shares) if w is not None]
    if not given:
        centered = sub(x, mean(x, 1, True))
        product = matmul(centered, transpose(centered, (1, 0)))
        result = div(product, max(x.shape[1] - correction, 0))
        return result if input.ndim == 2 else reshape(result, ())
    weights = given[0] if len(given) == 1 else mul(*given)
    total = sum(weights)
    centered = sub(x, div(sum(mul(x, weights), 1, True), total))
    lost = 1.0 if shares is None else div(sum(mul(weights, shares)), total)
    divisor = sub(total, mul(lost, correction)) if shares is not None else sub(total, correction)
    product = matmul(mul(centered, weights), transpose(centered, (1, 0)))
    result = div(product, clamp(divisor, min=0.0))
    return result if input.ndim == 2 else reshape(result, ())


@operation
@templated(
    _TEXT, returns="(n, n), or without axes for one variable.",
    errors="``input`` has more than two axes.", **_REAL,
)  # fmt: skip
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation coefficients of variables, the rows of a matrix.

    input : array (n, m), or (m,) for one variable
        Any real dtype except bool; integers become float32.
    """
    matrix = cov(_variables("corrcoef", input))
    if input.ndim < 2:
        return div(matrix, matrix)
    spread = sqrt(diagonal(matrix))
    n = spread.size
    rows = div(div(matrix, reshape(spread, (n, 1))), reshape(spread, (1, n)))
    return clamp(rows, -1.0, 1.0)


@operation
@templated(
    _TEXT, returns="``n`` elements fewer along the axis; bools give where neighbors differ.",
    errors="There is no such axis, ``n`` is negative, or shapes do not match.", notes="",
    types="``prepend`` or ``append`` is no array.",
)  # fmt: skip
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the differences of neighbors along an axis, ``n`` times.

    input : array (*A, m, *B)
    n : int
    dim : int
    prepend, append : arrays, optional
        Joined with ``input`` along the axis first.
    """
    if not input.ndim:
        raise ValueError("diff: input must have an axis, got shape ()")
    axis, n = check_axis("diff", dim, input.ndim), checked_int("diff", "n", n, 0)
    parts = [part for part in (prepend, input, append) if part is not None]
    check_arrays("diff", **{n: p for n, p in (("prepend", prepend), ("append", append))
                            if p is not None})  # fmt: skip
    x = input
    if n and len(parts) > 1:
        dtype = result_dtype(*parts)
        x = cat([converted(part, dtype) for part in parts], axis)
    for _ in range(min(n, x.shape[axis])):
        length = x.shape[axis] - 1
        after, before = narrow(x, axis, 1, length), narrow(x, axis, 0, length)
        x = ne(after, before) if x.dtype == "bool" else sub(after, before)
    return x
