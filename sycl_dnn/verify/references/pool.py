# SPDX-License-Identifier: Apache-2.0
"""Pooling over one to three spatial axes: src (N, C, *S) -> dst (N, C, *T)."""

import numpy as np

from .window import crop_spatial, kernel_positions, output_size, pad_spatial, window


def _geometry(params):
    names = ("kernel", "strides", "dilation", "padding_l", "padding_r")
    return tuple(tuple(params[name]) for name in names)


def _windows(x, params, size, fill):
    """All windows of ``x``: an array (K, N, C, *size), K kernel positions row-major."""
    kernel, strides, dilation, low, high = _geometry(params)
    padded = pad_spatial(x, low, high, fill)
    positions = kernel_positions(kernel)
    return np.stack([padded[window(at, size, strides, dilation)] for at in positions])


def _divisor(params, shape, size):
    """Return what an average divides by: the kernel's size, or the elements that are no padding."""
    if params["algorithm"] == "pooling_avg_include_padding":
        return float(np.prod(params["kernel"]))
    return _windows(np.ones(shape), params, size, 0.0).sum(axis=0)


def pooling_forward(params, arrays, shapes):
    """Reduce each window: src -> dst."""
    src = arrays["src"]
    kernel, strides, dilation, low, high = _geometry(params)
    size = output_size(src.shape[2:], kernel, strides, dilation, low, high)
    if params["algorithm"] == "pooling_max":
        return {"dst": _windows(src, params, size, -np.inf).max(axis=0)}
    total = _windows(src, params, size, 0.0).sum(axis=0)
    return {"dst": total / _divisor(params, src.shape, size)}


def pooling_backward(params, arrays, shapes):
    """Gradient: diff_dst -> diff_src (its shape comes from ``shapes``).

    oneDNN finds the maxima in the workspace of the forward run. Here the forward source does
    that: ``pooling_max`` needs ``src`` in ``arrays``. The first of equal maxima gets all.
    """
    diff_dst, shape = arrays["diff_dst"], tuple(shapes["diff_src"])
    kernel, strides, dilation, low, high = _geometry(params)
    size = diff_dst.shape[2:]
    if params["algorithm"] == "pooling_max":
        winner = _windows(arrays["src"], params, size, -np.inf).argmax(axis=0)
        shares = [np.where(winner == k, diff_dst, 0.0) for k in range(np.prod(kernel))]
    else:
        shares = [diff_dst / _divisor(params, shape, size)] * int(np.prod(kernel))
    padded = pad_spatial(np.zeros(shape), low, high)
    for at, share in zip(kernel_positions(kernel), shares, strict=True):
        padded[window(at, size, strides, dilation)] += share
    return {"diff_src": crop_spatial(padded, low, shape[2:])}
