# SPDX-License-Identifier: Apache-2.0
"""Losses of differences, and the shared parts of losses: ``reduction``, dtypes, docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import algorithm
from sycl_dnn._warn import warn
from sycl_dnn.call.operation import describe_out, operation, sections
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import (
    check_float,
    check_same_dtype,
    check_same_shape,
)
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import ABS, SQUARE, cast
from sycl_dnn.ops.elementwise_losses import HUBER
from sycl_dnn.ops.reduction import MEAN
from sycl_dnn.ops.shape import SUM, reshape
from sycl_dnn.trace import views
from sycl_dnn.trace.pointwise import div
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.ir.node import Node


def check_dtypes(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise TypeError unless all tensors are floating point and have the same dtype."""
    check_float(name, input=input, **others)
    for argument, tensor in others.items():
        if tensor is not None:
            check_same_dtype(name, "input", argument, input, tensor)


def promoted(name: str, input: Tensor, **others: Tensor) -> list[Tensor]:
    """Promote floating-point tensors to a common dtype, as operands are."""
    check_float(name, input=input, **others)
    return as_operands(input, *others.values())


def check_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    """Raise ValueError unless the shapes of input and target broadcast."""
    try:
        views.broadcast_shape(input.shape, target.shape)
    except ValueError:
        raise ValueError(
            f"{name}: target must broadcast with input, {input.shape}, got {target.shape}"
        ) from None


def as_operands(*tensors: Tensor) -> list[Tensor]:
    """Return tensors in the dtype to which operands of arithmetic are promoted."""
    common = dtypes.result_dtype(*tensors)
    return [converted(t, common) for t in tensors]


def promoted_with_integers(name: str, input: Tensor, target: Tensor) -> list[Tensor]:
    """Promote both to a common dtype; the target may be integer."""
    check_float(name, input=input)
    if target.dtype in dtypes.PACKED:
        raise TypeError(f"{name}: target must not be of 4-bit numbers, got {target.dtype}")
    # Torch expands them first, so a 0-d array counts like any other.
    common = dtypes.promote(input.dtype, target.dtype)
    return [converted(input, common), converted(target, common)]


# --- ``reduction``, element-wise losses, docstrings

_BEFORE = """{summary}

Parameters
----------
{parameters}"""
_LEGACY = """size_average, reduce : bool, optional
    Deprecated names of ``reduction``; they warn, as in torch.
"""
_AFTER = """reduction : {choices}
    Reduction of the element-wise losses.

Returns
-------
dpnp.ndarray or Array
    A single number, shape (), or with ``"none"`` {shape}.

Raises
------
TypeError
    The dtypes are not floating point or differ.
ValueError
    Shapes do not match, or a parameter is out of range.

Notes
-----
Source: {source}; names and defaults are torch.nn.functional's.
"""


def loss(
    source: str = 'oneDNN developer guide, "Binary", "Eltwise" and "Reduction"',
    choices: str = '{"mean", "sum", "none"}',
    shape: str = "as the input",
    entries: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a public loss function.

    The docstring consists of a summary, and optionally text and parameter entries. ``entries`` come
    first among the parameters.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        summary, parameters = sections(body)
        legacy = _LEGACY if "size_average" in inspect.signature(body).parameters else ""
        function = operation(body)
        before = _BEFORE.format(summary=summary, parameters=entries + parameters + legacy)
        function.__doc__ = before + _AFTER.format(choices=choices, shape=shape, source=source)
        describe_out(function)
        return function

    return decorate


def checked_reduction(
    name: str,
    reduction: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    choices: tuple[str, ...] = ("none", "mean", "sum"),
) -> str:
    """Return the effective reduction; deprecated arguments take precedence, as in torch."""
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = "none" if reduce is False else "mean" if average else "sum"
        warn(f"{name}: size_average and reduce are deprecated; use reduction={reduction!r}")
    if reduction not in choices:
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"{name}: reduction must be one of {allowed}, got {reduction!r}")
    return reduction


def elementwise_loss(
    definition: Callable[..., Node], *operands: Tensor, reduction: str, weight: Tensor | None = None
) -> Tensor:
    """Record an element-wise loss and its reduction as one kernel.

    ``definition`` takes one node for each operand; shapes broadcast. ``weight`` scales the
    element-wise losses and broadcasts to them. Narrow dtypes are computed in float32.
    """
    dtype = operands[0].dtype
    wide = dtypes.wide(dtype)

    def reduced_loss(*nodes: Node) -> Node:
        args = [cast(node, wide) for node in nodes]
        result = definition(*args[: len(operands)])
        if weight is not None:
            result = result * args[-1]
        if reduction != "none":
            row = MEAN if reduction == "mean" else SUM
            result = reshape(row(result, axes=tuple(range(result.ndim))), ())
        return cast(result, dtype)

    return computed(reduced_loss, *operands, *([] if weight is None else [weight]))


def reduced(x: Tensor, reduction: str) -> Tensor:
    """Return the elements of a loss, their sum or their mean."""
    if reduction == "none":
        return x
    kind = algorithm.reduction_sum if reduction == "sum" else algorithm.reduction_mean
    return views.reshape(reduce(kind, x, range(x.ndim)), ())


def _checked(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Promote both to a common dtype; warn if shapes differ."""
    if name == "huber_loss":  # as in torch, whose gradient requires equal dtypes
        check_dtypes(name, input, target=target)
    input, target = promoted_with_integers(name, input, target)
    if input.shape != target.shape:
        warn(
            f"{name}: target should have the shape of input, {input.shape}, got {target.shape}; "
            "they are broadcast"
        )
        check_broadcast(name, input, target)
    return input, target


def _of_difference(
    name: str,
    input: Tensor,
    target: Tensor,
    reduction: str,
    elements: Callable[[Node], Node],
    weight: Tensor | None = None,
    divides_by_weight: bool = True,
) -> Tensor:
    """Record a loss of ``input - target``."""
    x, t = _checked(name, input, target)

    def definition(a: Node, b: Node) -> Node:
        return elements(a - b)

    if weight is None:
        return elementwise_loss(definition, x, t, reduction=reduction)
    check_same_shape(name, "input", "weight", input, weight)
    x, t, factors = promoted(name, x, target=t, weight=weight)
    is_weighted_mean = reduction == "mean" and divides_by_weight
    result = elementwise_loss(
        definition, x, t, reduction="sum" if is_weighted_mean else reduction, weight=factors
    )
    return div(result, reduced(weight, "sum")) if is_weighted_mean else result


#: Parameter entry of losses that promote their operands.
_PROMOTED = """input, target : dpnp.ndarray or Array (*)
    The target may have an integer dtype; dtypes are promoted. Different shapes are broadcast with a
    warning.
"""
#: The same for losses with weights.
_WEIGHTED = f"""{_PROMOTED}weight : dpnp.ndarray or Array (*), optional
    Element-wise weights with the input's shape; the mean is divided by their sum.
"""


@loss(entries=_WEIGHTED)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return ``(input - target)**2``, by default its mean."""
    reduction = checked_reduction("mse_loss", reduction, size_average, reduce)
    return _of_difference("mse_loss", input, target, reduction, SQUARE, weight)


@loss(entries=_WEIGHTED)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return ``abs(input - target)``, by default its mean."""
    reduction = checked_reduction("l1_loss", reduction, size_average, reduce)
    return _of_difference("l1_loss", input, target, reduction, ABS, weight)


@loss(entries=_PROMOTED)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return ``d**2 / (2 * beta)`` where ``d = abs(input - target) < beta``, else ``d - beta / 2``.

    beta : float
        Nonnegative; 0 gives ``l1_loss``.
    """
    reduction = checked_reduction("smooth_l1_loss", reduction, size_average, reduce)
    if not beta >= 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    elements = partial(HUBER, width=float(beta), height=1 / beta) if beta else ABS
    return _of_difference("smooth_l1_loss", input, target, reduction, elements)


@loss()
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return ``d**2 / 2`` where ``d = abs(input-target) < delta``, else ``delta * (d - delta/2)``.

    input, target : dpnp.ndarray or Array (*)
        Equal dtypes. Different shapes are broadcast with a warning.
    delta : float
        Positive.
    weight : dpnp.ndarray or Array (*), optional
        Element-wise weights with the input's shape; the mean is divided by the number of elements.
    """
    reduction = checked_reduction("huber_loss", reduction)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    elements = partial(HUBER, width=float(delta), height=1.0)
    return _of_difference("huber_loss", input, target, reduction, elements, weight, False)
