# SPDX-License-Identifier: Apache-2.0
"""Classification losses: ``nll_loss`` and ``cross_entropy``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_dnn.functional.loss.loss_reduction import (
    check_dtypes,
    checked_reduction,
    loss,
    promoted,
)
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.losses import Scores, loss_of_indices, loss_of_shares
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp


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
    reduction = checked_reduction("nll_loss", reduction, size_average, reduce)
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
        Class index to ignore.
    label_smoothing : float
        Share of the target that is distributed evenly over all classes, 0 to 1.
    """
    name = "cross_entropy"
    reduction = checked_reduction(name, reduction, size_average, reduce)
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
    else:
        _check_indices(name, input, target)
    return _recorded_loss(
        input, target, weight, is_normalized=False, ignore_index=ignore_index,
        smoothing=label_smoothing, reduction=reduction,
    )  # fmt: skip
