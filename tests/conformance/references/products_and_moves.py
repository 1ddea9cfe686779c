# SPDX-License-Identifier: Apache-2.0
"""Matrix products, reductions, and primitives that move elements without changing them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np


def matmul(params, arrays, shapes):
    """Multiply: src (*B, M, K), weights (*B, K, N), [bias] -> dst (*B, M, N).

    Batch axes of size 1 are broadcast; so is each axis of bias.
    """
    return {"dst": np.matmul(arrays["src"], arrays["weights"]) + arrays.get("bias", 0.0)}


def _rows(x):
    return x.reshape(len(x), prod(x.shape[1:]))


def inner_product_forward(params, arrays, shapes):
    """Multiply: src (N, C, *S), weights (O, C, *S), [bias (O,)] -> dst (N, O)."""
    dst = _rows(arrays["src"]) @ _rows(arrays["weights"]).T
    return {"dst": dst + arrays.get("bias", 0.0)}


def inner_product_backward_data(params, arrays, shapes):
    """Gradient in the source: diff_dst (N, O), weights -> diff_src."""
    diff_dst, weights = arrays["diff_dst"], arrays["weights"]
    diff = diff_dst @ _rows(weights)
    return {"diff_src": diff.reshape(len(diff_dst), *weights.shape[1:])}


def inner_product_backward_weights(params, arrays, shapes):
    """Gradient in the weights: src, diff_dst -> diff_weights, diff_bias."""
    src, diff_dst = arrays["src"], arrays["diff_dst"]
    diff = diff_dst.T @ _rows(src)
    shape = (diff_dst.shape[1], *src.shape[1:])
    return {"diff_weights": diff.reshape(shape), "diff_bias": diff_dst.sum(axis=0)}


# --- Reduction over axes, and the weighted sum of several arrays


def _norm(src, axes, params):
    """Lp norms: ``eps`` bounds the sum of powers from below or is added to it."""
    p, eps = params["p"], params["eps"]
    total = (np.abs(src) ** p).sum(axis=axes, keepdims=True)
    bounded = np.maximum(total, eps) if params["algorithm"].endswith("_max") else total + eps
    return bounded if "power_p" in params["algorithm"] else bounded ** (1 / p)


REDUCTIONS: dict[str, Callable] = {
    "reduction_max": np.max,
    "reduction_min": np.min,
    "reduction_sum": np.sum,
    "reduction_mul": np.prod,
    "reduction_mean": np.mean,
}


def reduction(params, arrays, shapes):
    """Reduce the axes of src that have size 1 in ``shapes["dst"]``: src -> dst, same rank."""
    src = arrays["src"]
    sizes = zip(src.shape, shapes["dst"], strict=True)
    axes = tuple(axis for axis, (n, m) in enumerate(sizes) if n != m)
    if params["algorithm"] in REDUCTIONS:
        return {"dst": REDUCTIONS[params["algorithm"]](src, axis=axes, keepdims=True)}
    return {"dst": _norm(src, axes, params)}


def weighted_sum(params, arrays, shapes):
    """OneDNN's ``sum``: multiple_src_i, all of one shape, times ``scales[i]`` -> dst."""
    terms = (scale * arrays[f"multiple_src_{i}"] for i, scale in enumerate(params["scales"]))
    return {"dst": sum(terms)}


# --- Elements moved without changes: reorder, concat, shuffle; and resampling


def reorder(params, arrays, shapes):
    """Copy to another layout: src -> dst, equal logical elements."""
    return {"dst": arrays["src"].copy()}


def concat(params, arrays, shapes):
    """Join multiple_src_0, multiple_src_1, ... along ``concat_dimension`` -> dst."""
    count = sum(name.startswith("multiple_src_") for name in arrays)
    parts = [arrays[f"multiple_src_{i}"] for i in range(count)]
    return {"dst": np.concatenate(parts, axis=params["concat_dimension"])}


def _transpose_axis(x, axis, rows):
    """View ``axis`` as a matrix with ``rows`` rows and transpose it."""
    split = (*x.shape[:axis], rows, x.shape[axis] // rows, *x.shape[axis + 1 :])
    return np.swapaxes(x.reshape(split), axis, axis + 1).reshape(x.shape)


def shuffle_forward(params, arrays, shapes):
    """Transpose ``axis``, viewed as (C / group_size, group_size): src -> dst."""
    src, axis = arrays["src"], params["axis"]
    return {"dst": _transpose_axis(src, axis, src.shape[axis] // params["group_size"])}


def shuffle_backward(params, arrays, shapes):
    """Undo the transposition: diff_dst -> diff_src."""
    return {"diff_src": _transpose_axis(arrays["diff_dst"], params["axis"], params["group_size"])}


def interpolation(n_src, n_dst, algorithm):
    """Return the matrix (n_dst, n_src) that resamples one axis.

    Elements are cells, so the center of output cell o is at (o + 1/2) n_src / n_dst - 1/2.
    Coordinates outside the source use its edge. Nearest rounds halves up.
    """
    at = (np.arange(n_dst) + 0.5) * n_src / n_dst - 0.5
    rows, matrix = np.arange(n_dst), np.zeros((n_dst, n_src))
    if algorithm == "resampling_nearest":
        matrix[rows, np.floor(at + 0.5).astype(int)] = 1.0
        return matrix
    left = np.floor(at)
    for column, weight in ((left, 1 - (at - left)), (left + 1, at - left)):
        matrix[rows, np.clip(column, 0, n_src - 1).astype(int)] += weight
    return matrix


def _resample(x, matrices):
    """Apply one matrix to each spatial axis of ``x`` (N, C, *S)."""
    for axis, matrix in enumerate(matrices, start=2):
        x = np.moveaxis(np.tensordot(x, matrix, axes=(axis, 1)), -1, axis)
    return x


def resampling_forward(params, arrays, shapes):
    """Resize the spatial axes: src (N, C, *S) -> dst (N, C, *T); T is that of ``shapes``."""
    src = arrays["src"]
    sizes = zip(src.shape[2:], shapes["dst"][2:], strict=True)
    return {"dst": _resample(src, [interpolation(n, m, params["algorithm"]) for n, m in sizes])}


def resampling_backward(params, arrays, shapes):
    """Transpose of the forward map: diff_dst -> diff_src (its shape comes from ``shapes``)."""
    diff_dst = arrays["diff_dst"]
    sizes = zip(shapes["diff_src"][2:], diff_dst.shape[2:], strict=True)
    matrices = [interpolation(n, m, params["algorithm"]).T for n, m in sizes]
    return {"diff_src": _resample(diff_dst, matrices)}
