# SPDX-License-Identifier: Apache-2.0
"""Elements between bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import binary, filled, sum_to
from sycl_dnn.dispatch.primitives import mul as times
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.convert import converted
from sycl_dnn.functional.operands import by_dpnp, checked_operands, result_dtype
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["clamp"]

A = algorithm
#: By bound: what applies it, where elements keep to it, where they do not; dpnp's for integers.
_BOUNDS = {
    "min": (A.binary_max, A.binary_ge, A.binary_lt, dpnp.maximum),
    "max": (A.binary_min, A.binary_le, A.binary_gt, dpnp.minimum),
}


@operation
def clamp(
    input: dpnp.ndarray | Array,
    min: dpnp.ndarray | Array | float | None = None,
    max: dpnp.ndarray | Array | float | None = None,
) -> dpnp.ndarray | Array:
    """Return ``input`` raised to ``min`` at least and lowered to ``max`` at most.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*)
    min, max : number, or dpnp.ndarray or Array (*), optional
        One of them at least, of one kind if both; where ``min > max`` elements become ``max``.
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
    The gradient passes where ``min <= input <= max``, the bounds included, as in torch; elsewhere
    it goes to the bound, where that is an array.

    Source: oneDNN developer guide, "Binary" (its eltwise clip turns NaN into a bound).
    """
    given = {n: v for n, v in {"min": min, "max": max}.items() if v is not None}
    if not given:
        raise ValueError("clamp: min or max must be given, got None for both")
    x, *limits = checked_operands("clamp", input=input, **given)
    if len({isinstance(v, Tensor) for v in limits}) > 1:
        raise TypeError("clamp: min and max must both be numbers or both arrays")
    dtype = result_dtype(x, *limits)
    if not dtypes.is_float(dtype):
        return by_dpnp(_of_integers(list(given)), dtype, x, *limits)
    bounds = [
        converted(v, dtype) if isinstance(v, Tensor) else filled(x.trace, v, (), dtype)
        for v in limits
    ]
    return _clamped(converted(x, dtype), dict(zip(given, bounds, strict=True)))


def _of_integers(names: list[str]) -> Callable[..., Any]:
    def call(made: dpnp.ndarray, *limits: Any) -> dpnp.ndarray:
        for name, limit in zip(names, limits, strict=True):
            made = _BOUNDS[name][3](made, limit)
        return made

    return call


def _clamped(x: Tensor, bounds: dict[str, Tensor]) -> Tensor:
    def forward() -> Tensor:
        made = x
        for name, bound in bounds.items():
            made = binary(_BOUNDS[name][0], made, bound)
        return made

    def rule(dy: Tensor) -> dict[str, Tensor]:
        inner = dy
        for name, bound in bounds.items():
            inner = times(inner, binary(_BOUNDS[name][1], x, bound, dy.dtype))
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
            beyond = times(beyond, ordered)
    return times(dy, beyond)
