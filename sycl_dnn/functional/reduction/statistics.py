# SPDX-License-Identifier: Apache-2.0
"""norm, var, std, logsumexp and normalize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.elementwise import check_float, floating
from sycl_dnn.functional.normalization.affine import check_eps
from sycl_dnn.functional.reduction.sums import (
    axes_of,
    by_kernel,
    documented,
    mean,
    of_elements,
)
from sycl_dnn.ir.node import Node, Operation
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import reduction as ops
from sycl_dnn.ops.arithmetic import CLAMP
from sycl_dnn.trace.values import Tensor


def _computed(
    name: str, operation: Operation, input: Tensor, dim: Any, keepdim: bool, **attributes: Any
) -> Tensor:
    """Record a statistic; narrow dtypes are computed in float32 to preserve precision."""
    check_float(name, input=input)
    axes, dtype = axes_of(name, dim, input.ndim), str(input.dtype)
    wide = dtypes.wide(dtype)
    return by_kernel(operation, input, axes, keepdim, wide=wide, dtype=dtype, **attributes)


@operation
@documented("Computed in float32 at least, after the maximum is subtracted; integers give it.")
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials."""
    return _computed("logsumexp", ops.LOGSUMEXP, floating("logsumexp", input), dim, keepdim)


_ORDER = 'p : number or "fro"\n    Order; 2 for "fro", also inf, -inf and 0.\n'
_CORRECTION = (
    "correction : number, optional\n    Subtracted from the number of elements in the divisor.\n"
)
_TWO_PASSES = "Computed in float32 at least, as the mean of squares after the mean is subtracted."


def _divided(dim: Any, correction: float | None) -> tuple[Any, float]:
    """Return axes and correction; in place of axes torch also accepts its older ``unbiased``."""
    if isinstance(dim, bool):
        return None, int(dim)
    return dim, 1 if correction is None else correction


@operation
@documented(_TWO_PASSES, parameters=_CORRECTION)
def var(
    input: Tensor,
    dim: int | Sequence[int] | bool | None = None,
    *,
    correction: float | None = 1,
    keepdim: bool = False,
) -> Tensor:
    """Return the variance over axes."""
    dim, correction = _divided(dim, correction)
    return _computed("var", ops.VAR, input, dim, keepdim, correction=correction)


@operation
@documented(_TWO_PASSES, parameters=_CORRECTION)
def std(
    input: Tensor,
    dim: int | Sequence[int] | bool | None = None,
    *,
    correction: float | None = 1,
    keepdim: bool = False,
) -> Tensor:
    """Return the standard deviation over axes."""
    dim, correction = _divided(dim, correction)
    return _computed("std", ops.STD, input, dim, keepdim, correction=correction)


_BOTH = """Return the {what} and the mean over axes.

Parameters
----------
input : array (*)
    Floating-point.
dim : int or sequence of int, optional
    All axes by default.
correction : number, optional
    Subtracted from the number of elements in the divisor of the variance.
keepdim : bool
    Whether to keep the axes with size 1.

Returns
-------
tuple of two arrays

Raises
------
TypeError
    The dtype is not floating point.
ValueError
    There is no such axis.

Notes
-----
Source: ``torch.{name}``.
"""


def _with_mean(name: str, statistic: str, function: Any) -> Any:
    def call(
        input: Tensor, dim: int | Sequence[int] | bool | None = None, *,
        correction: float | None = 1, keepdim: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        check_float(name, input=input)
        dim, correction = _divided(dim, correction)
        result = function(input, dim, correction=correction, keepdim=keepdim)
        return result, mean(input, dim, keepdim)

    return operation(named(call, name, _BOTH.format(name=name, what=statistic)))


var_mean = _with_mean("var_mean", "variance", var)
std_mean = _with_mean("std_mean", "standard deviation", std)


def order_of(name: str, p: Any) -> float:
    """Return the order of a norm."""
    if p == "fro":
        return 2.0
    if isinstance(p, (int, float)):
        return float(p)
    raise ValueError(f"{name}: p must be a number or 'fro', got {p!r}")


@operation
@documented("Computed in float32 at least.", parameters=_ORDER)
def norm(
    input: Tensor,
    p: float | str = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Return the norm of vectors along axes."""
    check_float("norm", input=input)
    return _computed("norm", ops.NORM, input, dim, keepdim, order=order_of("norm", p))


# --- normalize


@operation
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] | None = 1, eps: float = 1e-12
) -> Tensor:
    """Divide vectors by their p-norm: ``x / max(norm(x), eps)``.

    Parameters
    ----------
    input : array (*)
        float32, bfloat16 or float16.
    p : float
    dim : int or sequence of int, optional
        The vector axes; None for all.
    eps : float
        Lower bound for the divisor.

    Returns
    -------
    array (*)
        Shape and dtype of ``input``.

    Raises
    ------
    ValueError
        There is no axis ``dim``, or ``eps`` is negative.
    TypeError
        The dtype is not floating point.

    Notes
    -----
    Source: ``torch.nn.functional.normalize``.
    """
    check_float("normalize", input=input)
    check_eps("normalize", eps)
    axes, order, dtype = (
        axes_of("normalize", dim, input.ndim),
        order_of("normalize", p),
        str(input.dtype),
    )

    def definition(x: Node) -> Node:
        length = ops.NORM(x, axes=tuple(sorted(axes)), order=order)
        return x / CLAMP(length, low=eps, high=None)

    return of_elements(definition, input, wide=dtypes.wide(dtype), dtype=dtype)
