# SPDX-License-Identifier: Apache-2.0
"""Cross entropies, Kullback-Leibler divergence, and Poisson and Gaussian likelihoods."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn._warn import warn
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float, check_same_shape
from sycl_dnn.functional.arithmetic.operands import broadcasts_to
from sycl_dnn.functional.loss.loss_reduction import (
    as_operands,
    check_broadcast,
    check_dtypes,
    elementwise_loss,
    loss,
    promoted,
    reduced,
)
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import elementwise_losses as losses
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.losses import Scores, loss_of_indices, loss_of_shares
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.cloning import stopped
from sycl_dnn.trace.pointwise import linear_map
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp


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


@loss(choices=("none", "mean", "sum", "batchmean"), shape="as input and target broadcast")
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


_INDICES = ("int64", "int32", "int8", "uint8")
_SOURCE = "kernels of the package"


def _check_input(name: str, input: Tensor, weight: Tensor | None) -> None:
    check_dtypes(name, input, weight=weight)
    if not input.ndim:
        raise ValueError(f"{name}: input must have an axis of classes, got shape ()")
    n_classes = input.shape[_axis(input)]
    if not n_classes:
        raise ValueError(f"{name}: input must have a class, got shape {input.shape}")
    if weight is not None and weight.shape != (n_classes,):
        raise ValueError(f"{name}: weight must have shape ({n_classes},), got {weight.shape}")


def _check_indices(name: str, input: Tensor, target: Tensor) -> None:
    if target.dtype not in _INDICES:
        raise TypeError(f"{name}: target must have an integer dtype, got {target.dtype}")
    if target.shape != _shape_of_losses(input):
        raise ValueError(
            f"{name}: target must have shape {_shape_of_losses(input)}, got {target.shape}"
        )


def _axis(input: Tensor) -> int:
    return min(input.ndim - 1, 1)


def _shape_of_losses(input: Tensor) -> tuple[int, ...]:
    axis = _axis(input)
    return input.shape[:axis] + input.shape[axis + 1 :]


def _recorded_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, *, is_normalized: bool,
    ignore_index: int, smoothing: float, reduction: str,
) -> Tensor:  # fmt: skip
    axis, dtype = _axis(input), str(input.dtype)
    wide = dtypes.wide(dtype)
    args = [input, target]
    if not target.is_float:
        args[1] = reshape(target, [1 if k == axis else n for k, n in enumerate(input.shape)])
    if weight is not None:
        args.append(reshape(weight, [n if k == axis else 1 for k, n in enumerate(input.shape)]))

    def definition(x: Node, t: Node, *weights: Node) -> tuple[Node, ...]:
        scores = Scores(cast(x, wide), axis, is_normalized=is_normalized)
        w = cast(weights[0], wide) if weights else None
        if target.is_float:
            probabilities = cast(t, wide)
            result = loss_of_shares(
                scores, probabilities, w, smoothing=smoothing, reduction=reduction
            )
        else:
            result = loss_of_indices(
                scores, cast(t, "int64"), w, axis=axis, ignore_index=ignore_index,
                smoothing=smoothing, reduction=reduction,
            )  # fmt: skip
        return cast(result[0], dtype), *result[1:]

    result = computed(definition, *args)
    return reshape(result, _shape_of_losses(input) if reduction == "none" else ())


@loss(_SOURCE, shape="of the target's shape")
def nll_loss(
    input: Tensor,
    target: dpnp.ndarray,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negated, weighted entry of ``input`` at the target class.

    input : dpnp.ndarray or Array (N, C, *) or (C,)
        Log-probabilities.
    target : dpnp.ndarray (N, *) or ()
        int64, int32, int8 or uint8 class indices, 0 to C - 1. Others give NaN.
    weight : dpnp.ndarray or Array (C,), optional
        Class weights; the mean is taken over the sum of the targets' weights.
    ignore_index : int
        Target value to ignore.
    """
    _check_input("nll_loss", input, weight)
    _check_indices("nll_loss", input, target)
    return _recorded_loss(
        input, target, weight, is_normalized=True, ignore_index=ignore_index, smoothing=0.0,
        reduction=reduction,
    )  # fmt: skip


@loss(_SOURCE, shape="of the target's shape, without the axis of classes")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return ``nll_loss(log_softmax(input), target)``; targets may also be probabilities.

    A row with NaN or infinity gives NaN, in the gradient too.

    input : dpnp.ndarray or Array (N, C, *) or (C,)
        Logits.
    target : dpnp.ndarray (N, *) or (), or dpnp.ndarray or Array (N, C, *) or (C,)
        Class indices, as for ``nll_loss``, or probabilities of all classes, whose dtype is promoted
        with that of ``input``.
    weight : dpnp.ndarray or Array (C,), optional
        Class weights. For class indices the mean is taken over the sum of the targets' weights.
    ignore_index : int
        Class index to ignore; refused for probabilities, as in torch.
    label_smoothing : float
        Share of the target that is distributed evenly over all classes, 0 to 1.
    """
    name = "cross_entropy"
    has_probabilities = target.is_float
    if has_probabilities:
        others = {"target": target} | ({} if weight is None else {"weight": weight})
        input, target, *weights = promoted(name, input, **others)
        weight = weights[0] if weights else None
    _check_input(name, input, weight)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing must be in [0, 1], got {label_smoothing}")
    if has_probabilities:
        if target.shape != input.shape:
            raise ValueError(f"{name}: target must have shape {input.shape}, got {target.shape}")
        if ignore_index >= 0:
            raise ValueError(
                f"{name}: ignore_index must be left out if target has probabilities, got "
                f"{ignore_index}"
            )
    else:
        _check_indices(name, input, target)
    return _recorded_loss(
        input, target, weight, is_normalized=False, ignore_index=ignore_index,
        smoothing=label_smoothing, reduction=reduction,
    )  # fmt: skip
