# SPDX-License-Identifier: Apache-2.0
"""Float64 references of convolutions and pools with PyTorch's arguments, over tests/reference."""

from __future__ import annotations

import itertools

import numpy as np
from conformance.references import window_primitives as _conv
from conformance.references.window_primitives import kernel_positions, pad_spatial, window


def _each(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _pairs(padding, rank):
    return [(p, p) if isinstance(p, int) else p for p in _each(padding, rank)]


def _with_batch(function, x, *args, rank):
    made = function(x if x.ndim == rank + 2 else x[None], *args)
    return made if x.ndim == rank + 2 else made[0]


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, *S) or (C, *S) with (O, C / groups, *K)."""
    rank = w.ndim - 2
    dilation = _each(dilation, rank)
    if padding == "same":
        spans = [(k - 1) * d for k, d in zip(w.shape[2:], dilation, strict=True)]
        padding = [(n // 2, n - n // 2) for n in spans]
    low, high = zip(*_pairs(0 if padding == "valid" else padding, rank), strict=True)
    params = {
        "strides": _each(stride, rank),
        "dilates": tuple(d - 1 for d in dilation),
        "padding_l": low,
        "padding_r": high,
    }
    weights = w.reshape(groups, -1, *w.shape[1:])

    def run(src):
        if not len(src):
            return run(np.zeros((1, *src.shape[1:])))[:0]
        arrays = {"src": src, "weights": weights} | ({} if b is None else {"bias": b})
        return _conv.convolution_forward(params, arrays, {})["dst"]

    return _with_batch(run, x, rank=rank)


def conv_transpose(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each element of (N, C, *S) spread by (C, O / groups, *K)."""
    rank = w.ndim - 2
    stride, dilation = _each(stride, rank), _each(dilation, rank)
    low, high = zip(*_pairs(padding, rank), strict=True)
    kernel, extra = w.shape[2:], _each(output_padding, rank)

    def run(src):
        full = [
            (n - 1) * s + (k - 1) * d + 1 + e
            for n, s, k, d, e in zip(src.shape[2:], stride, kernel, dilation, extra, strict=True)
        ]
        dst = np.zeros((len(src), groups, w.shape[1], *full))
        parts = src.reshape(len(src), groups, -1, *src.shape[2:])
        weights = w.reshape(groups, -1, *w.shape[1:])
        for at in kernel_positions(kernel):
            seen = window(at, src.shape[2:], stride, [d - 1 for d in dilation])
            dst[seen] += np.einsum("ngc...,gco->ngo...", parts, weights[(..., *at)])
        dst = dst.reshape(len(src), -1, *full)
        keep = [slice(a, n - z) for a, z, n in zip(low, high, full, strict=True)]
        dst = dst[(..., *keep)]
        return dst if b is None else dst + b.reshape(-1, *[1] * rank)

    return _with_batch(run, x, rank=rank)


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """PyTorch's number of windows on one axis."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-free // stride) if ceil_mode else free // stride) + 1
    return count - (ceil_mode and (count - 1) * stride >= size + padding)


class Windows:
    """All windows of x (N, C, *S): elements, whether each is inside, and its flat index."""

    def __init__(self, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        rank = x.ndim - 2
        kernel = _each(kernel_size, rank)
        stride = kernel if stride is None else _each(stride, rank)
        padding, dilation = _each(padding, rank), _each(dilation, rank)
        geometry = list(zip(x.shape[2:], kernel, stride, padding, dilation, strict=True))
        self.size = tuple(pooled_size(*g, ceil_mode) for g in geometry)
        self.kernel = kernel
        # Enough padding at the end for windows that extend beyond it.
        high = [k * d + s for _, k, s, _, d in geometry]
        skips = [d - 1 for d in dilation]

        def windows(values, fill):
            padded = pad_spatial(values, padding, high, fill)
            at = kernel_positions(kernel)
            return np.stack([padded[window(a, self.size, stride, skips)] for a in at])

        self.elements = windows(x, 0.0)
        self.inside = windows(np.ones(x.shape), 0.0)
        numbers = np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:])
        self.indices = windows(np.broadcast_to(numbers, x.shape).astype(int), -1)
        padded = pad_spatial(np.ones(x.shape), padding, padding, 1.0)
        at = kernel_positions(kernel)
        padded = pad_spatial(padded, [0] * rank, high, 0.0)
        self.counted = np.stack([padded[window(a, self.size, stride, skips)] for a in at])


def _batched(x, kernel_size):
    """Return x with a batch axis; only tuples say how many axes are spatial."""
    is_single = isinstance(kernel_size, tuple) and x.ndim == len(kernel_size) + 1
    return x[None] if is_single else x


def max_pool(
    x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """Largest element of each window, and its flat index."""
    full = _batched(x, kernel_size)
    w = Windows(full, kernel_size, stride, padding, dilation, ceil_mode)
    best = np.where(w.inside > 0, w.elements, -np.inf).argmax(axis=0)[None]
    made = [np.take_along_axis(v, best, 0)[0] for v in (w.elements, w.indices)]
    made = [m.reshape(m.shape[-x.ndim :]) for m in made]
    return tuple(made) if return_indices else made[0]


def avg_pool(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """Mean of each window, with PyTorch's rules for the divisor."""
    w = Windows(_batched(x, kernel_size), kernel_size, stride, padding, 1, ceil_mode)
    divisor = (w.counted if count_include_pad else w.inside).sum(axis=0)
    made = w.elements.sum(axis=0) / (divisor_override or divisor)
    return made.reshape(made.shape[-x.ndim :])


def lp_pool(x, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Lp norm of each window; windows that extend beyond the end count as full."""
    w = Windows(x, kernel_size, stride, 0, 1, ceil_mode)
    mean = (w.elements**norm_type).sum(axis=0) / w.inside.sum(axis=0)
    return (mean * np.prod(w.kernel)) ** (1 / norm_type)


def adaptive(x, sizes, reduce):
    """``reduce(window, axes)`` over windows [floor(iS/T), ceil((i+1)S/T)) of (N, C, *S)."""
    rank = x.ndim - 2
    sizes = [n if t is None else t for n, t in zip(x.shape[2:], _each(sizes, rank), strict=True)]
    made = np.zeros((*x.shape[:2], *sizes))
    for at in itertools.product(*(range(t) for t in sizes)):
        cut = [
            slice(i * n // t, -(-(i + 1) * n // t))
            for i, n, t in zip(at, x.shape[2:], sizes, strict=True)
        ]
        made[(..., *at)] = reduce(x[(..., *cut)], tuple(range(2, x.ndim)))
    return made
