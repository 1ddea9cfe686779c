# SPDX-License-Identifier: Apache-2.0
"""The scaled complementary error function, and the normal distribution's logarithm and inverse."""

from __future__ import annotations

import math

from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.arithmetic import where
from sycl_dnn.ops.special_functions import ERFINV

_floating = ops.SIN.infer
#: The complementary error function is a continued fraction from here on; its levels by dtype.
_FAR, _LEVELS = 3.0, {"float32": 12, "float64": 30}


def _continued(x: Node, first: int) -> Node:
    """Return ``x + (first / 2) / (x + ((first + 1) / 2) / (x + ...))``."""
    tail = x
    for k in range(_LEVELS[x.dtype], first - 1, -1):
        tail = x + (k / 2) / tail
    return tail


def _parts(x: Node) -> tuple[Node, Node, Node]:
    """Return which numbers are far, and those and others; unselected ones stay finite."""
    limit = number(_FAR, x.dtype)
    is_far = ops.GT(x, limit)
    return is_far, where(is_far, x, limit), where(is_far, limit, x)


def _erfcx(x: Node) -> Node:
    is_far, high, low = _parts(x)
    # The square as a product without rounding, and the rest.
    whole = ops.ROUND(low * 16.0) * 0.0625
    power = ops.EXP(whole * whole) * ops.EXP((low - whole) * (low + whole))
    near = power * ops.ERFC(low)
    result = where(is_far, 1 / math.sqrt(math.pi) / _continued(high, 1), near)
    # Zeros times infinities.
    is_over = ops.LT(x, number(-30.0, x.dtype))
    return where(is_over, number(math.inf, x.dtype), result)


def _slope(x: Node) -> Node:
    """Return the derivative; the terms of ``2 * x * erfcx(x) - 2 / sqrt(pi)`` cancel far away."""
    is_far, high, low = _parts(x)
    rest = _continued(high, 2)
    far = -1 / math.sqrt(math.pi) / (rest * (high + 0.5 / rest))
    return where(is_far, far, low * ERFCX(low) * 2.0 - 2 / math.sqrt(math.pi))


ERFCX: Operation = Operation(
    "erfcx", _floating, lambda node, g: [g * _SLOPE(node.inputs[0])], definition=_erfcx
)
_SLOPE: Operation = Operation(
    "erfcx_slope", _floating,
    lambda node, g: [g * (ERFCX(node.inputs[0]) + node.inputs[0] * node) * 2.0], definition=_slope,
)  # fmt: skip


def _log_ndtr(x: Node) -> Node:
    scaled, limit = x * math.sqrt(0.5), number(-1.0, x.dtype)
    is_low = ops.LT(x, limit)
    low = where(is_low, scaled, number(-1.0, x.dtype))
    high = where(is_low, number(0.0, x.dtype), scaled)
    tail = ops.LOG(ERFCX(-low) * 0.5) - low * low
    return where(is_low, tail, ops.LOG1P(ops.ERFC(high) * -0.5))


LOG_NDTR = Operation(
    "log_ndtr", _floating,
    lambda node, g: [g * math.sqrt(2 / math.pi) / ERFCX(node.inputs[0] * -math.sqrt(0.5))],
    definition=_log_ndtr,
)  # fmt: skip


def _ndtri(p: Node) -> Node:
    """By the inverse error function in the middle, by Newton's steps of the logarithm outside."""
    dtype = p.dtype
    half, one = number(0.5, dtype), number(1.0, dtype)
    small = where(ops.GT(p, half), 1.0 - p, p)
    is_inner = ops.GT(small, number(0.1, dtype))
    inner = ERFINV(where(is_inner, p, half) * 2.0 - 1.0) * math.sqrt(2)
    is_tail = ops.LOGICAL_AND(ops.GT(small, number(0.0, dtype)), ops.LE(small, half))
    logarithm = ops.LOG(where(is_tail, small, half))
    # Abramowitz and Stegun, 26.2.22.
    t = ops.SQRT(logarithm * -2.0)
    x = (t * 0.27061 + 2.30753) / (t * (t * 0.04481 + 0.99229) + 1.0) - t
    for _ in range(2 if dtype == "float32" else 4):
        slope = math.sqrt(2 / math.pi) / ERFCX(x * -math.sqrt(0.5))
        x = x - (LOG_NDTR(x) - logarithm) / slope
    outer = where(ops.EQ(small, number(0.0, dtype)), number(-math.inf, dtype), x)
    outer = where(ops.GT(p, half), -outer, outer)
    is_valid = ops.LOGICAL_AND(ops.GE(p, number(0.0, dtype)), ops.LE(p, one))
    return where(is_valid, where(is_inner, inner, outer), number(math.nan, dtype))


NDTRI = Operation(
    "ndtri", _floating,
    lambda node, g: [g * math.sqrt(2 * math.pi) * ops.EXP(ops.SQUARE(node) * 0.5)],
    definition=_ndtri,
)  # fmt: skip
