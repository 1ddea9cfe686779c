# SPDX-License-Identifier: Apache-2.0
"""Margin losses: ranking, hinge, cosine, multi-class and triplet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float, check_same_shape
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.loss.loss_reduction import as_operands, checked_reduction, loss, reduced
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    import dpnp


_COSINE_EPS = 1e-12


def _clamped_at_zero(x: Tensor) -> Tensor:
    """Return ``max(x, 0)`` with slope 0 at 0, as ``clamp_min`` has since PyTorch 2.14."""
    return F.clamp(x, min=0.0)


def _signs(name: str, input: Tensor, target: Tensor) -> Tensor:
    """Convert a target of 1 and -1 to the dtype of the input."""
    return converted(check_unpacked(name, "target", target), input.dtype)


@loss()
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor,
    margin: float = 0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``max(0, -target * (input1 - input2) + margin)``.

    input1, input2 : dpnp.ndarray or Array (*)
        Equal ranks; shapes broadcast.
    target : dpnp.ndarray or Array (*)
        1 if the first input should be larger, -1 if the second.
    margin : float
    """
    check_float("margin_ranking_loss", input1=input1, input2=input2)
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        raise ValueError(
            "margin_ranking_loss: input1, input2 and target must have one number of axes, got "
            f"shapes {input1.shape}, {input2.shape}, {target.shape}"
        )
    signs = _signs("margin_ranking_loss", input1, target)
    result = _clamped_at_zero(F.add(F.mul(F.sub(input2, input1), signs), margin))
    return reduced(result, reduction)


@loss()
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    input, target : dpnp.ndarray or Array (*)
        Shapes broadcast. Targets other than 1 and -1 get the sum of both terms.
    margin : float
    """
    check_float("hinge_embedding_loss", input=input)
    signs = _signs("hinge_embedding_loss", input, target)
    dissimilar = F.where(F.ne(signs, 1), _clamped_at_zero(F.add(F.neg(input), margin)), 0.0)
    return reduced(F.add(dissimilar, F.where(F.ne(signs, -1), input, 0.0)), reduction)


@loss(shape="(N,) or ()")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor,
    margin: float = 0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    input1, input2 : dpnp.ndarray or Array (N, D) or (D,)
        Vectors; ``cos`` is the cosine of the angle between them.
    target : dpnp.ndarray or Array (N,) or ()
        1 or -1; other values give zero loss.
    margin : float
    """
    name = "cosine_embedding_loss"
    check_float(name, input1=input1, input2=input2)
    if len(target.shape) > 1 or len(input1.shape) != len(target.shape) + 1:
        raise ValueError(
            f"{name}: inputs must be (N, D) with a target (N,), or (D,) with (), got "
            f"{input1.shape}, {input2.shape}, {target.shape}"
        )
    signs = _signs(name, input1, target)
    lengths = [F.add(F.sum(F.mul(x, x), -1), _COSINE_EPS) for x in (input1, input2)]
    cosine = F.div(F.sum(F.mul(input1, input2), -1), F.sqrt(F.mul(*lengths)))
    near = F.where(F.eq(signs, 1), F.add(F.neg(cosine), 1.0), 0.0)
    far = F.where(F.eq(signs, -1), _clamped_at_zero(F.sub(cosine, margin)), 0.0)
    return reduced(F.add(near, far), reduction)


@loss()
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``log(1 + exp(-target * input))`` without overflow.

    input, target : dpnp.ndarray or Array (*)
        Targets are 1 or -1; shapes broadcast.
    """
    check_float("soft_margin_loss", input=input)
    signs = _signs("soft_margin_loss", input, target)
    return reduced(F.neg(F.logsigmoid(F.mul(input, signs))), reduction)


def _as_rows(name: str, x: Tensor) -> tuple[Tensor, bool]:
    """Return scores as (N, C), and whether the batch axis was missing."""
    if len(x.shape) > 2 or 0 in x.shape[-1:]:
        raise ValueError(f"{name}: input must be (N, C) or (C,) with classes, got {x.shape}")
    return (F.reshape(x, (1, -1)), True) if len(x.shape) < 2 else (x, False)


def _check_classes(name: str, target: Tensor) -> None:
    if target.dtype not in ("int64", "int32"):
        raise TypeError(f"{name}: target must be int64 or int32, got {target.dtype}")


@loss(shape="(N,) or ()")
def multi_margin_loss(
    input: Tensor, target: dpnp.ndarray, p: int = 1, margin: float = 1.0,
    weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the mean over classes of ``max(0, margin - input[target] + input[j]) ** p``.

    The target class itself is excluded.

    input : dpnp.ndarray or Array (N, C) or (C,)
    target : dpnp.ndarray (N,) or ()
        int64 or int32 class indices.
    p : {1, 2}
    margin : float
    weight : dpnp.ndarray or Array (C,), optional
        Weight of the target's class.
    """
    name = "multi_margin_loss"
    check_float(name, input=input, weight=weight)
    _check_classes(name, target)
    if p not in (1, 2):
        raise ValueError(f"{name}: p must be 1 or 2, got {p}")
    x, is_single = _as_rows(name, input)
    n, n_classes = x.shape
    if target.shape not in (((), (1,)) if is_single else ((n,),)):
        raise ValueError(f"{name}: target must have shape {(n,)}, got {target.shape}")
    labels = F.reshape(target, (n, 1))
    violations = F.add(F.sub(x, F.gather(x, 1, labels)), margin)
    # As in torch, NaN is ignored; ignored terms must not be multiplied by infinite weights.
    is_counted = F.logical_and(F.ne(labels, F.arange(n_classes)), F.gt(violations, 0.0))
    violations = F.where(is_counted, violations, 0.0)
    violations = F.square(violations) if p == 2 else violations
    if weight is not None:
        if weight.shape != (n_classes,):
            raise ValueError(f"{name}: weight must have shape {(n_classes,)}, got {weight.shape}")
        class_weights = F.reshape(F.index_select(weight, 0, F.reshape(target, (n,))), (n, 1))
        violations = F.mul(violations, F.where(is_counted, converted(class_weights, x.dtype), 0.0))
    result = F.reshape(F.div(F.sum(violations, 1), n_classes), target.shape)
    return reduced(result, reduction)


@loss(shape="(N,) or ()")
def multilabel_margin_loss(
    input: Tensor, target: dpnp.ndarray, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the sum of ``max(0, 1 - input[y] + input[j]) / C`` over targets y and other classes j.

    input : dpnp.ndarray or Array (N, C) or (C,)
    target : dpnp.ndarray
        int64 or int32, shape of the input: class indices, up to the first negative entry.
    """
    name = "multilabel_margin_loss"
    check_float(name, input=input)
    _check_classes(name, target)
    check_same_shape(name, "input", "target", input, target)
    x, is_single = _as_rows(name, input)
    n, n_classes = x.shape
    labels = F.reshape(target, (n, n_classes))
    valid = F.cumprod(converted(F.ge(labels, 0), x.dtype), 1)
    is_label = converted(F.eq(F.unsqueeze(labels, 2), F.arange(n_classes)), x.dtype)
    is_other = F.sub(1.0, F.amax(F.mul(is_label, F.unsqueeze(valid, 2)), 1, True))
    target_scores = F.gather(x, 1, F.where(F.ge(labels, 0), labels, F.zeros_like(labels)))
    violations = F.relu(F.add(F.sub(F.unsqueeze(x, 1), F.unsqueeze(target_scores, 2)), 1.0))
    result = F.where(F.gt(F.mul(F.unsqueeze(valid, 2), is_other), 0), violations, 0.0)
    result = F.div(F.sum(result, (1, 2)), n_classes)
    return reduced(F.reshape(result, ()) if is_single else result, reduction)


@loss(shape="that of the input without its last axis")
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor,
    weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the mean binary cross entropy over classes.

    input, target : dpnp.ndarray or Array (*, C)
        Logits; targets are 0 or 1.
    weight : dpnp.ndarray or Array, optional
        Element-wise weights; broadcast to the input's shape.
    """
    name = "multilabel_soft_margin_loss"
    check_float(name, input=input, weight=weight)
    check_same_shape(name, "input", "target", input, target)
    input, targets = as_operands(input, check_unpacked(name, "target", target))
    negative_terms = F.mul(F.sub(1.0, targets), F.logsigmoid(F.neg(input)))
    result = F.neg(F.add(F.mul(targets, F.logsigmoid(input)), negative_terms))
    if weight is not None:
        result = F.mul(result, converted(weight, input.dtype))
    return reduced(F.mean(result, -1), reduction)


def _triplet(positive: Tensor, negative: Tensor, margin: float, reduction: str) -> Tensor:
    return reduced(_clamped_at_zero(F.add(F.sub(positive, negative), margin)), reduction)


def _check_triplet(name: str, anchor: Tensor, others: Any, margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"{name}: margin must be positive, got {margin}")
    if any(len(x.shape) != len(anchor.shape) for x in others):
        raise ValueError(
            f"{name}: anchor, positive and negative must have one number of axes, got shapes "
            + ", ".join(str(x.shape) for x in (anchor, *others))
        )


@loss(shape="that of the arrays without their last axis")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor,
    margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``max(0, margin + distance(anchor, positive) - distance(anchor, negative))``.

    anchor, positive, negative : dpnp.ndarray or Array (*, D)
    margin : float
        Positive.
    p, eps : float
        As in ``pairwise_distance``.
    swap : bool
        Whether to use the distance from positive to negative if it is smaller.
    """
    check_float("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    _check_triplet("triplet_margin_loss", anchor, (positive, negative), margin)
    far = F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return _triplet(F.pairwise_distance(anchor, positive, p, eps), far, margin, reduction)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any,
    *, distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Return ``triplet_margin_loss`` with a custom distance.

    Parameters
    ----------
    anchor, positive, negative : dpnp.ndarray or Array (*, D)
    distance_function : callable, optional
        ``distance_function(x1, x2)``, such as a module; ``pairwise_distance`` by default.
    margin : float
        Positive.
    swap : bool
        Whether to use the distance from positive to negative if it is smaller.
    reduction : {"mean", "sum", "none"}
        Reduction of the element-wise losses.

    Returns
    -------
    dpnp.ndarray or Array
        A single number, shape (), or with ``"none"`` that of the distances.

    Raises
    ------
    TypeError
        The dtypes are not floating point.
    ValueError
        Shapes do not match, or a parameter is out of range.

    Notes
    -----
    Source: oneDNN developer guide, "Binary", "Eltwise" and "Reduction"; names and defaults are
    torch.nn.functional's.
    """
    name = "triplet_margin_with_distance_loss"
    reduction = checked_reduction(name, reduction)
    for argument, x in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        dtype = str(getattr(x, "dtype", type(x).__name__))
        if not dtypes.is_float(dtype):
            raise TypeError(
                f"{name}: {argument} must be an array with a floating-point dtype, got {dtype}"
            )
    _check_triplet(name, anchor, (positive, negative), margin)
    # Not one operation: a module needs its own calls for its attributes and hooks.
    distance = distance_function or F.pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    losses = F.clamp(F.add(F.sub(distance(anchor, positive), far), margin), min=0.0)
    return losses if reduction == "none" else getattr(F, reduction)(losses)
