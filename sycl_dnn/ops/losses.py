# SPDX-License-Identifier: Apache-2.0
"""Classification losses, along an axis of scores.

Each function returns the loss, followed by the values that its gradient reuses (for ``computed``):
maxima, sums of exponentials, and the sum of weights.
"""

from __future__ import annotations

import math

from sycl_dnn.ir.node import Node, number
from sycl_dnn.ops.arithmetic import (
    EQ,
    EXP_NONPOSITIVE,
    GE,
    LOG,
    LOGICAL_AND,
    LT,
    STOP_GRADIENT,
    cast,
    where,
)
from sycl_dnn.ops.reduction import MAX, MEAN
from sycl_dnn.ops.selection import gather
from sycl_dnn.ops.shape import SUM, broadcast_to


class Scores:
    """Class scores as log-probabilities.

    ``is_normalized``: whether ``x`` is already log-probabilities. ``saved``: values that the
    gradient reuses.
    """

    def __init__(self, x: Node, axis: int, *, is_normalized: bool) -> None:
        self._x, self._axis, self.logs = x, axis, x
        self._shifts: list[Node] = []
        self.saved: list[Node] = []
        if not is_normalized:
            largest = MAX(x, axes=(axis,))
            shifted = x - STOP_GRADIENT(largest)
            total = SUM(EXP_NONPOSITIVE(shifted), axes=(axis,))
            self.saved, self._shifts = [largest, total], [STOP_GRADIENT(largest), LOG(total)]
            self.logs = shifted - self._shifts[1]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._x.shape[self._axis]

    def of_classes(self, index: Node) -> Node:
        """Return the log-probabilities of class indices."""
        logs = gather(self._x, [index], [self._axis])
        for shift in self._shifts:
            logs = logs - shift
        return logs

    def summed(self, factors: Node | None) -> Node:
        """Return the weighted sum of log-probabilities over classes."""
        entries = self.logs if factors is None else self.logs * factors
        return SUM(entries, axes=(self._axis,))


def loss_of_indices(
    scores: Scores, target: Node, weight: Node | None, *, axis: int, ignore_index: int,
    smoothing: float, reduction: str,
) -> tuple[Node, ...]:  # fmt: skip
    """Return the loss for class indices.

    ``target``: int64, with size 1 along the axis. Invalid indices give NaN. ``weight``: class
    weights, with the rank of the scores. ``smoothing``: share of each target that is distributed
    evenly over all classes.
    """
    dtype = scores.logs.dtype
    zero, n = number(0, dtype), scores.n_classes
    is_ignored = EQ(target, number(ignore_index, "int64"))
    is_class = LOGICAL_AND(GE(target, number(0, "int64")), LT(target, number(n, "int64")))
    index = cast(where(is_class, target, number(0, "int64")), "int32")
    one = broadcast_to(number(1, dtype), target.shape)
    factor = one if weight is None else gather(weight, [index], [axis])
    factor = where(is_class, factor, number(math.nan, dtype))
    factor = where(is_ignored, zero, factor)
    losses = -scores.of_classes(index) * factor
    if smoothing:
        losses = losses * (1 - smoothing) - scores.summed(weight) * (smoothing / n)
    losses = where(is_ignored, zero, losses)
    if reduction == "none":
        return (losses, *scores.saved)
    axes = tuple(range(target.ndim))
    total = SUM(losses, axes=axes)
    if reduction == "sum":
        return (total, *scores.saved)
    divisor = SUM(factor, axes=axes)
    return (total / divisor, *scores.saved, divisor)


def loss_of_shares(
    scores: Scores, target: Node, weight: Node | None, *, smoothing: float, reduction: str
) -> tuple[Node, ...]:
    """Return the loss for target probabilities, of the shape of the scores."""
    if smoothing:
        target = target * (1 - smoothing) + smoothing / scores.n_classes
    losses = -scores.summed(target if weight is None else target * weight)
    if reduction != "none":
        losses = (SUM if reduction == "sum" else MEAN)(losses, axes=tuple(range(losses.ndim)))
    return (losses, *scores.saved)
