# SPDX-License-Identifier: Apache-2.0
"""Comparisons, ``where`` and ``clamp``."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import (
    DOC,
    as_floats,
    by_nodes,
    check_fit,
    checked_operands,
    number_or_tensor,
    of_integers,
    result_dtype,
)
from sycl_dnn.ir.node import OPERATIONS, Node
from sycl_dnn.lower.appendable import Eltwise, applied
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.values import Tensor

_NOTES = "Integers are compared exactly; a number is rounded to the dtype of floats."


def _comparison(name: str, sign: str) -> Callable[..., Any]:
    operation_of = OPERATIONS[name]

    def compare(input: Tensor | float, other: Tensor | float) -> dpnp.ndarray:
        a, b = checked_operands(name, input=input, other=other)
        dtype = result_dtype(a, b)
        if not dtypes.is_float(dtype):
            return of_integers(operation_of, "bool", a, b)
        x, y = as_floats(dtype, a, b)
        return by_nodes(operation_of, x, y, wide=dtypes.wide(dtype))

    doc = DOC.format(
        summary=f"Return where ``input {sign} other``.",
        second="other",
        parameters="",
        returns="The common shape, dtype bool.",
        notes=_NOTES,
    )
    return operation(named(compare, name, doc))


eq = _comparison("eq", "==")
ne = _comparison("ne", "!=")
lt = _comparison("lt", "<")
le = _comparison("le", "<=")
gt = _comparison("gt", ">")
ge = _comparison("ge", ">=")


@operation
def where(condition: dpnp.ndarray, input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return ``input`` where ``condition`` is true, else ``other``.

    Parameters
    ----------
    condition : dpnp.ndarray (*)
        dtype bool.
    input, other : dpnp.ndarray or Array (*), or a number
        Shapes broadcast.

    Returns
    -------
    dpnp.ndarray or Array
        The broadcast shape, and torch's promoted dtype.

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
        actual = getattr(condition, "dtype", condition)
        raise TypeError(f"where: condition must have dtype bool, got {actual}")
    condition, a, b = checked_operands("where", condition=condition, input=input, other=other)
    dtype = result_dtype(a, b)
    if dtypes.is_float(dtype):
        a, b = (converted(v, dtype) if isinstance(v, Tensor) else v for v in (a, b))
    else:
        check_fit(dtype, a, b)

    def definition(c: Node, if_true: Node, if_false: Node) -> Node:
        return ops.where(c, ops.cast(if_true, dtype), ops.cast(if_false, dtype))

    return by_nodes(definition, condition, a, b)


# --- clamp

#: The operation that applies one bound.
_ONE_SIDED = {"min": ops.MAXIMUM, "max": ops.MINIMUM}


@operation
def clamp(
    input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """Clamp ``input`` to the range from ``min`` to ``max``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
    min, max : number, or dpnp.ndarray or Array (*), optional
        At least one bound, both numbers or both arrays; where ``min > max`` elements become
        ``max``. Shapes broadcast.

    Returns
    -------
    dpnp.ndarray or Array (*)
        torch's promoted dtype. NaN is propagated.

    Raises
    ------
    ValueError
        Neither ``min`` nor ``max`` is passed, or shapes do not broadcast.
    TypeError
        A bound is neither a number nor an array, or one is a number and the other an array.

    Notes
    -----
    The gradient goes to the input where ``min < input < max``, else to the bound if that is an
    array; if an element equals an array bound, each gets half. torch does the same since 2.14;
    earlier versions passed the gradient at the bounds.

    Source: oneDNN developer guide, "Binary" (oneDNN's eltwise clip maps NaN to a bound).
    """
    bounds = {n: v for n, v in {"min": min, "max": max}.items() if v is not None}
    if not bounds:
        raise ValueError("clamp: min or max must be given, got None for both")
    x, *limits = checked_operands("clamp", input=input, **bounds)
    bounds = dict(zip(bounds, limits, strict=True))
    if len({isinstance(v, Tensor) for v in limits}) > 1:
        raise TypeError("clamp: min and max must both be numbers or both arrays")
    dtype = result_dtype(x, *limits)
    if not dtypes.is_float(dtype):
        return _clamped_integers(dtype, x, bounds)
    if isinstance(limits[0], Tensor) or any(map(math.isnan, limits)):
        row = ops.CLAMP_BETWEEN if len(limits) == 2 else _ONE_SIDED[next(iter(bounds))]
        return by_nodes(row, x, *limits, dtype=dtype)
    return _between_numbers(converted(x, dtype), bounds)


def _clamped_integers(dtype: str, x: Tensor, bounds: dict[str, Any]) -> Tensor:
    for name, limit in bounds.items():
        x = of_integers(_ONE_SIDED[name], dtype, x, limit)
    return x


def _between_numbers(x: Tensor, bounds: dict[str, float]) -> Tensor:
    low, high = (None if bounds.get(n) is None else float(bounds[n]) for n in ("min", "max"))
    definition = partial(ops.CLAMP, low=low, high=high)
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    if ends[0] > ends[1]:  # oneDNN refuses them
        return computed(definition, x)
    return applied(definition, x, Eltwise(algorithm.eltwise_clip_v2, *ends))
