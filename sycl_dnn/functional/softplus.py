# SPDX-License-Identifier: Apache-2.0
"""softplus, logsigmoid, softsign: what oneDNN lacks or is inexact in, in one pass or two."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.fused import (
    ABS,
    EXP,
    IS_POSITIVE,
    SQUARE,
    chain,
    choose,
    plus,
    power,
    rectified,
    scale,
    slope,
    times,
)
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.pointwise import pointwise

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["logsigmoid", "softplus", "softsign"]

#: From here on ``log(1 + exp(z))`` rounds to ``z``; 18 for what computes in float32.
_LINEAR_FROM = {"float64": 40.0}
#: Of the polynomial; 4 for what computes in float32.
_DEGREE = {"float64": 9}


@functools.cache
def _series(degree: int) -> tuple[float, ...]:
    """Return ``artanh(sqrt(w)) / sqrt(w)`` on (0, 1/9] as a polynomial, lowest power first."""
    fitted = Chebyshev.interpolate(
        lambda w: np.arctanh(np.sqrt(w)) / np.sqrt(w), degree, domain=(0, 1 / 9)
    )
    return tuple(fitted.convert(kind=Polynomial).coef)


def log_of_one_plus_exp(x: Tensor, beta: float) -> tuple[Tensor, list[Any]]:
    """Return a tensor and the steps from it to ``log(1 + exp(-abs(beta * x)))``.

    oneDNN's logarithm is off by 4e-6, its soft_relu by 2e-6 where x is about -20, and negative
    there. ``2 * artanh(s)`` with ``s = 1 / (1 + 2 * exp(abs(beta * x)))`` has all digits.
    """
    s = chain(x, scale(beta), ABS, EXP, scale(2, 1), power(-1))
    *rest, below, top = _series(_DEGREE.get(x.dtype, 4))
    steps: list[Any] = [SQUARE, scale(top, below)]
    for coefficient in reversed(rest):
        steps += [times(s), times(s), scale(1, coefficient)]
    return s, [*steps, times(s), scale(2)]


def _softplus(x: Tensor, beta: float) -> Tensor:
    s, steps = log_of_one_plus_exp(x, beta)
    return chain(s, *steps, plus(chain(x, scale(beta), rectified(x))), scale(1 / beta))


@pointwise
def softplus(
    input: dpnp.ndarray | Array, beta: float = 1.0, threshold: float = 20.0
) -> dpnp.ndarray | Array:
    """Return ``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``.

    beta : float
        Not 0.
    threshold : float
    """
    if beta == 0:
        raise ValueError("softplus: beta must not be 0, got 0")
    trace, kind = input.trace, algorithm.eltwise_soft_relu
    if threshold >= _LINEAR_FROM.get(input.dtype, 18.0):
        return trace.closed(
            {"x": input},
            lambda: _softplus(input, beta),
            lambda dy: {"x": slope(kind, input, dy, beta)},
        )
    beyond = chain(input, scale(beta, -threshold), *IS_POSITIVE, dtype="int8")
    return trace.closed(
        {"x": input},
        lambda: choose(beyond, input, _softplus(input, beta)),
        lambda dy: {"x": choose(beyond, dy, slope(kind, input, dy, beta))},
    )


@pointwise
def logsigmoid(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``log(1 / (1 + exp(-x)))``; never positive."""

    def value() -> Tensor:
        s, steps = log_of_one_plus_exp(input, 1.0)
        linear_part = chain(input, scale(-1), rectified(input))
        return chain(s, *steps, plus(linear_part), scale(-1))

    def gradient(dy: Tensor) -> dict[str, Tensor]:
        return {"x": slope(algorithm.eltwise_soft_relu, input, dy, -1.0)}

    return input.trace.closed({"x": input}, value, gradient)


@pointwise
def softsign(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``x / (1 + abs(x))``."""
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, ABS, scale(1, 1), power(-1), times(input)),
        lambda dy: {"x": chain(input, ABS, scale(1, 1), power(-2), times(dy))},
    )
