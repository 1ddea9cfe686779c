# SPDX-License-Identifier: Apache-2.0
"""Binary cross entropy, Kullback-Leibler divergence, and Poisson and Gaussian likelihoods."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from sycl_dnn._warn import warn
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float, check_same_shape
from sycl_dnn.functional.arithmetic.operands import broadcasts_to
from sycl_dnn.functional.loss.loss_reduction import (
    as_operands,
    check_broadcast,
    check_dtypes,
    checked_reduction,
    elementwise_loss,
    loss,
    promoted,
    reduced,
)
from sycl_dnn.ops import elementwise_losses as losses
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.gradients import stopped
from sycl_dnn.trace.pointwise import linear_map
from sycl_dnn.trace.values import Tensor


def _checked_factors(
    name: str, input: Tensor, target: Tensor, **factors: Tensor | None
) -> list[Tensor | None]:
    """Check shapes; return the factors in the dtype of the input."""
    check_float(name, **factors)
    check_same_shape(name, "input", "target", input, target)
    for argument, tensor in factors.items():
        if tensor is None:
            continue
        if not broadcasts_to(tensor.shape, input.shape):
            raise ValueError(
                f"{name}: {argument} must broadcast to the shape of input, {input.shape}, got "
                f"{tensor.shape}"
            )
    return [None if t is None else converted(t, input.dtype) for t in factors.values()]


@loss()
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``-(target * log(input) + (1 - target) * log(1 - input))``.

    input : dpnp.ndarray or Array (*)
        Probabilities, 0 to 1, unchecked. Logarithms are clamped to at least -100.
    target : dpnp.ndarray or Array (*)
        Shape and dtype of the input; 0 to 1.
    weight : dpnp.ndarray or Array, optional
        Element-wise weights; broadcast to the input's shape.
    """
    name = "binary_cross_entropy"
    reduction = checked_reduction(name, reduction, size_average, reduce)
    check_dtypes(name, input, target=target)
    (weight,) = _checked_factors(name, input, target, weight=weight)
    return elementwise_loss(
        losses.BINARY_CROSS_ENTROPY, input, target, reduction=reduction, weight=weight
    )


@loss()
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return ``binary_cross_entropy(sigmoid(input), target)``, numerically stable.

    input, target : dpnp.ndarray or Array (*)
        Logits and probabilities, with equal shapes. The result has the dtype of the target.
    weight : dpnp.ndarray or Array, optional
        Element-wise weights; broadcast to the input's shape.
    pos_weight : dpnp.ndarray or Array, optional
        Factors of ``log(sigmoid(input))``, the term of positive examples; broadcasts likewise.
    """
    name = "binary_cross_entropy_with_logits"
    reduction = checked_reduction(name, reduction, size_average, reduce)
    dtype = target.dtype
    input, target = promoted(name, input, target=target)
    factors = {"weight": weight, "pos_weight": pos_weight}
    weight, pos_weight = _checked_factors(name, input, target, **factors)
    definition: Callable[..., Any] = losses.BINARY_CROSS_ENTROPY_WITH_LOGITS
    operands = [input, target]
    if pos_weight is not None:
        definition = losses.weighted_cross_entropy_with_logits
        operands.append(pos_weight)
    result = elementwise_loss(definition, *operands, reduction=reduction, weight=weight)
    return converted(result, dtype)


bce_with_logits = binary_cross_entropy_with_logits


# --- Kullback-Leibler divergence


@loss(choices='{"mean", "batchmean", "sum", "none"}', shape="as input and target broadcast")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return ``target * (log(target) - input)``.

    input : dpnp.ndarray or Array (N, *)
        Log-probabilities.
    target : dpnp.ndarray or Array (N, *)
        Probabilities; shapes broadcast and dtypes are promoted.
    log_target : bool
        Whether the target contains log-probabilities.
    """
    choices = ("none", "mean", "sum", "batchmean")
    reduction = checked_reduction("kl_div", reduction, size_average, reduce, choices)
    input, target = promoted("kl_div", input, target=target)
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "kl_div: reduction='mean' divides by the number of elements; the divergence of a "
            "batch of distributions is 'batchmean'"
        )
    check_broadcast("kl_div", input, target)
    definition = losses.divergence_of_logs if log_target else losses.DIVERGENCE
    if reduction != "batchmean":
        return elementwise_loss(definition, input, target, reduction=reduction)
    result = elementwise_loss(definition, input, target, reduction="sum")
    n = input.shape[0] if input.ndim else 1
    return linear_map(result, 1 / n if n else math.nan)


@loss()
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True,
    full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the negative log-likelihood of the Poisson distribution, up to a constant.

    input : dpnp.ndarray or Array (*)
        Expected counts or their logarithms.
    target : dpnp.ndarray or Array (*)
        Observed counts; shapes broadcast.
    log_input : bool
        Whether the input contains logarithms.
    full : bool
        Whether to add Stirling's approximation of the constant for counts above 1.
    eps : float
        Added to expected counts before taking the logarithm.
    """
    reduction = checked_reduction("poisson_nll_loss", reduction, size_average, reduce)
    check_float("poisson_nll_loss", input=input)
    definition = partial(losses.poisson, log_input=log_input, full=full, eps=eps)
    return elementwise_loss(definition, *as_operands(input, target), reduction=reduction)


def _variances(input: Tensor, var: Tensor | float) -> Tensor | float:
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var must not be negative, got {var}")
        return var
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return F.unsqueeze(var, -1)
    pairs = list(zip(input.shape, var.shape, strict=False))
    if len(input.shape) == len(var.shape) and any(m == 1 for n, m in pairs if n != m):
        return var
    raise ValueError(
        f"gaussian_nll_loss: var must have the shape of input, {input.shape}, less its last axis "
        f"or with axes of size 1, got {var.shape}"
    )


@loss()
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float,
    full: bool = False, eps: float = 1e-6, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``0.5 * (log(var) + (input - target)**2 / var)``.

    input, target : dpnp.ndarray or Array (*)
        Means and values.
    var : dpnp.ndarray, Array or float
        Variances: shape of the input, or without its last axis, or with axes of size 1. Array
        values are not checked: negative ones are clamped to ``eps``.
    full : bool
        Whether to add ``0.5 * log(2 * pi)``.
    eps : float
        Lower bound for the variance; does not affect gradients.
    """
    reduction = checked_reduction("gaussian_nll_loss", reduction)
    check_float("gaussian_nll_loss", input=input, target=target)
    variance = _variances(input, var)
    difference = F.square(F.sub(input, target))
    constant = 0.5 * math.log(2 * math.pi) if full else 0.0
    if not isinstance(variance, Tensor):
        clamped = max(float(variance), eps)
        result = F.add(F.mul(difference, 0.5 / clamped), 0.5 * math.log(clamped) + constant)
    else:
        check_float("gaussian_nll_loss", var=variance)
        # The bound passes the gradient to the variance that it replaces.
        bound = F.add(F.sub(variance, stopped(variance)), eps)
        clamped = F.where(F.lt(variance, eps), bound, variance)
        result = F.mul(F.add(F.log(clamped), F.div(difference, clamped)), 0.5)
        result = F.add(result, constant) if full else result
    return reduced(result, reduction)
