# SPDX-License-Identifier: Apache-2.0
"""Element-wise activations of one array."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from sycl_dnn._core import algorithm
from sycl_dnn.functional.arithmetic.elementwise import pointwise
from sycl_dnn.kernels.activations_of_arrays import activated
from sycl_dnn.trace import nan_kept
from sycl_dnn.trace.pointwise import (
    ABS,
    EXP,
    IS_POSITIVE,
    LARGEST,
    RELU,
    SQUARE,
    TANH,
    chain,
    choose,
    clip,
    eltwise,
    linear_map,
    plus,
    power,
    rectified,
    scale,
    slope,
    times,
)
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


#: Algorithms by value of ``approximate``.
_GELU = {"none": algorithm.eltwise_gelu_erf, "tanh": algorithm.eltwise_gelu_tanh}
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@pointwise(integers=True)
def relu(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``max(x, 0)``. NaN gives 0, unless ``set_nan("propagate")``."""
    if input.is_float and nan_kept.is_asked_for(input):
        return nan_kept.relu(input, lambda: chain(input, rectified(input)))
    if input.is_float and rectified(input) is not RELU:
        return eltwise(input, algorithm.eltwise_clip_v2_use_dst_for_bwd, 0.0, math.inf)
    # The gradient needs only the sign, so keep the result, which the next function keeps anyway.
    if not input.is_float:
        return eltwise(input, algorithm.eltwise_relu)
    kind = algorithm.eltwise_relu_use_dst_for_bwd
    return activated("relu", input, lambda: eltwise(input, kind))


@pointwise
def relu6(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``min(max(x, 0), 6)``. NaN gives 0, unless ``set_nan("propagate")``."""
    if nan_kept.is_asked_for(input):
        return nan_kept.bounded(input, 0.0, 6.0, lambda: chain(input, clip(0.0, 6.0)))
    return eltwise(input, algorithm.eltwise_clip_v2_use_dst_for_bwd, 0.0, 6.0)


@pointwise
def hardtanh(
    input: dpnp.ndarray | Array,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
) -> dpnp.ndarray | Array:
    """Return ``min(max(x, min_val), max_val)``.

    NaN gives ``min_val``, unless ``set_nan("propagate")``.

    min_val, max_val : float
        Must not be greater than ``max_val``.
    """
    if not min_val <= max_val:
        raise ValueError(f"hardtanh: min_val must be at most max_val={max_val}, got {min_val}")
    if nan_kept.is_asked_for(input):
        bounds = (float(min_val), float(max_val))
        return nan_kept.bounded(input, *bounds, lambda: chain(input, clip(*bounds)))
    return eltwise(input, algorithm.eltwise_clip_v2, min_val, max_val)


@pointwise
def leaky_relu(
    input: dpnp.ndarray | Array, negative_slope: float = 0.01, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where it is positive, else ``negative_slope * x``.

    At NaN the gradient passes unchanged, and a slope of 0 maps NaN and minus infinity to 0, unless
    ``set_nan("propagate")``.

    negative_slope : float
    """
    if nan_kept.is_asked_for(input):
        return nan_kept.leaky(input, negative_slope)
    if negative_slope >= 0:
        return eltwise(input, algorithm.eltwise_relu_use_dst_for_bwd, negative_slope)
    return eltwise(input, algorithm.eltwise_relu, negative_slope)


@pointwise
def elu(
    input: dpnp.ndarray | Array, alpha: float = 1.0, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    alpha : float
    """
    return eltwise(input, algorithm.eltwise_elu, alpha)


@pointwise(page=' (and Klambauer et al., "Self-Normalizing Neural Networks", 2017)')
def selu(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``1.0507 * elu(x, alpha=1.6733)``, with the constants at full precision."""
    return linear_map(eltwise(input, algorithm.eltwise_elu, _SELU_ALPHA), _SELU_SCALE)


@pointwise(page=' (and Barron, "Continuously Differentiable Exponential Linear Units", 2017)')
def celu(
    input: dpnp.ndarray | Array, alpha: float = 1.0, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    NaN gives ``-alpha`` if ``alpha`` is not 1, unless ``set_nan("propagate")``.

    alpha : float
        Nonzero.
    """
    if alpha == 0:
        raise ValueError("celu: alpha must not be 0, got 0")
    if alpha == 1:
        return eltwise(input, algorithm.eltwise_elu, 1.0)
    if nan_kept.is_asked_for(input):
        return linear_map(eltwise(linear_map(input, 1 / alpha), algorithm.eltwise_elu, 1.0), alpha)
    power = (clip(-LARGEST, 0.0), scale(1 / alpha), EXP)
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, *power, scale(alpha, -alpha), plus(chain(input, rectified(input)))),
        lambda dy: {"x": chain(input, *power, times(dy))},
    )


@pointwise(page=' (and Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016)')
def gelu(input: dpnp.ndarray | Array, *, approximate: str = "none") -> dpnp.ndarray | Array:
    """Return ``x * Phi(x)``, where Phi is the standard normal distribution function.

    approximate : {"none", "tanh"}
        ``"tanh"`` approximates Phi by ``(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``.
    """
    if approximate not in _GELU:
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    return eltwise(input, _GELU[approximate])


@pointwise
def silu(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``x * sigmoid(x)``."""
    return activated("silu", input, lambda: eltwise(input, algorithm.eltwise_swish, 1.0))


@pointwise
def mish(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``x * tanh(softplus(x))``.

    The gradient is infinite or NaN for inputs above about 1e38, unless ``set_nan("propagate")``.
    """
    if nan_kept.is_asked_for(input):
        return nan_kept.mish(input)
    return eltwise(input, algorithm.eltwise_mish)


@pointwise
def hardswish(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``x * min(max(x / 6 + 1/2, 0), 1)``."""
    return eltwise(input, algorithm.eltwise_hardswish, 1 / 6, 0.5)


@pointwise
def hardsigmoid(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``min(max(x / 6 + 1/2, 0), 1)``.

    NaN gives 1 on CPUs, unless ``set_nan("propagate")``.
    """
    if nan_kept.is_asked_for(input):
        return nan_kept.hardsigmoid(input)
    return eltwise(input, algorithm.eltwise_hardsigmoid, 1 / 6, 0.5)


@pointwise
def sigmoid(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``1 / (1 + exp(-x))``."""
    return eltwise(input, algorithm.eltwise_logistic_use_dst_for_bwd)


@pointwise
def tanh(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return the hyperbolic tangent."""
    return eltwise(input, algorithm.eltwise_tanh_use_dst_for_bwd)


# --- softplus, logsigmoid, softsign: missing or inexact in oneDNN

#: Above this ``log(1 + exp(z))`` rounds to ``z``; 18 for arithmetic in float32.
_LINEAR_FROM = {"float64": 40.0}
#: Degree of the polynomial; 4 for arithmetic in float32.
_DEGREE = {"float64": 9}


@functools.cache
def _series(degree: int) -> tuple[float, ...]:
    """Return coefficients of ``artanh(sqrt(w)) / sqrt(w)`` on (0, 1/9], lowest power first."""
    fitted = Chebyshev.interpolate(
        lambda w: np.arctanh(np.sqrt(w)) / np.sqrt(w), degree, domain=(0, 1 / 9)
    )
    return tuple(fitted.convert(kind=Polynomial).coef)


def log_of_one_plus_exp(x: Tensor, beta: float) -> tuple[Tensor, list[Any]]:
    """Return a tensor and the steps that turn it into ``log(1 + exp(-abs(beta * x)))``.

    oneDNN's logarithm has errors of 4e-6; its soft_relu has errors of 2e-6 and is negative for x
    around -20. ``2 * artanh(s)`` with ``s = 1 / (1 + 2 * exp(abs(beta * x)))`` is accurate.
    """
    s = chain(x, scale(beta), ABS, EXP, scale(2, 1), power(-1))
    *rest, below, top = _series(_DEGREE.get(x.dtype, 4))
    steps: list[Any] = [SQUARE, scale(top, below)]
    for coefficient in reversed(rest):
        steps += [times(s), times(s), scale(1, coefficient)]
    return s, [*steps, times(s), scale(2)]


def _softplus(x: Tensor, beta: float) -> Tensor:
    s, steps = log_of_one_plus_exp(x, beta)
    linear_part = chain(x, scale(beta), rectified(x))
    # A bound by ``x``: it propagates NaN.
    bound = algorithm.binary_max if beta > 0 else algorithm.binary_min
    return chain(s, *steps, plus(linear_part), scale(1 / beta), (bound, x))


@pointwise
def softplus(
    input: dpnp.ndarray | Array, beta: float = 1.0, threshold: float = 20.0
) -> dpnp.ndarray | Array:
    """Return ``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``.

    beta : float
        Nonzero.
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
        # At most the input: this bound propagates NaN.
        return chain(s, *steps, plus(linear_part), scale(-1), (algorithm.binary_min, input))

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


# --- Shrinkage and threshold


def _is_outside(band: float) -> tuple[Any, ...]:
    """Return the steps that compute 1 where ``abs(x) > band``, else 0."""
    return (ABS, scale(1, -band), *IS_POSITIVE)


@pointwise
def tanhshrink(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``x - tanh(x)``."""
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, TANH, scale(-1), plus(input)),
        lambda dy: {"x": chain(input, TANH, SQUARE, times(dy))},
    )


@pointwise
def softshrink(input: dpnp.ndarray | Array, lambd: float = 0.5) -> dpnp.ndarray | Array:
    """Return ``x`` shrunk towards 0 by ``lambd``, and 0 where ``abs(x) <= lambd``.

    The gradient at NaN is 0, unless ``set_nan("propagate")``.

    lambd : float
        Nonnegative.
    """
    if not lambd >= 0:
        raise ValueError(f"softshrink: lambd must not be negative, got {lambd}")
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, clip(-lambd, lambd), scale(-1), plus(input)),
        lambda dy: {"x": _shrunk_slope(input, lambd, dy)},
    )


def _shrunk_slope(x: Tensor, band: float, dy: Tensor) -> Tensor:
    if nan_kept.is_asked_for(x):
        return nan_kept.masked(eltwise(x, algorithm.eltwise_abs), algorithm.binary_le, band, dy)
    return chain(x, *_is_outside(band), times(dy))


@pointwise
def hardshrink(input: dpnp.ndarray | Array, lambd: float = 0.5) -> dpnp.ndarray | Array:
    """Return ``x`` where ``abs(x) > lambd``, else 0.

    The gradient at NaN is 0, unless ``set_nan("propagate")``.

    lambd : float
    """
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, *_is_outside(lambd), times(input)),
        lambda dy: {"x": _shrunk_slope(input, lambd, dy)},
    )


@pointwise
def threshold(
    input: dpnp.ndarray | Array, threshold: float, value: float, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where ``x > threshold``, else ``value``.

    NaN gives ``value``, unless ``set_nan("propagate")``.

    threshold, value : float
    """
    above = (scale(1, -threshold), *IS_POSITIVE)
    # Clipping removes infinities and NaN; multiplication by 0 would not.
    constant = chain(input, clip(0, 0), scale(1, value))

    def body() -> Tensor:
        made = choose(chain(input, *above, dtype="int8"), input, constant)
        return nan_kept.kept(input, made) if nan_kept.is_asked_for(input) else made

    def rule(dy: Tensor) -> dict[str, Tensor]:
        if nan_kept.is_asked_for(input):
            return {"x": nan_kept.masked(input, algorithm.binary_le, threshold, dy)}
        return {"x": chain(input, *above, times(dy))}

    return input.trace.closed({"x": input}, body, rule)
