# SPDX-License-Identifier: Apache-2.0
"""Convolution and deconvolution: three contractions of source, weights and destination.

Shapes: src (N, C, *S), dst (N, O, *T), weights (O, C, *K) or, with groups, (G, O/G, C/G, *K),
bias (O,); S, T and K have one to three axes. Deconvolution has its weights in the same order
(destination channels first) and is the convolution's gradient with source and destination
exchanged, so it needs no contraction of its own.
"""

from math import prod

import numpy as np

from .window import crop_spatial, kernel_positions, output_size, pad_spatial, trailing, window


def _geometry(params):
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
    dst = _join(correlate(_split(src, len(weights)), weights, _geometry(params)))
    return {"dst": _add_bias(dst, arrays.get("bias"))}


def convolution_backward_data(params, arrays, shapes):
    """Gradient in the source: diff_dst, weights -> diff_src (its size comes from ``shapes``)."""
    diff_dst = arrays["diff_dst"]
    weights = _with_groups(arrays["weights"], diff_dst.ndim - 2)
    size = shapes["diff_src"][2:]
    diff = spread(_split(diff_dst, len(weights)), weights, _geometry(params), size)
    return {"diff_src": _join(diff)}


def convolution_backward_weights(params, arrays, shapes):
    """Gradient in the weights: src, diff_dst -> diff_weights, diff_bias.

    The kernel's size and the number of groups come from ``shapes["diff_weights"]``.
    """
    src, diff_dst, shape = arrays["src"], arrays["diff_dst"], tuple(shapes["diff_weights"])
    groups = shape[0] if len(shape) == src.ndim + 1 else 1
    kernel = shape[-(src.ndim - 2) :]
    diff = pair(_split(src, groups), _split(diff_dst, groups), _geometry(params), kernel)
    return {"diff_weights": diff.reshape(shape), "diff_bias": _diff_bias(diff_dst)}


def deconvolution_forward(params, arrays, shapes):
    """Spread each source element over a window of dst: src, weights, [bias] -> dst."""
    src, weights = arrays["src"], _with_groups(arrays["weights"], arrays["src"].ndim - 2)
    size = shapes["dst"][2:]
    kernel = _exchanged(weights)
    dst = _join(spread(_split(src, len(weights)), kernel, _geometry(params), size))
    return {"dst": _add_bias(dst, arrays.get("bias"))}


def deconvolution_backward_data(params, arrays, shapes):
    """Gradient in the source, which is a convolution: diff_dst, weights -> diff_src."""
    diff_dst = arrays["diff_dst"]
    weights = _with_groups(arrays["weights"], diff_dst.ndim - 2)
    kernel = _exchanged(weights)
    diff = correlate(_split(diff_dst, len(weights)), kernel, _geometry(params))
    return {"diff_src": _join(diff)}


def deconvolution_backward_weights(params, arrays, shapes):
    """Gradient in the weights: src, diff_dst -> diff_weights, diff_bias."""
    src, diff_dst, shape = arrays["src"], arrays["diff_dst"], tuple(shapes["diff_weights"])
    groups = shape[0] if len(shape) == src.ndim + 1 else 1
    kernel = shape[-(src.ndim - 2) :]
    diff = pair(_split(diff_dst, groups), _split(src, groups), _geometry(params), kernel)
    return {"diff_weights": _exchanged(diff).reshape(shape), "diff_bias": _diff_bias(diff_dst)}
