# SPDX-License-Identifier: Apache-2.0
"""Regression losses: squared, absolute, smooth L1 and Huber."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn._warn import warn
from sycl_dnn.functional.loss.loss_reduction import (
    check_dtypes,
    checked_reduction,
    loss,
    pointwise_loss,
    promoted,
    promoted_with_integers,
    reduced,
)
from sycl_dnn.trace import nan_kept
from sycl_dnn.trace.pointwise import (
    ABS,
    SIGN,
    SQUARE,
    broadcast_to,
    clip,
    div,
    fused,
    linear_map,
    mul,
    plus,
    scale,
    times,
)
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


#: ``elements(input, target)`` returns the losses; its derivative multiplies the first argument.
Elements = Callable[[Tensor, Tensor], Tensor]
Slope = Callable[[Tensor, Tensor, Tensor], Tensor]


def _pair(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return both, broadcast to a common shape and promoted to a common dtype."""
    if name == "huber_loss":  # torch's is differentiable for equal dtypes only
        check_dtypes(name, input, target=target)
    input, target = promoted_with_integers(name, input, target)
    if input.shape == target.shape:
        return input, target
    warn(
        f"{name}: target should have the shape of input, {input.shape}, got {target.shape}; "
        "they are broadcast",
    )
    try:
        shape = broadcast_shape(input.shape, target.shape)
    except ValueError:
        raise ValueError(
            f"{name}: target must broadcast with input, {input.shape}, got {target.shape}"
        ) from None
    return broadcast_to(input, shape), broadcast_to(target, shape)


def _weighted(name: str, x: Tensor, weight: Tensor, elements: Tensor) -> Tensor:
    if weight.shape != x.shape:
        raise ValueError(
            f"{name}: weight must have the shape of input, {x.shape}, got {weight.shape}"
        )
    return mul(*promoted(name, elements, weight=weight))


def _of_difference(
    name: str,
    input: Tensor,
    target: Tensor,
    reduction: str,
    elements: Elements,
    slope: Slope,
    weight: Tensor | None = None,
    divides_by_weight: bool = True,
) -> Tensor:
    """Record a loss of ``input - target``; the two gradients are opposite."""
    x, t = _pair(name, input, target)
    slopes = {"input": slope, "target": lambda g, a, b: linear_map(slope(g, a, b), -1.0)}
    operands = {"input": x, "target": t}
    if weight is None:
        return pointwise_loss(operands, elements, slopes, reduction)
    made = _weighted(name, input, weight, pointwise_loss(operands, elements, slopes, "none"))
    if reduction == "mean" and divides_by_weight:
        return div(reduced(made, "sum"), reduced(weight, "sum"))
    return reduced(made, reduction)


def _squared(a: Tensor, b: Tensor) -> Tensor:
    return fused(algorithm.binary_sub, a, b, SQUARE)


def _squared_slope(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return fused(algorithm.binary_sub, a, b, scale(2), times(g))


def _absolute(a: Tensor, b: Tensor) -> Tensor:
    return fused(algorithm.binary_sub, a, b, ABS)


def _absolute_slope(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    if nan_kept.is_asked_for(a):
        difference = fused(algorithm.binary_sub, a, b)
        return mul(nan_kept.sign(difference, difference.dtype), g)
    return fused(algorithm.binary_sub, a, b, *SIGN, times(g))


def _rounded_off(width: float, height: float) -> tuple[Elements, Slope]:
    """Return the loss ``height * d**2 / 2`` up to ``abs(d) = width``, and linear beyond."""

    def elements(a: Tensor, b: Tensor) -> Tensor:
        # height * c * (|d| - c / 2) with c = min(|d|, width) and h = -c / 2.
        h = fused(algorithm.binary_sub, a, b, ABS, clip(0, width), scale(-0.5))
        steps = (ABS, plus(h), times(h), scale(-2 * height))
        return fused(algorithm.binary_sub, a, b, *steps)

    def slope(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
        made = fused(algorithm.binary_sub, a, b, clip(-width, width), scale(height), times(g))
        if nan_kept.is_asked_for(a):
            marked = nan_kept.kept(fused(algorithm.binary_sub, a, b), made)
            return made.trace.view(made, marked, lambda grad: grad)
        return made

    return elements, slope


#: Parameter entry of losses that promote their operands.
_PROMOTED = """input, target : dpnp.ndarray or Array (*)
    The target may hold integers, too; dtypes that differ are promoted. Shapes that differ are
    broadcast, with a warning.
"""


@loss(entries=_PROMOTED)
def mse_loss(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array:
    """Return ``(input - target)**2``, by default its mean.

    weight : dpnp.ndarray or Array (*), optional
        Factors of the elements, shape of the input; the mean is taken over their sum.
    """
    reduction = checked_reduction("mse_loss", reduction, size_average, reduce)
    return _of_difference("mse_loss", input, target, reduction, _squared, _squared_slope, weight)


@loss(entries=_PROMOTED)
def l1_loss(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array:
    """Return ``abs(input - target)``, by default its mean.

    At NaN the gradient is plus or minus the incoming one, unless ``set_nan("propagate")``.

    weight : dpnp.ndarray or Array (*), optional
        Factors of the elements, shape of the input; the mean is taken over their sum.
    """
    reduction = checked_reduction("l1_loss", reduction, size_average, reduce)
    return _of_difference("l1_loss", input, target, reduction, _absolute, _absolute_slope, weight)


@loss(entries=_PROMOTED)
def smooth_l1_loss(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> dpnp.ndarray | Array:
    """Return ``d**2 / (2 * beta)`` where ``d = abs(input - target) < beta``, else ``d - beta / 2``.

    At NaN the gradient is plus or minus the incoming one, unless ``set_nan("propagate")``.

    beta : float
        Nonnegative; 0 gives ``l1_loss``.
    """
    reduction = checked_reduction("smooth_l1_loss", reduction, size_average, reduce)
    if not beta >= 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    elements, slope = _rounded_off(beta, 1 / beta) if beta else (_absolute, _absolute_slope)
    return _of_difference("smooth_l1_loss", input, target, reduction, elements, slope)


@loss()
def huber_loss(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array:
    """Return ``d**2 / 2`` where ``d = abs(input-target) < delta``, else ``delta * (d - delta/2)``.

    At NaN the gradient is plus or minus ``delta`` times the incoming one, unless
    ``set_nan("propagate")``.

    input, target : dpnp.ndarray or Array (*)
        Equal dtypes. Shapes that differ are broadcast, with a warning.
    delta : float
        Positive.
    weight : dpnp.ndarray or Array (*), optional
        Factors of the elements, shape of the input; the mean is taken over the number of elements.
    """
    reduction = checked_reduction("huber_loss", reduction)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    elements, slope = _rounded_off(delta, 1.0)
    return _of_difference("huber_loss", input, target, reduction, elements, slope, weight, False)
