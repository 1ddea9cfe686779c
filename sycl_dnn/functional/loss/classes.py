# SPDX-License-Identifier: Apache-2.0
"""Losses of classes: nll_loss and cross_entropy, without gathers.

oneDNN has no gather, and each call of dpnp costs as much as many primitives. So a row's entry at
its target is picked by comparing the target with the number of each class. The comparison cannot
be written as int8: with such a result oneDNN reads operands that broadcast at wrong places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.functional.activation.softmax import log_normalized
from sycl_dnn.functional.loss.loss_reduction import (
    check_dtypes,
    checked_reduction,
    loss,
    promoted,
    reduced,
    reduced_rows,
    total,
)
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout, nan_kept
from sycl_dnn.trace.pointwise import (
    ABS,
    IS_POSITIVE,
    LARGEST,
    ROOT,
    chain,
    choose,
    clip,
    fused,
    linear_map,
    minus,
    mul,
    plus,
    power,
    scale,
    times,
    zeros,
)
from sycl_dnn.trace.pointwise_gradients import select
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, grid, reshape, row_major, transpose

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


#: From 1 to 0 and from 0 to minus infinity; oneDNN's own logarithm of 1 is 1.3e-6.
_LOG = (scale(1, -1), scale(LARGEST), scale(LARGEST))
#: Beyond it, float32 takes neighbouring numbers for one.
_MOST_CLASSES = 1 << 24
_INDICES = ("int64", "int32", "int8", "uint8")


def is_index(dtype: str) -> bool:
    """Whether class indices may have this dtype."""
    return dtype in _INDICES


def as_float(target: Tensor) -> Tensor:
    """Return class indices as float32 (1, M, 1), exact up to 2**24."""
    if target.dtype != "int64":
        return _column(target)
    halves = target.halves()
    low, high = (
        _column(halves.view(target.shape, tuple(2 * s for s in target.strides), step))
        for step in (0, 1)
    )
    # The lower half has its own sign: what it adds up to is off by 2**32 where it is negative.
    zero = filled(target.trace, 0.0, (1, 1, 1), "float32")
    return fused(algorithm.binary_lt, low, zero, plus(high), scale(2.0**32), plus(low))


def _column(x: Tensor) -> Tensor:
    """Return the elements as dense float32 (1, M, 1), float64 if they are."""
    dtype = dtypes.wide(x.dtype)
    dense = x.trace.reorder(x, layout.row_major(x.shape, dtype))
    return grid(dense, (1, dense.size, 1))


@dataclass
class Rows:
    """Rows of log-probabilities (M, C), their targets, and how they count."""

    #: (1, M, C), dense.
    logs: Tensor
    #: (1, M, 1), float32.
    target: Tensor
    #: (1, 1, C), float32; None for ones.
    weight: Tensor | None
    ignore_index: int
    smoothing: float

    def __post_init__(self) -> None:
        values = np.arange(self.logs.shape[2], dtype=np.float32)
        #: The number of each class.
        self.classes = self.logs.trace.literal(values.reshape(1, 1, -1))

    def shares(self, *steps: tuple) -> Tensor:
        """Return how much of each entry counts, 1 at the target, after ``steps``."""
        # Nothing is less than itself: zeros, whatever the entries are. No element-wise step may
        # come first: oneDNN would then take ``weight`` for ``classes``.
        hits = (plus(self.classes), (algorithm.binary_eq, self.target))
        return fused(algorithm.binary_lt, self.logs, self.logs, *hits, *steps)

    def _factors(self) -> list[tuple]:
        """Return the steps from hits to what they count, smoothed and weighted."""
        made = []
        if self.smoothing:
            made.append(scale(1 - self.smoothing, self.smoothing / self.logs.shape[2]))
        return made if self.weight is None else [*made, times(self.weight)]

    def _reduced(self, x: Tensor, kind: algorithm = algorithm.reduction_sum) -> Tensor:
        wide = dtypes.wide(x.dtype)
        n_rows, n_classes = x.shape[1:]
        return grid(reduced_rows(grid(x, (n_rows, n_classes)), wide, kind), (1, n_rows, 1))

    def kept(self) -> tuple[Tensor, Tensor]:
        """Return 1 where the target is a class, as int8, else 0; and how often a row counts.

        That is 0 for ignored rows and infinity for targets that are not classes.
        """
        t = self.target
        counts = chain(t, scale(1, -self.ignore_index), ABS, clip(0, 1))
        is_none = chain(t, clip(0, self.logs.shape[2] - 1), minus(t), ABS, clip(0, 1))
        is_class = fused(algorithm.binary_gt, counts, is_none, dtype="int8")
        often = chain(is_none, times(counts), scale(-1, 1), power(-1), times(counts))
        return is_class, often

    def is_counted(self) -> Tensor:
        """Return 0 where the target is the one to ignore, else 1, as int8."""
        distance = (scale(1, -self.ignore_index), ABS, clip(0, 1))
        return chain(self.target, *distance, dtype="int8")

    def picked(self) -> Tensor:
        """Return the weighted sums of the entries that count, (1, M, 1)."""
        if self.smoothing:
            return self._reduced(self.shares(*self._factors(), times(self.logs)))
        made = self._at_target(self.logs)
        return made if self.weight is None else fused(algorithm.binary_mul, made, self.weights())

    def _at_target(self, x: Tensor) -> Tensor:
        """Return the entries of ``x`` (1, M, C) or (1, 1, C) at the targets, (1, M, 1)."""
        # Not a product: that would fail for infinite entries.
        # The bounds make minus infinity of the NaN that an infinite entry elsewhere comes to.
        entries = self.shares(*_LOG, plus(x), clip(-math.inf, math.inf))
        made = self._reduced(entries, algorithm.reduction_max)
        # A maximum of nothing but minus infinity comes out as the lowest finite number.
        is_finite = (scale(1, LARGEST), *IS_POSITIVE)
        made = chain(made, *is_finite, *_LOG, plus(made))
        if nan_kept.is_asked_for(made):
            made = fused(algorithm.binary_add, made, self._nan_at_target(x))
        return made

    def _nan_at_target(self, x: Tensor) -> Tensor:
        """Return NaN where ``x`` is NaN at the target or the target is no class, else 0."""
        is_number = fused(algorithm.binary_eq, x, x)
        return chain(self._reduced(self.shares(times(is_number))), scale(1, -1), ROOT)

    def weights(self) -> Tensor:
        """Return the weights of the targets, (1, M, 1)."""
        return self._at_target(self.weight)

    def elements(self, is_class: Tensor, often: Tensor) -> Tensor:
        """Return the losses of the rows, (1, M, 1)."""
        nothing = filled(often.trace, 0.0, (1, 1, 1), often.dtype)
        return choose(is_class, self.picked(), nothing, times(often), scale(-1))

    def divisor(self, often: Tensor) -> Tensor:
        """Return the sum of the weights of the targets, (1, 1, 1)."""
        if self.weight is not None:
            # Ignored rows have no weight, and 0 times that would be NaN.
            nothing = filled(often.trace, 0.0, (1, 1, 1), often.dtype)
            weighted = fused(algorithm.binary_mul, often, self.weights())
            often = choose(self.is_counted(), weighted, nothing)
        return grid(total(often), (1, 1, 1))

    def slope_at(self, factor: Tensor) -> Tensor:
        """Return the gradient of the losses times ``factor`` (1, M, 1); 0 for ignored rows."""
        # Theirs is not a product: if all are ignored, it would be that of 0 and infinity.
        nothing = filled(factor.trace, 0.0, (1, 1, 1), factor.dtype)
        factor = choose(self.is_counted(), factor, nothing, scale(-1))
        if self.smoothing or self.weight is None or not nan_kept.is_asked_for(factor):
            return self.shares(*self._factors(), times(factor))
        # A product with 0 would make NaN of infinite weights of other classes.
        factor = fused(algorithm.binary_mul, factor, self.weights())
        hits = factor.trace.convert(self.shares(), "bool")
        return factor.trace.convert(select(hits, factor, nothing), self.logs.dtype)


def class_loss(rows: Rows, x: Tensor, shape: tuple[int, ...], reduction: str) -> Tensor:
    """Record the loss of rows, which show the tensor ``x``; ``shape`` is that of the targets."""
    state: list[Tensor] = []

    def value() -> Tensor:
        is_class, often = rows.kept()
        made = rows.elements(is_class, often)
        state[:] = [often]
        if reduction == "none":
            return grid(x.trace.convert(made, x.dtype), shape)
        made = total(made)
        if reduction == "mean":
            state.append(rows.divisor(often))
            made = fused(algorithm.binary_div, grid(made, (1, 1, 1)), state[1])
        return grid(x.trace.convert(made, x.dtype), ())

    def gradient(dy: Tensor) -> dict[str, Tensor]:
        dy = x.trace.convert(reshape(dy, (1, dy.size, 1)), state[0].dtype)
        if reduction == "mean":
            dy = fused(algorithm.binary_div, dy, state[1])
        return {"x": reshape(rows.slope_at(fused(algorithm.binary_mul, state[0], dy)), x.shape)}

    def composed() -> Tensor:
        """Record the loss as a sum of products, whose other factors do not depend on ``x``."""
        _, often = rows.kept()
        if reduction == "mean":
            often = fused(algorithm.binary_div, often, rows.divisor(often))
        products = mul(x, reshape(rows.slope_at(often), x.shape))
        if reduction == "none":
            return reshape(reduce(algorithm.reduction_sum, products, (1,)), shape)
        return reshape(reduce(algorithm.reduction_sum, products, (0, 1)), ())

    return x.trace.closed({"x": x}, value, gradient, composed)


def loss_of_nothing(x: Tensor, shape: tuple[int, ...], reduction: str) -> Tensor:
    """Record the loss of no rows."""
    trace = x.trace

    def value() -> Tensor:
        if reduction == "none":
            return zeros(trace, shape, x.dtype)
        return total(zeros(trace, (0,), x.dtype), math.nan if reduction == "mean" else 1.0)

    return trace.closed({"x": x}, value, lambda dy: {"x": zeros(trace, x.shape, x.dtype)})


# --- Losses of classes: nll_loss and cross_entropy

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
    n_classes = input.shape[min(input.ndim - 1, 1)]
    if n_classes > _MOST_CLASSES:
        raise ValueError(f"{name}: input must have at most 2**24 classes, got {n_classes}")
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

    NaN at that class gives infinity, unless ``set_nan("propagate")``.

    input : dpnp.ndarray or Array (N, C, *) or (C,)
        Logarithms of probabilities.
    target : dpnp.ndarray (N, *) or ()
        int64, int32, int8 or uint8; 0 to C - 1. Other numbers give NaN.
    weight : dpnp.ndarray or Array (C,), optional
        Weights of the classes; the mean divides by the sum of those of the targets.
    ignore_index : int
        A target to ignore.
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

    A row with NaN or infinity gives infinity, unless ``set_nan("propagate")``: then NaN. Its
    gradient is NaN.

    input : dpnp.ndarray or Array (N, C, *) or (C,)
        Any numbers.
    target : dpnp.ndarray (N, *) or (), or dpnp.ndarray or Array (N, C, *) or (C,)
        Class indices, as for ``nll_loss``, or probabilities of all classes; then dtypes that differ
        are promoted.
    weight : dpnp.ndarray or Array (C,), optional
        Weights of the classes. With indices the mean divides by the sum of the targets' weights.
    ignore_index : int
        A class index to ignore.
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
    logs = log_normalized(_rows_of(input), 1)
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
