# SPDX-License-Identifier: Apache-2.0
"""Losses of classes: nll_loss and cross_entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.primitives import linear_map, mul, reduce
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape, row_major, transpose
from sycl_dnn.functional.class_rows import Rows, as_float, class_loss, is_index, loss_of_nothing
from sycl_dnn.functional.loss_dtypes import check_dtypes, promoted
from sycl_dnn.functional.loss_reduction import checked_reduction, loss, reduced
from sycl_dnn.functional.softmax import normalized

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["cross_entropy", "nll_loss"]

_SOURCE = 'oneDNN developer guide, "Softmax", "Binary" and "Reduction"'


def _check_input(name: str, input: Tensor, weight: Tensor | None) -> None:
    check_dtypes(name, input, weight=weight)
    if not input.ndim:
        raise ValueError(f"{name}: input must have an axis of classes, got shape ()")
    n_classes = input.shape[min(input.ndim - 1, 1)]
    if not n_classes:
        raise ValueError(f"{name}: input must have a class, got shape {input.shape}")
    if weight is not None and weight.shape != (n_classes,):
        raise ValueError(f"{name}: weight must have shape ({n_classes},), got {weight.shape}")


def _check_indices(name: str, input: Tensor, target: Tensor) -> None:
    if not is_index(target.dtype):
        raise TypeError(f"{name}: target must have an integer dtype, got {target.dtype}")
    wanted = input.shape[:1] + input.shape[2:] if input.ndim > 1 else ()
    if target.shape != wanted:
        raise ValueError(f"{name}: target must have shape {wanted}, got {target.shape}")


def _rows_of(x: Tensor) -> Tensor:
    """Return (N, C, *) with the classes last, dense, as (M, C)."""
    if x.ndim > 2:
        x = transpose(x, (0, *range(2, x.ndim), 1))
    # A view of dense rows or one taped copy of them.
    return reshape(x, (-1 if x.size else x.size // x.shape[-1], x.shape[-1]))


def _of_indices(
    x: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Return the loss of log-probabilities (M, C)."""
    if not x.size:
        return loss_of_nothing(x, target.shape, reduction)
    trace = x.trace
    n_rows, n_classes = x.shape
    # Off the tape: the gradient is that of the rows as they came.
    logs = row_major(x).view((1, n_rows, n_classes), (n_rows * n_classes, n_classes, 1))
    if weight is not None:
        wide = trace.reorder(weight, layout.row_major(weight.shape, "float32"))
        weight = wide.view((1, 1, n_classes), (n_classes, n_classes, 1))
    rows = Rows(logs, as_float(target), weight, ignore_index, smoothing)
    return class_loss(rows, x, target.shape, reduction)


@loss(_SOURCE, shape="of the target's shape")
def nll_loss(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray,
    weight: dpnp.ndarray | Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> dpnp.ndarray | Array:
    """Return minus the entry of ``input`` at the class that ``target`` names, times its weight.

    input : dpnp.ndarray or Array (N, C, *) or (C,)
        Logarithms of probabilities.
    target : dpnp.ndarray (N, *) or ()
        int64, int32, int8 or uint8; 0 to C - 1. Other numbers give NaN.
    weight : dpnp.ndarray or Array (C,), optional
        Weights of the classes; the mean divides by the sum of those of the targets.
    ignore_index : int
        A target that does not count.
    """
    reduction = checked_reduction("nll_loss", reduction, size_average, reduce)
    _check_input("nll_loss", input, weight)
    _check_indices("nll_loss", input, target)
    return _of_indices(_rows_of(input), target, weight, ignore_index, reduction)


@loss(_SOURCE, shape="of the target's shape, without the axis of classes")
def cross_entropy(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> dpnp.ndarray | Array:
    """Return ``nll_loss(log_softmax(input), target)``, also for targets that are probabilities.

    input : dpnp.ndarray or Array (N, C, *) or (C,)
        Any numbers.
    target : dpnp.ndarray (N, *) or (), or dpnp.ndarray or Array (N, C, *) or (C,)
        Class indices, as for ``nll_loss``, or probabilities of all classes; then dtypes that differ
        are promoted.
    weight : dpnp.ndarray or Array (C,), optional
        Weights of the classes. With indices the mean divides by the sum of those of the targets.
    ignore_index : int
        A class index that does not count.
    label_smoothing : float
        Share of the target that is spread evenly over all classes, 0 to 1.
    """
    name = "cross_entropy"
    reduction = checked_reduction(name, reduction, size_average, reduce)
    has_probabilities = target.is_float
    if has_probabilities:
        given = {} if weight is None else {"weight": weight}
        input, target, *weights = promoted(name, input, target=target, **given)
        weight = weights[0] if weights else None
    _check_input(name, input, weight)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing must be in [0, 1], got {label_smoothing}")
    if has_probabilities:
        if target.shape != input.shape:
            raise ValueError(f"{name}: target must have shape {input.shape}, got {target.shape}")
    else:
        _check_indices(name, input, target)
    logs = normalized(_rows_of(input), 1, algorithm.softmax_log)
    if has_probabilities:
        return _of_probabilities(logs, input, target, weight, reduction, label_smoothing)
    return _of_indices(logs, target, weight, ignore_index, reduction, label_smoothing)


def _of_probabilities(
    logs: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: str,
    smoothing: float,
) -> Tensor:  # fmt: skip
    n_rows, n_classes = logs.shape
    shares = _rows_of(target)
    if smoothing:
        shares = linear_map(shares, 1 - smoothing, smoothing / n_classes)
    entries = mul(logs, shares)
    if weight is not None:
        entries = mul(entries, reshape(weight, (1, n_classes)))
    made = linear_map(reduce(algorithm.reduction_sum, entries, (1,)), -1.0)
    shape = input.shape[:1] + input.shape[2:] if input.ndim > 1 else ()
    return reduced(reshape(made, shape), reduction)
