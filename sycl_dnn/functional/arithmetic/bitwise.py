# SPDX-License-Identifier: Apache-2.0
"""Bitwise functions, and the operators ``& | ^ << >> ~`` of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.operands import checked_operands, of_integers, result_dtype
from sycl_dnn.ir.node import Operation
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.values import Tensor

_TEXT = """{summary}

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


def _checked(name: str, *operands: Any) -> None:
    for value in operands:
        dtype = value.dtype if isinstance(value, Tensor) else result_dtype(value)
        if dtype in dtypes.CARRIED:
            raise TypeError(f"{name}: operands must not be {dtype}; convert with astype")
        if dtypes.is_float(dtype) or str(dtype).startswith("complex"):
            raise TypeError(f"{name}: operands must be integers or bool, got {dtype}")


def _shifted_right(a: Any, b: Any) -> dpnp.ndarray:
    """As ``dpnp.right_shift``, but shifts out of range leave only the sign."""
    result = dpnp.right_shift(a, b)
    if result.dtype.kind != "i":
        return result
    a, b = (dpnp.asarray(v, result.dtype, sycl_queue=result.sycl_queue) for v in (a, b))
    max_shift = 8 * result.dtype.itemsize - 1
    return dpnp.where((b < 0) | (b > max_shift), dpnp.right_shift(a, max_shift), result)


def _function(
    summary: str, name: str, row: Operation, function: Callable[..., Any], notes: str = ""
) -> Any:
    def call(input: Tensor | float, other: Tensor | float) -> Tensor:
        a, b = checked_operands(name, input=input, other=other)
        _checked(name, a, b)
        dtype = result_dtype(a, b)
        if dtype == "bool" and notes:
            dtype = "int8"
        return of_integers(row, function, dtype, a, b)

    returns = "The broadcast shape, and torch's promoted dtype"
    doc = _TEXT.format(
        summary=summary, name=name, parameters="input, other", numbers=", or a number", notes=notes,
        returns=returns + ("; int8 for bools, as NumPy." if notes else "."),
    )  # fmt: skip
    return operation(named(call, name, doc))


bitwise_and = _function(
    "Return ``input & other``.", "bitwise_and", ops.BITWISE_AND, dpnp.bitwise_and
)
bitwise_or = _function("Return ``input | other``.", "bitwise_or", ops.BITWISE_OR, dpnp.bitwise_or)
bitwise_xor = _function(
    "Return ``input ^ other``.", "bitwise_xor", ops.BITWISE_XOR, dpnp.bitwise_xor
)
bitwise_left_shift = _function(
    "Return ``input << other``.", "bitwise_left_shift", ops.LEFT_SHIFT, dpnp.left_shift, _SHIFTS
)
bitwise_right_shift = _function(
    "Return ``input >> other``.", "bitwise_right_shift", ops.RIGHT_SHIFT, _shifted_right, _SHIFTS
)


def _not(input: Tensor) -> Tensor:
    _checked("bitwise_not", input)
    row = ops.LOGICAL_NOT if input.dtype == "bool" else ops.BITWISE_NOT
    return of_integers(row, dpnp.invert, input.dtype, input)


_NOT = _TEXT.format(
    summary="Return ``~input``.", name="bitwise_not", parameters="input", numbers="", notes="",
    returns="Shape and dtype of ``input``; the logical negation of bools.",
)  # fmt: skip
bitwise_not = operation(named(_not, "bitwise_not", _NOT))
