# SPDX-License-Identifier: Apache-2.0
"""Line search for the strong Wolfe conditions; Nocedal and Wright, "Numerical Optimization"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: Parameters of the sufficient-decrease and curvature conditions.
_DECREASE, _CURVATURE = 1e-4, 0.9
_MOST = 25


class Point(NamedTuple):
    """A point on the line: distance, value, gradient and slope along the line."""

    t: float
    f: float
    g: Any
    slope: float


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Return the minimizer of the cubic through two points with given slopes."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    low, high = bounds or (a.t, b.t)
    with np.errstate(all="ignore"):
        width = np.float64(b.t) - a.t
        mean = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - np.float64(b.t))
        square = mean * mean - a.slope * b.slope
        if not square >= 0:
            return (low + high) / 2.0
        root = np.sqrt(square)
        minimum = b.t - width * ((b.slope + root - mean) / (b.slope - a.slope + 2 * root))
    return float(min(max(minimum, low), high)) if math.isfinite(minimum) else (low + high) / 2.0


def strong_wolfe(
    at: Callable[[float], Point], t: float, start: Point, size: float, least_change: float
) -> tuple[Point, int]:
    """Find a point that satisfies the strong Wolfe conditions; count the evaluations.

    ``at``: ``at(t)`` returns the point at distance ``t``; ``t``: the first distance to try;
    ``start``: at distance 0; ``size``: the largest absolute element of the direction;
    ``least_change``: the search ends if the bracket is too narrow to move any parameter by more.
    """
    bracket, n, is_done = _bracketed(at, t, start)
    # Lower value first.
    bracket.sort(key=lambda point: point.f)
    is_slow = False
    while not is_done and n <= _MOST:
        low, high = bracket
        if abs(high.t - low.t) * size < least_change:
            break
        t, is_slow = _inside(low, high, is_slow)
        new, n = at(t), n + 1
        if _is_too_high(new, start) or not new.f < low.f:
            bracket = sorted([low, new], key=lambda point: point.f)
            continue
        is_done = _is_flat(new, start)
        if not is_done and new.slope * (high.t - low.t) >= 0:
            high = low
        bracket = [new, high]
    return bracket[0], n


def _is_too_high(new: Point, start: Point) -> bool:
    return new.f > start.f + _DECREASE * new.t * start.slope


def _is_flat(new: Point, start: Point) -> bool:
    return abs(new.slope) <= -_CURVATURE * start.slope


def _bracketed(
    at: Callable[[float], Point], t: float, start: Point
) -> tuple[list[Point], int, bool]:
    """Return points on both sides of a minimum, or a single acceptable point."""
    old, new = start, at(t)
    for n in range(1, _MOST + 1):
        if _is_too_high(new, start) or (n > 2 and new.f >= old.f):
            return [old, new], n, False
        if _is_flat(new, start):
            return [new], n, True
        if new.slope >= 0:
            return [old, new], n, False
        bounds = (new.t + 0.01 * (new.t - old.t), new.t * 10)
        old, new = new, at(cubic_minimum(old, new, bounds))
    return [start, new], _MOST + 1, False


def _inside(low: Point, high: Point, is_slow: bool) -> tuple[float, bool]:
    """Return a distance inside the bracket, and whether it is close to an end."""
    first, last = sorted((low.t, high.t))
    t = cubic_minimum(low, high)
    least = 0.1 * (last - first)
    if min(last - t, t - first) >= least:
        return t, False
    if not is_slow and first < t < last:
        return t, True
    return (last - least if abs(t - last) < abs(t - first) else first + least), False
