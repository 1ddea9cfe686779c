# SPDX-License-Identifier: Apache-2.0
"""Comparisons, which give bool arrays, and choices by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import binary, select
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.operands import (
    DOC,
    as_floats,
    by_dpnp,
    checked_operands,
    number_or_tensor,
    result_dtype,
    trace_of,
)
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["eq", "ge", "gt", "le", "lt", "ne", "where"]

_NOTES = "Integers alone are compared by dpnp, exactly; a number is rounded to the dtype of floats."


def _comparison(name: str, sign: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make one comparison."""
    kind = getattr(algorithm, f"binary_{name}")

    def compare(
        input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
    ) -> dpnp.ndarray:
        a, b = checked_operands(name, input=input, other=other)
        dtype = result_dtype(a, b)
        if not dtypes.is_float(dtype):
            return by_dpnp(function, "bool", a, b)
        x, y = as_floats(dtype, a, b)
        return binary(kind, x, y, "bool")

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = DOC.format(
        summary=f"Return where ``input {sign} other``.",
        second="other",
        parameters="",
        returns="The common shape, dtype bool.",
        notes=_NOTES,
    )
    return operation(compare)


eq = _comparison("eq", "==", dpnp.equal)
ne = _comparison("ne", "!=", dpnp.not_equal)
lt = _comparison("lt", "<", dpnp.less)
le = _comparison("le", "<=", dpnp.less_equal)
gt = _comparison("gt", ">", dpnp.greater)
ge = _comparison("ge", ">=", dpnp.greater_equal)


@operation
def where(
    condition: dpnp.ndarray,
    input: dpnp.ndarray | Array | float,
    other: dpnp.ndarray | Array | float,
) -> dpnp.ndarray | Array:
    """Return ``input`` where ``condition`` holds, else ``other``.

    Parameters
    ----------
    condition : dpnp.ndarray (*)
        dtype bool.
    input, other : dpnp.ndarray or Array (*), or a number
        All shapes broadcast.

    Returns
    -------
    dpnp.ndarray or Array
        The common shape; the dtype to which torch promotes.

    Raises
    ------
    ValueError
        The shapes do not broadcast.
    TypeError
        ``condition`` is not bool; an operand is neither an array nor a number.

    Notes
    -----
    Source: oneDNN developer guide, "Binary" (select); names and defaults are torch's.
    """
    condition = number_or_tensor("where", "condition", condition)
    if not isinstance(condition, Tensor) or condition.dtype != "bool":
        got = getattr(condition, "dtype", condition)
        raise TypeError(f"where: condition must have dtype bool, got {got}")
    condition, a, b = checked_operands("where", condition=condition, input=input, other=other)
    dtype = result_dtype(a, b)
    if not dtypes.is_float(dtype):
        return by_dpnp(dpnp.where, dtype, condition, a, b)
    return select(condition, *_floats(dtype, condition, a, b))


def _floats(dtype: str, condition: Tensor, *operands: Any) -> list[Tensor]:
    if any(isinstance(v, Tensor) for v in operands):
        return as_floats(dtype, *operands)
    from sycl_dnn.dispatch.primitives import filled

    return [filled(trace_of(condition), v, (), dtype) for v in operands]
