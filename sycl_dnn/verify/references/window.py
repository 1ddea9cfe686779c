# SPDX-License-Identifier: Apache-2.0
"""Sliding windows over the spatial axes: what convolution, pooling and LRN have in common."""

from itertools import product

import numpy as np


def pad_spatial(x, low, high, value=0.0):
    """Pad the last ``len(low)`` axes of ``x``; a negative ``high`` pads nothing.

    oneDNN lets ``padding_r`` be negative (input columns that no window reaches), and windows are
    cut out by position, so such columns may stay.
    """
    untouched = [(0, 0)] * (x.ndim - len(low))
    widths = [(left, max(right, 0)) for left, right in zip(low, high, strict=True)]
    return np.pad(x, untouched + widths, constant_values=value)


def trailing(places):
    """Return the index of the last axes."""
    return (..., *places)


def crop_spatial(x, low, size):
    """Undo `pad_spatial`: the ``size`` elements after ``low`` on each spatial axis."""
    inner = tuple(slice(start, start + n) for start, n in zip(low, size, strict=True))
    return x[trailing(inner)]


def kernel_positions(kernel):
    """Iterate over all index tuples inside a kernel of this size, row-major."""
    return product(*(range(n) for n in kernel))


def window(position, size, strides, dilation):
    """Index of the padded input elements that one kernel ``position`` meets.

    ``size`` is the spatial size of the output; ``dilation`` counts skipped elements, 0 is dense.
    The index selects an array (..., *size) out of a padded array (..., *S).
    """
    axes = zip(position, size, strides, dilation, strict=True)
    starts = [(p * (d + 1), n, s) for p, n, s, d in axes]
    return (..., *(slice(start, start + (n - 1) * s + 1, s) for start, n, s in starts))


def output_size(size, kernel, strides, dilation, padding_l, padding_r):
    """Return the number of windows on each spatial axis."""
    axes = zip(size, kernel, strides, dilation, padding_l, padding_r, strict=True)
    return tuple((n + lo + hi - (k - 1) * (d + 1) - 1) // s + 1 for n, k, s, d, lo, hi in axes)
