# SPDX-License-Identifier: Apache-2.0
"""Batch, layer and group normalization: one computation for three kinds of groups.

A view of src decides which elements share statistics:

=====  ===================  ==========  ==============  ===================
row    view of src          averaged    mean, variance  scale, shift
=====  ===================  ==========  ==============  ===================
batch  (N, C, *S)           0, 2, ...   (C,)            (C,), axis 1
layer  (*B, C)              last        (*B,)           (C,), last axis
group  (N, G, C/G, *S)      2, ...      (N, G)          (C,), axis 1 of src
=====  ===================  ==========  ==============  ===================

With the flag ``use_global_stats`` statistics are inputs, otherwise they are computed from src. With
``rms_norm`` (layer only) the mean counts as 0 and ``variance`` is the mean square.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class View(NamedTuple):
    """A view of src: its shape, the averaged axes, and the shape of scale and shift."""

    shape: tuple
    averaged: tuple
    scale: tuple


def batch_view(src, params):
    """Statistics per channel."""
    spatial = range(2, src.ndim)
    return View(src.shape, (0, *spatial), (-1, *[1] * len(spatial)))


def layer_view(src, params):
    """Statistics per row of the last axis."""
    return View(src.shape, (src.ndim - 1,), (-1,))


def group_view(src, params):
    """Statistics per sample and group of channels."""
    n, c, *spatial = src.shape
    groups = params["groups"]
    shape = (n, groups, c // groups, *spatial)
    return View(shape, tuple(range(2, len(shape))), (-1, *[1] * len(spatial)))


def _statistics(params, arrays, view):
    """Mean and variance, with the averaged axes kept as 1."""
    x, flags = arrays["src"].reshape(view.shape), params["flags"]
    kept = tuple(1 if axis in view.averaged else n for axis, n in enumerate(view.shape))
    if "use_global_stats" in flags:
        mean = 0.0 if "rms_norm" in flags else arrays["mean"].reshape(kept)
        return mean, arrays["variance"].reshape(kept)
    mean = 0.0 if "rms_norm" in flags else x.mean(axis=view.averaged, keepdims=True)
    return mean, ((x - mean) ** 2).mean(axis=view.averaged, keepdims=True)


def _normalized(params, arrays, view):
    """Return the normalized source and the factor it was multiplied by, both in the view."""
    mean, variance = _statistics(params, arrays, view)
    factor = 1 / np.sqrt(variance + params["epsilon"])
    return (arrays["src"].reshape(view.shape) - mean) * factor, factor


def _affine(x, params, arrays, view):
    """Scale, shift and add, before a fused ReLU."""
    if "use_scale" in params["flags"]:
        x = x * arrays["scale"].reshape(view.scale)
    if "use_shift" in params["flags"]:
        x = x + arrays["shift"].reshape(view.scale)
    if "fuse_norm_add_relu" in params["flags"]:
        x = x + arrays["src_1"]
    return x


def _fused_relu(params):
    return not {"fuse_norm_relu", "fuse_norm_add_relu"}.isdisjoint(params["flags"])


def forward(params, arrays, view):
    """Normalize: src, [mean, variance, scale, shift, src_1] -> dst, [mean, variance]."""
    shape, flags = arrays["src"].shape, params["flags"]
    hat = _normalized(params, arrays, view)[0].reshape(shape)
    dst = _affine(hat, params, arrays, view)
    out = {"dst": np.maximum(dst, 0) if _fused_relu(params) else dst}
    if params["prop_kind"] == "forward_training" and "use_global_stats" not in flags:
        mean, variance = _statistics(params, arrays, view)
        out["variance"] = variance.squeeze(view.averaged)
        if "rms_norm" not in flags:
            out["mean"] = mean.squeeze(view.averaged)
    return out


def backward(params, arrays, view):
    """Gradient: src, diff_dst, ... -> diff_src, [diff_scale, diff_shift, diff_src_1].

    Statistics that the forward run computed are computed again from src. oneDNN reads the mask
    of a fused ReLU from the workspace; here it is recomputed with the forward ``shift`` (and
    ``src_1``).
    """
    shape, flags = arrays["src"].shape, params["flags"]
    x, factor = _normalized(params, arrays, view)
    hat, diff = x.reshape(shape), arrays["diff_dst"]
    if _fused_relu(params):
        diff = np.where(_affine(hat, params, arrays, view) > 0, diff, 0.0)
    channel = len(shape) - len(view.scale)
    others = tuple(axis for axis in range(len(shape)) if axis != channel)
    out = {"diff_src_1": diff} if "fuse_norm_add_relu" in flags else {}
    if params["prop_kind"] == "backward":
        out["diff_scale"] = (diff * hat).sum(axis=others)
        out["diff_shift"] = diff.sum(axis=others)
    if "use_scale" in flags:
        diff = diff * arrays["scale"].reshape(view.scale)
    g = diff.reshape(view.shape)
    if "use_global_stats" not in flags:
        across = {"axis": view.averaged, "keepdims": True}
        centre = 0.0 if "rms_norm" in flags else g.mean(**across)
        g = g - centre - x * (g * x).mean(**across)
    return out | {"diff_src": (g * factor).reshape(shape)}


def batch_normalization_forward(params, arrays, shapes):
    return forward(params, arrays, batch_view(arrays["src"], params))


def batch_normalization_backward(params, arrays, shapes):
    return backward(params, arrays, batch_view(arrays["src"], params))


def layer_normalization_forward(params, arrays, shapes):
    return forward(params, arrays, layer_view(arrays["src"], params))


def layer_normalization_backward(params, arrays, shapes):
    return backward(params, arrays, layer_view(arrays["src"], params))


def group_normalization_forward(params, arrays, shapes):
    return forward(params, arrays, group_view(arrays["src"], params))


def group_normalization_backward(params, arrays, shapes):
    return backward(params, arrays, group_view(arrays["src"], params))
