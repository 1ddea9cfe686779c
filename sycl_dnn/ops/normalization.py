# SPDX-License-Identifier: Apache-2.0
"""Normalization of (N, C, *S) by statistics of channels, or of groups of channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.ops.arithmetic import MAXIMUM, RSQRT, STOP_GRADIENT
from sycl_dnn.ops.selection import narrow
from sycl_dnn.ops.shape import SUM, broadcast_to, reshape, sum_to

Axes = Sequence[int]
#: Elements of each slice from which a first estimate of its mean is made.
_SAMPLE = 16


def statistics(x: Node, axes: Axes, groups: int, eps: float) -> tuple[Node, Node, Node]:
    """Return mean, biased variance and scale of slices, in one pass over ``x``.

    An estimate of the mean is subtracted first, so that squares do not cancel where a mean is many
    standard deviations from zero.

    ``x``: node (N, C, *S), of a dtype wide enough for sums; ``axes``: all but the channels', and
    the samples' if each has its own statistics; ``groups``: of channels, which share statistics;
    ``eps``: added to the variance: ``scale = 1 / sqrt(variance + eps)``. With the channels, and
    size 1 along ``axes``.
    """
    sample = x
    for axis in reversed(axes):
        size = x.shape[axis]
        length = min(size, max(1, _SAMPLE // math.prod(sample.shape[k] for k in axes if k > axis)))
        sample = narrow(sample, axis, (size - length) // 2, length)
    estimate = STOP_GRADIENT(_mean(SUM(sample, axes=tuple(axes)), sample))
    deviation = x - estimate
    first = _mean(SUM(deviation, axes=tuple(axes)), x)
    second = _mean(SUM(deviation * deviation, axes=tuple(axes)), x)
    mean, variance = estimate + first, MAXIMUM(second - first * first, number(0, x.dtype))
    if groups == x.shape[1]:
        return mean, variance, RSQRT(variance + eps)
    shape = _in_groups(mean, groups)
    mean, variance = reshape(mean, shape), reshape(variance, shape)
    group_mean = _mean(SUM(mean, axes=(2,)), mean)
    deviation = mean - group_mean
    variance = _mean(SUM(variance + deviation * deviation, axes=(2,)), mean)
    of_groups = (group_mean, variance, RSQRT(variance + eps))
    return tuple([_of_channels(v, shape) for v in of_groups])  # type: ignore[return-value]


def _mean(sums: Node, x: Node) -> Node:
    return sums / float(x.size // sums.size)


def _in_groups(x: Node, groups: int) -> tuple[int, ...]:
    """Return the shape of (N, C, *S) with an axis of the groups before that of their channels."""
    n, channels, *rest = x.shape
    return (n, groups, channels // groups, *rest)


def _of_channels(of_groups: Node, shape: tuple[int, ...]) -> Node:
    """Return the values of groups of channels, repeated for each channel."""
    n, groups, size, *rest = shape
    return reshape(broadcast_to(of_groups, shape), (n, groups * size, *rest))


def _mean_of_groups(sums: Node, x: Node, groups: int) -> Node:
    """Return the means over groups of channels from the sums of channels, for each channel."""
    if groups == sums.shape[1]:
        return _mean(sums, x)
    shape = _in_groups(sums, groups)
    parts = SUM(reshape(sums, shape), axes=(2,))
    return _of_channels(_mean(parts, x), shape)


def row_statistics(x: Node, axes: Axes, eps: float) -> tuple[Node, Node, Node]:
    """Return mean, biased variance and scale of slices of all elements along axes."""
    mean = _mean(SUM(x, axes=tuple(axes)), x)
    deviation = x - mean
    variance = _mean(SUM(deviation * deviation, axes=tuple(axes)), x)
    return mean, variance, RSQRT(variance + eps)


def row_scale(x: Node, axes: Axes, eps: float) -> tuple[Node, Node]:
    """Return the mean square of slices, and the scale of root-mean-square normalization."""
    square = _mean(SUM(x * x, axes=tuple(axes)), x)
    return square, RSQRT(square + eps)


def _apart(x: Node, mean: Sequence[Node]) -> Node:
    return x - mean[0] if mean else x


def _split(inputs: Sequence[Node], has_mean: bool, has_weight: bool) -> list[tuple[Node, ...]]:
    """Return mean, weight and bias, each empty if there is none."""
    ends = (2 + has_mean, 2 + has_mean + has_weight)
    return [tuple(inputs[a:b]) for a, b in ((2, ends[0]), ends, (ends[1], len(inputs)))]


def _has_one_each(vectors: Sequence[Node], axes: Axes) -> bool:
    """Whether weight and bias are the same in a whole slice."""
    return all(v.shape[k] == 1 for v in vectors for k in axes)


def _normalized(*inputs: Node, axes: Axes, groups: int, has_mean: bool, has_weight: bool) -> Node:
    x, scale = inputs[:2]
    mean, weight, bias = _split(inputs, has_mean, has_weight)
    result = _apart(x, mean)
    if weight:
        is_of_slices = _has_one_each(weight, axes)
        result = result * (scale * weight[0]) if is_of_slices else result * scale * weight[0]
    else:
        result = result * scale
    return result + bias[0] if bias else result


def _normalized_vjp(node: Node, g: Node) -> list[Node | None]:
    """Return the whole gradient of ``x``, that through its statistics included."""
    x, scale = node.inputs[:2]
    axes, groups = tuple(node.attributes["axes"]), node.attributes["groups"]
    has_mean, has_weight = node.attributes["has_mean"], node.attributes["has_weight"]
    mean, weight, bias = _split(node.inputs, has_mean, has_weight)
    plain = _apart(x, mean) * scale
    is_of_slices = _has_one_each((*weight, *bias), axes)
    scaled_grad = g if is_of_slices or not weight else g * weight[0]
    sums, products = SUM(scaled_grad, axes=axes), SUM(scaled_grad * plain, axes=axes)
    of_vectors = [sum_to(products if is_of_slices else g * plain, w.shape) for w in weight]
    of_vectors += [sum_to(sums if is_of_slices else g, b.shape) for b in bias]
    if is_of_slices and weight:
        sums, products, scaled_grad = sums * weight[0], products * weight[0], g * weight[0]
    slope = _mean_of_groups(products, x, groups)
    centered = scaled_grad - _mean_of_groups(sums, x, groups) if mean else scaled_grad
    return [(centered - plain * slope) * scale, None, *[None] * len(mean), *of_vectors]


#: ``(x - mean) * scale * weight + bias``: mean and scale are statistics of ``x``. There may be no
#: mean, weight or bias.
NORMALIZED = Operation(
    "normalized",
    lambda inputs, **_: (inputs[0].shape, inputs[0].dtype),
    _normalized_vjp,
    definition=_normalized,
)


def normalized(
    x: Node,
    *vectors: Node,
    axes: Axes,
    groups: int,
    eps: float,
    has_weight: bool,
    rows: Node | None = None,
) -> tuple[Node, Node, Node, Node]:
    """Normalize slices: see ``statistics``; return the result, mean, variance and scale.

    The vectors are weight, if ``has_weight``, and bias, if it is given: they have the channels, and
    size 1 along all other axes. ``rows`` is ``x`` as (N, groups, -1).
    """
    if rows is None:
        mean, variance, scale = statistics(x, axes, groups, eps)
    else:
        shape = (*rows.shape[:2], x.shape[1] // groups, *[1] * (x.ndim - 2))
        of_rows = [reshape(v, (*rows.shape[:2], *[1] * (x.ndim - 1)))
                 for v in statistics(rows, (2,), groups, eps)]  # fmt: skip
        mean, variance, scale = (_of_channels(v, shape) for v in of_rows)
    kinds = {"axes": tuple(axes), "groups": groups, "has_weight": has_weight}
    result = NORMALIZED(x, scale, mean, *vectors, has_mean=True, **kinds)
    return result, mean, variance, scale


def normalized_rows(
    x: Node, *vectors: Node, eps: float, is_centered: bool, has_weight: bool
) -> tuple[Node, ...]:
    """Normalize the rows of (M, K): return the result, the mean if they are centered, and variance.

    The vectors, weight and bias, are of shape (1, K).
    """
    *mean, variance, scale = (
        row_statistics(x, (1,), eps) if is_centered else row_scale(x, (1,), eps)
    )
    result = NORMALIZED(
        x, scale, *mean, *vectors, axes=(1,), groups=1, has_mean=is_centered, has_weight=has_weight
    )
    return result, *mean, variance
