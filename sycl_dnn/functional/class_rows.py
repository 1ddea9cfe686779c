# SPDX-License-Identifier: Apache-2.0
"""Losses of rows of log-probabilities against class indices, without gathers.

oneDNN has no gather, and each call of dpnp costs as much as many primitives. So a row's entry at
its target is picked by comparing the target with the number of each class. The comparison cannot
be written as int8: with such a result oneDNN reads operands that broadcast at wrong places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.broadcasting import grid
from sycl_dnn.dispatch.fused import (
    ABS,
    IS_POSITIVE,
    LARGEST,
    chain,
    choose,
    clip,
    fused,
    minus,
    plus,
    power,
    scale,
    times,
)
from sycl_dnn.dispatch.primitives import filled, zeros
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.loss_reduction import reduced_rows, total

#: From 1 to 0 and from 0 to minus infinity; oneDNN's own logarithm of 1 is 1.3e-6.
_LOG = (scale(1, -1), scale(LARGEST), scale(LARGEST))
_INDICES = ("int64", "int32", "int8", "uint8")


def is_index(dtype: str) -> bool:
    """Whether class indices may have this dtype."""
    return dtype in _INDICES


def as_float(target: Tensor) -> Tensor:
    """Return class indices as float32 (1, M, 1), exact up to 2**24."""
    trace, shape, strides = target.trace, target.shape, target.strides
    if target.dtype == "int64":
        # The lower halves; beyond 2**31 there are no classes.
        target = target.halves().view(shape, tuple(2 * s for s in strides))
    dense = trace.reorder(target, layout.row_major(shape, "float32"))
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
        wide = "float64" if x.dtype == "float64" else "float32"
        n_rows, n_classes = x.shape[1:]
        return grid(reduced_rows(grid(x, (n_rows, n_classes)), wide, kind), (1, n_rows, 1))

    def kept(self) -> tuple[Tensor, Tensor]:
        """Return 1 where the target is a class, as int8, else 0; and how often a row counts.

        That is 0 for ignored rows and infinity for targets that are no classes.
        """
        t = self.target
        counts = chain(t, scale(1, -self.ignore_index), ABS, clip(0, 1))
        is_none = chain(t, clip(0, self.logs.shape[2] - 1), minus(t), ABS, clip(0, 1))
        is_class = fused(algorithm.binary_gt, counts, is_none, dtype="int8")
        often = chain(is_none, times(counts), scale(-1, 1), power(-1), times(counts))
        return is_class, often

    def picked(self) -> Tensor:
        """Return the weighted sums of the entries that count, (1, M, 1)."""
        if self.smoothing:
            return self._reduced(self.shares(*self._factors(), times(self.logs)))
        # Not a product: that would fail for infinite entries.
        entries = self.shares(*_LOG, plus(self.logs))
        made = self._reduced(entries, algorithm.reduction_max)
        # A maximum of nothing but minus infinity comes out as the lowest finite number.
        is_finite = (scale(1, LARGEST), *IS_POSITIVE)
        made = chain(made, *is_finite, *_LOG, plus(made))
        return made if self.weight is None else fused(algorithm.binary_mul, made, self.weights())

    def weights(self) -> Tensor:
        """Return the weights of the targets, (1, M, 1)."""
        return self._reduced(self.shares(times(self.weight)))

    def elements(self, is_class: Tensor, often: Tensor) -> Tensor:
        """Return the losses of the rows, (1, M, 1)."""
        nothing = filled(often.trace, 0.0, (1, 1, 1), often.dtype)
        return choose(is_class, self.picked(), nothing, times(often), scale(-1))

    def divisor(self, often: Tensor) -> Tensor:
        """Return the sum of the weights of the targets, (1, 1, 1)."""
        if self.weight is not None:
            often = fused(algorithm.binary_mul, often, self.weights())
        return grid(total(often), (1, 1, 1))

    def slope(self, factor: Tensor) -> Tensor:
        """Return the gradient of the picked entries times ``factor``, which broadcasts."""
        return self.shares(*self._factors(), times(factor))


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
        factor = fused(algorithm.binary_mul, state[0], dy, scale(-1))
        # Compared with themselves alone, so the gradient does not depend on them.
        x.trace.view(x, rows.logs, lambda g: reshape(g, x.shape))
        return {"x": reshape(rows.slope(factor), x.shape)}

    return x.trace.closed({"x": x}, value, gradient)


def loss_of_nothing(x: Tensor, shape: tuple[int, ...], reduction: str) -> Tensor:
    """Record the loss of no rows."""
    trace = x.trace

    def value() -> Tensor:
        if reduction == "none":
            return zeros(trace, shape, x.dtype)
        return total(zeros(trace, (0,), x.dtype), math.nan if reduction == "mean" else 1.0)

    return trace.closed({"x": x}, value, lambda dy: {"x": zeros(trace, x.shape, x.dtype)})
