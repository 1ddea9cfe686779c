# SPDX-License-Identifier: Apache-2.0
"""PyTorch's rules of resizing one axis: which elements a result is made of, and with what weights.

``scale`` is input elements per result element, as PyTorch computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sycl_dnn.functional.pieces import Span

#: The support and the weights of the interpolation kernels.
Kernel = tuple[float, Callable[[np.ndarray, float], np.ndarray]]


def nearest_indices(n_in: int, n_out: int, scale: float, exact: bool) -> np.ndarray:
    """Return the element that each result repeats, in float32 as PyTorch rounds.

    For a size that does not change, or doubles, some of PyTorch's kernels ignore a scale_factor
    of another value, and its gradients always do; here it counts.
    """
    at, scale = np.arange(n_out), np.float32(scale)
    if exact:
        # By way of centres, which a fused multiplication gives rounded once: that decides ties.
        centres = (np.float64(scale) * (at + 0.5) - 0.5).astype(np.float32)
        indices = np.floor(np.maximum(centres, 0) + np.float32(0.5))
    else:
        indices = np.floor(at.astype(np.float32) * scale)
    return np.minimum(indices.astype(np.int64), n_in - 1)


def span_pairs(indices: np.ndarray, n_in: int) -> list[tuple[Span, Span]]:
    """Return few regular pieces that copy element ``indices[i]`` to ``i``: sources, targets."""
    n_out = len(indices)
    # Where the sizes have a common divisor, the pattern repeats.
    repeats = math.gcd(n_in, n_out)
    period, step = n_out // repeats, n_in // repeats
    pattern = indices[:period] + step * np.arange(repeats)[:, None]
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    if len(breaks) < period or (pattern.ravel() != indices).any():
        starts, ends = [0, *breaks.tolist()], [*breaks.tolist(), n_out]
        pairs = zip(starts, ends, strict=True)
        return [(Span(int(indices[a]), b - a), Span(a, b - a)) for a, b in pairs]
    return [(Span(int(indices[i]), repeats, step), Span(i, repeats, period)) for i in range(period)]


def _centres(n_out: int, scale: float, align_corners: bool) -> np.ndarray:
    """Return the coordinate that each result samples, in input elements."""
    at = np.arange(n_out, dtype=np.float64)
    return at * scale if align_corners else (at + 0.5) * scale - 0.5


def _triangle(distance: np.ndarray, _: float = 0.0) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


_LINEAR: Kernel = (1.0, _triangle)
_CUBIC: Kernel = (2.0, _cubic)
#: The coefficient of the cubic kernel; with antialiasing PyTorch follows Pillow.
_A, _A_ANTIALIAS = -0.75, -0.5


def _clamped(columns: np.ndarray, weights: np.ndarray, n_in: int) -> np.ndarray:
    """Return the matrix with weights at columns; those outside count for the edge."""
    matrix = np.zeros((len(columns), n_in))
    rows = np.broadcast_to(np.arange(len(columns))[:, None], columns.shape)
    np.add.at(matrix, (rows, np.clip(columns, 0, n_in - 1)), weights)
    return matrix


def weights(
    n_in: int, n_out: int, scale: float, cubic: bool, align_corners: bool, antialias: bool
) -> np.ndarray:
    """Return the matrix (n_out, n_in) of linear or cubic interpolation."""
    if n_in == n_out and (antialias or not cubic):
        return np.eye(n_in)  # whatever the scale
    if antialias:
        return _antialiased(n_in, n_out, scale, cubic)
    support, kernel = _CUBIC if cubic else _LINEAR
    at = _centres(n_out, scale, align_corners)
    if not cubic:
        at = np.maximum(at, 0)
    first = np.floor(at).astype(np.int64) - int(support) + 1
    columns = first[:, None] + np.arange(int(2 * support))
    return _clamped(columns, kernel(at[:, None] - columns, _A), n_in)


def _antialiased(n_in: int, n_out: int, scale: float, cubic: bool) -> np.ndarray:
    """Return the matrix of a kernel that is stretched over what a result element covers."""
    support, kernel = _CUBIC if cubic else _LINEAR
    stretch = max(scale, 1.0)
    # Half elements are the centres whatever align_corners says; that decides on the scale only.
    centres = (np.arange(n_out) + 0.5) * scale
    reach = support * stretch
    columns = np.arange(n_in)
    low = np.maximum((centres - reach + 0.5).astype(np.int64), 0)
    high = np.minimum((centres + reach + 0.5).astype(np.int64), n_in)
    matrix = kernel((columns - centres[:, None] + 0.5) / stretch, _A_ANTIALIAS)
    matrix *= (columns >= low[:, None]) & (columns < high[:, None])
    return matrix / matrix.sum(axis=1, keepdims=True)
