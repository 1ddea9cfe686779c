# SPDX-License-Identifier: Apache-2.0
"""Element-wise losses: of differences, and of probabilities.

Where a loss has no gradient, or an infinite one, gradients are torch's.
"""

from __future__ import annotations

import math

from sycl_dnn.ir.node import Node, Operation, Shape, number
from sycl_dnn.ops.activation import LOGSIGMOID
from sycl_dnn.ops.arithmetic import (
    ABS,
    CLAMP,
    EQ,
    EXP,
    GT,
    LOG,
    LOG1P,
    LT,
    MAXIMUM,
    SIGMOID,
    cast,
    summed,
    where,
)
from sycl_dnn.ops.shape import broadcast_shape


def _pair(inputs: tuple[Node, ...], **attributes: float) -> tuple[Shape, str]:
    return broadcast_shape(*[x.shape for x in inputs]), inputs[0].dtype


# --- Of a difference


def _huber(d: Node, *, width: float, height: float) -> Node:
    distance = ABS(d)
    inner = distance * distance * (0.5 * height)
    outer = (distance - 0.5 * width) * (height * width)
    return where(LT(distance, number(width, d.dtype)), inner, outer)


def _huber_vjp(node: Node, g: Node) -> list[Node]:
    width, height = node.attributes["width"], node.attributes["height"]
    return [CLAMP(node.inputs[0], low=-width, high=width) * (height * g)]


#: A parabola of slope ``height * d`` up to a width, straight lines beyond.
HUBER = Operation(
    "huber", lambda inputs, **_: (inputs[0].shape, inputs[0].dtype), _huber_vjp, definition=_huber
)

# --- Of probabilities and logits


def _binary_cross_entropy(p: Node, t: Node) -> Node:
    least = number(-100.0, p.dtype)
    return -(t * MAXIMUM(LOG(p), least) + (1 - t) * MAXIMUM(LOG1P(-p), least))


def _binary_cross_entropy_vjp(node: Node, g: Node) -> tuple[Node, Node]:
    p, t = node.inputs
    variance = MAXIMUM((1 - p) * p, number(1e-12, p.dtype))
    return g * ((p - t) / variance), g * (LOG1P(-p) - LOG(p))


#: Its logarithms are bounded by -100; in the gradient of the target they are not.
BINARY_CROSS_ENTROPY = Operation(
    "binary_cross_entropy",
    _pair,
    summed(_binary_cross_entropy_vjp),
    definition=_binary_cross_entropy,
)


def _of_logits(x: Node, t: Node) -> Node:
    # One product: the difference would be NaN for an infinite x.
    is_positive = cast(GT(x, number(0, x.dtype)), x.dtype)
    return (is_positive - t) * x + LOG1P(EXP(-ABS(x)))


def _of_logits_vjp(node: Node, g: Node) -> tuple[Node, Node]:
    x, t = node.inputs
    return g * (SIGMOID(x) - t), -(g * x)


BINARY_CROSS_ENTROPY_WITH_LOGITS = Operation(
    "binary_cross_entropy_with_logits", _pair, summed(_of_logits_vjp), definition=_of_logits
)


def weighted_cross_entropy_with_logits(x: Node, t: Node, pos_weight: Node) -> Node:
    """Return the loss with factors of positive examples."""
    return (1 - t) * x - LOGSIGMOID(x) * ((pos_weight - 1) * t + 1)


def _divergence(x: Node, t: Node) -> Node:
    return where(EQ(t, number(0, t.dtype)), t, t * LOG(t)) - t * x


def _divergence_vjp(node: Node, g: Node) -> tuple[Node, Node]:
    x, t = node.inputs
    # As torch: the quotient is 1, but NaN at 0, where the loss has no gradient.
    return -(g * t), g * (LOG(t) - x + t / t)


#: The divergence of two distributions, the first of which is given as logarithms.
DIVERGENCE = Operation("divergence", _pair, summed(_divergence_vjp), definition=_divergence)


def divergence_of_logs(x: Node, t: Node) -> Node:
    """Return the divergence of two distributions that are given as logarithms."""
    return EXP(t) * (t - x)


def poisson(x: Node, t: Node, *, log_input: bool, full: bool, eps: float) -> Node:
    """Return minus the logarithm of the Poisson distribution, up to a constant unless ``full``."""
    loss = EXP(x) - t * x if log_input else x - t * LOG(x + eps)
    if not full:
        return loss
    one = number(1.0, t.dtype)
    counts = where(GT(t, one), t, one)
    stirling = counts * LOG(counts) - counts + LOG(counts) * 0.5 + 0.5 * math.log(2 * math.pi)
    return loss + where(GT(t, one), stirling, number(0.0, t.dtype))
