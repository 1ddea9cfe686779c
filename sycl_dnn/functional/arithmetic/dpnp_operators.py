# SPDX-License-Identifier: Apache-2.0
"""Operators of Python's on bits, which oneDNN lacks, for traced arrays: ``& | ^ << >> ~``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.operands import by_dpnp, checked_operands, result_dtype
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor


def _checked(name: str, *operands: Any) -> None:
    for value in operands:
        dtype = value.dtype if isinstance(value, Tensor) else result_dtype(value)
        if dtype in dtypes.CARRIED:
            raise TypeError(f"{name}: operands must not be {dtype}; convert with astype")
        if dtypes.is_float(dtype):
            raise TypeError(f"{name}: operands must be integers or bool, got {dtype}")


def _operator(name: str, function: Callable[..., Any]) -> Any:
    def body(input: Any, other: Any) -> Tensor:
        a, b = checked_operands(name, input=input, other=other)
        _checked(name, a, b)
        dtype = result_dtype(a, b)
        if dtype == "bool" and name in ("left_shift", "right_shift"):
            dtype = "int8"
        return by_dpnp(function, dtype, a, b)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"As ``dpnp.{name}``, by dpnp; the dtype to which torch promotes."
    return operation(body)


bitwise_and = _operator("bitwise_and", dpnp.bitwise_and)
bitwise_or = _operator("bitwise_or", dpnp.bitwise_or)
bitwise_xor = _operator("bitwise_xor", dpnp.bitwise_xor)
left_shift = _operator("left_shift", dpnp.left_shift)
right_shift = _operator("right_shift", dpnp.right_shift)


@operation
def invert(input: Any) -> Tensor:
    """As ``dpnp.invert``, by dpnp."""
    _checked("invert", input)
    return by_dpnp(dpnp.invert, input.dtype, input)
