# SPDX-License-Identifier: Apache-2.0
"""Quotients, exact or as whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import binary, zeros
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.arithmetic import documented
from sycl_dnn.functional.convert import converted
from sycl_dnn.functional.operands import as_floats, by_dpnp, checked_operands, result_dtype
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["div"]

_ROUNDING = """rounding_mode : {None, "trunc", "floor"}
    Round quotients towards zero, or down as Python's ``//``; their gradient is 0 then.
"""
_NOTES = """Quotients of integers are float32, rounded ones integers. Rounding is dpnp's work; an
integer divided by 0 gives 0, where torch raises an error after looking at the values."""


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
    dtype = result_dtype(a, b)
    if rounding_mode is None:
        dtype = dtype if dtypes.is_float(dtype) else "float32"
        x, y = as_floats(dtype, a, b)
        return binary(algorithm.binary_div, x, y, dtype)
    modes = {"trunc": (_truncated, _truncated_integers), "floor": (_floored, dpnp.floor_divide)}
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


def _flat(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n: zeros(t.trace, t.shape, t.dtype) for n, t in entry.inputs.items() if t.is_float}


def _truncated(a: Any, b: Any) -> dpnp.ndarray:
    return dpnp.trunc(dpnp.divide(a, b))


def _truncated_integers(a: Any, b: Any) -> dpnp.ndarray:
    down = dpnp.floor_divide(a, b)
    return down + ((down < 0) & (down * b != a))


def _floored(a: Any, b: Any) -> dpnp.ndarray:
    """Return quotients of floats as CPython rounds them, and torch after it."""
    rest, plain = dpnp.fmod(a, b), dpnp.divide(a, b)
    made = (a - rest) / b
    made = made - ((rest != 0) & ((rest < 0) != (b < 0)))
    whole = dpnp.floor(made)
    whole = whole + (made - whole > 0.5)
    whole = dpnp.where(made == 0, dpnp.copysign(dpnp.zeros_like(plain), plain), whole)
    return dpnp.where(dpnp.zeros_like(plain) + b == 0, plain, whole)
