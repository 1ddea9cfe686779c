# SPDX-License-Identifier: Apache-2.0
"""Special functions: gamma and its logarithmic derivative, inverse erf, sinc, signs, logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.arithmetic import where


def _polynomial(x: Node, coefficients: Sequence[float]) -> Node:
    """Return a polynomial; the coefficient of the highest power comes first."""
    result = number(coefficients[0], x.dtype)
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


#: The shape and dtype of functions of one floating-point number.
_floating = ops.SIN.infer

# --- Gamma

#: B(2k) / 2k, of the asymptotic series.
_BERNOULLI = (-3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_ASYMPTOTIC = 10
#: The root of digamma in parts that are exact in float32, and in float64.
_ROOT_SINGLE = (1.4616321325302124, 1.2438149939e-08)
_ROOT = (1569415565 / 2**30, 381566830 / 2**60, 0.90163120932586959e-19)
#: digamma(x + 1) = (x + 1 - root) * (_SLOPE + P(x) / Q(x)) from 0 to 1, as in Boost.
_SLOPE = 0.99558162689208984
_NUMERATOR = (-0.0020713321167745952, -0.045251321448739056, -0.28919126444774784,
              -0.65031853770896507, -0.32555031186804491, 0.25479851061131551)  # fmt: skip
_DENOMINATOR = (-0.55789841321675513e-6, 0.0021284987017821144, 0.054151797245674225,
                0.43593529692665969, 1.4606242909763515, 2.0767117023730469, 1.0)  # fmt: skip


def _digamma(x: Node) -> Node:
    """From 10 on an asymptotic series, below by recurrence, for negative numbers by reflection."""
    zero = number(0, x.dtype)
    is_low = ops.LE(x, zero)
    positive = where(is_low, 1 - x, x)
    is_small = ops.LT(positive, number(_ASYMPTOTIC, x.dtype))
    # Unselected elements must stay finite, or the gradient would be NaN.
    large = where(is_small, number(_ASYMPTOTIC, x.dtype), positive)
    small = where(is_small, positive, number(1.5, x.dtype))
    value = where(is_small, _small_digamma(small), _large_digamma(large))
    whole = ops.ROUND(x)
    turns = where(ops.EQ(whole, zero), x, x - whole)  # -0.0 keeps its sign
    rest = where(is_low, turns, number(0.25, x.dtype))
    is_pole = ops.LOGICAL_AND(ops.LT(x, zero), ops.EQ(rest, zero))
    reflected = where(is_pole, number(math.nan, x.dtype), _cotangent(rest) * math.pi)
    return where(is_low, value - reflected, value)


def _large_digamma(x: Node) -> Node:
    limit = number(1e12, x.dtype)  # from there on the series is 0; squares would overflow
    inverse = ops.RECIPROCAL(ops.SQUARE(where(ops.GT(x, limit), limit, x)))
    return ops.LOG(x) - (0.5 / x + inverse * _polynomial(inverse, _BERNOULLI))


def _small_digamma(x: Node) -> Node:
    """Shift ``x`` by whole steps to [1, 2), and add the reciprocals that this skips."""
    one, zero = number(1, x.dtype), number(0, x.dtype)
    steps = ops.FLOOR(x) - 1
    fraction = x - steps
    difference = fraction
    for part in _ROOT if x.dtype == "float64" else _ROOT_SINGLE:
        difference = difference - part
    ratio = _polynomial(fraction - 1, _NUMERATOR) / _polynomial(fraction - 1, _DENOMINATOR)
    value = difference * _SLOPE + difference * ratio
    is_below = ops.LT(steps, zero)
    value = value - where(is_below, 1 / where(is_below, x, one), zero)
    for k in range(1, _ASYMPTOTIC - 1):
        is_step = ops.GE(steps, number(k, x.dtype))
        value = value + where(is_step, 1 / where(is_step, x - k, one), zero)
    return value


def _cotangent(turns: Node) -> Node:
    """Return the cotangent of half turns from -0.5 to 0.5."""
    size, quarter = ops.ABS(turns), number(0.25, turns.dtype)
    is_near = ops.LE(size, quarter)
    near, far = where(is_near, turns, quarter), where(is_near, quarter, size)
    of_rest = ops.TAN((0.5 - far) * math.pi)
    of_rest = where(ops.LT(turns, number(0, turns.dtype)), -of_rest, of_rest)
    return where(is_near, 1 / ops.TAN(near * math.pi), of_rest)


DIGAMMA = Operation(
    "digamma", _floating, lambda node, g: [g * POLYGAMMA(node.inputs[0], n=1)], definition=_digamma
)
LGAMMA = Operation("lgamma", _floating, lambda node, g: [g * DIGAMMA(node.inputs[0])])

#: B(2k) / (2k)!, of Euler's and Maclaurin's series.
_EULER = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
          1 / 74724249600, -3617 / 10670622842880000)  # fmt: skip


def _polygamma(x: Node, *, n: int) -> Node:
    """By a series beyond 10, below by recurrence, for negative numbers by reflection."""
    zero, infinity = number(0, x.dtype), number(math.inf, x.dtype)
    is_low = ops.LE(x, zero)
    positive = where(is_low, 1 - x, x)
    total, w = zero, positive + 10
    for k in range(10):
        total = total + ops.POWER(positive + k, exponent=float(-n - 1))
    power = ops.POWER(w, exponent=float(-n))
    total, power = total + power * (1 / n), power / w
    total, factor = total + power * 0.5, float(n + 1)
    for j, coefficient in enumerate(_EULER):
        power = power / w
        total = total + power * (coefficient * factor)
        power, factor = power / w, factor * (n + 2 * j + 2) * (n + 2 * j + 3)
    value = total * ((-1) ** (n + 1) * float(math.factorial(n)))
    turns = x - ops.ROUND(x)
    is_pole = ops.LOGICAL_AND(is_low, ops.EQ(turns, zero))
    rest = where(ops.LOGICAL_AND(is_low, ops.NE(turns, zero)), turns, number(0.25, x.dtype))
    # Derivatives of the cotangent c are polynomials of it, since c' = -(1 + c**2).
    slopes = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        slopes = slopes.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    reflected = _polynomial(_cotangent(rest), slopes.coef[::-1].tolist()) * math.pi ** (n + 1)
    value = where(is_low, value * (-1) ** n - reflected, value)
    return where(is_pole, infinity * (-1) ** (n + 1), value)


POLYGAMMA: Operation = Operation(
    "polygamma", lambda inputs, *, n: _floating(inputs),
    lambda node, g: [g * POLYGAMMA(node.inputs[0], n=node.attributes["n"] + 1)],
    definition=_polygamma,
)  # fmt: skip

# --- The inverse error function

#: Giles, "Approximating the erfinv function", 2010: by w - 2.5, and by sqrt(w) - 3 from 5 on.
_CENTRAL = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
            -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
         -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)  # fmt: skip
#: Of float32, in one expression; ``ERFINV`` has the gradient.
ERFINV_SINGLE = Operation("erfinv_single", _floating)


def _erfinv(y: Node) -> Node:
    """Return an approximation of float64; Newton's steps make it exact."""
    dtype = y.dtype
    if dtype != "float64":
        return ERFINV_SINGLE(y)
    size = ops.ABS(y)
    w = -ops.LOG((1 - size) * (1 + size))
    root = ops.SQRT(ops.MAXIMUM(w, number(5, dtype)))
    tail = _polynomial(root - 3, _TAIL)
    central = _polynomial(w - 2.5, _CENTRAL)
    x = where(ops.LT(w, number(5, dtype)), central, tail) * size
    # Beyond the range of float32.
    x = where(ops.GT(w, number(16, dtype)), ops.SQRT(w - ops.LOG(root * math.sqrt(math.pi))), x)
    for _ in range(3):
        x = _better_root(x, size)
    edge = where(ops.EQ(size, number(1, dtype)), number(math.inf, dtype), x)
    return COPYSIGN(edge, y)


def _better_root(x: Node, size: Node) -> Node:
    """Return Newton's next root: of erf, or of the logarithm of erfc for large values."""
    slope = ops.EXP(-ops.SQUARE(x)) * (2 / math.sqrt(math.pi))
    rest = ops.ERFC(x)
    step = where(
        ops.LT(size, number(0.5, x.dtype)),
        (ops.ERF(x) - size) / slope,
        -(ops.LOG(rest / (1 - size)) * rest / slope),
    )
    return x - step


ERFINV = Operation(
    "erfinv", _floating,
    lambda node, g: [g * (ops.EXP(ops.SQUARE(node)) * (math.sqrt(math.pi) / 2))],
    definition=_erfinv,
)  # fmt: skip

# --- sinc

#: Of sin(t) / t by t * t.
_NEAR_ZERO = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(11, -1, -1))


def _sinc(x: Node) -> Node:
    """By a series near 0, where the derivatives of the quotient are inaccurate."""
    angle = x * math.pi
    one = number(1, x.dtype)
    is_near = ops.LT(ops.ABS(angle), one)
    far, near = where(is_near, one, angle), where(is_near, angle, one)
    return where(is_near, _polynomial(ops.SQUARE(near), _NEAR_ZERO), ops.SIN(far) / far)


SINC = Operation("sinc", _floating, definition=_sinc)

# --- Signs


def _copysign(size: Node, sign: Node) -> Node:
    bits = ops.BITS(sign)
    is_negative = ops.LT(bits, number(0, bits.dtype))
    return where(is_negative, -ops.ABS(size), ops.ABS(size))


def _copysign_vjp(node: Node, g: Node) -> Sequence[Node | None]:
    size, zero = node.inputs[0], number(0, node.dtype)
    is_zero = ops.EQ(size, zero)
    sign = node / where(is_zero, number(1, node.dtype), size)
    return g * where(is_zero, zero, ops.STOP_GRADIENT(sign)), None


COPYSIGN = Operation("copysign", ops.ADD.infer, ops.summed(_copysign_vjp), definition=_copysign)


def signbit(x: Node) -> Node:
    """Whether the sign is negative, also that of zeros and NaN."""
    bits = ops.BITS(x)
    return ops.LT(bits, number(0, bits.dtype))


# --- Of two numbers


def _hypot_vjp(node: Node, g: Node) -> Sequence[Node | None]:
    a, b = node.inputs
    return g * (a / node), g * (b / node)


HYPOT = Operation("hypot", ops.ADD.infer, ops.summed(_hypot_vjp))


def _modulus_vjp(node: Node, g: Node) -> Sequence[Node | None]:
    a, b = node.inputs
    # The gradient at 0 is 0.
    size = where(ops.EQ(node, number(0, node.dtype)), number(1, node.dtype), node)
    return g * (a / size), g * (b / size)


#: The absolute value of a complex number, of its parts.
MODULUS = Operation("modulus", ops.ADD.infer, ops.summed(_modulus_vjp), definition=HYPOT)


def _with_logarithm(name: str, logarithm: Operation, root: float) -> Operation:
    """Return ``a * logarithm(b)``, 0 for ``a`` of 0; the logarithm of ``root`` is 0."""

    def definition(a: Node, b: Node) -> Node:
        zero = number(0, a.dtype)
        is_zero = ops.LOGICAL_AND(ops.EQ(a, zero), ops.LOGICAL_NOT(ops.ISNAN(b)))
        return where(is_zero, zero, a * logarithm(b))

    def vjp(node: Node, g: Node) -> Sequence[Node | None]:
        (a, b), dtype = node.inputs, node.inputs[0].dtype
        zero, pole = number(0, dtype), number(root - 1, dtype)
        is_flat = ops.LOGICAL_AND(ops.EQ(a, zero), ops.LE(b, pole))
        slope = where(is_flat, zero, logarithm(where(is_flat, number(root, dtype), b)))
        return g * slope, g * a / (b - pole if root != 1 else b)

    return Operation(name, ops.ADD.infer, ops.summed(vjp), definition=definition)


XLOGY, XLOG1PY = _with_logarithm("xlogy", ops.LOG, 1), _with_logarithm("xlog1py", ops.LOG1P, 0)


def _entr(x: Node) -> Node:
    is_below = ops.LT(x, number(0, x.dtype))
    return where(is_below, number(-math.inf, x.dtype), -XLOGY(x, x))


ENTR = Operation(
    "entr", _floating, lambda node, g: [g * (-ops.LOG(node.inputs[0]) - 1)], definition=_entr
)


def ldexp(a: Node, exponent: Node) -> Node:
    """Return ``a * 2**exponent`` without an overflow of the power."""
    limit = 2200.0 if a.dtype == "float64" else 300.0  # from there on, the result is 0 or infinite
    exponent = ops.CLAMP(exponent, low=-limit, high=limit)
    third = ops.STOP_GRADIENT(ops.TRUNC(exponent * (1 / 3)))
    power = ops.EXP2(third)
    return a * power * power * ops.EXP2(exponent - third * 2)


def _logaddexp2(a: Node, b: Node) -> Node:
    high, low = ops.MAXIMUM(a, b), ops.MINIMUM(a, b)
    difference = where(ops.NE(high, low), low - high, number(0, a.dtype))
    return high + ops.LOG1P(ops.EXP2(difference)) * (1 / math.log(2))


def _logaddexp2_vjp(node: Node, g: Node) -> Sequence[Node | None]:
    a, b = node.inputs
    difference = (a - b) * math.log(2)
    return g * ops.SIGMOID(difference), g * ops.SIGMOID(-difference)


LOGADDEXP2 = Operation(
    "logaddexp2", ops.ADD.infer, ops.summed(_logaddexp2_vjp), definition=_logaddexp2
)


def fmax(a: Node, b: Node) -> Node:
    """Return the maximum, of NaN and a number the number."""
    return where(ops.LOGICAL_OR(ops.GE(a, b), ops.ISNAN(b)), a, b)


def fmin(a: Node, b: Node) -> Node:
    """Return the minimum, of NaN and a number the number."""
    return where(ops.LOGICAL_OR(ops.LE(a, b), ops.ISNAN(b)), a, b)
