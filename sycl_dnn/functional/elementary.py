# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of one operand: neg, exp, log, sqrt, abs, square, reciprocal, clamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch import dtypes
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import binary, filled, untaped
from sycl_dnn.dispatch.primitives import mul as times
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.convert import converted
from sycl_dnn.functional.operands import by_dpnp, number_or_tensor, result_dtype
from sycl_dnn.functional.pointwise import eltwise

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["abs", "clamp", "exp", "log", "neg", "reciprocal", "sqrt", "square"]

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


@operation
def clamp(
    input: dpnp.ndarray | Array, min: float | None = None, max: float | None = None
) -> dpnp.ndarray | Array:
    """Return ``input`` raised to ``min`` at least and lowered to ``max`` at most.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
    min, max : number, optional
        One of them at least; where ``min > max`` all elements become ``max``.

    Returns
    -------
    dpnp.ndarray or Array (*)
        The dtype to which torch promotes. NaN stays NaN.

    Raises
    ------
    ValueError
        Neither ``min`` nor ``max`` is given.
    TypeError
        A bound is no number.

    Notes
    -----
    The gradient passes where ``min <= input <= max``, the bounds included, as in torch.

    Source: oneDNN developer guide, "Binary" (its eltwise clip turns NaN into a bound).
    """
    bounds = {"min": min, "max": max}
    bounds = {n: number_or_tensor("clamp", n, v) for n, v in bounds.items() if v is not None}
    if not bounds:
        raise ValueError("clamp: min or max must be given, got None for both")
    for name, value in bounds.items():
        if isinstance(value, Tensor):
            raise TypeError(f"clamp: {name} must be a number, got an array")
    dtype = result_dtype(input, *bounds.values())
    if not dtypes.is_float(dtype):
        return by_dpnp(lambda a: dpnp.clip(a, min, max), dtype, input)
    return _clamped(converted(input, dtype), bounds)


_BOUNDS = {"min": (A.binary_max, A.binary_ge), "max": (A.binary_min, A.binary_le)}


def _clamped(x: Tensor, bounds: dict[str, float]) -> Tensor:
    limits = {n: filled(x.trace, v, (), x.dtype) for n, v in bounds.items()}
    with untaped(x.trace):
        made = x
        for name, limit in limits.items():
            made = binary(_BOUNDS[name][0], made, limit)

    def rule(grad: Tensor) -> Tensor:
        for name, limit in limits.items():
            grad = times(grad, binary(_BOUNDS[name][1], x, limit, grad.dtype))
        return grad

    return x.trace.view(x, made, rule)
