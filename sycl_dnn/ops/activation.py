# SPDX-License-Identifier: Apache-2.0
"""Activations, defined by simpler operations from which their gradients follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn.ir.node import Node, Operation, Vjp, number
from sycl_dnn.ops.arithmetic import (
    ABS,
    CLAMP,
    ERF,
    EXP,
    EXP_NONPOSITIVE,
    EXPM1,
    GE,
    GT,
    LE,
    LOG1P,
    LOGICAL_OR,
    LT,
    SIGMOID,
    SQUARE,
    TANH,
    where,
)
from sycl_dnn.ops.shape import broadcast_shape


def _row(name: str, definition: Callable[..., Node], vjp: Vjp | None = None) -> Operation:
    def infer(inputs: tuple[Node, ...], **_: Any) -> tuple[tuple[int, ...], str]:
        (x,) = inputs
        if not x.is_float:
            raise TypeError(f"{name}: input must be of floating-point numbers, got {x.dtype}")
        return x.shape, x.dtype

    return Operation(name, infer, vjp, definition=definition)


def _zero(x: Node) -> Node:
    return number(0, x.dtype)


def _relu(x: Node) -> Node:
    # NaN compares false, so NaN and its gradient pass.
    return where(LE(x, _zero(x)), _zero(x), x)


# Some gradients read the result, so that the input need not be kept.


def _leaky_relu_vjp(node: Node, g: Node) -> list[Node]:
    slope = node.attributes["slope"]
    is_positive = GT(node if slope >= 0 else node.inputs[0], _zero(node))
    return [where(is_positive, g, g * slope)]


def _hardtanh_vjp(node: Node, g: Node) -> list[Node]:
    low, high = (number(node.attributes[name], node.dtype) for name in ("low", "high"))
    return [where(LOGICAL_OR(LE(node, low), GE(node, high)), _zero(node), g)]


def _softplus(x: Node, *, beta: float, threshold: float) -> Node:
    scaled = x * beta
    smooth = (RELU(scaled) + LOG1P(EXP(-ABS(scaled)))) / beta
    return where(GT(scaled, number(threshold, x.dtype)), x, smooth)


def _softplus_vjp(node: Node, g: Node) -> list[Node]:
    (x,), beta = node.inputs, node.attributes["beta"]
    is_linear = GT(x * beta, number(node.attributes["threshold"], x.dtype))
    return [where(is_linear, g, g * SIGMOID(x * beta))]


def _elu(x: Node, *, alpha: float, scale: float, input_scale: float) -> Node:
    # The exponential of unselected elements must stay finite, or its gradient would be NaN.
    is_below = LE(x, _zero(x))
    below = where(is_below, x, _zero(x))
    return where(is_below, EXPM1(below * input_scale) * (alpha * scale), x * scale)


def _elu_vjp(node: Node, g: Node) -> list[Node]:
    """Return the gradient, whose own derivative at 0 is 0, as in torch."""
    (x,), zero = node.inputs, _zero(node)
    alpha, scale, inner = (node.attributes[n] for n in ("alpha", "scale", "input_scale"))
    slope = EXP(where(LT(x, zero), x, zero) * inner) * (alpha * scale * inner)
    return [where(LE(x, zero), g * slope, g * scale)]


# In this order, large products do not overflow before they are multiplied by 0.


def _silu_vjp(node: Node, g: Node) -> list[Node]:
    (x,) = node.inputs
    share = SIGMOID(x)
    return [g * (share * (x * (1 - share) + 1))]


def _mish_vjp(node: Node, g: Node) -> list[Node]:
    (x,) = node.inputs
    factor = TANH(SOFTPLUS(x, beta=1.0, threshold=math.inf))
    return [g * (factor + x * SIGMOID(x) * (1 - factor * factor))]


def _normal_cdf(x: Node) -> Node:
    return ERF(x * math.sqrt(0.5)) * 0.5 + 0.5


def _gelu_vjp(node: Node, g: Node) -> list[Node]:
    """Return the gradient, whose exponential is also that of ``ERF``."""
    (x,) = node.inputs
    density = EXP_NONPOSITIVE(-SQUARE(x * math.sqrt(0.5))) * (1 / math.sqrt(2 * math.pi))
    return [g * (_normal_cdf(x) + x * density)]


def _gelu_tanh(x: Node) -> Node:
    inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
    return x * 0.5 * (TANH(inner) + 1)


def _hardswish(x: Node, *, slope: float, shift: float) -> Node:
    return x * CLAMP(x * slope + shift, low=0.0, high=1.0)


def _hardswish_vjp(node: Node, g: Node) -> list[Node]:
    """Return the gradient, which torch passes on unchanged where the input is NaN."""
    (x,), (slope, shift) = node.inputs, (node.attributes[n] for n in ("slope", "shift"))
    share = x * slope + shift
    one = number(1, x.dtype)
    inner = where(LT(share, one), x * (2 * slope) + shift, one)
    return [g * where(LE(share, _zero(x)), _zero(x), inner)]


def _softshrink(x: Node, *, bound: float) -> Node:
    low, high = number(-bound, x.dtype), number(bound, x.dtype)
    return where(LT(x, low), x - low, where(GT(x, high), x - high, x * 0))


def _softshrink_vjp(node: Node, g: Node) -> list[Node]:
    (x,) = node.inputs
    return [where(LE(ABS(x), number(node.attributes["bound"], x.dtype)), _zero(x), g)]


RELU = _row("relu", _relu, lambda node, g: [where(LE(node, _zero(node)), _zero(node), g)])
LEAKY_RELU = _row(
    "leaky_relu", lambda x, *, slope: where(GT(x, _zero(x)), x, x * slope), _leaky_relu_vjp
)
HARDTANH = _row("hardtanh", CLAMP, _hardtanh_vjp)
ELU = _row("elu", _elu, _elu_vjp)
GELU = _row("gelu", lambda x: x * _normal_cdf(x), _gelu_vjp)
GELU_TANH = _row("gelu_tanh", _gelu_tanh)
SILU = _row("silu", lambda x: x * SIGMOID(x), _silu_vjp)
SOFTPLUS = _row("softplus", _softplus, _softplus_vjp)
LOGSIGMOID = _row("logsigmoid", lambda x: -SOFTPLUS(-x, beta=1.0, threshold=math.inf))
MISH = _row("mish", lambda x: x * TANH(SOFTPLUS(x, beta=1.0, threshold=math.inf)), _mish_vjp)
HARDSIGMOID = _row("hardsigmoid", lambda x: CLAMP(x + 3, low=0.0, high=6.0) / 6)
HARDSWISH = _row("hardswish", _hardswish, _hardswish_vjp)
SOFTSIGN = _row("softsign", lambda x: x / (ABS(x) + 1))
TANHSHRINK = _row(
    "tanhshrink", lambda x: x - TANH(x), lambda node, g: [g * SQUARE(TANH(node.inputs[0]))]
)
HARDSHRINK = _row(
    "hardshrink", lambda x, *, bound: where(LE(ABS(x), number(bound, x.dtype)), _zero(x), x)
)
SOFTSHRINK = _row("softshrink", _softshrink, _softshrink_vjp)
THRESHOLD = _row(
    "threshold",
    lambda x, *, bound, value: where(LE(x, number(bound, x.dtype)), number(value, x.dtype), x),
)


def _prelu(x: Node, slope: Node) -> Node:
    is_positive = GT(x, _zero(x))
    # Unselected elements must stay finite, or the gradient would be NaN.
    return where(is_positive, x, slope * where(is_positive, _zero(x), x))


#: The slope of negative elements is an operand that broadcasts.
PRELU = Operation(
    "prelu",
    lambda inputs: (broadcast_shape(*[x.shape for x in inputs]), inputs[0].dtype),
    definition=_prelu,
)
