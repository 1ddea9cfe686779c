# SPDX-License-Identifier: Apache-2.0
"""The logarithm of the gamma function of float32 numbers, for all lanes of a vector at once.

Devices' own functions branch for each element, which takes twenty times as long. All results are
polynomials near 2 or Stirling's series, plus or minus one logarithm; errors of numbers above -0.5
are up to 3 ulp, those of others up to 3 ulp of what is subtracted near their zeros.
"""

from __future__ import annotations

import math

from sycl_dnn.kernels.accurate_functions import log, polynomial
from sycl_dnn.kernels.spirv import Kernel, Value

#: lgamma(2 + y) / y from -3 / 4 to 1 / 2, and sin(pi * y) / (pi * y ** 3) - 1 / y ** 2 by y * y up
#: to 1 / 4; minimax approximations, the coefficient of the highest power first.
_NEAR_2 = (-0.000132007248, 6.58923113e-05, -0.000177469463, 0.000534436864, -0.00120094174,
           0.00288527751, -0.00738499744, 0.020581208, -0.0673523123, 0.322467025,
           0.422784335)  # fmt: skip
_SINE = (-0.00223714952, 0.0261175463, -0.190747963, 0.811742209, -1.64493406)
#: Stirling's series by 1 / x ** 2, from ``_FAR`` on; (log(2 * pi) - 1) / 2.
_SERIES, _FAR, _REST = (1 / 1260, -1 / 360, 1 / 12), 4.5, 0.41893853320467
#: From which on all numbers are integers.
_WHOLE = 2.0**23


def _number(k: Kernel, value: float) -> Value:
    return k.constant(value, "f32")


def log_gamma(k: Kernel, x: Value) -> Value:
    """Return the logarithm of the absolute value of the gamma function."""
    is_left = k.call("lt", x, _number(k, -0.5))
    a = k.select(is_left, k.call("neg", x), x)
    right = _of_right(k, a)
    # Of -a it is -log(a * abs(sin(pi * a)) / pi) - lgamma(a).
    rest = k.call("sub", a, k.call("rint", a))
    square = k.call("mul", rest, rest)
    size = k.call("mul", a, k.call("abs", rest))
    size = k.call("fma", k.call("mul", size, square), polynomial(k, square, _SINE), size)
    left = k.call("sub", k.call("neg", log(k, size)), right)
    is_between = k.call(
        "and", k.call("ne", rest, _number(k, 0)), k.call("lt", a, _number(k, _WHOLE))
    )
    left = k.select(is_between, left, _number(k, math.inf))
    result = k.select(is_left, left, right)
    return k.select(k.call("eq", x, x), result, x)


def _of_right(k: Kernel, x: Value) -> Value:
    """Return it for numbers above -0.5."""
    one = _number(k, 1)
    below, is_far = k.call("sub", x, one), k.call("ge", x, _number(k, _FAR))
    # By how much a number exceeds 2 once 1 has been added or subtracted up to twice, and by which
    # factor gamma changes.
    excess, factor = x, k.call("abs", k.call("fma", x, x, x))
    for low, added in ((0.25, 1), (1.25, 2), (2.5, 3), (3.5, 4)):
        is_next = k.call("ge", x, _number(k, low))
        excess = k.select(is_next, k.call("sub", x, _number(k, added)), excess)
        factors = (x, one, below, k.call("mul", below, k.call("sub", x, _number(k, 2))))
        factor = k.select(is_next, factors[added - 1], factor)
    logarithm = log(k, k.select(is_far, x, factor))
    near = k.call("mul", excess, polynomial(k, excess, _NEAR_2))
    is_above = k.call("ge", x, _number(k, 1.25))
    signed = k.select(is_above, logarithm, k.call("neg", logarithm))
    near = k.call("add", near, signed)
    inverse = k.call("div", one, x)
    more = k.call("mul", inverse, polynomial(k, k.call("mul", inverse, inverse), _SERIES))
    more = k.call("add", more, _number(k, _REST))
    slope = k.call("sub", logarithm, one)
    far = k.call("fma", k.call("sub", x, _number(k, 0.5)), slope, more)
    return k.select(is_far, far, near)
