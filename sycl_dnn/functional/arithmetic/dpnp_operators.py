# SPDX-License-Identifier: Apache-2.0
"""Operators of Python's that oneDNN lacks, for traced arrays: ``// % & | ^ << >> ~``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import by_dpnp, checked_operands, result_dtype
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import linear_map, mul, zeros
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.values import Tensor


def _zeros(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n: zeros(t.trace, t.shape, t.dtype) for n, t in entry.inputs.items() if t.is_float}


def _checked(name: str, takes_floats: bool, *operands: Any) -> None:
    for value in operands:
        dtype = value.dtype if isinstance(value, Tensor) else result_dtype(value)
        if dtype in dtypes.CARRIED:
            raise TypeError(f"{name}: operands must not be {dtype}; convert with astype")
        if dtypes.is_float(dtype) and not takes_floats:
            raise TypeError(f"{name}: operands must be integers or bool, got {dtype}")


def _operator(name: str, function: Callable[..., Any], takes_floats: bool = False) -> Any:
    def body(input: Any, other: Any) -> Tensor:
        a, b = checked_operands(name, input=input, other=other)
        _checked(name, takes_floats, a, b)
        dtype = result_dtype(a, b)
        if dtype == "bool" and name in ("floor_divide", "remainder", "left_shift", "right_shift"):
            dtype = "int8"
        return by_dpnp(function, dtype, a, b, rule=_zeros)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"As ``dpnp.{name}``, by dpnp; the dtype to which torch promotes."
    return operation(body)


floor_divide = _operator("floor_divide", dpnp.floor_divide, takes_floats=True)
bitwise_and = _operator("bitwise_and", dpnp.bitwise_and)
bitwise_or = _operator("bitwise_or", dpnp.bitwise_or)
bitwise_xor = _operator("bitwise_xor", dpnp.bitwise_xor)
left_shift = _operator("left_shift", dpnp.left_shift)
right_shift = _operator("right_shift", dpnp.right_shift)


@operation
def remainder(input: Any, other: Any) -> Tensor:
    """As ``dpnp.remainder``, by dpnp; it has the sign of ``other``."""
    a, b = checked_operands("remainder", input=input, other=other)
    _checked("remainder", True, a, b)
    dtype = result_dtype(a, b)
    quotient: Callable[[Any], Any] = dpnp.floor_divide

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        dy, found = grads["0"], {}
        for name, value in zip(entry.inputs, (v for v in (a, b) if isinstance(v, Tensor)),
                               strict=True):  # fmt: skip
            is_first = value is a and name == "0"
            part = dy if is_first else linear_map(mul(dy, by_dpnp(quotient, dtype, a, b)), -1.0)
            if value.is_float:
                found[name] = converted(sum_to(part, value.shape), value.dtype)
        return found

    return by_dpnp(dpnp.remainder, "int8" if dtype == "bool" else dtype, a, b, rule=rule)


@operation
def invert(input: Any) -> Tensor:
    """As ``dpnp.invert``, by dpnp."""
    _checked("invert", False, input)
    return by_dpnp(dpnp.invert, input.dtype, input)
