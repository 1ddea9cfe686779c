# SPDX-License-Identifier: Apache-2.0
"""Activations, defined by simpler operations from which their gradients follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.ops.arithmetic import (
    ABS,
    CLAMP,
    ERF,
    EXP,
    EXPM1,
    GT,
    LE,
    LOG1P,
    LT,
    SIGMOID,
    TANH,
    where,
)


def _row(name: str, definition: Callable[..., Node]) -> Operation:
    def infer(inputs: tuple[Node, ...], **_: Any) -> tuple[tuple[int, ...], str]:
        (x,) = inputs
        if not x.is_float:
            raise TypeError(f"{name}: input must be of floating-point numbers, got {x.dtype}")
        return x.shape, x.dtype

    return Operation(name, infer, definition=definition)


def _zero(x: Node) -> Node:
    return number(0, x.dtype)


def _relu(x: Node) -> Node:
    # NaN compares false, so NaN and its gradient pass.
    return where(LE(x, _zero(x)), _zero(x), x)


def _softplus(x: Node, *, beta: float, threshold: float) -> Node:
    scaled = x * beta
    smooth = (RELU(scaled) + LOG1P(EXP(-ABS(scaled)))) / beta
    return where(GT(scaled, number(threshold, x.dtype)), x, smooth)


def _elu(x: Node, *, alpha: float, scale: float, input_scale: float) -> Node:
    # The exponential must be finite where it is not selected, or its gradient would be NaN.
    below = where(GT(x, _zero(x)), _zero(x), x)
    return where(GT(x, _zero(x)), x * scale, EXPM1(below * input_scale) * (alpha * scale))


def _gelu_tanh(x: Node) -> Node:
    inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
    return x * 0.5 * (TANH(inner) + 1)


def _hardsigmoid(x: Node) -> Node:
    return CLAMP(x + 3, low=0.0, high=6.0) / 6


def _softshrink(x: Node, *, bound: float) -> Node:
    low, high = number(-bound, x.dtype), number(bound, x.dtype)
    return where(LT(x, low), x - low, where(GT(x, high), x - high, x * 0))


RELU = _row("relu", _relu)
LEAKY_RELU = _row("leaky_relu", lambda x, *, slope: where(GT(x, _zero(x)), x, x * slope))
ELU = _row("elu", _elu)
GELU = _row("gelu", lambda x: x * 0.5 * (ERF(x * math.sqrt(0.5)) + 1))
GELU_TANH = _row("gelu_tanh", _gelu_tanh)
SILU = _row("silu", lambda x: x * SIGMOID(x))
SOFTPLUS = _row("softplus", _softplus)
LOGSIGMOID = _row("logsigmoid", lambda x: -SOFTPLUS(-x, beta=1.0, threshold=math.inf))
MISH = _row("mish", lambda x: x * TANH(SOFTPLUS(x, beta=1.0, threshold=math.inf)))
HARDSIGMOID = _row("hardsigmoid", _hardsigmoid)
HARDSWISH = _row("hardswish", lambda x: x * HARDSIGMOID(x))
SOFTSIGN = _row("softsign", lambda x: x / (ABS(x) + 1))
TANHSHRINK = _row("tanhshrink", lambda x: x - TANH(x))
HARDSHRINK = _row(
    "hardshrink", lambda x, *, bound: where(LE(ABS(x), number(bound, x.dtype)), _zero(x), x)
)
SOFTSHRINK = _row("softshrink", _softshrink)
THRESHOLD = _row(
    "threshold",
    lambda x, *, bound, value: where(LE(x, number(bound, x.dtype)), number(value, x.dtype), x),
)
