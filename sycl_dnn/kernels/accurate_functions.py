# SPDX-License-Identifier: Apache-2.0
"""Functions of float32 numbers that are more accurate than a device's own: to about one ulp.

Each result is a large part that is exact plus a small correction, which may have a rounding error.
The polynomials are minimax approximations; the coefficient of the highest power comes first.
csrc/program/host_functions.inc computes the same, from the same numbers, for small steps.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

from sycl_dnn.kernels.spirv import Kernel, Value

#: asin(x) / x - 1 by x * x up to 1 / 4.
_ASIN = (0.0379359895, 0.0141016178, 0.0319114797, 0.044501699, 0.0750061226, 0.166666568,
         2.60737095e-10)  # fmt: skip
#: atan(x) / x - 1 by x * x up to 1.
_ATAN = (0.00111206058, -0.00730401159, 0.0224963974, -0.0446183309, 0.0673461936, -0.0880690095,
         0.110566735, -0.142794929, 0.199996306, -0.333333247, -3.32826711e-10)  # fmt: skip
#: (exp(x) - 1 - x) / x ** 2 up to log(2) / 2: twice, and with errors relative to x.
_EXP = (0.00139504892, 0.0083688898, 0.041666206, 0.166665182, 0.5)
_EXP_FAST = (1.39336435e-3, 8.36317557e-3, 4.1666465e-2, 1.6666577e-1, 0.5)
_EXPM1 = (0.000199135742, 0.00139410223, 0.00833327416, 0.041666355, 0.166666672, 0.5)
#: (log(1 + x) - x + x * x / 2) / x ** 3 from sqrt(1 / 2) - 1 to sqrt(2) - 1.
_LOG = (-0.0786087364, 0.12883471, -0.131291136, 0.141809613, -0.166244984, 0.200022951,
        -0.250008106, 0.333333164)  # fmt: skip
#: tanh(x) / x ** 3 - 1 / x ** 2 by x * x up to 5 / 8.
_TANH = (-0.00571703678, 0.0206505787, -0.0537434965, 0.133314908, -0.333332837)
#: log(2) in parts: multiples of the first up to 150 are exact.
_LOG_2 = (0.693359375, -2.12194440e-4)
#: Sums with it have no digits after the point; its bits.
_SHIFT, _SHIFT_BITS = 1.5 * 2**23, 0x4B400000
#: The bits of sqrt(1 / 2), and of the smallest number with all digits.
_ROOT_BITS, _SMALLEST = 0x3F3504F3, 2.0**-126
#: erf(x) / x - 1 by x * x up to 1, and exp(x * x) * erfc(x) by x - 1 from 1 to 4.
_ERF = (7.85389057e-05, -0.000801020302, 0.00518832868, -0.0268538129, 0.112835854, -0.37612626,
        0.128379166)  # fmt: skip
_ERF_TAIL = (-0.00039379028, 0.0033092706, -0.0131871877, 0.0356596559, -0.0786589235,
             0.154291481, -0.273207933, 0.427583545)  # fmt: skip
#: erfinv(x) / x - 1 by x * x - 0.35 up to 0.715 - 0.35, and erfinv(x) - s + 3 / 8 by s - 2.5, where
#: s = sqrt(-log(1 - x)).
_ERFINV = (19.4910598, 9.60725743, -1.61290169, 0.527112686, 1.83633197, 1.09106968, 0.693003821,
           0.550369598, 0.439144721, 0.359536085, 0.313759143, 0.304715391, 0.370202212,
           -0.0118726734)  # fmt: skip
_ERFINV_TAIL = (-8.39017483e-07, 5.3670926e-06, -1.67660566e-05, 4.3708099e-05, -0.000119567767,
                0.000312502789, -0.000721403983, 0.00137473989, -0.00145554324, -0.00464898495,
                0.0469835963, 0.067545923)  # fmt: skip
#: sin(x) / x - 1, and (cos(x) - 1 + x * x / 2) / x ** 4, by x * x up to (pi / 4) ** 2.
_SIN = (2.71637636e-06, -0.000198390964, 0.00833332843, -0.166666666, -4.89937257e-12)
_COS = (-2.73007564e-07, 2.48006188e-05, -0.00138888878, 0.0416666667)
#: pi / 2 in parts; numbers up to ``_LARGE`` less multiples of the first are exact.
_QUARTER_TURN = (1.57079601, 3.13916473e-07, 5.39030253e-15)
_LARGE = 1e6
#: 2 * pi as a number of float32 and the rest.
_TURN = (6.28318548, -1.74845553e-07)
#: The bits of 2 / pi in words of 32, after a word of zeros.
_TWO_BY_PI = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041,
              0xFE5163AB)  # fmt: skip
_HALF_PI = (1.57079637, -4.37113883e-08)


def _constant(k: Kernel, value: float) -> Value:
    return k.constant(value, "f32")


def polynomial(k: Kernel, x: Value, coefficients: Sequence[float]) -> Value:
    """Return a polynomial, given the coefficient of its highest power first."""
    result = _constant(k, coefficients[0])
    for coefficient in coefficients[1:]:
        result = k.call("fma", x, result, _constant(k, coefficient))
    return result


def _with_sign(k: Kernel, size: Value, sign: Value) -> Value:
    """Return a number without a sign, or NaN, with the sign of another."""
    bits = k.call("and", k.reinterpreted(sign, "u32"), k.constant(0x80000000, "u32"))
    return k.reinterpreted(k.call("or", k.reinterpreted(size, "u32"), bits), "f32")


def _rest(k: Kernel, root: Value, x: Value) -> Value:
    """Return the rounding error of a square root."""
    missing = k.call("fma", k.call("neg", root), root, x)
    return k.call("div", missing, k.call("add", root, root))


def _less(k: Kernel, high: Value, low: Value, size: Value, correction: Value) -> Value:
    """Return ``high + low - size - correction`` with the rounding error of the last sum only."""
    difference = k.call("sub", high, size)
    error = k.call("sub", k.call("sub", high, difference), size)
    return k.call("add", difference, k.call("sub", k.call("add", error, low), correction))


def _signed(function: Callable[[Kernel, Value], Value]) -> Callable[[Kernel, Value], Value]:
    """Extend a function of absolute values to an odd one."""

    @functools.wraps(function)
    def write(k: Kernel, x: Value) -> Value:
        return _with_sign(k, function(k, k.call("abs", x)), x)

    return write


# --- Exponentials and logarithms


def _power_of_two(k: Kernel, exponent: Value) -> Value:
    """Return 2 to the power of an integer from -126 to 127."""
    biased = k.call("add", exponent, k.constant(127, "i32"))
    return k.reinterpreted(k.call("shl", biased, k.constant(23, "i32")), "f32")


def _split(k: Kernel, x: Value, lowest: float, highest: float) -> tuple[Value, Value, Value]:
    """Return n, r and its rounding error: x = n * log(2) + r within bounds; NaN stays in r."""
    low, high = _constant(k, lowest), _constant(k, highest)
    x = k.select(k.call("gt", low, x), low, x)
    x = k.select(k.call("lt", high, x), high, x)
    # Adding it leaves a rounded sum in the last digits.
    shift = _constant(k, _SHIFT)
    shifted = k.call("fma", x, _constant(k, 1 / math.log(2)), shift)
    multiple = k.call("sub", shifted, shift)
    first, second = (_constant(k, -part) for part in _LOG_2)
    exact = k.call("fma", multiple, first, x)
    rest = k.call("fma", multiple, second, exact)
    lost = k.call("fma", multiple, second, k.call("sub", exact, rest))
    bits = k.reinterpreted(shifted, "i32")
    return k.call("sub", bits, k.constant(_SHIFT_BITS, "i32")), rest, lost


def exp(k: Kernel, x: Value) -> Value:
    """Return the exponential; of doubles it is the device's own."""
    if x.type != "f32":
        return k.call("exp", x)
    exponent, rest, lost = _split(k, x, -104, 89)
    more = k.call("fma", k.call("mul", polynomial(k, rest, _EXP), rest), rest, lost)
    power = k.call("add", k.call("add", rest, more), _constant(k, 1))
    # In two steps, since the results may have fewer digits, or be infinite.
    half = k.call("shr", exponent, k.constant(1, "i32"))
    power = k.call("mul", power, _power_of_two(k, half))
    return k.call("mul", power, _power_of_two(k, k.call("sub", exponent, half)))


def exp_nonpositive(k: Kernel, x: Value) -> Value:
    """Exponential of arguments up to 88.5, accurate to 1e-7; 0 below -87. Faster than ``exp``."""
    if x.type != "f32":
        return k.call("exp", x)
    # Its last digits are the biased exponent of a power of two.
    shift = _constant(k, _SHIFT + 127)
    shifted = k.call("fma", x, _constant(k, 1 / math.log(2)), shift)
    multiple = k.call("sub", shifted, shift)
    rest = k.call("fma", multiple, _constant(k, -0.693145752), x)
    rest = k.call("fma", multiple, _constant(k, -1.42860677e-6), rest)
    more = k.call("fma", k.call("mul", polynomial(k, rest, _EXP_FAST), rest), rest, rest)
    power = k.call("add", more, _constant(k, 1))
    bits = k.call("shl", k.reinterpreted(shifted, "i32"), k.constant(23, "i32"))
    scale = k.reinterpreted(bits, "f32")
    is_tiny = k.call("lt", x, _constant(k, -87))
    return k.select(is_tiny, _constant(k, 0), k.call("mul", power, scale))


def _expm1(k: Kernel, x: Value) -> Value:
    exponent, rest, lost = _split(k, x, -26, 89)
    more = k.call("fma", k.call("mul", polynomial(k, rest, _EXPM1), rest), rest, lost)
    scale = _power_of_two(k, k.call("sub", exponent, k.constant(1, "i32")))
    base = k.call("sub", scale, _constant(k, 0.5))
    total = k.call("fma", rest, scale, base)
    lost = k.call("fma", rest, scale, k.call("sub", base, total))
    half = k.call("add", total, k.call("fma", more, scale, lost))
    is_tiny = k.call("lt", k.call("abs", x), _constant(k, 2.0**-25))
    return k.select(is_tiny, x, k.call("add", half, half))


def _logarithm(k: Kernel, x: Value, correction: Value | None, shift: Value | None) -> Value:
    """Return log(x) plus a correction, less a multiple of log(2), of a positive number."""
    bits = k.reinterpreted(x, "i32")
    exponent = k.call("sub", bits, k.constant(_ROOT_BITS, "i32"))
    exponent = k.call("shr", exponent, k.constant(23, "i32"))
    shifted = k.call("shl", exponent, k.constant(23, "i32"))
    excess = k.reinterpreted(k.call("sub", bits, shifted), "f32")
    excess = k.call("sub", excess, _constant(k, 1))
    square = k.call("mul", excess, excess)
    multiple = k.converted(exponent, "f32")
    if shift is not None:
        multiple = k.call("sub", multiple, shift)
    cube, zero = k.call("mul", square, excess), _constant(k, 0)
    more = k.call("fma", cube, polynomial(k, excess, _LOG), correction or zero)
    more = k.call("fma", multiple, _constant(k, _LOG_2[1]), more)
    more = k.call("sub", k.call("mul", square, _constant(k, 0.5)), more)
    return k.call("fma", multiple, _constant(k, _LOG_2[0]), k.call("sub", excess, more))


def _of_positive(k: Kernel, x: Value, result: Value) -> Value:
    """Replace a logarithm where its operand is not a positive finite number."""
    zero, infinity = _constant(k, 0), _constant(k, math.inf)
    of_others = k.select(k.call("eq", x, zero), _constant(k, -math.inf), _constant(k, math.nan))
    result = k.select(k.call("gt", x, zero), result, of_others)
    return k.select(k.call("eq", x, infinity), infinity, result)


def log(k: Kernel, x: Value) -> Value:
    """Return the natural logarithm; of doubles it is the device's own."""
    if x.type != "f32":
        return k.call("log", x)
    is_tiny = k.call("lt", x, _constant(k, _SMALLEST))
    scaled = k.select(is_tiny, k.call("mul", x, _constant(k, 2.0**23)), x)
    shift = k.select(is_tiny, _constant(k, 23), _constant(k, 0))
    return _of_positive(k, x, _logarithm(k, scaled, None, shift))


def _log1p(k: Kernel, x: Value) -> Value:
    one = _constant(k, 1)
    total = k.call("add", one, x)
    near, far = k.call("sub", total, one), k.call("sub", total, x)
    lost = k.select(k.call("lt", x, one), k.call("sub", x, near), k.call("sub", one, far))
    result = _logarithm(k, total, k.call("div", lost, total), None)
    result = _of_positive(k, total, result)
    return k.select(k.call("eq", x, _constant(k, 0)), x, result)


@_signed
def _tanh(k: Kernel, a: Value) -> Value:
    square, one, two = k.call("mul", a, a), _constant(k, 1), _constant(k, 2)
    near = k.call("fma", k.call("mul", a, square), polynomial(k, square, _TANH), a)
    power = exp(k, k.call("add", a, a))
    far = k.call("sub", one, k.call("div", two, k.call("add", power, one)))
    return k.select(k.call("lt", a, _constant(k, 0.625)), near, far)


def _rsqrt(k: Kernel, x: Value) -> Value:
    return k.call("div", _constant(k, 1), k.call("sqrt", x))


def _wave(first: int, *, takes_large: bool = True) -> Callable[[Kernel, Value], Value]:
    """Return the sine, plus ``first`` quarter turns."""

    def write(k: Kernel, x: Value) -> Value:
        zero = _constant(k, 0)
        is_small = k.call("lt", k.call("abs", x), _constant(k, _LARGE))
        small = k.select(is_small, x, zero)
        turns = k.call("rint", k.call("mul", small, _constant(k, 2 / math.pi)))
        angle, rest = _reduced(k, small, k.call("neg", turns))
        result = _wave_of(k, angle, rest, k.converted(turns, "i32"), first)
        if not first:
            result = k.select(k.call("eq", x, zero), x, result)  # zeros keep their signs
        if not takes_large:
            return result
        # One variable: Intel's CPU compiler crashes where a loop has two that a branch assigns.
        kept = k.variable(result)
        are_small = k.converted(k.holds_in_all(is_small), "u8")
        with k.when(k.call("eq", are_small, k.constant(0, "u8"))):
            far = _wave_of(k, *_reduced_far(k, x), first)
            k.assign(kept, k.select(is_small, result, far))
        return k.current(kept)

    return write


#: The cosine of numbers below ``_LARGE``.
cos_of_small = _wave(1, takes_large=False)


def _wave_of(k: Kernel, angle: Value, rest: Value, turns: Value, first: int) -> Value:
    """Return the sine of an angle up to an eighth turn, its error and quarter turns."""
    one = _constant(k, 1)
    square = k.call("mul", angle, angle)
    half = k.call("mul", square, _constant(k, 0.5))
    near_one = k.call("sub", one, half)
    more = k.call("mul", angle, polynomial(k, square, _SIN))
    sine = k.call("add", angle, k.call("fma", rest, near_one, more))
    more = k.call("mul", k.call("mul", square, square), polynomial(k, square, _COS))
    more = k.call("fma", k.call("neg", angle), rest, more)
    more = k.call("add", k.call("sub", k.call("sub", one, near_one), half), more)
    cosine = k.call("add", near_one, more)
    quadrant = k.call("add", turns, k.constant(first, "i32"))
    is_cosine, is_negative = (
        k.call("ne", k.call("and", quadrant, k.constant(n, "i32")), k.constant(0, "i32"))
        for n in (1, 2)
    )
    result = k.select(is_cosine, cosine, sine)
    return k.select(is_negative, k.call("neg", result), result)


def _reduced_far(k: Kernel, x: Value) -> tuple[Value, Value, Value]:
    """Return a large number less quarter turns, its error, and their number; NaN for infinities.

    The number is an integer times a power of two. The bits of 2 / pi that matter are those from two
    before the point of their product on; 96 of them leave 64 of the part of a turn.
    """
    wide, size = functools.partial(k.constant, name="u64"), k.call("abs", x)
    bits = k.reinterpreted(size, "u32")
    digits = k.call("and", bits, k.constant(0x7FFFFF, "u32"))
    digits = k.converted(k.call("or", digits, k.constant(0x800000, "u32")), "u64")
    # The position of the first bit: 120 stands for the exponent's bias, the digits, 2 bits and the
    # word of zeros.
    position = k.call("sub", k.call("shr", bits, k.constant(23, "u32")), k.constant(120, "u32"))
    word = k.call("shr", position, k.constant(5, "u32"))
    shift = k.converted(k.call("and", position, k.constant(31, "u32")), "u64")

    def word_at(offset: int) -> Value:
        found = wide(_TWO_BY_PI[offset])
        for n, later in enumerate(_TWO_BY_PI[offset + 1 : offset + 5], 1):
            found = k.select(k.call("eq", word, k.constant(n, "u32")), wide(later), found)
        return found

    words = [word_at(offset) for offset in range(4)]
    rest = wide(0)
    products = []
    for high, low in reversed(list(itertools.pairwise(words))):
        pair = k.call("shl", k.call("or", k.call("shl", high, wide(32)), low), shift)
        factor = k.call("shr", pair, wide(32))
        products.append(k.call("add", k.call("mul", factor, digits), rest))
        rest = k.call("shr", products[-1], wide(32))
    low_word = k.call("and", products[1], wide((1 << 32) - 1))
    turn = k.call("or", k.call("shl", products[2], wide(32)), low_word)
    turns = k.call("shr", k.call("add", turn, wide(1 << 61)), wide(62))
    part = k.reinterpreted(k.call("sub", turn, k.call("shl", turns, wide(62))), "i64")
    high = k.converted(part, "f32")
    low = k.converted(k.call("sub", part, k.converted(high, "i64")), "f32")
    unit, rest_of_unit = (_constant(k, n * 2.0**-64) for n in _TURN)
    angle = k.call("mul", high, unit)
    rest = k.call("fma", low, unit, k.call("mul", high, rest_of_unit))
    rest = k.call("add", k.call("fma", high, unit, k.call("neg", angle)), rest)
    angle = k.select(k.call("lt", size, _constant(k, math.inf)), angle, k.call("sub", x, x))
    is_negative, results = (
        k.call("lt", x, _constant(k, 0)),
        (angle, rest, k.converted(turns, "i32")),
    )
    angle, rest, n_turns = (k.select(is_negative, k.call("neg", v), v) for v in results)
    return angle, rest, n_turns


def _reduced(k: Kernel, x: Value, turns: Value) -> tuple[Value, Value]:
    """Add quarter turns to a number; return the sum and its rounding error."""
    first, second, third = (_constant(k, part) for part in _QUARTER_TURN)
    exact = k.call("fma", turns, first, x)
    product = k.call("fma", turns, second, _constant(k, 0))  # not fused with the sum
    lost = k.call("fma", turns, second, k.call("neg", product))
    total = k.call("add", exact, product)
    added = k.call("sub", total, exact)
    left = k.call("sub", exact, k.call("sub", total, added))
    rest = k.call("add", k.call("add", left, k.call("sub", product, added)), lost)
    rest = k.call("fma", turns, third, rest)
    angle = k.call("add", total, rest)
    return angle, k.call("add", k.call("sub", total, angle), rest)


@_signed
def _asin(k: Kernel, a: Value) -> Value:
    zero, half = _constant(k, 0), _constant(k, 0.5)
    is_far = k.call("gt", a, half)
    # Of 1 - 2 * z the value is that of pi / 2 less twice that of the root of z.
    z = k.call("mul", k.call("sub", _constant(k, 1), a), half)
    root = k.call("sqrt", z)
    square = k.select(is_far, z, k.call("mul", a, a))
    size = k.select(is_far, root, a)
    more = k.call("mul", size, polynomial(k, square, _ASIN))
    rest = k.select(k.call("gt", z, zero), _rest(k, root, z), zero)
    rest, twice = k.call("add", more, rest), k.call("add", root, root)
    far = _less(k, *_half_pi(k), twice, k.call("add", rest, rest))
    return k.select(is_far, far, k.call("add", a, more))


def _half_pi(k: Kernel) -> tuple[Value, Value]:
    return _constant(k, _HALF_PI[0]), _constant(k, _HALF_PI[1])


def _arc(k: Kernel, ratio: Value, rest: Value) -> Value:
    """Return ``atan(ratio + rest) - ratio`` for a ratio up to 1 and its rounding error."""
    square = k.call("mul", ratio, ratio)
    more = k.call("mul", ratio, polynomial(k, square, _ATAN))
    slope = k.call("fma", square, _constant(k, -0.5), _constant(k, 1))
    rest = k.select(
        k.call("gt", ratio, _constant(k, 0)), k.call("mul", rest, slope), _constant(k, 0)
    )
    return k.call("add", more, rest)


@_signed
def _atan(k: Kernel, a: Value) -> Value:
    zero, one = _constant(k, 0), _constant(k, 1)
    is_far = k.call("gt", a, one)
    x = k.select(is_far, k.call("div", one, a), a)
    rest = k.call("mul", x, k.call("fma", k.call("neg", x), a, one))
    more = _arc(k, x, k.select(is_far, rest, zero))
    return k.select(is_far, _less(k, *_half_pi(k), x, more), k.call("add", x, more))


def _atan2(k: Kernel, y: Value, x: Value) -> Value:
    zero, one, infinity = (_constant(k, v) for v in (0, 1, math.inf))
    a, b = k.call("abs", y), k.call("abs", x)
    is_steep = k.call("gt", a, b)
    low, high = k.select(is_steep, b, a), k.select(is_steep, a, b)
    ratio = k.call("div", low, high)
    rest = k.call("div", k.call("fma", k.call("neg", ratio), high, low), high)
    are_infinite = k.call("and", k.call("eq", a, infinity), k.call("eq", b, infinity))
    ratio, rest = k.select(are_infinite, one, ratio), k.select(are_infinite, zero, rest)
    ratio = k.select(k.call("eq", k.call("add", low, high), zero), zero, ratio)
    more = _arc(k, ratio, rest)
    is_left = k.call("lt", k.reinterpreted(x, "i32"), k.constant(0, "i32"))
    # The angle is 0, pi / 2 or pi, plus or less that of the ratio.
    sign = k.select(k.call("and", is_left, is_steep), _constant(k, -1), one)
    base, more_base = (k.select(is_steep, v, k.call("add", v, v)) for v in _half_pi(k))
    turned = _less(k, base, more_base, k.call("mul", sign, ratio), k.call("mul", sign, more))
    is_turned = k.call("or", is_left, is_steep)
    return _with_sign(k, k.select(is_turned, turned, k.call("add", ratio, more)), y)


@_signed
def _erf(k: Kernel, a: Value) -> Value:
    one, end, square = _constant(k, 1), _constant(k, 4), k.call("mul", a, a)
    near = k.call("fma", a, polynomial(k, square, _ERF), a)
    bounded = k.select(k.call("gt", a, end), end, a)
    tail = polynomial(k, k.call("sub", bounded, one), _ERF_TAIL)
    # Gradients need this exponential, too: compilers compute it once.
    power = exp_nonpositive(k, k.call("neg", square))
    far = k.call("fma", k.call("neg", power), tail, one)
    return k.select(k.call("gt", a, one), far, near)  # NaN stays


def erfinv(k: Kernel, x: Value) -> Value:
    """Generate the inverse error function."""
    a, one = k.call("abs", x), _constant(k, 1)
    square = k.call("fma", a, a, _constant(k, -0.35))
    near = k.call("add", a, k.call("mul", a, polynomial(k, square, _ERFINV)))
    tail, rest = _minus_log(k, k.call("sub", one, a))
    root = k.call("sqrt", tail)
    missing = k.call("add", k.call("fma", k.call("neg", root), root, tail), rest)
    more = polynomial(k, k.call("sub", root, _constant(k, 2.5)), _ERFINV_TAIL)
    more = k.call("add", more, k.call("div", missing, k.call("add", root, root)))
    far = k.call("add", root, k.call("add", more, _constant(k, -0.375)))
    edge = k.select(k.call("eq", a, one), _constant(k, math.inf), _constant(k, math.nan))
    far = k.select(k.call("lt", a, one), far, edge)
    return _with_sign(k, k.select(k.call("lt", a, _constant(k, 0.845)), near, far), x)


def _minus_log(k: Kernel, x: Value) -> tuple[Value, Value]:
    """Return the negative logarithm of a normal number, and its rounding error."""
    bits, width = k.reinterpreted(x, "i32"), k.constant(23, "i32")
    exponent = k.call("shr", k.call("sub", bits, k.constant(0x3F3504F3, "i32")), width)
    rest = k.reinterpreted(k.call("sub", bits, k.call("shl", exponent, width)), "f32")
    exponent, rest = k.call("neg", k.converted(exponent, "f32")), log(k, rest)
    rest = k.call("fma", exponent, _constant(k, -1.42860677e-6), rest)
    high = k.call("mul", exponent, _constant(k, 0.693145752))
    total = k.call("sub", high, rest)
    return total, k.call("sub", k.call("sub", high, total), rest)


def _hypot(k: Kernel, x: Value, y: Value) -> Value:
    a, b = k.call("abs", x), k.call("abs", y)
    zero, one, infinity = (_constant(k, v) for v in (0, 1, math.inf))
    is_infinite = k.call("or", k.call("eq", a, infinity), k.call("eq", b, infinity))
    is_first = k.call("gt", a, b)
    high, low = k.select(is_first, a, b), k.select(is_first, b, a)
    # Squares neither overflow nor underflow.
    is_large = k.call("gt", high, _constant(k, 2.0**62))
    is_small = k.call("lt", high, _constant(k, 2.0**-40))
    scale, back = (
        k.select(is_large, _constant(k, large), k.select(is_small, _constant(k, small), one))
        for large, small in ((2.0**-66, 2.0**100), (2.0**66, 2.0**-100))
    )
    high, low = k.call("mul", high, scale), k.call("mul", low, scale)
    square = k.call("mul", low, low)
    root = k.call("sqrt", k.call("fma", high, high, square))
    # The root exceeds the larger number by an exact difference, which gives what it lacks.
    more = k.call("sub", root, high)
    rest = k.call("fma", k.call("mul", _constant(k, -2), high), more, square)
    rest = k.call("fma", k.call("neg", more), more, rest)
    rest = k.call("add", rest, k.call("fma", low, low, k.call("neg", square)))
    sum_of_both = k.call("add", root, k.call("div", rest, k.call("add", root, root)))
    result = k.select(k.call("eq", root, zero), zero, k.call("mul", sum_of_both, back))
    return k.select(is_infinite, infinity, result)


#: Code generators of functions by operation.
ACCURATE: dict[str, Callable[..., Value]] = {
    "asin": _asin, "atan": _atan, "atan2": _atan2, "cos": _wave(1), "erf": _erf,
    "exp": exp, "expm1": _expm1, "hypot": _hypot, "log": log, "log1p": _log1p, "rsqrt": _rsqrt,
    "sin": _wave(0), "tanh": _tanh,
}  # fmt: skip
