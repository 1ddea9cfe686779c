# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions composed of others: lerp, addcmul, masked_fill, nan_to_num, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn.call.operation import described_as_torch, named, operation
from sycl_dnn.functional.arithmetic.binary import add, div, mul
from sycl_dnn.functional.arithmetic.comparison import clamp, where
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float, floating
from sycl_dnn.functional.arithmetic.operands import (
    by_nodes,
    check_arrays,
    checked_operands,
    result_dtype,
)
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    import dpnp


_WORDS = {
    "returns": "array\n    The common shape.", "types": "A dtype is not floating point.",
    "errors": "The shapes do not broadcast.",
}  # fmt: skip


@operation
@described_as_torch(**_WORDS)
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """Interpolate linearly: ``input + weight * (end - input)``.

    input, end : arrays (*)
        Floating point; shapes broadcast.
    weight : number, or array (*)
        0 gives ``input``, 1 gives ``end``.
    """
    input, end, weight = checked_operands("lerp", input=input, end=end, weight=weight)
    check_float("lerp", input=input, end=end)
    return by_nodes(ops.LERP, input, end, weight, dtype=result_dtype(input, end, weight))


_ADDED = """Return ``input + value * tensor1 {sign} tensor2``.

Parameters
----------
input, tensor1, tensor2 : arrays (*)
    Shapes broadcast.
value : number
    Factor.

Returns
-------
array
    The broadcast shape; torch's promoted dtype.

Raises
------
TypeError
    An operand is not an array; ``value`` is a float and the sum has an integer dtype.
ValueError
    The shapes do not broadcast.

Notes
-----
Source: ``torch.{name}``.
"""


def _added(name: str, sign: str, function: Callable[..., Any]) -> Any:
    def call(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
        operands = {"input": input, "tensor1": tensor1, "tensor2": tensor2}
        check_arrays(name, **operands)
        input, tensor1, tensor2 = checked_operands(name, **operands)
        result = function(tensor1, tensor2)
        dtype = result_dtype(input, result)
        if not dtypes.is_float(dtype) and isinstance(value, float):
            raise TypeError(f"{name}: value must be an integer for {dtype}, got {value!r}")
        return add(input, result if value == 1 else mul(result, value))

    return operation(named(call, name, _ADDED.format(name=name, sign=sign)))


addcmul = _added("addcmul", "*", mul)
addcdiv = _added("addcdiv", "/", div)


@operation
def masked_fill(input: Tensor, mask: dpnp.ndarray, value: Tensor | float) -> Tensor:
    """Return ``value`` where ``mask`` is true, else ``input``.

    Parameters
    ----------
    input : array (*)
    mask : array (*) of bool
        Shapes broadcast.
    value : number, or array with one element

    Returns
    -------
    array
        The common shape; dtype of ``input``.

    Raises
    ------
    TypeError
        ``mask`` is not bool, or ``value`` is a float and ``input`` has an integer dtype.
    ValueError
        The shapes do not broadcast, or ``value`` has several elements.

    Notes
    -----
    Source: ``torch.masked_fill``.
    """
    if not isinstance(mask, Tensor) or mask.dtype != "bool":
        actual = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"masked_fill: mask must have dtype bool, got {actual}")
    input, mask, value = checked_operands("masked_fill", input=input, mask=mask, value=value)
    if isinstance(value, Tensor):
        if value.ndim:
            raise ValueError(f"masked_fill: value must have no axes, got shape {value.shape}")
        value = converted(value, str(input.dtype))
    elif result_dtype(input, value) != input.dtype:
        raise TypeError(f"masked_fill: value must fit dtype {input.dtype}, got {value!r}")
    return where(mask, value, input)


_BOUND = """Return ``input`` with elements {where} ``{bound}`` replaced by it.

Parameters
----------
input : array (*)
{bound} : number, or array (*)
    Shapes broadcast.

Returns
-------
array
    The broadcast shape; torch's promoted dtype.

Raises
------
TypeError
    ``{bound}`` is neither a number nor an array.
ValueError
    The shapes do not broadcast.

Notes
-----
As ``clamp`` with one bound. Source: ``torch.{name}``.
"""


def clamp_min(input: Tensor, min: Tensor | float) -> Tensor:  # noqa: D103
    return clamp(input, min)


def clamp_max(input: Tensor, max: Tensor | float) -> Tensor:  # noqa: D103
    return clamp(input, None, max)


clamp_min.__doc__ = _BOUND.format(name="clamp_min", where="below", bound="min")
clamp_max.__doc__ = _BOUND.format(name="clamp_max", where="above", bound="max")
clamp_min, clamp_max = operation(clamp_min), operation(clamp_max)


#: The largest finite number of each dtype.
_LARGEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38,
            "bfloat16": 3.3895313892515355e38, "float16": 65504.0}  # fmt: skip


@operation
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace NaN and infinities by finite numbers.

    Parameters
    ----------
    input : array (*)
    nan : float, optional
        0 by default.
    posinf, neginf : float, optional
        By default the largest and lowest finite values of the dtype.

    Returns
    -------
    array (*)
        Same dtype.

    Raises
    ------
    TypeError
        The dtype is complex.

    Notes
    -----
    The gradient of replaced elements is 0. Source: ``torch.nan_to_num``.
    """
    if not input.is_float:
        return input
    largest = _LARGEST.get(str(input.dtype), 0.0)
    values = [0.0 if nan is None else nan, largest if posinf is None else posinf]
    values.append(-largest if neginf is None else neginf)

    def definition(x: Node) -> Node:
        result = x
        are = [ops.ISNAN(x), *(ops.EQ(x, number(v, x.dtype)) for v in (math.inf, -math.inf))]
        for is_it, value in zip(are, values, strict=True):
            result = ops.where(is_it, number(float(value), x.dtype), result)
        return result

    return computed(definition, input)


@operation
@described_as_torch(**_WORDS)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Return ``log(exp(input) + exp(other))`` without overflow.

    input, other : arrays (*)
        Floating point; shapes broadcast.
    """
    input, other = checked_operands("logaddexp", input=input, other=other)
    check_float("logaddexp", input=input, other=other)
    return by_nodes(ops.LOGADDEXP, input, other, dtype=result_dtype(input, other))


@operation
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Return ``log(x / (1 - x))``, the inverse of ``sigmoid``.

    Parameters
    ----------
    input : array (*)
        Between 0 and 1; integers become float32.
    eps : float, optional
        Elements are first clamped to [``eps``, ``1 - eps``].

    Returns
    -------
    array (*)

    Raises
    ------
    TypeError
        The dtype is complex.

    Notes
    -----
    Without ``eps``, the gradient outside [0, 1] is NaN. Source: ``torch.logit``.
    """
    x = floating("logit", input)
    return by_nodes(partial(ops.LOGIT, eps=None if eps is None else float(eps)), x)
