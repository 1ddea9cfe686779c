# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions that oneDNN lacks: trigonometry, exponentials, rounding, logic, bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.binary import div
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import UNARY, of_one, of_two
from sycl_dnn.functional.arithmetic.operands import (
    by_nodes,
    checked_array,
    checked_operands,
    float_dtype,
    of_integers,
    result_dtype,
)
from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor

A = algorithm
_ROUNDED = "Its gradient is 0. Integers are returned unchanged."


def _text(name: str, summary: str, dtype: str, notes: str) -> str:
    returns = f"Shape of ``input``, row-major; {dtype}"
    return UNARY.format(summary=summary, returns=returns, notes=notes, source=f"``torch.{name}``")


# --- Smooth unary functions


sin = of_one("sin", "Return the sine of an angle in radians.", ops.SIN)
cos = of_one("cos", "Return the cosine of an angle in radians.", ops.COS)
tan = of_one("tan", "Return the tangent of an angle in radians.", ops.TAN)
asin = of_one("asin", "Return the angle in radians whose sine is ``input``.", ops.ASIN)
acos = of_one("acos", "Return the angle in radians whose cosine is ``input``.", ops.ACOS)
atan = of_one("atan", "Return the angle in radians whose tangent is ``input``.", ops.ATAN)
sinh = of_one("sinh", "Return the hyperbolic sine.", ops.SINH)
cosh = of_one("cosh", "Return the hyperbolic cosine.", ops.COSH)
asinh = of_one("asinh", "Return the inverse hyperbolic sine.", ops.ASINH)
acosh = of_one("acosh", "Return the inverse hyperbolic cosine.", ops.ACOSH)
atanh = of_one("atanh", "Return the inverse hyperbolic tangent.", ops.ATANH)
exp2 = of_one("exp2", "Return 2 to the power of ``input``.", ops.EXP2)
expm1 = of_one("expm1", "Return e to the power of ``input`` minus 1, exact near 0.", ops.EXPM1)
log1p = of_one("log1p", "Return the natural logarithm of 1 + ``input``, exact near 0.", ops.LOG1P)
log2 = of_one("log2", "Return the logarithm to base 2.", ops.LOG2)
log10 = of_one("log10", "Return the logarithm to base 10.", ops.LOG10)
rsqrt = of_one("rsqrt", "Return 1 / the square root.", ops.RSQRT)
erf = of_one("erf", "Return the error function.", ops.ERF)
erfc = of_one("erfc", "Return 1 - erf, exact for large values.", ops.ERFC)


# --- Piecewise constant functions: their gradient is 0


def _step(summary: str, row: Operation) -> Any:
    """Make a function from a rounding operation; integers are returned unchanged."""

    def call(input: Tensor) -> Tensor:
        x = checked_array(row.name, "input", input)
        dtype = str(x.dtype)
        if x.is_float:
            return by_nodes(row, x, dtype=dtype)
        if dtype == "bool" or row is not ops.SIGN:
            return converted(x, dtype)
        return of_integers(row, dtype, x)

    doc = _text(row.name, summary, "its dtype", _ROUNDED)
    return operation(named(call, row.name, doc))


floor = _step("Round down to a whole number.", ops.FLOOR)
ceil = _step("Round up to a whole number.", ops.CEIL)
trunc = _step("Round towards 0 to a whole number.", ops.TRUNC)
sign = _step("Return -1, 0 or 1; 0 for NaN.", ops.SIGN)


@operation
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
        Any shape and dtype.
    decimals : int
        Negative values round to tens, hundreds, ...

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
    x = checked_array("round", "input", input)
    if not x.is_float:
        return x if decimals >= 0 or x.dtype == "bool" else _rounded_integers(x, 10**-decimals)

    def rounded(node: Node) -> Node:
        factor = 10.0 ** abs(decimals)
        if decimals < 0:
            return ops.ROUND(node / factor) * factor
        return ops.ROUND(node * factor) / factor if decimals else ops.ROUND(node)

    return by_nodes(rounded, x, dtype=str(x.dtype))


def _rounded_integers(x: Tensor, step: int) -> Tensor:
    """Round integers to multiples of a step, halves to even multiples."""
    dtype = str(x.dtype)
    if step > np.iinfo(dtype).max:
        return zeros(x.trace, x.shape, dtype)

    def rounded(node: Node) -> Node:
        each, one = number(step, dtype), number(1, dtype)
        count = ops.FLOOR_DIVIDE(node, each)
        above = node - count * each
        below = each - above
        is_odd = ops.EQ(ops.BITWISE_AND(count, one), one)
        is_tie = ops.LOGICAL_AND(ops.EQ(above, below), is_odd)
        return (count + ops.cast(ops.LOGICAL_OR(ops.GT(above, below), is_tie), dtype)) * each

    return by_nodes(rounded, x)


# --- Logic


def _logic(summary: str, row: Operation, n_operands: int) -> Any:
    name = row.name

    def one(input: Tensor) -> dpnp.ndarray:
        return by_nodes(row, checked_array(name, "input", input))

    def two(input: Tensor | float, other: Tensor | float) -> dpnp.ndarray:
        return by_nodes(row, *checked_operands(name, input=input, other=other))

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
    return operation(named(one if n_operands == 1 else two, name, doc))


isnan = _logic("Return whether each element is NaN.", ops.ISNAN, 1)
isinf = _logic("Return whether each element is infinite.", ops.ISINF, 1)
isfinite = _logic("Return whether each element is finite.", ops.ISFINITE, 1)
logical_not = _logic("Return whether each element is 0.", ops.LOGICAL_NOT, 1)
logical_and = _logic("Return whether both elements are nonzero.", ops.LOGICAL_AND, 2)
logical_or = _logic("Return whether at least one element is nonzero.", ops.LOGICAL_OR, 2)
logical_xor = _logic("Return whether exactly one element is nonzero.", ops.LOGICAL_XOR, 2)


# --- Binary functions: angles and remainders


@operation
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Return the angle in radians, from -pi to pi, of the point (``other``, ``input``).

    Parameters
    ----------
    input, other : dpnp.ndarray or Array (*)
        y and x coordinates; any dtypes, shapes that broadcast.

    Returns
    -------
    dpnp.ndarray or Array (*)
        The broadcast shape, and torch's promoted dtype; float32 for integers.

    Raises
    ------
    TypeError
        An operand is not an array.
    ValueError
        The shapes do not broadcast.

    Notes
    -----
    Differentiable to any order. Source: ``torch.atan2``.
    """
    args = checked_operands("atan2", input=input, other=other)
    return by_nodes(ops.ATAN2, *args, dtype=float_dtype(*args))


_REMAINDERS = """An integer modulo 0 is 0, whereas torch reads the values and raises an error.
bfloat16 and float16 are computed in float32. """


def _exact(row: Operation, a: Any, b: Any) -> Tensor:
    """Record an operation of integers; bools become int8."""
    dtype = result_dtype(a, b)
    return of_integers(row, "int8" if dtype == "bool" else dtype, a, b)


fmod = of_two(
    "fmod", "Return the remainder of a division rounded towards 0, with the sign of ``input``.",
    ops.FMOD, exact=partial(_exact, ops.FMOD), notes=_REMAINDERS,
)  # fmt: skip
remainder = of_two(
    "remainder", "Return the remainder of a division rounded down, with the sign of ``other``.",
    ops.REMAINDER, exact=partial(_exact, ops.REMAINDER), notes=_REMAINDERS,
)  # fmt: skip


@operation
def floor_divide(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return ``div(input, other, rounding_mode="floor")``."""
    return div(input, other, rounding_mode="floor")


_BITS = """{summary}

Parameters
----------
{parameters} : dpnp.ndarray or Array (*){numbers}
    Integers or bool.

Returns
-------
dpnp.ndarray or Array (*)
    {returns}

Raises
------
TypeError
    An operand is floating point.

Notes
-----
{notes}Source: ``torch.{name}``.
"""
_SHIFTS = """Counts that are negative or not below the width give 0, or -1 for right shifts of
negative numbers. """


def _check_bits(name: str, *operands: Any) -> None:
    for value in operands:
        dtype = value.dtype if isinstance(value, Tensor) else result_dtype(value)
        if dtype in dtypes.CARRIED:
            raise TypeError(f"{name}: operands must not be {dtype}; convert with astype")
        if dtypes.is_float(dtype) or str(dtype).startswith("complex"):
            raise TypeError(f"{name}: operands must be integers or bool, got {dtype}")


def _of_bits(summary: str, name: str, row: Operation, notes: str = "") -> Any:
    def call(input: Tensor | float, other: Tensor | float) -> Tensor:
        a, b = checked_operands(name, input=input, other=other)
        _check_bits(name, a, b)
        return _exact(row, a, b) if notes else of_integers(row, result_dtype(a, b), a, b)

    returns = "The broadcast shape, and torch's promoted dtype"
    doc = _BITS.format(
        summary=summary, name=name, parameters="input, other", numbers=", or a number", notes=notes,
        returns=returns + ("; int8 for bools, as NumPy." if notes else "."),
    )  # fmt: skip
    return operation(named(call, name, doc))


bitwise_and = _of_bits("Return ``input & other``.", "bitwise_and", ops.BITWISE_AND)
bitwise_or = _of_bits("Return ``input | other``.", "bitwise_or", ops.BITWISE_OR)
bitwise_xor = _of_bits("Return ``input ^ other``.", "bitwise_xor", ops.BITWISE_XOR)
bitwise_left_shift = _of_bits(
    "Return ``input << other``.", "bitwise_left_shift", ops.LEFT_SHIFT, _SHIFTS
)
bitwise_right_shift = _of_bits(
    "Return ``input >> other``.", "bitwise_right_shift", ops.RIGHT_SHIFT, _SHIFTS
)


def _bitwise_not(input: Tensor) -> Tensor:
    _check_bits("bitwise_not", input)
    row = ops.LOGICAL_NOT if input.dtype == "bool" else ops.BITWISE_NOT
    return of_integers(row, str(input.dtype), input)


_BITWISE_NOT = _BITS.format(
    summary="Return ``~input``.", name="bitwise_not", parameters="input", numbers="", notes="",
    returns="Shape and dtype of ``input``; the logical negation of bools.",
)  # fmt: skip
bitwise_not = operation(named(_bitwise_not, "bitwise_not", _BITWISE_NOT))
