# SPDX-License-Identifier: Apache-2.0
"""Parts of numbers: mantissas and exponents, neighbors; common divisors of integers."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.arithmetic import cast, where

#: By dtype: that of the bits, digits of the fraction, and the exponent of 1/2.
_LAYOUTS = {"float32": ("int32", 23, 126), "float64": ("int64", 52, 1022)}


def _fields(x: Node) -> tuple[Node, Node, Node]:
    """Return the sign's bit, the exponent and the fraction, normalized, of finite numbers."""
    kind, digits, half = _LAYOUTS[x.dtype]
    bits, ones = ops.BITS(x), number((1 << digits) - 1, kind)
    mask = number(2 * half + 3, kind)
    sign = ops.BITWISE_AND(bits, number(-(1 << (dtypes.bits_of(kind) - 1)), kind))
    # As integers: arithmetic with numbers below the smallest normal one may take them as 0.
    small = ops.BITS(cast(ops.BITWISE_AND(bits, ones), x.dtype))
    is_small = ops.EQ(_shifted(bits, digits, mask), number(0, kind))
    own = where(is_small, small, bits)
    offset = where(is_small, number(2 * half + digits, kind), number(half, kind))
    exponent = _shifted(own, digits, mask) - offset
    return sign, exponent, ops.BITWISE_AND(own, ones)


def _shifted(bits: Node, digits: int, mask: Node) -> Node:
    return ops.BITWISE_AND(ops.RIGHT_SHIFT(bits, number(digits, bits.dtype)), mask)


def _has_parts(x: Node) -> Node:
    return ops.LOGICAL_AND(ops.ISFINITE(x), ops.NE(ops.ABS(x), number(0, x.dtype)))


def _mantissa(x: Node) -> Node:
    kind, digits, half = _LAYOUTS[x.dtype]
    sign, _, fraction = _fields(x)
    fields = ops.BITWISE_OR(ops.BITWISE_OR(sign, fraction), number(half << digits, kind))
    return where(_has_parts(x), ops.FROM_BITS(fields), x)


def _mantissa_vjp(node: Node, g: Node) -> Sequence[Node]:
    x, one = node.inputs[0], number(1, node.dtype)
    safe = where(_has_parts(x), x, one)
    return [g * ops.STOP_GRADIENT(where(_has_parts(x), node / safe, one))]


#: The part of a number from 1/2 to 1.
MANTISSA = Operation("mantissa", ops.SIN.infer, _mantissa_vjp, definition=_mantissa)


def exponent(x: Node) -> Node:
    """Return the power of 2 by which a mantissa is to be multiplied, in int32."""
    value = cast(_fields(x)[1], "int32")
    return where(_has_parts(x), value, number(0, "int32"))


def _nextafter(a: Node, b: Node, *, step: int) -> Node:
    bits, zero = ops.BITS(a), number(0, a.dtype)
    is_up = ops.EQ(ops.LT(a, b), ops.GT(a, zero))
    one = number(step, bits.dtype)
    moved = ops.FROM_BITS(where(is_up, bits + one, bits - one))
    lowest = number(-(1 << (dtypes.bits_of(bits.dtype) - 1)), bits.dtype)
    of_zero = ops.FROM_BITS(ops.BITWISE_OR(ops.BITWISE_AND(ops.BITS(b), lowest), one))
    result = where(ops.EQ(a, b), b, where(ops.EQ(a, zero), of_zero, moved))
    return where(ops.LOGICAL_OR(ops.ISNAN(a), ops.ISNAN(b)), a + b, result)


def _nextafter_vjp(node: Node, g: Node) -> Sequence[Node]:
    is_equal, zero = ops.EQ(*node.inputs), number(0, g.dtype)
    return where(is_equal, zero, g), where(is_equal, g, zero)


#: The next number toward another; ``step`` is added to the bits.
NEXTAFTER = Operation(
    "nextafter", lambda inputs, *, step: ops.ADD.infer(inputs), ops.summed(_nextafter_vjp),
    definition=_nextafter,
)  # fmt: skip


#: By dtype: the most steps of Euclid's algorithm, those of Fibonacci's numbers.
_STEPS = {"uint8": 13, "int8": 12, "int16": 23, "int32": 46, "int64": 91}


def gcd(a: Node, b: Node) -> Node:
    """Return the greatest common divisor, 0 of zeros."""
    a, b = (x if x.dtype == "uint8" else ops.ABS(x) for x in (a, b))
    zero = number(0, a.dtype)
    for _ in range(_STEPS[a.dtype]):
        a, b = ops.FMOD(b, a), where(ops.EQ(a, zero), b, a)
    return b


def lcm(a: Node, b: Node) -> Node:
    """Return the least common multiple, 0 if an operand is 0."""
    divisor, zero = gcd(a, b), number(0, a.dtype)
    multiple = ops.TRUNC_DIVIDE(a, divisor) * b
    return where(ops.EQ(divisor, zero), zero, multiple if a.dtype == "uint8" else ops.ABS(multiple))
