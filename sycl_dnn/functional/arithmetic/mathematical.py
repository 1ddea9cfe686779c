# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions that oneDNN lacks, by dpnp: angles, exponentials, rounding, logic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np
from dpnp.scipy import special

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import add, div, floored, mul, pow, sub
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import UNARY, exp, neg, reciprocal, square
from sycl_dnn.functional.arithmetic.operands import (
    by_dpnp,
    check_real,
    checked_array,
    checked_operands,
)
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import (
    EXP,
    SQUARE,
    chain,
    eltwise,
    fused,
    scale,
    times,
    zeros,
)
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array

A = algorithm
_NARROW = "bfloat16 and float16 are computed in float32. "
_ROUNDED = "Its gradient is 0. Integers are returned unchanged."


def _real(name: str, value: Any) -> Tensor:
    given = checked_array(name, "input", value)
    check_real(name, input=given)
    return given


def _wide(dtype: str) -> str:
    """Return the dtype that floats of this one are computed in."""
    return dtype if dtype == "float64" else "float32"


def _text(name: str, summary: str, dtype: str, notes: str) -> str:
    returns = f"Shape of ``input``, row-major; {dtype}"
    return UNARY.format(summary=summary, returns=returns, notes=notes, source=f"``torch.{name}``")


def _named(body: Callable[..., Any], name: str, doc: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = doc
    return operation(body)


# --- Smooth functions of one operand

Slope = Callable[[Tensor, Tensor], Tensor]


def _smooth(name: str, summary: str, function: Callable[..., Any], slope: Slope) -> Any:
    """Make a function from dpnp's; ``slope(x, y)`` is its derivative where it is ``y``."""

    def call(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
        given = _real(name, input)
        dtype = given.dtype if given.is_float else "float32"
        x = converted(given, _wide(dtype))

        def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"0": mul(grads["0"], slope(x, entry.outputs["0"]))}

        made = x.trace.array_call(function, [x], [Out(x.shape, x.dtype)], rule)[0]
        return converted(made, dtype)

    dtype = "its dtype, float32 for integers"
    doc = _text(name, summary, dtype, f"{_NARROW}It has derivatives of any order.")
    return _named(call, name, doc)


sin = _smooth("sin", "Return the sine of an angle in radians.", dpnp.sin, lambda x, y: cos(x))
cos: Callable[..., Any] = _smooth("cos", "Return the cosine of an angle in radians.", dpnp.cos,
              lambda x, y: neg(sin(x)))  # fmt: skip
tan = _smooth("tan", "Return the tangent of an angle in radians.", dpnp.tan,
              lambda x, y: add(square(y), 1.0))  # fmt: skip
asin = _smooth("asin", "Return the angle in radians whose sine is ``input``.", dpnp.asin,
               lambda x, y: rsqrt(sub(1.0, square(x))))  # fmt: skip
acos = _smooth("acos", "Return the angle in radians whose cosine is ``input``.", dpnp.acos,
               lambda x, y: neg(rsqrt(sub(1.0, square(x)))))  # fmt: skip
atan = _smooth("atan", "Return the angle in radians whose tangent is ``input``.", dpnp.atan,
               lambda x, y: reciprocal(add(square(x), 1.0)))  # fmt: skip
sinh = _smooth("sinh", "Return the hyperbolic sine.", dpnp.sinh, lambda x, y: cosh(x))
cosh: Callable[..., Any] = _smooth(
    "cosh", "Return the hyperbolic cosine.", dpnp.cosh, lambda x, y: sinh(x)
)
asinh = _smooth("asinh", "Return the inverse hyperbolic sine.", dpnp.asinh,
                lambda x, y: pow(add(square(x), 1.0), -0.5))  # fmt: skip
acosh = _smooth("acosh", "Return the inverse hyperbolic cosine.", dpnp.acosh,
                lambda x, y: pow(sub(square(x), 1.0), -0.5))  # fmt: skip
atanh = _smooth("atanh", "Return the inverse hyperbolic tangent.", dpnp.atanh,
                lambda x, y: reciprocal(sub(1.0, square(x))))  # fmt: skip
exp2 = _smooth("exp2", "Return 2 to the power of ``input``.", dpnp.exp2,
               lambda x, y: mul(y, math.log(2)))  # fmt: skip
expm1 = _smooth("expm1", "Return e to the power of ``input`` minus 1, exact near 0.", dpnp.expm1,
                lambda x, y: add(y, 1.0))  # fmt: skip
log1p = _smooth("log1p", "Return the natural logarithm of 1 + ``input``, exact near 0.",
                dpnp.log1p, lambda x, y: reciprocal(add(x, 1.0)))  # fmt: skip
log2 = _smooth("log2", "Return the logarithm to base 2.", dpnp.log2,
               lambda x, y: eltwise(x, A.eltwise_pow, 1 / math.log(2), -1.0))  # fmt: skip
log10 = _smooth("log10", "Return the logarithm to base 10.", dpnp.log10,
                lambda x, y: eltwise(x, A.eltwise_pow, 1 / math.log(10), -1.0))  # fmt: skip
rsqrt: Callable[..., Any] = _smooth(
    "rsqrt", "Return 1 / the square root.", dpnp.rsqrt,
    lambda x, y: fused(A.binary_mul, y, y, times(y), scale(-0.5)),
)  # fmt: skip
_BELL = 2 / math.sqrt(math.pi)


def _bell(x: Tensor, factor: float) -> Tensor:
    """Return ``factor * exp(-x * x)``; oneDNN's exponential of NaN alone would be infinity."""
    if x.dtype == "float64":
        return mul(exp(neg(square(x))), factor)
    power = chain(x, SQUARE, scale(-1))
    # Never less than its exponent: the bound lets NaN through.
    return chain(power, EXP, (A.binary_max, power), scale(factor))


erf = _smooth("erf", "Return the error function.", special.erf, lambda x, y: _bell(x, _BELL))
erfc = _smooth("erfc", "Return 1 - erf, exact for large values.", special.erfc,
               lambda x, y: _bell(x, -_BELL))  # fmt: skip


# --- Steps: their gradient is 0


def _flat(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n: zeros(t.trace, t.shape, t.dtype) for n, t in entry.inputs.items() if t.is_float}


def _step(name: str, summary: str, function: Callable[..., Any]) -> Any:
    def call(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
        given = _real(name, input)
        if given.dtype == "bool" or (not given.is_float and name != "sign"):
            return converted(given, given.dtype)
        x = converted(given, _wide(given.dtype)) if given.is_float else given
        return converted(by_dpnp(function, str(x.dtype), x, rule=_flat), given.dtype)

    return _named(call, name, _text(name, summary, "its dtype", _ROUNDED))


floor = _step("floor", "Round down to a whole number.", dpnp.floor)
ceil = _step("ceil", "Round up to a whole number.", dpnp.ceil)
trunc = _step("trunc", "Round towards 0 to a whole number.", dpnp.trunc)


def _sign(a: dpnp.ndarray) -> dpnp.ndarray:
    return dpnp.where(a == a, dpnp.sign(a), dpnp.zeros_like(a))


sign = _step("sign", "Return -1, 0 or 1; 0 for NaN.", _sign)


@operation
def round(input: dpnp.ndarray | Array, *, decimals: int = 0) -> dpnp.ndarray | Array:
    """Return the nearest number with that many decimals, halves to even.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
        Any shape and dtype.
    decimals : int
        Negative ones round to tens, hundreds...

    Returns
    -------
    dpnp.ndarray or Array (*)
        Shape and dtype of ``input``, row-major.

    Raises
    ------
    TypeError
        ``input`` is not an array.

    Notes
    -----
    Its gradient is 0. Source: ``torch.round``.
    """
    given = checked_array("round", "input", input)
    x = converted(given, _wide(given.dtype)) if given.is_float else given

    def rounded(a: dpnp.ndarray) -> dpnp.ndarray:
        return dpnp.round(a, decimals)

    return converted(by_dpnp(rounded, str(x.dtype), x, rule=_flat), given.dtype)


# --- Logic


def _logic(name: str, summary: str, function: Callable[..., Any], n_operands: int) -> Any:
    def ask(*given: Any) -> Tensor:
        wide = [converted(v, "float32") if isinstance(v, Tensor) and v.dtype in dtypes.CARRIED
                else v for v in given]  # fmt: skip
        return by_dpnp(function, "bool", *wide)

    def one(input: dpnp.ndarray | Array) -> dpnp.ndarray:
        return ask(checked_array(name, "input", input))

    def two(
        input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
    ) -> dpnp.ndarray:
        return ask(*checked_operands(name, input=input, other=other))

    parameters = "input" if n_operands == 1 else "input, other"
    doc = f"""{summary}

Parameters
----------
{parameters} : dpnp.ndarray or Array (*)
    Any shape and dtype{"; they broadcast, and one may be a number" if n_operands > 1 else ""}.

Returns
-------
dpnp.ndarray (*) of bool

Notes
-----
Source: ``torch.{name}``.
"""
    return _named(one if n_operands == 1 else two, name, doc)


isnan = _logic("isnan", "Return where elements are not a number.", dpnp.isnan, 1)
isinf = _logic("isinf", "Return where elements are infinite.", dpnp.isinf, 1)
isfinite = _logic("isfinite", "Return where elements are finite numbers.", dpnp.isfinite, 1)
logical_not = _logic("logical_not", "Return where elements are 0.", dpnp.logical_not, 1)
logical_and = _logic("logical_and", "Return where both are not 0.", dpnp.logical_and, 2)
logical_or = _logic("logical_or", "Return where one is not 0.", dpnp.logical_or, 2)
logical_xor = _logic("logical_xor", "Return where exactly one is not 0.", dpnp.logical_xor, 2)


# --- Angles and remainders of two operands


@operation
def atan2(input: dpnp.ndarray | Array, other: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return the angle in radians, -pi to pi, of the point (``other``, ``input``).

    Parameters
    ----------
    input, other : dpnp.ndarray or Array (*)
        Height and width; any dtypes, shapes that broadcast.

    Returns
    -------
    dpnp.ndarray or Array (*)
        The common shape; the dtype to which torch promotes, float32 for integers.

    Raises
    ------
    TypeError
        An operand is not an array.
    ValueError
        The shapes do not broadcast.

    Notes
    -----
    It has derivatives of any order. Source: ``torch.atan2``.
    """
    given = checked_operands("atan2", input=input, other=other)
    check_real("atan2", input=given[0], other=given[1])
    kind = dtypes.result_dtype(*given)
    kind = kind if dtypes.is_float(kind) else "float32"
    y, x = (converted(checked_array("atan2", n, v), _wide(kind))
            for n, v in zip(("input", "other"), given, strict=True))  # fmt: skip

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        # The smallest number makes the gradient at (0, 0) 0, as in torch.
        tiny = float(np.finfo(_wide(kind)).tiny)
        squares = add(add(square(x), square(y)), tiny)
        return {
            "0": sum_to(div(mul(grads["0"], x), squares), y.shape),
            "1": sum_to(neg(div(mul(grads["0"], y), squares)), x.shape),
        }

    return converted(by_dpnp(dpnp.atan2, _wide(kind), y, x, rule=rule), kind)


def _remainder(
    name: str, summary: str, function: Callable[..., Any], quotient: Callable[..., Any]
) -> Any:
    """Make the function ``input - other * quotient``."""

    def call(
        input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
    ) -> dpnp.ndarray | Array:
        a, b = checked_operands(name, input=input, other=other)
        check_real(name, input=a, other=b)
        dtype = dtypes.result_dtype(a, b)
        dtype = "int8" if dtype == "bool" else dtype
        wide = _wide(dtype) if dtypes.is_float(dtype) else dtype
        operands = [converted(v, wide) if isinstance(v, Tensor) else v for v in (a, b)]

        def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
            slopes = [grads["0"]] if isinstance(a, Tensor) else []
            if isinstance(b, Tensor):
                # What is right at infinities takes ten times as long.
                is_slow = name == "remainder" and b.trace.policy.nan == "propagate"
                whole = by_dpnp(floored if is_slow else quotient, wide, *operands, rule=_flat)
                slopes.append(neg(mul(grads["0"], whole)))
            inputs = entry.inputs.items()
            return {n: sum_to(slope, t.shape) for (n, t), slope in zip(inputs, slopes, strict=True)}

        return converted(by_dpnp(function, wide, *operands, rule=rule), dtype)

    more = _AT_INFINITIES if name == "remainder" else ""
    return _named(call, name, _REMAINDER.format(summary=summary, name=name, more=more))


_REMAINDER = """{summary}

Parameters
----------
input, other : dpnp.ndarray or Array (*), or a number
    Shapes broadcast; at least one of the two is an array.

Returns
-------
dpnp.ndarray or Array (*)
    The common shape; the dtype to which torch promotes.

Notes
-----
An integer modulo 0 is 0, where torch raises an error after reading the values. bfloat16 and
float16 are computed in float32. {more}Source: ``torch.{name}``.
"""
_AT_INFINITIES = """The gradient of ``other`` at infinities is infinite or 0
instead of NaN or 1, unless ``set_nan("propagate")``.

"""


def _whole_quotient(a: Any, b: Any) -> dpnp.ndarray:
    return dpnp.trunc(dpnp.divide(a, b))


fmod = _remainder(
    "fmod", "Return the remainder of a division rounded towards 0; it has the sign of ``input``.",
    dpnp.fmod, _whole_quotient,
)  # fmt: skip
remainder = _remainder(
    "remainder", "Return the remainder of a division rounded down; it has the sign of ``other``.",
    dpnp.remainder, dpnp.floor_divide,
)  # fmt: skip


@operation
def floor_divide(
    input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
) -> dpnp.ndarray | Array:
    """Return ``div(input, other, rounding_mode="floor")``."""
    check_real("floor_divide", input=input, other=other)
    return div(input, other, rounding_mode="floor")
