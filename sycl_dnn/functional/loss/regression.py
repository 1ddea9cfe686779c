# SPDX-License-Identifier: Apache-2.0
"""Regression losses: squared, absolute, smooth L1 and Huber."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sycl_dnn._warn import warn
from sycl_dnn.functional.arithmetic.elementwise import check_same_shape
from sycl_dnn.functional.loss.loss_reduction import (
    check_broadcast,
    check_dtypes,
    elementwise_loss,
    loss,
    promoted,
    promoted_with_integers,
    reduced,
)
from sycl_dnn.ops.arithmetic import ABS, SQUARE
from sycl_dnn.ops.elementwise_losses import HUBER
from sycl_dnn.trace.pointwise import div
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.ir.node import Node


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
    if not delta > 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    elements = partial(HUBER, width=float(delta), height=1.0)
    return _of_difference("huber_loss", input, target, reduction, elements, weight, False)
