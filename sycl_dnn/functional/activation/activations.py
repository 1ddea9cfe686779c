# SPDX-License-Identifier: Apache-2.0
"""Element-wise activations, glu and prelu."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.comparison import clamp, gt, where
from sycl_dnn.functional.arithmetic.elementwise import check_float, check_same_dtype, pointwise
from sycl_dnn.functional.arithmetic.operands import by_nodes
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.kernels.choice import is_missing
from sycl_dnn.lower.appendable import Eltwise, applied, is_appendable
from sycl_dnn.lower.node_lowering import computed, meaning
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import cpu_has_avx512
from sycl_dnn.ops import activation as ops
from sycl_dnn.ops.activation import PRELU
from sycl_dnn.ops.arithmetic import SIGMOID, TANH
from sycl_dnn.ops.selection import narrow
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import broadcast_to, eltwise, linear_map
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    from sycl_dnn.ir.node import Node
    from sycl_dnn.trace.values import Tensor

A = algorithm
_OF_TANH = (A.eltwise_tanh, A.eltwise_gelu_tanh)
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _as_kernel(definition: Callable[..., Node], x: Tensor, **attributes: float) -> Tensor:
    """Record a function as one kernel, which computes in float32 at least."""
    return by_nodes(partial(definition, **attributes), x, dtype=x.dtype)


#: Bytes from which one kernel is faster than oneDNN's primitive, and elements up to which it is
#: interpreted at once.
_LARGE, _FEW = 1 << 20, 512


def _alone(definition: Callable[..., Node], x: Tensor, primitive: Eltwise, **more: float) -> Tensor:
    """Record a function as one kernel where that is faster than oneDNN's primitive.

    Compiled functions fuse primitives. With AVX-512, oneDNN computes the hyperbolic tangent faster
    than kernels do, and the error function on all CPUs; where it lacks a dtype, it takes two more
    steps for conversions.
    """
    is_cpu, mode = x.trace.is_on_cpu, x.trace.policy.kernels
    is_slow = primitive.algorithm in _OF_TANH and (cpu_has_avx512() or not is_cpu)
    is_slow = is_slow or primitive.algorithm is A.eltwise_gelu_erf
    is_slow = is_slow or (mode == "auto" and x.desc.get_size() < _LARGE)
    is_faster = not is_slow or is_missing(x) or (is_cpu and x.size <= _FEW)
    if x.trace.is_compiled or mode == "never" or not is_faster:
        return eltwise(x, *primitive)
    return _as_kernel(definition, x, **more)


@pointwise(integers="kept")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``max(x, 0)``.

    In a compiled function oneDNN may fuse it into a convolution or a product, where NaN becomes 0.
    """
    if input.dtype in ("int8", "uint8"):
        return eltwise(input, A.eltwise_relu)
    if not input.is_float:  # oneDNN computes wider integers in float32
        return clamp(input, min=0)
    return applied(ops.RELU, input, Eltwise(A.eltwise_relu))


def _bounded(x: Tensor, low: float, high: float) -> Tensor:
    if not x.is_float:
        return clamp(x, min=int(low), max=int(high))
    definition = partial(ops.HARDTANH, low=float(low), high=float(high))
    return applied(definition, x, Eltwise(A.eltwise_clip_v2, float(low), float(high)))


@pointwise(integers="kept")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(x, 0), 6)``. As in ``relu``, NaN may become 0."""
    return _bounded(input, 0.0, 6.0)


@pointwise(integers="kept")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return ``min(max(x, min_val), max_val)``. As in ``relu``, NaN may become ``min_val``.

    min_val, max_val : float
        Must not be greater than ``max_val``.
    """
    if not min_val <= max_val:
        raise ValueError(f"hardtanh: min_val must be at most max_val={max_val}, got {min_val}")
    return _bounded(input, min_val, max_val)


@pointwise
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``x`` where it is positive, else ``negative_slope * x``.

    negative_slope : float
    """
    slope = float(negative_slope)
    if slope == 0:  # unlike relu, it multiplies infinities by 0
        return _as_kernel(ops.LEAKY_RELU, input, slope=0.0)
    definition = partial(ops.LEAKY_RELU, slope=slope)
    return applied(definition, input, Eltwise(A.eltwise_relu, slope))


def _elu(x: Tensor, alpha: float) -> Tensor:
    definition = partial(ops.ELU, alpha=alpha, scale=1.0, input_scale=1.0)
    return applied(definition, x, Eltwise(A.eltwise_elu, alpha), wide=dtypes.wide(x.dtype))


@pointwise
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    alpha : float
    """
    return _elu(input, float(alpha))


@pointwise(page=' (and Klambauer et al., "Self-Normalizing Neural Networks", 2017)')
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``1.0507 * elu(x, alpha=1.6733)``, with all digits."""
    return linear_map(_elu(input, _SELU_ALPHA), _SELU_SCALE)


@pointwise(page=' (and Barron, "Continuously Differentiable Exponential Linear Units", 2017)')
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    alpha : float
        Nonzero.
    """
    if alpha == 0:
        raise ValueError("celu: alpha must not be 0, got 0")
    if alpha == 1:
        return _elu(input, 1.0)
    return _as_kernel(ops.ELU, input, alpha=alpha, scale=1.0, input_scale=1 / alpha)


@pointwise(page=' (and Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016)')
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return ``x * Phi(x)``, where Phi is the standard normal distribution function.

    approximate : {"none", "tanh"}
        ``"tanh"`` approximates Phi by ``(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    if approximate == "none":
        return _alone(ops.GELU, input, Eltwise(A.eltwise_gelu_erf))
    return _alone(ops.GELU_TANH, input, Eltwise(A.eltwise_gelu_tanh))


@pointwise
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * sigmoid(x)``."""
    return applied(ops.SILU, input, Eltwise(A.eltwise_swish, 1.0), wide=dtypes.wide(input.dtype))


@pointwise
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * tanh(softplus(x))``."""
    return applied(ops.MISH, input, Eltwise(A.eltwise_mish), wide=dtypes.wide(input.dtype))


@pointwise
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * min(max(x / 6 + 1/2, 0), 1)``."""
    primitive = Eltwise(A.eltwise_hardswish, 1 / 6, 0.5)
    return _alone(ops.HARDSWISH, input, primitive, slope=1 / 6, shift=0.5)


@pointwise
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(x / 6 + 1/2, 0), 1)``. As in ``relu``, NaN may become 0 (1 on CPUs)."""
    primitive = Eltwise(A.eltwise_hardsigmoid, 1 / 6, 0.5)
    return applied(ops.HARDSIGMOID, input, primitive, wide=dtypes.wide(input.dtype))


@pointwise(integers="float32")
def sigmoid(input: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-x))``."""
    return _alone(SIGMOID, input, Eltwise(A.eltwise_logistic))


@pointwise(integers="float32")
def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return _alone(TANH, input, Eltwise(A.eltwise_tanh))


@pointwise
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``.

    beta : float
        Nonzero.
    threshold : float
    """
    if beta == 0:
        raise ValueError("softplus: beta must not be 0, got 0")
    return _as_kernel(ops.SOFTPLUS, input, beta=float(beta), threshold=float(threshold))


@pointwise
def logsigmoid(input: Tensor) -> Tensor:
    """Return ``log(1 / (1 + exp(-x)))``; never positive."""
    return _as_kernel(ops.LOGSIGMOID, input)


@pointwise(integers="float32")
def softsign(input: Tensor) -> Tensor:
    """Return ``x / (1 + abs(x))``."""
    return _as_kernel(ops.SOFTSIGN, input)


# --- Shrinkage and threshold


@pointwise(integers="float32")
def tanhshrink(input: Tensor) -> Tensor:
    """Return ``x - tanh(x)``."""
    return _as_kernel(ops.TANHSHRINK, input)


@pointwise
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return ``x`` shrunk towards 0 by ``lambd``, and 0 where ``abs(x) <= lambd``.

    lambd : float
        Nonnegative.
    """
    if not lambd >= 0:
        raise ValueError(f"softshrink: lambd must not be negative, got {lambd}")
    return _as_kernel(ops.SOFTSHRINK, input, bound=float(lambd))


@pointwise
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return ``x`` where ``abs(x) > lambd``, else 0.

    lambd : float
    """
    return _as_kernel(ops.HARDSHRINK, input, bound=float(lambd))


@pointwise(integers="kept")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return ``x`` where ``x > threshold``, else ``value``.

    threshold, value : float
    """
    if not input.is_float:
        return where(gt(input, int(threshold)), input, int(value))
    return _as_kernel(ops.THRESHOLD, input, bound=float(threshold), value=float(value))


@operation
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return ``a * sigmoid(b)``, where a and b are the halves of the input along an axis.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*, 2 n, *)
        float32, bfloat16 or float16; float64 if the device supports it.
    dim : int
        The axis, of even size; negative counts from the end.

    Returns
    -------
    dpnp.ndarray or Array (*, n, *)

    Raises
    ------
    TypeError
        The dtype is not floating point.
    ValueError
        There is no axis ``dim``, or its size is odd.

    Notes
    -----
    Source: Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017; oneDNN
    developer guide, "Eltwise" and "Binary".
    """
    check_float("glu", input=input)
    if not input.ndim:
        raise ValueError("glu: input must have an axis, got shape ()")
    axis = check_axis("glu", dim, input.ndim)
    if input.shape[axis] % 2:
        raise ValueError(f"glu: input must have an even size along {axis}, got {input.shape}")
    return by_nodes(partial(_gated, axis=axis), input, dtype=input.dtype)


def _gated(x: Node, axis: int) -> Node:
    half = x.shape[axis] // 2
    return narrow(x, axis, 0, half) * SIGMOID(narrow(x, axis, half, half))


def _two_factors(n: int) -> tuple[int, int]:
    """Factorize ``n``, with the first factor as close to its square root as possible."""
    first = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)
    return (first, n // first) if first > 1 else (n, 1)


def _slopes(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return views of both for which oneDNN has compiled kernels: one slope for each channel."""
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.size == 1 and x.size > 1 and (channels == 1 or x.ndim > 5):
        shape: tuple[int, ...] = (1, *_two_factors(x.size))
    elif x.ndim > 5:
        shape = (x.shape[0], channels, x.size // max(x.shape[0] * channels, 1))
    else:
        shape = x.shape if x.ndim > 1 else (1, x.size)
    x = reshape(x, shape)
    weight = broadcast_to(reshape(weight, (weight.size,)), (shape[1],))
    return x, reshape(weight, (1, shape[1]) + (1,) * (len(shape) - 2))


@operation
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return ``x`` where it is positive, else ``weight * x``.

    In a compiled function oneDNN may fuse it into a convolution or a product, where a NaN weight
    gives NaN for positive inputs too.

    Parameters
    ----------
    input : dpnp.ndarray or Array (N, C, *) or any shape
        float32, bfloat16 or float16; float64 if the device supports it.
    weight : dpnp.ndarray or Array (C,) or (1,) or ()
        One slope per channel, or one for all; dtype of the input.

    Returns
    -------
    dpnp.ndarray or Array
        Shape of the input.

    Raises
    ------
    TypeError
        The dtypes are not floating point, or differ.
    ValueError
        ``weight`` has another shape.

    Notes
    -----
    Source: oneDNN developer guide, "PReLU"; He et al., "Delving Deep into Rectifiers", 2015.
    """
    check_float("prelu", input=input)
    check_same_dtype("prelu", "input", "weight", input, weight)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or weight.size not in (1, channels):
        raise ValueError(f"prelu: weight must have shape (1,) or ({channels},), got {weight.shape}")
    # One slope for each index of axis 1, or for all elements.
    shape = () if weight.size == 1 else (channels,) + (1,) * (input.ndim - 2)
    operands: list[Any] = [input, reshape(weight, shape)]
    if not is_appendable(input):
        return computed(PRELU, *operands)
    return meaning(PRELU, operands, lambda: _by_primitive(input, weight))


def _by_primitive(input: Tensor, weight: Tensor) -> Tensor:
    x, slopes = _slopes(input, weight)
    # oneDNN has no compiled kernel for other axis orders.
    order = "channels_last" if layout.is_channels_last(x.desc) else "row_major"
    result = x.trace.primitive(
        "prelu_forward",
        {"src": x, "weights": slopes},
        {"dst": Out(x.shape, x.dtype, order)},
        ask={"src": order, "weights": slopes},
        prop_kind=x.trace.forward_kind,
    )
    return reshape(result["dst"], input.shape)
