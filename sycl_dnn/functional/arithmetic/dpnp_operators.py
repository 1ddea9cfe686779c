# SPDX-License-Identifier: Apache-2.0
"""Bitwise operators of traced arrays, which oneDNN lacks: ``& | ^ << >> ~``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.operands import checked_operands, of_integers, result_dtype
from sycl_dnn.ir.node import OPERATIONS
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import BITWISE_NOT, LOGICAL_NOT
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
        return of_integers(OPERATIONS[name], function, dtype, a, b)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"As ``dpnp.{name}``; the dtype to which torch promotes."
    return operation(body)


bitwise_and = _operator("bitwise_and", dpnp.bitwise_and)
bitwise_or = _operator("bitwise_or", dpnp.bitwise_or)
bitwise_xor = _operator("bitwise_xor", dpnp.bitwise_xor)
left_shift = _operator("left_shift", dpnp.left_shift)
right_shift = _operator("right_shift", dpnp.right_shift)


@operation
def invert(input: Any) -> Tensor:
    """As ``dpnp.invert``."""
    _checked("invert", input)
    operation_of = BITWISE_NOT if input.dtype != "bool" else LOGICAL_NOT
    return of_integers(operation_of, dpnp.invert, input.dtype, input)
