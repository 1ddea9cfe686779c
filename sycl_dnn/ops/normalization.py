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


def statistics(x: Node, axes: Axes, groups: int) -> tuple[Node, Node]:
    """Return mean and biased variance of slices, in one pass over ``x``.

    An estimate of the mean is subtracted first, so that squares do not cancel where a mean is many
    standard deviations from zero.

    Parameters
    ----------
    x : Node (N, C, *S)
        Of a dtype wide enough for sums.
    axes : sequence of int
        All but the channels', and the samples' if each has its own statistics.
    groups : int
        Of channels, which share statistics.

    Returns
    -------
    tuple of Node
        With the channels, and size 1 along ``axes``.
    """
    sample = x
    for axis in reversed(axes):
        size = x.shape[axis]
        length = min(size, max(1, _SAMPLE // math.prod(sample.shape[k] for k in axes if k > axis)))
        sample = narrow(sample, axis, (size - length) // 2, length)
    estimate = STOP_GRADIENT(_mean(SUM(sample, axes=tuple(axes)), sample, groups))
    apart = x - estimate
    first = _mean(SUM(apart, axes=tuple(axes)), x, groups)
    second = _mean(SUM(apart * apart, axes=tuple(axes)), x, groups)
    variance = MAXIMUM(second - first * first, number(0, x.dtype))
    return estimate + first, variance


def _mean(sums: Node, x: Node, groups: int) -> Node:
    """Return the means over groups of channels from the sums of channels, for each channel."""
    return _of_groups(sums, groups) / float(x.size // (sums.size // sums.shape[1] * groups))


def _of_groups(x: Node, groups: int) -> Node:
    """Add up the channels of each group; every channel has the sum."""
    n, channels, *rest = x.shape
    if groups == channels:
        return x
    parts = reshape(x, (n, groups, channels // groups, *rest))
    return reshape(broadcast_to(SUM(parts, axes=(2,)), parts.shape), x.shape)


def _normalized(
    x: Node, mean: Node, scale: Node, *vectors: Node, axes: Axes, groups: int, has_weight: bool
) -> Node:
    made = (x - mean) * (scale * vectors[0] if has_weight else scale)
    return made + vectors[-1] if len(vectors) > has_weight else made


def _normalized_vjp(node: Node, g: Node) -> list[Node | None]:
    """Return the whole gradient of ``x``, that through its statistics included."""
    x, mean, scale, *vectors = node.inputs
    axes, groups = tuple(node.attributes["axes"]), node.attributes["groups"]
    plain = (x - mean) * scale
    sums, products = SUM(g, axes=axes), SUM(g * plain, axes=axes)
    found: list[Node | None] = []
    weight = None
    if node.attributes["has_weight"]:
        weight = vectors[0]
        found.append(sum_to(products, weight.shape))
    if len(vectors) > len(found):
        found.append(sum_to(sums, vectors[-1].shape))
    if weight is not None:
        sums, products, g = sums * weight, products * weight, g * weight
    less, slope = _mean(sums, x, groups), _mean(products, x, groups)
    return [(g - less - plain * slope) * scale, None, None, *found]


#: ``(x - mean) * scale * weight + bias``: mean and scale are statistics of ``x``.
NORMALIZED = Operation(
    "normalized",
    lambda inputs, **_: (inputs[0].shape, inputs[0].dtype),
    _normalized_vjp,
    definition=_normalized,
)


def normalized(
    x: Node, *vectors: Node, axes: Axes, groups: int, eps: float, has_weight: bool
) -> tuple[Node, Node, Node, Node]:
    """Normalize slices: see ``statistics``; return the result, mean, variance and scale.

    The vectors are weight, if ``has_weight``, and bias, if it is given: they have the channels, and
    size 1 along all other axes.
    """
    mean, variance = statistics(x, axes, groups)
    scale = RSQRT(variance + eps)
    kinds = {"axes": tuple(axes), "groups": groups, "has_weight": has_weight}
    return NORMALIZED(x, mean, scale, *vectors, **kinds), mean, variance, scale
