# SPDX-License-Identifier: Apache-2.0
"""Adaptive pooling over one to three spatial axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.functional.conv.windows import Sizes, batched, by_rank, per_axis, unbatched
from sycl_dnn.functional.pool.maximum import INTEGERS, maxima
from sycl_dnn.functional.pool.windowed import adaptive_runs, check_dtype, pooled
from sycl_dnn.functional.product.along_axes import Taps, along_axes
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor

#: Windows of different lengths, or at different offsets modulo a step, are pooled one by one.
MOST_WINDOWS = 4096


def _sizes(name: str, x: Tensor, value: Any) -> Sizes:
    """Return the output sizes; None keeps that of the input."""
    rank = x.ndim - 2
    sizes = list(value) if isinstance(value, (tuple, list)) else [value] * rank
    if len(sizes) == 1:
        sizes *= rank
    if len(sizes) == rank:
        sizes = [n if size is None else size for size, n in zip(sizes, x.shape[2:], strict=True)]
    return per_axis(name, "output_size", sizes, rank)


def _averages(n_in: int, n_out: int) -> np.ndarray:
    """Return the matrix (T, S) that averages PyTorch's windows."""
    matrix = np.zeros((n_out, n_in))
    for i in range(n_out):
        start, end = i * n_in // n_out, -(-(i + 1) * n_in // n_out)
        matrix[i, start:end] = 1 / (end - start)
    return matrix


def adaptive_avg_pool(
    name: str, rank: int, input: Tensor, output_size: int | None | tuple[int | None, ...]
) -> Tensor:
    """Average images over windows that cover them evenly.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it.
    output_size : int, None or tuple
        Sizes (T, U) of the result; None keeps that of the input.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image
        Window i of T spans floor(i * H / T) to ceil((i + 1) * H / T).

    Raises
    ------
    ValueError
        Sizes are inconsistent.
    TypeError
        The dtype is not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Pooling" if T divides H, else one weighted sum for each axis.
    """
    check_dtype(name, input)
    x = batched(name, input, rank)
    sizes = _sizes(name, x, output_size)
    # Equal windows are pooled; others are weighted sums.
    pairs = list(zip(x.shape[2:], sizes, strict=True))
    uneven = {axis: Taps.of(_averages(n, t)) for axis, (n, t) in enumerate(pairs, start=2) if n % t}
    is_pooled = x.trace.is_compiled and not x.trace.training and x.dtype != "float64"
    if all(n == 1 for n in sizes) and not is_pooled:
        result = reduce(algorithm.reduction_mean, x, range(2, x.ndim))
        return unbatched(result, input)
    result = x
    if len(uneven) < rank:
        runs = [adaptive_runs(n, n if n % t else t) for n, t in pairs]
        result, _ = pooled(x, algorithm.pooling_avg_exclude_padding, runs)
    if uneven:
        result = along_axes(result, uneven)
    return unbatched(result, input)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = by_rank(adaptive_avg_pool)


def adaptive_max_pool(
    name: str,
    rank: int,
    input: Tensor,
    output_size: int | None | tuple[int | None, ...],
    return_indices: bool = False,
) -> Any:
    """Return the maxima of images over windows that cover them evenly.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it; without a gradient also
        int8, uint8 and int32.
    output_size : int, None or tuple
        Sizes (T, U) of the result; None keeps that of the input.
    return_indices : bool
        Whether to also return the indices of the maxima.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image
        Window i of T spans floor(i * H / T) to ceil((i + 1) * H / T).
    indices : int64 array of the same shape, if requested
        h * W + w of each maximum; the first one on ties.

    Raises
    ------
    ValueError
        Sizes are inconsistent.
    TypeError
        The dtype is not supported.

    Notes
    -----
    A window with NaN may return another of its elements, and a window of minus infinities the
    lowest finite number; with ``set_nan("propagate")`` they return (the last) NaN and minus
    infinity.

    Source: oneDNN developer guide, "Pooling"; one pooling if T divides H and U divides W, else T /
    gcd(H, T) * U / gcd(W, U) interleaved ones.
    """
    check_dtype(name, input, INTEGERS)
    x = batched(name, input, rank)
    sizes = _sizes(name, x, output_size)
    for n, t in zip(x.shape[2:], sizes, strict=True):
        if t // math.gcd(n, t) > MOST_WINDOWS:
            raise ValueError(
                f"{name}: output_size must need at most {MOST_WINDOWS} kinds of windows, each is a "
                f"step, got {t} for {n} elements: {t // math.gcd(n, t)}"
            )
    runs = [adaptive_runs(n, t) for n, t in zip(x.shape[2:], sizes, strict=True)]
    return maxima(input, x, runs, return_indices)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = by_rank(adaptive_max_pool)
