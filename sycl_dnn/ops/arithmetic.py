# SPDX-License-Identifier: Apache-2.0
"""Element-wise operations: arithmetic, comparisons, selections, conversions.

Gradients are defined next to each row. Values and gradients at NaN, infinities and ties are
torch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn.ir.node import Node, Number, Operation, Shape, Vjp, number, value_of
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.shape import broadcast_shape, broadcast_to, sum_to

Slope = Callable[[Node], Node]


def _alike(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    return x.shape, x.dtype


def _floating(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    if not x.is_float:
        raise TypeError(f"operand must be of floating-point numbers, got {x.dtype}")
    return x.shape, x.dtype


def _to_bool(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    return broadcast_shape(*[x.shape for x in inputs]), "bool"


def _tested(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    return x.shape, "bool"


def _unary(name: str, slope: Slope | None, infer: Any = _floating) -> Operation:
    """Define a unary operation; ``slope(node)`` is its derivative."""

    def vjp(node: Node, g: Node) -> list[Node]:
        return [g * slope(node)]  # type: ignore[misc]

    return Operation(name, infer, vjp if slope else None, is_flat=slope is None)


def _quotient(name: str, divisor: Slope) -> Operation:
    """Define a unary operation whose derivative is ``1 / divisor(node)``.

    The gradient is one division: the reciprocal of a divisor may be infinite and it finite.
    """
    return Operation(name, _floating, lambda node, g: [g / divisor(node)])


def _x(node: Node) -> Node:
    return node.inputs[0]


# --- Unary, smooth

NEG = Operation("neg", _alike, lambda node, g: [-g])
SQUARE = _unary("square", lambda n: _x(n) * 2, _alike)
SQRT = _quotient("sqrt", lambda n: n * 2)
RSQRT = _unary("rsqrt", lambda n: n * n * n * -0.5)
RECIPROCAL = _unary("reciprocal", lambda n: -(n * n))
EXP = _unary("exp", lambda n: n)
#: Faster ``exp`` for arguments known to be nonpositive.
EXP_NONPOSITIVE = _unary("exp_nonpositive", lambda n: n)
EXP2 = _unary("exp2", lambda n: n * math.log(2))
EXPM1 = _unary("expm1", lambda n: n + 1)
LOG = _quotient("log", _x)
LOG2 = _quotient("log2", lambda n: _x(n) * math.log(2))
LOG10 = _quotient("log10", lambda n: _x(n) * math.log(10))
LOG1P = _quotient("log1p", lambda n: _x(n) + 1)
SIN: Operation = _unary("sin", lambda n: COS(_x(n)))
COS: Operation = _unary("cos", lambda n: -SIN(_x(n)))
#: Faster ``cos`` for float32 below a million.
COS_OF_SMALL = _unary("cos_of_small", lambda n: -SIN(_x(n)))
TAN = _unary("tan", lambda n: n * n + 1)
ASIN = _unary("asin", lambda n: RSQRT(1 - SQUARE(_x(n))))
ACOS = _unary("acos", lambda n: -RSQRT(1 - SQUARE(_x(n))))
ATAN = _quotient("atan", lambda n: SQUARE(_x(n)) + 1)
SINH: Operation = _unary("sinh", lambda n: COSH(_x(n)))
COSH: Operation = _unary("cosh", lambda n: SINH(_x(n)))
TANH = _unary("tanh", lambda n: 1 - n * n)
ASINH = _unary("asinh", lambda n: RSQRT(SQUARE(_x(n)) + 1))
ACOSH = _unary("acosh", lambda n: RSQRT(SQUARE(_x(n)) - 1))
ATANH = _quotient("atanh", lambda n: 1 - SQUARE(_x(n)))
SIGMOID = _unary("sigmoid", lambda n: n * (1 - n))
ERF = _unary("erf", lambda n: EXP_NONPOSITIVE(-SQUARE(_x(n))) * (2 / math.sqrt(math.pi)))
ERFC = _unary("erfc", lambda n: EXP_NONPOSITIVE(-SQUARE(_x(n))) * (-2 / math.sqrt(math.pi)))

# --- Unary, with kinks or steps

SIGN = _unary("sign", None, _alike)
FLOOR = _unary("floor", None)
CEIL = _unary("ceil", None)
TRUNC = _unary("trunc", None)
ROUND = _unary("round", None)
ISNAN = _unary("isnan", None, _tested)
ISINF = _unary("isinf", None, _tested)
ISFINITE = _unary("isfinite", None, _tested)
LOGICAL_NOT = _unary("logical_not", None, _tested)
ABS = Operation("abs", _alike, lambda node, g: [g * SIGN(_x(node))])
#: The identity with zero gradient.
STOP_GRADIENT = Operation("stop_gradient", _alike, is_flat=True)


def _reinterpreted(name: str, result_of: dict[str, str]) -> Operation:
    """Define an operation that reinterprets bits as another dtype, by the dtype of the operand."""

    def infer(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
        (x,) = inputs
        if x.dtype not in result_of:
            rule = f"operand must be of {' or '.join(result_of)}"
            raise TypeError(f"{name}: {rule}, got {x.dtype}")
        return x.shape, result_of[x.dtype]

    return Operation(name, infer, is_flat=True)


#: The bits of a floating-point number as an integer of the same size, and the number of such bits.
BITS = _reinterpreted("bits", {"float32": "int32", "float64": "int64"})
FROM_BITS = _reinterpreted("from_bits", {"int32": "float32", "int64": "float64"})

CAST = Operation(
    "cast",
    lambda inputs, *, dtype: (inputs[0].shape, dtype),
    lambda node, g: [cast(g, node.inputs[0].dtype)],
)


def cast(x: Node, dtype: str) -> Node:
    """Convert to another dtype."""
    if x.dtype == dtype:
        return x
    is_back = x.operation is CAST and x.inputs[0].dtype == dtype
    if is_back and dtypes.is_float(dtype) and dtypes.wide(dtype) == x.dtype:
        return x.inputs[0]  # a wider dtype has all values
    return CAST(x, dtype=dtype)


# --- Binary, with broadcasting


def _same_dtype(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    a, b = inputs
    if a.dtype != b.dtype:
        raise TypeError(f"operands must have one dtype, got {a.dtype} and {b.dtype}")
    return broadcast_shape(a.shape, b.shape), a.dtype


def _comparison(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    return _same_dtype(inputs)[0], "bool"


def summed(vjp: Vjp) -> Vjp:
    """Return a rule whose gradients are summed over broadcast axes."""

    def rule(node: Node, g: Node) -> list[Node | None]:
        pairs = zip(node.inputs, vjp(node, g), strict=True)
        return [None if part is None else sum_to(part, operand.shape) for operand, part in pairs]

    return rule


def _binary(name: str, vjp: Vjp, infer: Any = _same_dtype) -> Operation:
    return Operation(name, infer, summed(vjp))


def _flat(name: str, infer: Any = _comparison) -> Operation:
    return Operation(name, infer, is_flat=True)


LT, LE, GT, GE, EQ, NE = map(_flat, ("lt", "le", "gt", "ge", "eq", "ne"))
LOGICAL_AND = _flat("logical_and", _to_bool)
LOGICAL_OR = _flat("logical_or", _to_bool)
LOGICAL_XOR = _flat("logical_xor", _to_bool)

BITWISE_AND = _flat("bitwise_and", _same_dtype)
BITWISE_OR = _flat("bitwise_or", _same_dtype)
BITWISE_XOR = _flat("bitwise_xor", _same_dtype)
BITWISE_NOT = Operation("bitwise_not", _alike, is_flat=True)
#: Shifts by a negative count, or by at least the width, give 0.
LEFT_SHIFT = _flat("left_shift", _same_dtype)
RIGHT_SHIFT = _flat("right_shift", _same_dtype)

ADD = _binary("add", lambda n, g: (g, g))
SUB = _binary("sub", lambda n, g: (g, -g))
MUL = _binary("mul", lambda n, g: (g * n.inputs[1], g * n.inputs[0]))
DIV = _binary("div", lambda n, g: (g / n.inputs[1], -(g * n) / n.inputs[1]))
#: Division rounded down, and toward 0; gradients are 0.
FLOOR_DIVIDE = _flat("floor_divide", _same_dtype)
TRUNC_DIVIDE = _flat("trunc_divide", _same_dtype)
REMAINDER = _binary("remainder", lambda n, g: (g, -g * FLOOR_DIVIDE(*n.inputs)))
FMOD = _binary("fmod", lambda n, g: (g, -g * TRUNC_DIVIDE(*n.inputs)))


def _pow_vjp(node: Node, g: Node) -> tuple[Node | None, Node | None]:
    base, exponent = node.inputs
    zero = number(0, node.dtype)
    # For exponent 0 the power is constant, even at base 0. Factors of g stay finite there, which
    # are multiplied by tangents that are 0.
    is_flat = LOGICAL_AND(EQ(exponent, zero), LOGICAL_NOT(GT(ABS(base), zero)))
    slope = exponent * POW(where(is_flat, number(1, node.dtype), base), exponent - 1)
    by_base = g * slope
    if value_of(exponent) is not None:
        return by_base, None
    # 0 to a positive power is constant too, but the logarithm is infinite.
    is_constant = LOGICAL_AND(EQ(base, zero), GE(exponent, zero))
    safe = where(is_constant, number(1, node.dtype), base)
    return by_base, g * where(is_constant, zero, node * LOG(safe))


POW = _binary("pow", _pow_vjp)

#: By exponent: the function that torch calls, whose zeros and infinities are not those of powers.
_POWERS: dict[float, Slope] = {
    0.0: lambda x: broadcast_to(number(1, x.dtype), x.shape), 0.5: SQRT, -0.5: RSQRT,
    1.0: lambda x: x, 2.0: SQUARE, 3.0: lambda x: x * x * x,
    -1.0: RECIPROCAL, -2.0: lambda x: RECIPROCAL(SQUARE(x)),
}  # fmt: skip


def _power(x: Node, *, exponent: float) -> Node:
    operation = _POWERS.get(exponent)
    return operation(x) if operation else POW(x, number(exponent, x.dtype))


def _power_vjp(node: Node, g: Node) -> list[Node | None]:
    exponent = node.attributes["exponent"]
    if not exponent:
        return [None]
    return [g * (POWER(node.inputs[0], exponent=exponent - 1) * exponent)]


#: A power with a number as exponent.
POWER: Operation = Operation(
    "power", lambda inputs, **_: _floating(inputs), _power_vjp, definition=_power
)


def _atan2_vjp(node: Node, g: Node) -> tuple[Node, Node]:
    y, x = node.inputs
    squares, zero = SQUARE(x) + SQUARE(y), number(0, node.dtype)
    # The gradient at the origin is 0.
    divisor = where(EQ(squares, zero), number(1, node.dtype), squares)
    return g * x / divisor, -(g * y) / divisor


ATAN2 = _binary("atan2", _atan2_vjp)


def _extreme_vjp(beats: str) -> Vjp:
    """Return the rule of a maximum or minimum; ties share the gradient equally."""

    def vjp(node: Node, g: Node) -> tuple[Node, Node]:
        a, b = node.inputs
        half, zero = g * 0.5, number(0, node.dtype)
        ties = where(EQ(a, b), half, zero)
        # Both operands receive the gradient unless they lose, so also if one is NaN.
        lost_a, lost_b = (LT(a, b), LT(b, a)) if beats == "gt" else (LT(b, a), LT(a, b))
        a_wins = LOGICAL_NOT(LOGICAL_OR(lost_a, EQ(a, b)))
        b_wins = LOGICAL_NOT(LOGICAL_OR(lost_b, EQ(a, b)))
        return where(a_wins, g, ties), where(b_wins, g, ties)

    return vjp


MAXIMUM = _binary("maximum", _extreme_vjp("gt"))
MINIMUM = _binary("minimum", _extreme_vjp("lt"))


# --- Selection


def _choice(inputs: tuple[Node, ...]) -> tuple[Shape, str]:
    condition, a, b = inputs
    if condition.dtype != "bool":
        raise TypeError(f"condition must be of bool, got {condition.dtype}")
    if a.dtype != b.dtype:
        raise TypeError(f"operands must have one dtype, got {a.dtype} and {b.dtype}")
    return broadcast_shape(condition.shape, a.shape, b.shape), a.dtype


def _choice_vjp(node: Node, g: Node) -> tuple[None, Node, Node]:
    condition, zero = node.inputs[0], number(0, node.dtype)
    return None, where(condition, g, zero), where(condition, zero, g)


WHERE = Operation("where", _choice, summed(_choice_vjp))


def where(condition: Node, a: Node, b: Node) -> Node:
    """Return ``a`` where the condition is true, else ``b``."""
    return WHERE(condition, a, b)


def _clamp(x: Node, *, low: Number | None, high: Number | None) -> Node:
    if low is not None:
        bound = number(low, x.dtype)
        x = where(LT(x, bound), bound, x)
    if high is not None:
        bound = number(high, x.dtype)
        x = where(LT(bound, x), bound, x)
    return x


def _clamp_vjp(node: Node, g: Node) -> list[Node]:
    """Return the gradient inside the bounds; 0 outside, at the bounds and for NaN."""
    # Read from the result, so that the input need not be saved.
    zero = number(0, node.dtype)
    for bound, is_inside in ((node.attributes["low"], GT), (node.attributes["high"], LT)):
        if bound is not None:
            g = where(is_inside(node, number(bound, node.dtype)), g, zero)
    return [g]


CLAMP = Operation("clamp", lambda inputs, **_: _alike(inputs), _clamp_vjp, definition=_clamp)


def _clamp_between_vjp(node: Node, g: Node) -> tuple[Node, Node, Node]:
    """Split the gradient of an element with a bound that equals it, unless both do."""
    x, low, high = node.inputs
    zero, half = number(0, node.dtype), g * 0.5
    is_crossed, is_open = LOGICAL_AND(GT(low, high), EQ(x, x)), LT(low, high)
    is_below, is_above = LT(x, low), GT(x, high)
    is_low, is_high = (LOGICAL_AND(is_open, EQ(x, bound)) for bound in (low, high))
    is_outside = LOGICAL_OR(LOGICAL_OR(is_below, is_above), is_crossed)
    inner = where(is_outside, zero, where(LOGICAL_OR(is_low, is_high), half, g))
    of_low = where(is_crossed, zero, where(is_below, g, where(is_low, half, zero)))
    of_high = where(LOGICAL_OR(is_above, is_crossed), g, where(is_high, half, zero))
    return inner, of_low, of_high


#: Clamp with array bounds; where they cross, the upper bound.
CLAMP_BETWEEN = Operation(
    "clamp_between",
    lambda inputs: (broadcast_shape(*[x.shape for x in inputs]), inputs[0].dtype),
    summed(_clamp_between_vjp),
    definition=lambda x, low, high: MINIMUM(MAXIMUM(x, low), high),
)


def _lerp(start: Node, end: Node, weight: Node) -> Node:
    distance = end - start
    is_near_start = LT(ABS(weight), number(0.5, weight.dtype))
    return where(is_near_start, start + weight * distance, end - distance * (1 - weight))


def _lerp_vjp(node: Node, g: Node) -> tuple[Node, Node, Node]:
    start, end, weight = node.inputs
    return g * (1 - weight), g * weight, g * (end - start)


#: ``start + weight * (end - start)``, computed from the nearer end.
LERP = Operation("lerp", CLAMP_BETWEEN.infer, summed(_lerp_vjp), definition=_lerp)


# --- Logarithms of sums and of odds


def _logaddexp(a: Node, b: Node) -> Node:
    high, low = MAXIMUM(a, b), MINIMUM(a, b)
    # The difference of equal infinities would be NaN.
    difference = where(NE(high, low), low - high, number(0, a.dtype))
    return high + LOG1P(EXP(difference))


def _logaddexp_vjp(node: Node, g: Node) -> tuple[Node, Node]:
    a, b = node.inputs
    return g * SIGMOID(a - b), g * SIGMOID(b - a)


LOGADDEXP = Operation("logaddexp", _same_dtype, summed(_logaddexp_vjp), definition=_logaddexp)


def _logit(p: Node, *, eps: float | None) -> Node:
    if eps is not None:
        p = CLAMP(p, low=eps, high=1.0 - eps)
    return LOG(p / (1 - p))


def _logit_vjp(node: Node, g: Node) -> list[Node]:
    """Return the gradient; outside the bounds it is 0, without bounds NaN. At them it is inside."""
    (p,), eps = node.inputs, node.attributes["eps"]
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    is_outside = LOGICAL_OR(LT(p, number(low, p.dtype)), GT(p, number(high, p.dtype)))
    # Unselected elements must stay finite, or the gradient would be NaN.
    inner = where(is_outside, number(0.5, p.dtype), p)
    outer = number(math.nan if eps is None else 0.0, p.dtype)
    return [g * where(is_outside, outer, 1 / (inner * (1 - inner)))]


#: The inverse sigmoid of values clamped to ``[eps, 1 - eps]``.
LOGIT = Operation("logit", lambda inputs, **_: _floating(inputs), _logit_vjp, definition=_logit)
