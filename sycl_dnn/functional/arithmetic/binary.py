# SPDX-License-Identifier: Apache-2.0
"""Element-wise arithmetic of two operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import (
    DOC,
    PROMOTED,
    as_floats,
    by_nodes,
    checked_operands,
    float_dtype,
    of_integers,
    result_dtype,
)
from sycl_dnn.ir.node import Operation
from sycl_dnn.lower.appendable import Eltwise, applied
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.pointwise import NO_SHIFT, binary, eltwise, is_negative_zero, linear_map
from sycl_dnn.trace.values import Tensor

A = algorithm
_INTEGERS = "Integers are computed exactly."


def pair(name: str, kind: algorithm | None, operation: Operation, a: Any, b: Any) -> Tensor:
    """Apply a primitive to floats, or an operation."""
    a, b = checked_operands(name, input=a, other=b)
    dtype = result_dtype(a, b)
    if dtype == "bool" and kind is A.binary_sub:
        raise TypeError(f"{name}: input and other must not both be bool; compare them with ne")
    if not dtypes.is_float(dtype):
        return of_integers(operation, dtype, a, b)
    result = None if kind is None else _with_number(kind, dtype, a, b)
    if result is not None:
        return result
    return _of_floats(operation, kind, dtype, a, b)


def _of_floats(operation: Operation, kind: algorithm | None, dtype: str, a: Any, b: Any) -> Tensor:
    """Record a kernel; in a compiled program oneDNN's primitive, if any, which may be a post-op."""
    x, y = as_floats(dtype, a, b)
    if x.trace.is_compiled and kind is not None:
        return binary(kind, x, y, dtype)
    return by_nodes(operation, x, y, dtype=dtype)


def _with_number(kind: algorithm, dtype: str, a: Any, b: Any) -> Tensor | None:
    """Return ``scale * x + shift`` if one operand is a number and that expresses the operation."""
    is_left = isinstance(a, Tensor)
    x, number = (a, b) if is_left else (b, a)
    if isinstance(number, Tensor):
        return None
    scale_and_shift = {
        A.binary_add: (1.0, number),
        A.binary_sub: (1.0, -number) if is_left else (-1.0, number),
        A.binary_mul: (number, NO_SHIFT),
    }.get(kind)
    if scale_and_shift is None or not math.isfinite(number) or is_negative_zero(number):
        return None
    if number == 0 and kind is not A.binary_mul:  # as a shift it is NO_SHIFT for the cache, too
        return None
    return linear_map(converted(x, dtype), *scale_and_shift)


def documented(notes: str, parameters: str = "", second: str = "other") -> Callable[..., Any]:
    """Complete the docstring of a function of ``input`` and ``second`` from its summary."""
    words = {"parameters": parameters, "second": second, "returns": PROMOTED, "notes": notes}
    return templated(DOC, **words)


def _scaled(name: str, input: Any, other: Any, alpha: float) -> Any:
    """Return ``alpha * other`` in the dtype of the sum with ``input``."""
    if alpha == 1:
        return other
    if not isinstance(other, Tensor):
        return other * alpha
    dtype = result_dtype(input, other)
    if not dtypes.is_float(dtype) and isinstance(alpha, float):
        raise TypeError(f"{name}: alpha must be an integer for {dtype}, got {alpha!r}")
    if dtype == "bool":
        return mul(other, bool(alpha))
    return mul(converted(other, dtype), alpha)


_ALPHA = "alpha : number\n    Factor of ``other``; an integer for integers.\n"
_TIES = "Equal operands get half of the gradient each. NaN propagates, with the gradient to both."


@operation
@documented(_INTEGERS, _ALPHA)
def add(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """Return ``input + alpha * other``."""
    other = _scaled("add", input, other, alpha)
    return pair("add", A.binary_add, ops.ADD, input, other)


@operation
@documented(_INTEGERS, _ALPHA)
def sub(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """Return ``input - alpha * other``."""
    return pair("sub", A.binary_sub, ops.SUB, input, _scaled("sub", input, other, alpha))


@operation
@documented(_INTEGERS)
def mul(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return ``input * other``."""
    return pair("mul", A.binary_mul, ops.MUL, input, other)


@operation
@documented(_TIES)
def maximum(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return the element-wise maximum."""
    return pair("maximum", None, ops.MAXIMUM, input, other)


@operation
@documented(_TIES)
def minimum(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return the element-wise minimum."""
    return pair("minimum", None, ops.MINIMUM, input, other)


_POWER = """The exponents 0.5, -0.5, 1, 2, 3, -1 and -2 mean ``sqrt``, ``rsqrt``, products and
quotients. The exponent's gradient is 0 where ``input`` is 0, and NaN where it is negative."""


@operation
@documented(_POWER, second="exponent")
def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Raise ``input`` to the power ``exponent``."""
    a, b = checked_operands("pow", input=input, exponent=exponent)
    dtype = result_dtype(a, b)
    if not dtypes.is_float(dtype):
        if not isinstance(b, Tensor) and b < 0:
            raise ValueError(f"pow: exponent must not be negative for integers, got {b}")
        return of_integers(ops.POW, dtype, a, b)
    if not isinstance(b, Tensor):
        x = converted(a, dtype)
        raised = partial(ops.POWER, exponent=float(b))
        if b == 0:  # oneDNN's is NaN for NaN.
            return computed(raised, x)
        return applied(raised, x, Eltwise(A.eltwise_pow, 1.0, float(b)), dtypes.wide(dtype))
    return by_nodes(ops.POW, a, b, dtype=dtype)


# --- Division, exact or rounded

_ROUNDING = """rounding_mode : {None, "trunc", "floor"}
    Round quotients towards zero, or down as Python's ``//``; the gradient is then 0.
"""
_NOTES = """Quotients of integers are float32, rounded ones integers. An
integer divided by 0 gives 0, whereas torch reads the values and raises an error."""


@operation
@documented(_NOTES, _ROUNDING)
def div(
    input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = None
) -> Tensor:
    """Return ``input / other``."""
    a, b = checked_operands("div", input=input, other=other)
    dtype = result_dtype(a, b)
    if rounding_mode is None:
        dtype = float_dtype(a, b)
        result = _narrow_quotient(dtype, a, b)
        if result is not None:
            return result
        return _of_floats(ops.DIV, A.binary_div, dtype, a, b)
    modes = {"trunc": ops.TRUNC_DIVIDE, "floor": ops.FLOOR_DIVIDE}
    if rounding_mode not in modes:
        raise ValueError(
            f"div: rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}"
        )
    quotient = modes[rounding_mode]
    if not dtypes.is_float(dtype):
        return of_integers(quotient, dtype, a, b)
    return by_nodes(quotient, a, b, dtype=dtype)


def _narrow_quotient(dtype: str, a: Any, b: Any) -> Tensor | None:
    """Divide by a number without rounding it to the narrow dtype first."""
    number = a if isinstance(b, Tensor) else b
    is_usual = not isinstance(number, Tensor) and number and math.isfinite(number)
    if not is_usual or dtype not in ("bfloat16", "float16"):
        return None
    if isinstance(b, Tensor):
        return eltwise(converted(b, dtype), A.eltwise_pow, float(number), -1.0)
    return linear_map(converted(a, dtype), 1 / number)
