# SPDX-License-Identifier: Apache-2.0
"""Special functions, element by element: lgamma, erfinv, hypot, xlogy, copysign, isclose, ..."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation
from sycl_dnn.functional.arithmetic.binary import add, maximum, minimum, mul, pow, sub
from sycl_dnn.functional.arithmetic.comparison import eq, gt, le, lt, where
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import abs, of_one, of_two
from sycl_dnn.functional.arithmetic.mathematical import isfinite, isnan, logical_and, logical_or
from sycl_dnn.functional.arithmetic.operands import (
    by_nodes,
    check_arrays,
    checked_array,
    checked_operands,
)
from sycl_dnn.functional.reduction.extremes import all
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops import special_functions as special
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    import dpnp

_SHAPES = "The shapes do not broadcast."


lgamma = of_one(
    "lgamma", "Return the logarithm of the absolute value of the gamma function.", special.LGAMMA
)
digamma = of_one(
    "digamma", "Return the derivative of the logarithm of the gamma function.", special.DIGAMMA
)
erfinv = of_one("erfinv", "Return the inverse of the error function.", special.ERFINV)
sinc = of_one("sinc", "Return ``sin(pi x) / (pi x)``, and 1 at 0.", special.SINC)
deg2rad = of_one("deg2rad", "Convert degrees to radians.", lambda x: x * (math.pi / 180))
rad2deg = of_one("rad2deg", "Convert radians to degrees.", lambda x: x * (180 / math.pi))
frac = of_one(
    "frac", "Return the fractional part, with the sign of the number.", lambda x: x - ops.TRUNC(x),
    only_floats=True,
)  # fmt: skip


_ONE = "Of NaN and a number, the number. The gradient goes to the chosen operand, of equal ones\n"
fmax = of_two(
    "fmax", "Return the element-wise maximum without NaN.", special.fmax, exact=maximum,
    notes=f"{_ONE}to ``input``. ",
)  # fmt: skip
fmin = of_two(
    "fmin", "Return the element-wise minimum without NaN.", special.fmin, exact=minimum,
    notes=f"{_ONE}to ``input``. ",
)  # fmt: skip
hypot = of_two(
    "hypot", "Return the root of the sum of two squares.", special.HYPOT, only_floats=True
)
copysign = of_two(
    "copysign", "Return the size of ``input`` with the sign of ``other``.", special.COPYSIGN
)
logaddexp2 = of_two(
    "logaddexp2", "Return ``log2(2**input + 2**other)`` without overflow.", special.LOGADDEXP2,
    only_floats=True,
)  # fmt: skip
xlogy = of_two("xlogy", "Return ``input * log(other)``, and 0 where ``input`` is 0.", special.XLOGY)

_FLAT = "Not differentiable. "


@operation
@described_as_torch(
    returns="array (*)\n    Their dtype.", types="An operand is no array, or the dtypes differ.",
    errors=_SHAPES, notes="The gradient goes to ``values``. ",
)  # fmt: skip
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative elements, 1 for positive ones, ``values`` at 0.

    input, values : arrays (*)
        Shapes broadcast.
    """
    check_arrays("heaviside", input=input, values=values)
    checked_operands("heaviside", input=input, values=values)
    if values.dtype != input.dtype:
        raise TypeError(f"heaviside: values must have dtype {input.dtype}, got {values.dtype}")
    return where(eq(input, 0), values, converted(gt(input, 0), str(input.dtype)))


@operation
@described_as_torch(
    returns="array (*) of bool", types="``input`` is no array, or complex.", notes=_FLAT
)
def signbit(input: Tensor) -> dpnp.ndarray:
    """Return whether the sign is negative, also that of -0.0.

    input : array (*)
    """
    x = checked_array("signbit", "input", input)
    if not x.is_float:
        return lt(x, 0)
    return by_nodes(special.signbit, x, wide=dtypes.wide(str(x.dtype)), dtype="bool")


@operation
@described_as_torch(
    returns="array (*) of float64", errors=_SHAPES, notes=SMOOTH,
    types="An operand is complex, or the device has no float64.",
)  # fmt: skip
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Raise ``input`` to a power in float64.

    input, exponent : arrays (*), or one a number
        Shapes broadcast.
    """
    operands = checked_operands("float_power", input=input, exponent=exponent)
    a, b = (converted(v, "float64") if isinstance(v, Tensor) else float(v) for v in operands)
    return pow(a, b)


@operation
@described_as_torch(
    returns="array (*) of bool", types="An operand is no array, or complex.", notes=_FLAT,
    errors="The shapes do not broadcast, or a tolerance is negative.",
)  # fmt: skip
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> dpnp.ndarray:
    """Return whether elements are equal, or differ by at most ``atol + rtol * abs(other)``.

    input, other : arrays (*)
        Shapes broadcast.
    rtol, atol : float
        Not negative.
    equal_nan : bool
        Whether NaN are close to each other.
    """
    check_arrays("isclose", input=input, other=other)
    checked_operands("isclose", input=input, other=other)
    for argument, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise ValueError(f"isclose: {argument} must not be negative, got {value}")
    a, b = (converted(v, "int8") if v.dtype == "bool" else v for v in (input, other))
    is_near = logical_and(le(abs(sub(a, b)), add(mul(abs(b), rtol), atol)), isfinite(b))
    result = logical_or(eq(a, b), is_near)
    return logical_or(result, logical_and(isnan(a), isnan(b))) if equal_nan else result


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Return whether all elements are close.

    Parameters
    ----------
    input, other, rtol, atol, equal_nan
        As for ``isclose``.

    Returns
    -------
    bool
        The host waits for the device.

    Raises
    ------
    TypeError
        As for ``isclose``, or an operand is traced by ``compile`` or ``plan``.
    ValueError
        As for ``isclose``.

    Notes
    -----
    Source: ``torch.allclose``.
    """
    result = all(isclose(input, other, rtol, atol, equal_nan))
    if isinstance(result, Tensor) and not hasattr(result.trace, "evaluated"):
        raise NeedsArrays("allclose: input must be an array with values: use isclose")
    return bool(result)
