# SPDX-License-Identifier: Apache-2.0
"""softplus, logsigmoid, softsign: what oneDNN lacks or is inexact in, in one pass or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.fused import (
    ABS,
    EXP,
    IS_POSITIVE,
    LARGEST,
    LOG,
    RELU,
    chain,
    choose,
    clip,
    plus,
    power,
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


def _log_of_one_plus_exp(x: Tensor, beta: float) -> Tensor:
    """Return ``log(1 + exp(beta * x)) / beta``.

    oneDNN's own soft_relu is off by 2e-6 where x is about -20, and negative there.
    """
    linear_part = chain(x, scale(beta), RELU)
    steps = (scale(beta), ABS, scale(-1), EXP, scale(1, 1), LOG, plus(linear_part), scale(1 / beta))
    return chain(x, *steps)


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
            lambda: _log_of_one_plus_exp(input, beta),
            lambda dy: {"x": slope(kind, input, dy, beta)},
        )
    beyond = chain(input, scale(beta, -threshold), *IS_POSITIVE, dtype="int8")
    return trace.closed(
        {"x": input},
        lambda: choose(beyond, input, _log_of_one_plus_exp(input, beta)),
        lambda dy: {"x": choose(beyond, dy, slope(kind, input, dy, beta))},
    )


@pointwise
def logsigmoid(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``log(1 / (1 + exp(-x)))``; never positive."""

    def value() -> Tensor:
        linear_part = chain(input, clip(-LARGEST, 0.0))
        return chain(input, ABS, scale(-1), EXP, scale(1, 1), LOG, scale(-1), plus(linear_part))

    kind = algorithm.eltwise_soft_relu
    rule = lambda dy: {"x": slope(kind, input, dy, -1.0)}  # noqa: E731
    return input.trace.closed({"x": input}, value, rule)


@pointwise
def softsign(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``x / (1 + abs(x))``."""
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, ABS, scale(1, 1), power(-1), times(input)),
        lambda dy: {"x": chain(input, ABS, scale(1, 1), power(-2), times(dy))},
    )
