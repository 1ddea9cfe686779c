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
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.ops.arithmetic import MINIMUM, REMAINDER, TRUNC_DIVIDE
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.reduction import ARGMAX, MAX
from sycl_dnn.ops.selection import SCATTER_ADD, SCATTER_TO_ZEROS, gather
from sycl_dnn.ops.shape import reshape as reshaped
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, untaped

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
    NaN propagates, with the index of the first one; with ``set_nan("propagate")`` of the last one,
    as in PyTorch.

    Source: ``torch.nn.functional.adaptive_max_pool2d``.
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
    if x.trace.keeps_nan:
        runs = [adaptive_runs(n, t) for n, t in zip(x.shape[2:], sizes, strict=True)]
        return maxima(input, x, runs, return_indices)
    results = [unbatched(t, input) for t in _reduced(x, sizes)]
    return tuple(results) if return_indices else results[0]


def _bounds(i: Any, n: int, count: int) -> tuple[Any, Any]:
    """Return the first and last index of the elements of window ``i``, a number or a node."""
    if isinstance(i, int):
        return i * n // count, (i * n + n - 1) // count
    low, high = (TRUNC_DIVIDE(i * n + k, number(count, i.dtype)) for k in (0, n - 1))
    return low, high


def _length(n: int, count: int) -> int:
    """Return the length of the longest window."""
    bounds = (_bounds(i, n, count) for i in range(count))
    return max(last - first + 1 for first, last in bounds)


def _windows(x: Node, sizes: Sizes) -> Node:
    """Return windows (N, C, T, K, U, L), the shorter ones with their last element repeated."""
    shape = list(x.shape[:2])
    for axis, count in enumerate(sizes, start=2):
        n = x.shape[axis]
        length = _length(n, count)
        if n % count:
            first, last = _bounds(iota(count, 0, 2, "int64"), n, count)
            places = MINIMUM(first + iota(length, 1, 2, "int64"), last)
            ones = (1,) * (x.ndim - axis - 1)
            index = reshaped(places, ((1,) * axis + (count * length, *ones)))
            x = gather(x, [index], (axis,))
        shape += [count, length]
    return reshaped(x, shape)


def _places(numbers: Node, lengths: Sizes, sizes: Sizes) -> Node:
    """Return the flat indices into (N, C, H, W) images of numbers of elements in their windows."""
    total, scale, rank = number(0, "int64"), 1, numbers.ndim
    for axis in range(len(sizes) - 1, -1, -1):
        n, count = sizes[axis], numbers.shape[axis + 2]
        length = number(lengths[axis], "int64")
        first, _ = _bounds(iota(count, axis + 2, rank, "int64"), n, count)
        total += (first + REMAINDER(numbers, length)) * scale
        numbers, scale = TRUNC_DIVIDE(numbers, length), scale * n
    return total


def _reduced(x: Tensor, sizes: Sizes) -> tuple[Tensor, Tensor]:
    """Return the maxima of windows, and their flat spatial indices, by one kernel."""
    spatial, shape = x.shape[2:], (*x.shape[:2], *sizes)
    lengths = tuple(map(_length, spatial, sizes))
    axes = tuple(range(3, 3 + 2 * len(sizes), 2))

    def definition(node: Node) -> tuple[Node, Node]:
        windows = _windows(node, sizes)
        numbers = reshaped(ARGMAX(windows, axes=axes), shape)
        return reshaped(MAX(windows, axes=axes), shape), _places(numbers, lengths, spatial)

    with untaped(x.trace):
        values, places = all_computed(definition, x)
    flat = (*x.shape[:2], math.prod(sizes))
    rows = (*x.shape[:2], math.prod(spatial))

    is_apart = not any(n % count for n, count in zip(spatial, sizes, strict=True))

    def scattered(g: Node, index: Node) -> Node:
        operation = SCATTER_TO_ZEROS if is_apart else SCATTER_ADD
        return operation(reshaped(g, flat), reshaped(index, flat), axis=2, shape=rows)

    rule = lambda g: reshape(computed(scattered, g, places), x.shape)  # noqa: E731
    values = values.view(values.shape, values.strides)
    return x.trace.view(x, values, rule), places


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = by_rank(adaptive_max_pool)
