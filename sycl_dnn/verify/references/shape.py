# SPDX-License-Identifier: Apache-2.0
"""What moves elements without changing them: reorder, concat, shuffle; and resampling."""

import numpy as np


def reorder(params, arrays, shapes):
    """Copy to another layout: src -> dst, equal logical elements."""
    return {"dst": arrays["src"].copy()}


def concat(params, arrays, shapes):
    """Join multiple_src_0, multiple_src_1, ... along ``concat_dimension`` -> dst."""
    count = sum(name.startswith("multiple_src_") for name in arrays)
    parts = [arrays[f"multiple_src_{i}"] for i in range(count)]
    return {"dst": np.concatenate(parts, axis=params["concat_dimension"])}


def _transpose_axis(x, axis, rows):
    """Read ``axis`` as a matrix with ``rows`` rows and transpose it."""
    split = (*x.shape[:axis], rows, x.shape[axis] // rows, *x.shape[axis + 1 :])
    return np.swapaxes(x.reshape(split), axis, axis + 1).reshape(x.shape)


def shuffle_forward(params, arrays, shapes):
    """Transpose ``axis``, seen as (C / group_size, group_size): src -> dst."""
    src, axis = arrays["src"], params["axis"]
    return {"dst": _transpose_axis(src, axis, src.shape[axis] // params["group_size"])}


def shuffle_backward(params, arrays, shapes):
    """Put the elements back: diff_dst -> diff_src."""
    return {"diff_src": _transpose_axis(arrays["diff_dst"], params["axis"], params["group_size"])}


def interpolation(n_src, n_dst, algorithm):
    """Return the matrix (n_dst, n_src) that resamples one axis.

    Elements are cells, so the centre of output cell o lies at (o + 1/2) n_src / n_dst - 1/2;
    coordinates outside the source take its edge. Nearest rounds halves up.
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
