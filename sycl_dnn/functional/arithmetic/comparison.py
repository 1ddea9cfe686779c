# SPDX-License-Identifier: Apache-2.0
"""Comparisons, which give bool arrays, choices by them, elements between bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import (
    DOC,
    as_floats,
    by_dpnp,
    by_nodes,
    check_real,
    checked_operands,
    fits,
    number_or_tensor,
    of_integers,
    result_dtype,
    trace_of,
)
from sycl_dnn.ir.node import OPERATIONS, Node
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.pointwise import binary, mul
from sycl_dnn.trace.pointwise_gradients import select
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


_NOTES = "Integers are compared exactly; a number is rounded to the dtype of floats."


def _comparison(name: str, sign: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make one comparison."""
    kind = getattr(algorithm, f"binary_{name}")
    operation_of = OPERATIONS[name]

    def compare(
        input: dpnp.ndarray | Array | float, other: dpnp.ndarray | Array | float
    ) -> dpnp.ndarray:
        a, b = checked_operands(name, input=input, other=other)
        if name not in ("eq", "ne"):
            check_real(name, input=a, other=b)
        dtype = result_dtype(a, b)
        if not dtypes.is_float(dtype):
            return of_integers(operation_of, function, "bool", a, b)
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
        return _chosen(dtype, condition, a, b)
    return select(condition, *_floats(dtype, condition, a, b))


def _chosen(dtype: str, condition: Tensor, a: Any, b: Any) -> Tensor:
    """Return integers or bools by a condition."""
    numbers = [v for v in (a, b) if not isinstance(v, Tensor)]
    if dtype not in dtypes.DATA_TYPES or not all(fits(v, dtype) for v in numbers):
        return by_dpnp(dpnp.where, dtype, condition, a, b)

    def definition(c: Node, x: Node, y: Node) -> Node:
        return ops.where(c, ops.cast(x, dtype), ops.cast(y, dtype))

    return by_nodes(definition, condition, a, b)


def _floats(dtype: str, condition: Tensor, *operands: Any) -> list[Tensor]:
    if any(isinstance(v, Tensor) for v in operands):
        return as_floats(dtype, *operands)
    return [filled(trace_of(condition), v, (), dtype) for v in operands]


# --- Elements between bounds

A = algorithm
#: By bound: what applies it, where elements keep to it, where they do not.
_BOUNDS = {
    "min": (A.binary_max, A.binary_ge, A.binary_lt),
    "max": (A.binary_min, A.binary_le, A.binary_gt),
}
_OF_INTEGERS = {"min": (ops.MAXIMUM, dpnp.maximum), "max": (ops.MINIMUM, dpnp.minimum)}


@operation
def clamp(
    input: dpnp.ndarray | Array,
    min: dpnp.ndarray | Array | float | None = None,
    max: dpnp.ndarray | Array | float | None = None,
) -> dpnp.ndarray | Array:
    """Return ``input`` limited to the range from ``min`` to ``max``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
    min, max : number, or dpnp.ndarray or Array (*), optional
        At least one of them, both of one kind; where ``min > max`` elements become ``max``.
        Shapes broadcast.

    Returns
    -------
    dpnp.ndarray or Array (*)
        The dtype to which torch promotes. NaN stays NaN.

    Raises
    ------
    ValueError
        Neither ``min`` nor ``max`` is given, or shapes do not broadcast.
    TypeError
        A bound is neither a number nor an array, or one is a number and the other an array.

    Notes
    -----
    The gradient passes where ``min <= input <= max``, the bounds included, as in torch; otherwise
    it goes to the bound, where that is an array.

    Source: oneDNN developer guide, "Binary" (its eltwise clip turns NaN into a bound).
    """
    given = {n: v for n, v in {"min": min, "max": max}.items() if v is not None}
    if not given:
        raise ValueError("clamp: min or max must be given, got None for both")
    x, *limits = checked_operands("clamp", input=input, **given)
    check_real("clamp", input=x, **dict(zip(given, limits, strict=True)))
    if len({isinstance(v, Tensor) for v in limits}) > 1:
        raise TypeError("clamp: min and max must both be numbers or both arrays")
    dtype = result_dtype(x, *limits)
    if not dtypes.is_float(dtype):
        return _clamped_integers(dtype, x, list(given), limits)
    bounds = [
        converted(v, dtype) if isinstance(v, Tensor) else filled(x.trace, v, (), dtype)
        for v in limits
    ]
    return _clamped(converted(x, dtype), dict(zip(given, bounds, strict=True)))


def _clamped_integers(dtype: str, x: Tensor, names: list[str], limits: list[Any]) -> Tensor:
    for name, limit in zip(names, limits, strict=True):
        operation_of, function = _OF_INTEGERS[name]
        x = of_integers(operation_of, function, dtype, x, limit)
    return x


def _clamped(x: Tensor, bounds: dict[str, Tensor]) -> Tensor:
    def forward() -> Tensor:
        made = x
        for name, bound in bounds.items():
            made = binary(_BOUNDS[name][0], made, bound)
        return made

    def rule(dy: Tensor) -> dict[str, Tensor]:
        inner = dy
        for name, bound in bounds.items():
            inner = mul(inner, binary(_BOUNDS[name][1], x, bound, dy.dtype))
        outer = {name: _of_bound(dy, x, name, bounds) for name in bounds}
        found = {"input": inner, **outer}
        return {n: sum_to(g, ({"input": x} | bounds)[n].shape) for n, g in found.items()}

    return x.trace.closed({"input": x, **bounds}, forward, rule)


def _of_bound(dy: Tensor, x: Tensor, name: str, bounds: dict[str, Tensor]) -> Tensor:
    """Return the gradient of a bound: where it is the result; ``max`` wins where they cross."""
    beyond = binary(_BOUNDS[name][2], x, bounds[name], dy.dtype)
    if len(bounds) == 2:
        crossed = binary(A.binary_gt, bounds["min"], bounds["max"], dy.dtype)
        if name == "max":
            beyond = binary(A.binary_max, beyond, crossed)
        else:
            ordered = binary(A.binary_lt, bounds["min"], bounds["max"], dy.dtype)
            beyond = mul(beyond, ordered)
    return mul(dy, beyond)
