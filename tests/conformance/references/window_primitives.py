# SPDX-License-Identifier: Apache-2.0
"""Convolution, deconvolution, pooling and LRN: windows over spatial axes.

Shapes: src (N, C, *S), dst (N, O, *T), weights (O, C, *K) or, with groups, (G, O/G, C/G, *K),
bias (O,); S, T and K have one to three axes. Deconvolution has its weights in the same order
(destination channels first). It is the convolution's gradient with source and destination
exchanged, so it does not need a separate contraction.

dst = src * base ** -beta with base = k + alpha / n * (sum of src**2 over the neighborhood).
The neighborhood extends (local_size - 1) // 2 elements to both sides on each of its axes, so
an even size covers one element less, but n is local_size to the power of the number of axes.
"""

from itertools import product
from math import prod

import numpy as np


def pad_spatial(x, low, high, value=0.0):
    """Pad the last ``len(low)`` axes of ``x``; a negative ``high`` pads nothing.

    oneDNN allows a negative ``padding_r`` (input columns that no window reaches). Windows are
    cut out by position, so such columns may remain.
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
    """Index of the padded input elements that one kernel ``position`` covers.

    ``size`` is the spatial size of the output; ``dilation`` counts skipped elements, 0 is dense.
    The index selects an array (..., *size) from a padded array (..., *S).
    """
    axes = zip(position, size, strides, dilation, strict=True)
    starts = [(p * (d + 1), n, s) for p, n, s, d in axes]
    return (..., *(slice(start, start + (n - 1) * s + 1, s) for start, n, s in starts))


def output_size(size, kernel, strides, dilation, padding_l, padding_r):
    """Return the number of windows on each spatial axis."""
    axes = zip(size, kernel, strides, dilation, padding_l, padding_r, strict=True)
    return tuple((n + lo + hi - (k - 1) * (d + 1) - 1) // s + 1 for n, k, s, d, lo, hi in axes)


# --- Convolution and deconvolution: three contractions of source, weights and destination


def _geometry_conv(params):
    names = ("strides", "dilates", "padding_l", "padding_r")
    return tuple(tuple(params[name]) for name in names)


def _with_groups(weights, spatial):
    """Weights as (G, O/G, C/G, *K)."""
    return weights if weights.ndim == spatial + 3 else weights[None]


def _split(x, groups):
    """Activations (N, C, *S) as (N, G, C/G, *S)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def _join(x):
    """Undo `_split`."""
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:])


def correlate(src, weights, geometry):
    """Slide ``weights`` over ``src``: (N, G, C, *S), (G, O, C, *K) -> (N, G, O, *T)."""
    strides, dilation, low, high = geometry
    kernel = weights.shape[3:]
    size = output_size(src.shape[3:], kernel, strides, dilation, low, high)
    padded = pad_spatial(src, low, high)
    dst = np.zeros((*src.shape[:2], weights.shape[1], *size))
    for at in kernel_positions(kernel):
        seen = padded[window(at, size, strides, dilation)]
        dst += np.einsum("ngc...,goc->ngo...", seen, weights[trailing(at)])
    return dst


def spread(dst, weights, geometry, size):
    """Transpose of `correlate` in ``src``: (N, G, O, *T), (G, O, C, *K) -> (N, G, C, *size)."""
    strides, dilation, low, high = geometry
    padded = pad_spatial(np.zeros((*dst.shape[:2], weights.shape[2], *size)), low, high)
    for at in kernel_positions(weights.shape[3:]):
        part = np.einsum("ngo...,goc->ngc...", dst, weights[trailing(at)])
        padded[window(at, dst.shape[3:], strides, dilation)] += part
    return crop_spatial(padded, low, size)


def pair(src, dst, geometry, kernel):
    """Transpose of `correlate` in ``weights``: -> (G, O, C, *kernel)."""
    strides, dilation, low, high = geometry
    padded = pad_spatial(src, low, high)
    positions = prod(dst.shape[3:])
    flat = dst.reshape(*dst.shape[:3], positions)
    weights = np.zeros((dst.shape[1], dst.shape[2], src.shape[2], *kernel))
    for at in kernel_positions(kernel):
        seen = padded[window(at, dst.shape[3:], strides, dilation)]
        seen = seen.reshape(*src.shape[:3], positions)
        weights[trailing(at)] = np.einsum("ngcs,ngos->goc", seen, flat)
    return weights


def _add_bias(dst, bias):
    return dst if bias is None else dst + bias.reshape(-1, *[1] * (dst.ndim - 2))


def _diff_bias(diff_dst):
    return diff_dst.sum(axis=(0, *range(2, diff_dst.ndim)))


def _exchanged(weights):
    """Weights with source and destination channels exchanged, inside each group."""
    return np.swapaxes(weights, 1, 2)


def convolution_forward(params, arrays, shapes):
    """Convolve: src, weights, [bias] -> dst."""
    src, weights = arrays["src"], _with_groups(arrays["weights"], arrays["src"].ndim - 2)
    dst = _join(correlate(_split(src, len(weights)), weights, _geometry_conv(params)))
    return {"dst": _add_bias(dst, arrays.get("bias"))}


def convolution_backward_data(params, arrays, shapes):
    """Gradient in the source: diff_dst, weights -> diff_src (its size comes from ``shapes``)."""
    diff_dst = arrays["diff_dst"]
    weights = _with_groups(arrays["weights"], diff_dst.ndim - 2)
    size = shapes["diff_src"][2:]
    diff = spread(_split(diff_dst, len(weights)), weights, _geometry_conv(params), size)
    return {"diff_src": _join(diff)}


def convolution_backward_weights(params, arrays, shapes):
    """Gradient in the weights: src, diff_dst -> diff_weights, diff_bias.

    The kernel's size and the number of groups come from ``shapes["diff_weights"]``.
    """
    src, diff_dst, shape = arrays["src"], arrays["diff_dst"], tuple(shapes["diff_weights"])
    groups = shape[0] if len(shape) == src.ndim + 1 else 1
    kernel = shape[-(src.ndim - 2) :]
    diff = pair(_split(src, groups), _split(diff_dst, groups), _geometry_conv(params), kernel)
    return {"diff_weights": diff.reshape(shape), "diff_bias": _diff_bias(diff_dst)}


def deconvolution_forward(params, arrays, shapes):
    """Spread each source element over a window of dst: src, weights, [bias] -> dst."""
    src, weights = arrays["src"], _with_groups(arrays["weights"], arrays["src"].ndim - 2)
    size = shapes["dst"][2:]
    kernel = _exchanged(weights)
    dst = _join(spread(_split(src, len(weights)), kernel, _geometry_conv(params), size))
    return {"dst": _add_bias(dst, arrays.get("bias"))}


def deconvolution_backward_data(params, arrays, shapes):
    """Gradient in the source, which is a convolution: diff_dst, weights -> diff_src."""
    diff_dst = arrays["diff_dst"]
    weights = _with_groups(arrays["weights"], diff_dst.ndim - 2)
    kernel = _exchanged(weights)
    diff = correlate(_split(diff_dst, len(weights)), kernel, _geometry_conv(params))
    return {"diff_src": _join(diff)}


def deconvolution_backward_weights(params, arrays, shapes):
    """Gradient in the weights: src, diff_dst -> diff_weights, diff_bias."""
    src, diff_dst, shape = arrays["src"], arrays["diff_dst"], tuple(shapes["diff_weights"])
    groups = shape[0] if len(shape) == src.ndim + 1 else 1
    kernel = shape[-(src.ndim - 2) :]
    diff = pair(_split(diff_dst, groups), _split(src, groups), _geometry_conv(params), kernel)
    return {"diff_weights": _exchanged(diff).reshape(shape), "diff_bias": _diff_bias(diff_dst)}


# --- Pooling over one to three spatial axes: src (N, C, *S) -> dst (N, C, *T)


def _geometry_pool(params):
    names = ("kernel", "strides", "dilation", "padding_l", "padding_r")
    return tuple(tuple(params[name]) for name in names)


def _windows(x, params, size, fill):
    """All windows of ``x``: an array (K, N, C, *size), K kernel positions row-major."""
    kernel, strides, dilation, low, high = _geometry_pool(params)
    padded = pad_spatial(x, low, high, fill)
    positions = kernel_positions(kernel)
    return np.stack([padded[window(at, size, strides, dilation)] for at in positions])


def _divisor(params, shape, size):
    """Return what an average divides by: the kernel's size, or the elements without padding."""
    if params["algorithm"] == "pooling_avg_include_padding":
        return float(np.prod(params["kernel"]))
    return _windows(np.ones(shape), params, size, 0.0).sum(axis=0)


def pooling_forward(params, arrays, shapes):
    """Reduce each window: src -> dst."""
    src = arrays["src"]
    kernel, strides, dilation, low, high = _geometry_pool(params)
    size = output_size(src.shape[2:], kernel, strides, dilation, low, high)
    if params["algorithm"] == "pooling_max":
        return {"dst": _windows(src, params, size, -np.inf).max(axis=0)}
    total = _windows(src, params, size, 0.0).sum(axis=0)
    return {"dst": total / _divisor(params, src.shape, size)}


def pooling_backward(params, arrays, shapes):
    """Gradient: diff_dst -> diff_src (its shape comes from ``shapes``).

    oneDNN reads the positions of the maxima from the workspace of the forward run. Here they are
    found in the forward source: ``pooling_max`` needs ``src`` in ``arrays``. The first of equal
    maxima gets the whole gradient.
    """
    diff_dst, shape = arrays["diff_dst"], tuple(shapes["diff_src"])
    kernel, strides, dilation, low, high = _geometry_pool(params)
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


# --- Local response normalization over neighboring channels or over spatial neighbors


def _axes(params, ndim):
    return (1,) if params["algorithm"] == "lrn_across_channels" else tuple(range(2, ndim))


def _neighborhood(x, params):
    """Sum of ``x`` over the neighborhood of each element; 0 outside ``x``."""
    reach = (params["local_size"] - 1) // 2
    for axis in _axes(params, x.ndim):
        n = x.shape[axis]
        padded = np.pad(x, [(reach, reach) if a == axis else (0, 0) for a in range(x.ndim)])
        shifted = (np.take(padded, np.arange(s, s + n), axis=axis) for s in range(2 * reach + 1))
        x = sum(shifted)
    return x


def _base(src, params):
    """Return the base that is raised to -beta, and alpha / n."""
    factor = params["alpha"] / params["local_size"] ** len(_axes(params, src.ndim))
    return params["k"] + factor * _neighborhood(src**2, params), factor


def lrn_forward(params, arrays, shapes):
    """Normalize: src (N, C, *S) -> dst."""
    src = arrays["src"]
    return {"dst": src * _base(src, params)[0] ** -params["beta"]}


def lrn_backward(params, arrays, shapes):
    """Gradient: src, diff_dst -> diff_src; the neighborhood is its own transpose."""
    src, diff_dst, beta = arrays["src"], arrays["diff_dst"], params["beta"]
    base, factor = _base(src, params)
    spread = _neighborhood(diff_dst * src * base ** (-beta - 1), params)
    return {"diff_src": diff_dst * base**-beta - 2 * beta * factor * src * spread}
