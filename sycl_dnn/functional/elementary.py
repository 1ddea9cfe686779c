# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of one operand: neg, exp, log, sqrt, abs, square, reciprocal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.convert import converted
from sycl_dnn.functional.operands import by_dpnp, number_or_tensor
from sycl_dnn.functional.pointwise import eltwise

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["abs", "exp", "log", "neg", "reciprocal", "sqrt", "square"]

A = algorithm
_DOC = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
    Any shape and dtype.

Returns
-------
dpnp.ndarray or Array (*)
    Shape and order of axes of ``input``; {dtype}.
{notes}"""
_NOTES = """
Notes
-----
{text}

Source: oneDNN developer guide, "Eltwise".
"""


def _function(
    name: str,
    summary: str,
    kind: algorithm,
    factors: tuple[float, float] = (0.0, 0.0),
    integers: Callable[..., Any] | None = None,
    note: str = "",
) -> Callable[..., Any]:
    """Make a function of an eltwise algorithm; ``integers`` is dpnp's for integer arrays."""

    def call(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
        if not isinstance(number_or_tensor(name, "input", input), Tensor):
            raise TypeError(f"{name}: input must be an array, got {type(input).__name__}")
        if input.is_float:
            return eltwise(input, kind, *factors)
        if integers is None:
            return eltwise(converted(input, "float32"), kind, *factors)
        return by_dpnp(integers, input.dtype, input)

    call.__name__ = call.__qualname__ = name
    dtype = "its dtype" if integers else "its dtype, float32 for integers"
    notes = _NOTES.format(text=note or "Integers are dpnp's work." if integers or note else
                          "Integers are converted.")  # fmt: skip
    call.__doc__ = _DOC.format(summary=summary, dtype=dtype, notes=notes)
    return operation(call)


neg = _function("neg", "Return ``-input``.", A.eltwise_linear, (-1.0, 0.0), dpnp.negative)
exp = _function(
    "exp", "Return e to the power of ``input``.", A.eltwise_exp, note="oneDNN gives inf for NaN."
)
log = _function("log", "Return the natural logarithm.", A.eltwise_log)
sqrt = _function("sqrt", "Return the square root.", A.eltwise_sqrt)
abs = _function("abs", "Return ``|input|``.", A.eltwise_abs, integers=dpnp.abs)
square = _function("square", "Return ``input * input``.", A.eltwise_square, integers=dpnp.square)
reciprocal = _function("reciprocal", "Return ``1 / input``.", A.eltwise_pow, (1.0, -1.0))
