# SPDX-License-Identifier: Apache-2.0
"""Activations: torch.nn.functional's smooth and piecewise functions of one array."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.fused import EXP, LARGEST, RELU, chain, clip, plus, rectified, scale, times
from sycl_dnn.dispatch.primitives import linear_map
from sycl_dnn.functional.pointwise import eltwise, pointwise

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = [
    "celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu",
    "relu6", "selu", "sigmoid", "silu", "tanh",
]  # fmt: skip

#: By value of ``approximate``.
_GELU = {"none": algorithm.eltwise_gelu_erf, "tanh": algorithm.eltwise_gelu_tanh}
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@pointwise(integers=True)
def relu(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``max(x, 0)``. NaN gives 0."""
    if input.is_float and rectified(input) is not RELU:
        return eltwise(input, algorithm.eltwise_clip_v2_use_dst_for_bwd, 0.0, math.inf)
    # The result tells the sign as well, and the next function keeps it anyway.
    kind = algorithm.eltwise_relu_use_dst_for_bwd if input.is_float else algorithm.eltwise_relu
    return eltwise(input, kind)


@pointwise
def relu6(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``min(max(x, 0), 6)``. NaN gives 0."""
    return eltwise(input, algorithm.eltwise_clip_v2_use_dst_for_bwd, 0.0, 6.0)


@pointwise
def hardtanh(
    input: dpnp.ndarray | Array,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
) -> dpnp.ndarray | Array:
    """Return ``min(max(x, min_val), max_val)``. NaN gives ``min_val``.

    min_val, max_val : float
        ``min_val`` must not be greater.
    """
    if not min_val <= max_val:
        raise ValueError(f"hardtanh: min_val must be at most max_val={max_val}, got {min_val}")
    return eltwise(input, algorithm.eltwise_clip_v2, min_val, max_val)


@pointwise
def leaky_relu(
    input: dpnp.ndarray | Array, negative_slope: float = 0.01, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where it is positive, else ``negative_slope * x``.

    negative_slope : float
    """
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
    """Return ``1.0507 * elu(x, alpha=1.6733)``, with all digits."""
    return linear_map(eltwise(input, algorithm.eltwise_elu, _SELU_ALPHA), _SELU_SCALE)


@pointwise(page=' (and Barron, "Continuously Differentiable Exponential Linear Units", 2017)')
def celu(
    input: dpnp.ndarray | Array, alpha: float = 1.0, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    alpha : float
        Not 0.
    """
    if alpha == 0:
        raise ValueError("celu: alpha must not be 0, got 0")
    if alpha == 1:
        return eltwise(input, algorithm.eltwise_elu, 1.0)
    power = (clip(-LARGEST, 0.0), scale(1 / alpha), EXP)
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, *power, scale(alpha, -alpha), plus(chain(input, rectified(input)))),
        lambda dy: {"x": chain(input, *power, times(dy))},
    )


@pointwise(page=' (and Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016)')
def gelu(input: dpnp.ndarray | Array, *, approximate: str = "none") -> dpnp.ndarray | Array:
    """Return ``x`` times the normal distribution's share below ``x``.

    approximate : {"none", "tanh"}
        ``"tanh"`` takes ``(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2`` for the share.
    """
    if approximate not in _GELU:
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    return eltwise(input, _GELU[approximate])


@pointwise
def silu(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``x * sigmoid(x)``."""
    return eltwise(input, algorithm.eltwise_swish, 1.0)


@pointwise
def mish(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``x * tanh(softplus(x))``."""
    return eltwise(input, algorithm.eltwise_mish)


@pointwise
def hardswish(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``x * min(max(x / 6 + 1/2, 0), 1)``."""
    return eltwise(input, algorithm.eltwise_hardswish, 1 / 6, 0.5)


@pointwise
def hardsigmoid(input: dpnp.ndarray | Array, inplace: bool = False) -> dpnp.ndarray | Array:
    """Return ``min(max(x / 6 + 1/2, 0), 1)``."""
    return eltwise(input, algorithm.eltwise_hardsigmoid, 1 / 6, 0.5)


@pointwise
def sigmoid(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``1 / (1 + exp(-x))``."""
    return eltwise(input, algorithm.eltwise_logistic_use_dst_for_bwd)


@pointwise
def tanh(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return the hyperbolic tangent."""
    return eltwise(input, algorithm.eltwise_tanh_use_dst_for_bwd)
