# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of two operands, element by element: sums, products, quotients, powers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import (
    DOC,
    PROMOTED,
    as_floats,
    by_dpnp,
    check_real,
    checked_operands,
    result_dtype,
    trace_of,
)
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.gradients import propagate
from sycl_dnn.trace.pointwise import binary, eltwise, linear_map, zeros
from sycl_dnn.trace.pointwise import mul as times
from sycl_dnn.trace.pointwise_gradients import select
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, filled

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


A = algorithm
_INTEGERS = (
    "Integers alone are handled by dpnp: oneDNN adds in float32, which is not exact for them."
)


def pair(name: str, kind: algorithm, function: Callable[..., Any], a: Any, b: Any) -> Tensor:
    """Apply a primitive to floats, a function of dpnp's to integers."""
    a, b = checked_operands(name, input=a, other=b)
    if kind in (A.binary_max, A.binary_min):
        check_real(name, input=a, other=b)
    dtype = result_dtype(a, b)
    if dtype == "bool" and kind is A.binary_sub:
        raise TypeError(f"{name}: input and other must not both be bool; compare them with ne")
    if not dtypes.is_float(dtype):
        return by_dpnp(function, dtype, a, b)
    made = _with_number(kind, dtype, a, b)
    if made is not None:
        return made
    x, y = as_floats(dtype, a, b)
    return binary(kind, x, y, dtype)


def _with_number(kind: algorithm, dtype: str, a: Any, b: Any) -> Tensor | None:
    """Return ``scale * x + shift`` where one operand is a number and that is all there is to it."""
    is_left = isinstance(a, Tensor)
    x, number = (a, b) if is_left else (b, a)
    if isinstance(number, Tensor):
        return None
    scale_and_shift = {
        A.binary_add: (1.0, number),
        A.binary_sub: (1.0, -number) if is_left else (-1.0, number),
        A.binary_mul: (number, 0.0),
    }.get(kind)
    if scale_and_shift is None or not math.isfinite(number):
        return None
    return linear_map(converted(x, dtype), *scale_and_shift)


def documented(notes: str, parameters: str = "", second: str = "other") -> Callable[..., Any]:
    """Complete the docstring of a function of ``input`` and ``second``, so far its summary."""
    words = {"parameters": parameters, "second": second, "returns": PROMOTED, "notes": notes}
    return templated(DOC, **words)


def _scaled(value: Any, factor: float) -> Any:
    return (
        value
        if factor == 1
        else mul(value, factor)
        if isinstance(value, Tensor)
        else value * factor
    )


_ALPHA = "alpha : number\n    Factor of ``other``.\n"
_TIES = """Where both are equal, each gets half of the gradient. NaN wins; its gradient is 0 for
both, unless ``set_nan("propagate")``."""


@operation
@documented(_INTEGERS, _ALPHA)
def add(
    input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float, *, alpha: float = 1
) -> dpnp.ndarray | Array:
    """Return ``input + alpha * other``."""
    return pair("add", A.binary_add, dpnp.add, input, _scaled(other, alpha))


@operation
@documented(_INTEGERS, _ALPHA)
def sub(
    input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float, *, alpha: float = 1
) -> dpnp.ndarray | Array:
    """Return ``input - alpha * other``."""
    return pair("sub", A.binary_sub, dpnp.subtract, input, _scaled(other, alpha))


@operation
@documented(_INTEGERS)
def mul(
    input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
) -> dpnp.ndarray | Array:
    """Return ``input * other``."""
    return pair("mul", A.binary_mul, dpnp.multiply, input, other)


@operation
@documented(_TIES)
def maximum(
    input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
) -> dpnp.ndarray | Array:
    """Return the larger of both."""
    return pair("maximum", A.binary_max, dpnp.maximum, input, other)


@operation
@documented(_TIES)
def minimum(
    input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
) -> dpnp.ndarray | Array:
    """Return the smaller of both."""
    return pair("minimum", A.binary_min, dpnp.minimum, input, other)


_POWER = """Powers with a number as exponent are oneDNN's (eltwise pow), others dpnp's. An
exponent's gradient is 0 where ``input`` is 0, and NaN where that is negative."""


@operation
@documented(_POWER, second="exponent")
def pow(
    input: dpnp.ndarray | Array | float, exponent: dpnp.ndarray | Array | float
) -> dpnp.ndarray | Array:
    """Return ``input`` to the power of ``exponent``."""
    a, b = checked_operands("pow", input=input, exponent=exponent)
    dtype = result_dtype(a, b)
    if not dtypes.is_float(dtype):
        return by_dpnp(dpnp.power, dtype, a, b)
    if not isinstance(b, Tensor):
        x = converted(a, dtype)
        return linear_map(x, 0.0, 1.0) if b == 0 else _numbered_power(x, float(b))
    if not isinstance(a, Tensor):
        a = linear_map(converted(b, dtype), 0.0, float(a))
    return _power(dtype, *(converted(t, dtype) for t in as_floats(dtype, a, b)))


def _numbered_power(x: Tensor, exponent: float) -> Tensor:
    """Return a power; its gradient is made of another one, oneDNN's is NaN at infinities."""

    def rule(dy: Tensor) -> dict[str, Tensor]:
        slope = eltwise(x, A.eltwise_pow, exponent, exponent - 1)
        return {"x": times(slope, dy)}

    return x.trace.closed({"x": x}, lambda: eltwise(x, A.eltwise_pow, 1.0, exponent), rule)


def _power(dtype: str, a: Tensor, b: Tensor) -> Tensor:
    """Return the power of two tensors, in float32 at least."""
    wide = "float32" if dtype in dtypes.CARRIED else dtype
    a, b = converted(a, wide), converted(b, wide)
    trace = trace_of(a)

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        out = [Out(entry.outputs["0"].shape, wide)] * 2
        slopes = trace.array_call(_power_slopes, [a, b], out, _curvature(a, b))
        return {
            str(i): sum_to(times(grads["0"], slope), t.shape)
            for i, (slope, t) in enumerate(zip(slopes, (a, b), strict=True))
        }

    shape = broadcast_shape(a.shape, b.shape)
    return converted(trace.array_call(dpnp.power, [a, b], [Out(shape, wide)], rule)[0], dtype)


def _curvature(a: Tensor, b: Tensor) -> Any:
    """Return the rule of both slopes of a power."""

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        trace = a.trace
        start = len(trace.tape)
        zero, one = (filled(trace, v, (), a.dtype) for v in (0.0, 1.0))
        at_zero = times(
            binary(A.binary_eq, a, zero, a.dtype), binary(A.binary_ge, b, zero, a.dtype)
        )
        is_flat = binary(A.binary_gt, at_zero, zero, "bool")
        logs = eltwise(select(is_flat, one, a), A.eltwise_log)
        by_base = times(b, _power(a.dtype, a, linear_map(b, 1.0, -1.0)))
        made = {
            "0": select(binary(A.binary_eq, b, zero, "bool"), zero, by_base),
            "1": select(is_flat, zero, times(_power(a.dtype, a, b), logs)),
        }
        seeds = {id(made[n]): g for n, g in grads.items()}
        found = propagate(trace, trace.tape[start:], seeds, [a, b])
        return {str(i): g for i, g in enumerate(found) if g is not None}

    return rule


def _power_slopes(a: dpnp.ndarray, b: dpnp.ndarray) -> tuple[dpnp.ndarray, dpnp.ndarray]:
    y = dpnp.power(a, b)
    by_base = dpnp.where(b == 0, 0, b * dpnp.power(a, b - 1))
    by_exponent = dpnp.where((a == 0) & (b >= 0), 0, y * dpnp.log(a))
    return dpnp.broadcast_to(by_base, y.shape), dpnp.broadcast_to(by_exponent, y.shape)


# --- Quotients, exact or as whole numbers

_ROUNDING = """rounding_mode : {None, "trunc", "floor"}
    Round quotients towards zero, or down as Python's ``//``; their gradient is 0 then.
"""
_NOTES = """Quotients of integers are float32, rounded ones integers. dpnp rounds; an
integer divided by 0 gives 0, where torch raises an error after reading the values."""


@operation
@documented(_NOTES, _ROUNDING)
def div(
    input: dpnp.ndarray | Array | float,
    other: dpnp.ndarray | Array | float,
    *,
    rounding_mode: str | None = None,
) -> dpnp.ndarray | Array:
    """Return ``input / other``."""
    a, b = checked_operands("div", input=input, other=other)
    check_real("div", input=a, other=b)
    dtype = result_dtype(a, b)
    if rounding_mode is None:
        dtype = dtype if dtypes.is_float(dtype) else "float32"
        made = _narrow_quotient(dtype, a, b)
        if made is not None:
            return made
        x, y = as_floats(dtype, a, b)
        return binary(algorithm.binary_div, x, y, dtype)
    modes = {"trunc": (_truncated, _truncated_integers), "floor": (floored, dpnp.floor_divide)}
    if rounding_mode not in modes:
        raise ValueError(
            f"div: rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}"
        )
    of_floats, of_integers = modes[rounding_mode]
    if not dtypes.is_float(dtype):
        return by_dpnp(of_integers, dtype, a, b)
    wide = "float32" if dtype in dtypes.CARRIED else dtype
    operands = [converted(v, wide) if isinstance(v, Tensor) else np.dtype(wide).type(v)
                for v in (a, b)]  # fmt: skip
    return converted(by_dpnp(of_floats, wide, *operands, rule=_flat), dtype)


def _narrow_quotient(dtype: str, a: Any, b: Any) -> Tensor | None:
    """Return a quotient with a number that is not rounded to the narrow dtype before."""
    number = a if isinstance(b, Tensor) else b
    is_usual = not isinstance(number, Tensor) and number and math.isfinite(number)
    if not is_usual or dtype not in ("bfloat16", "float16"):
        return None
    if isinstance(b, Tensor):
        return eltwise(converted(b, dtype), A.eltwise_pow, float(number), -1.0)
    return linear_map(converted(a, dtype), 1 / number, 0.0)


def _flat(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n: zeros(t.trace, t.shape, t.dtype) for n, t in entry.inputs.items() if t.is_float}


def _truncated(a: Any, b: Any) -> dpnp.ndarray:
    return dpnp.trunc(dpnp.divide(a, b))


def _truncated_integers(a: Any, b: Any) -> dpnp.ndarray:
    down = dpnp.floor_divide(a, b)
    return down + ((down < 0) & (down * b != a))


def floored(a: Any, b: Any) -> dpnp.ndarray:
    """Return quotients of floats as CPython rounds them, and torch after it."""
    rest, plain = dpnp.fmod(a, b), dpnp.divide(a, b)
    made = (a - rest) / b
    made = made - ((rest != 0) & ((rest < 0) != (b < 0)))
    whole = dpnp.floor(made)
    whole = whole + (made - whole > 0.5)
    whole = dpnp.where(made == 0, dpnp.copysign(dpnp.zeros_like(plain), plain), whole)
    return dpnp.where(dpnp.zeros_like(plain) + b == 0, plain, whole)
