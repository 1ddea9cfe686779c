# SPDX-License-Identifier: Apache-2.0
"""Post-ops as operations of oneDNN's Graph API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn._core import algorithm as A
from sycl_dnn.graph.value import Value


class NoPartition(Exception):
    """Why some nodes are no partition."""


def _linear(g: Any, x: Value, alpha: float, beta: float) -> Value:
    if alpha != 1.0:
        x = g.multiply(x, alpha)
    return x if beta == 0.0 else g.add(x, beta)


def _is(alpha: float, beta: float, wanted: tuple[float, float]) -> None:
    if abs(alpha - wanted[0]) + abs(beta - wanted[1]) > 1e-6:
        raise NoPartition(f"an activation has parameters {alpha}, {beta}")


def _hard_swish(g: Any, x: Value, alpha: float, beta: float) -> Value:
    _is(alpha, beta, (1 / 6, 0.5))
    return g.hard_swish(x)


def _swish(g: Any, x: Value, alpha: float, beta: float) -> Value:
    return g.multiply(x, g.sigmoid(_linear(g, x, alpha, 0.0)))


#: By label of an operation: operations on a value with its two parameters.
ELTWISE: dict[str, Callable[[Any, Value, float, float], Value]] = {
    "relu": lambda g, x, a, b: g.leaky_relu(x, alpha=a) if a else g.relu(x),
    "tanh": lambda g, x, a, b: g.tanh(x),
    "elu": lambda g, x, a, b: g.elu(x, alpha=a),
    "gelu_erf": lambda g, x, a, b: g.gelu(x, mode="gelu_erf"),
    "gelu_tanh": lambda g, x, a, b: g.gelu(x, mode="gelu_tanh"),
    "logistic": lambda g, x, a, b: g.sigmoid(x),
    "clip": lambda g, x, a, b: g.clamp(x, min=a, max=b),
    "clip_v2": lambda g, x, a, b: g.clamp(x, min=a, max=b),
    "exp": lambda g, x, a, b: g.exp(x),
    "abs": lambda g, x, a, b: g.abs(x),
    "square": lambda g, x, a, b: g.square(x),
    "sqrt": lambda g, x, a, b: g.sqrt(x),
    "mish": lambda g, x, a, b: g.mish(x),
    "hardsigmoid": lambda g, x, a, b: g.hard_sigmoid(x, alpha=a, beta=b),
    "hardswish": _hard_swish,
    "swish": _swish,
    "linear": _linear,
}


BINARY = {
    A.binary_add: "add",
    A.binary_sub: "subtract",
    A.binary_mul: "multiply",
    A.binary_div: "divide",
    A.binary_max: "maximum",
    A.binary_min: "minimum",
}
