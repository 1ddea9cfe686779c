# SPDX-License-Identifier: Apache-2.0
"""Max pooling and its inverse, ``max_unpool``."""

from __future__ import annotations

import itertools
import math
from typing import Any

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.functional.arithmetic.elementwise import check_same_shape
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.conv.windows import (
    Sizes,
    batched,
    by_rank,
    per_axis,
    unbatched,
    whole_number,
)
from sycl_dnn.functional.index.selected import written
from sycl_dnn.functional.pool.windowed import (
    check_dtype,
    looked_up,
    plain_runs,
    pool_windows,
    pooled,
)
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import CLAMP, GE, ISNAN, cast, where
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.trace.cloning import stopped
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

#: Supported integer dtypes.
INTEGERS = ("int8", "uint8", "int32")


def maxima(input: Tensor, x: Tensor, runs: Any, with_indices: bool) -> Any:
    """Return the maxima over runs of ``x``, and their indices, batched like ``input``."""
    if x.is_float and x.trace.keeps_nan:
        result, positions = _with_nan(x, runs)
        result = unbatched(result, input)
        return (result, unbatched(positions, input)) if with_indices else result
    # With indices, oneDNN has only the reference for bytes; float32 represents them exactly.
    wide = x.trace.convert(x, "float32") if with_indices and x.dtype in INTEGERS[:2] else x
    result, indices = pooled(wide, algorithm.pooling_max, runs, bool(with_indices))
    result = unbatched(x.trace.convert(result, x.dtype), input)
    return result if indices is None else (result, unbatched(indices, input))


#: The second-lowest finite number, since oneDNN's accumulation starts from the lowest; the highest.
_LOWEST, _HIGHEST = -3.4028232635611926e38, 3.4028234663852886e38


def _with_nan(x: Tensor, runs: Any) -> tuple[Tensor, Tensor]:
    """Return the maxima over runs, propagating NaN, and their indices.

    oneDNN pools keys without NaN, and the places of NaN, of which PyTorch takes the last; the
    elements are then looked up.
    """
    source = x.trace.convert(x, dtypes.wide(x.dtype))
    constant = stopped(source)
    first_maxima = pooled(computed(_key, constant), algorithm.pooling_max, runs, True)[1]
    last_nan = pooled(computed(_nan_indices, constant), algorithm.pooling_max, runs)[0]
    assert first_maxima is not None
    indices = computed(_last_nan, first_maxima, last_nan)
    return x.trace.convert(looked_up(source, indices), x.dtype), indices


def _key(x: Node) -> Node:
    return where(ISNAN(x), number(math.inf, x.dtype), CLAMP(x, low=_LOWEST, high=_HIGHEST))


def _nan_indices(x: Node) -> Node:
    """Return the flat spatial index of each NaN, and -1 for numbers."""
    indices = full(0, x.shape, "int32")
    for axis in range(2, x.ndim):
        indices = indices + iota(x.shape[axis], axis, x.ndim) * math.prod(x.shape[axis + 1 :])
    return where(ISNAN(x), indices, full(-1, x.shape, "int32"))


def _last_nan(first: Node, last: Node) -> Node:
    return where(GE(last, full(0, last.shape, "int32")), cast(last, "int64"), first)


def max_pool(
    name: str,
    rank: int,
    input: Tensor,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it; without a gradient also
        int8, uint8 and int32.
    kernel_size : int or tuple
    stride : int or tuple, optional
        Distance between windows; the kernel size by default.
    padding : int or tuple
        Positions on both sides of each axis, at most half the extent of a window; never the
        maximum.
    dilation : int or tuple
        Spacing between the elements of a window.
    ceil_mode : bool
        Whether the last window may extend past the end.
    return_indices : bool
        Whether to also return the indices of the maxima.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image; channels-last in memory
        T = (H + 2 * padding - dilation * (KH - 1) - 1) // stride + 1, rounded up with ``ceil_mode``
        unless the last window would start past the input.
    indices : int64 array of the same shape, if requested
        h * W + w of each maximum; the first one on ties.

    Raises
    ------
    ValueError
        Sizes are inconsistent, or a window would contain only padding.
    TypeError
        The dtype is not supported.

    Notes
    -----
    A window with NaN may return another of its elements, and a window of minus infinities the
    lowest finite number; with ``set_nan("propagate")`` they return (the last) NaN and minus
    infinity.

    Source: oneDNN developer guide, "Pooling". Dilated windows are pooled as interleaved dense ones,
    since oneDNN's dilated pooling is slow.
    """
    check_dtype(name, input, INTEGERS)
    x = batched(name, input, rank)
    axes, counts = pool_windows(name, x, kernel_size, stride, padding, dilation, ceil_mode)
    runs = [plain_runs(a, n) for a, n in zip(axes, counts, strict=True)]
    if any(r.source.length < 1 for r in itertools.chain(*runs)):
        raise ValueError(f"{name}: dilation must leave every window an element of the input")
    return maxima(input, x, runs, return_indices)


max_pool1d, max_pool2d, max_pool3d = by_rank(max_pool)


# --- max_unpool1d, max_unpool2d, max_unpool3d


def _sizes(name: str, input: Tensor, windows: tuple[Any, ...], output_size: Any) -> Sizes:
    """Return the spatial sizes of the result: as requested, or without a remainder."""
    kernel, stride, padding = windows
    rank = len(kernel)
    steps = zip(input.shape[-rank:], kernel, stride, padding, strict=True)
    default = tuple((n - 1) * s + k - 2 * p for n, k, s, p in steps)
    if output_size is None:
        result = default
    else:
        result = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,)
        result = result[2:] if len(result) == rank + 2 else result
    if len(result) != rank or None in map(whole_number, result):
        raise ValueError(f"{name}: output_size must be {rank} sizes, got {output_size!r}")
    triples = zip(result, default, stride, strict=True)
    if output_size is not None and any(abs(n - d) >= s for n, d, s in triples):
        raise ValueError(
            f"{name}: output_size must differ from {default} by less than stride {stride}, got "
            f"{output_size!r}"
        )
    if min(result) < 1:
        raise ValueError(f"{name}: output_size must be positive, got {result}")
    return result


def _check(name: str, rank: int, input: Tensor, indices: Tensor) -> None:
    check_unpacked(name, "input", input)
    if input.ndim not in (rank + 1, rank + 2) or 0 in input.shape[-rank - 1 :]:
        raise ValueError(
            f"{name}: input must have shape (N, C, *S) or (C, *S), none of C and S empty, got "
            f"{input.shape}"
        )
    if indices.dtype != "int64":
        raise TypeError(f"{name}: indices must have dtype int64, got {indices.dtype}")
    check_same_shape(name, "input", "indices", input, indices)


def max_unpool(
    name: str,
    rank: int,
    input: Tensor,
    indices: dpnp.ndarray,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Tensor:
    """Scatter the maxima of ``max_pool2d(..., return_indices=True)`` to their positions.

    Parameters
    ----------
    input : array (N, C, T, U) or (C, T, U)
        Any dtype.
    indices : array of int64, shape of ``input``
        ``h * W + w`` of each maximum, for a result of width W. Out-of-range indices are ignored
        rather than checked, so that the call does not wait for the device.
    kernel_size, stride, padding : int or tuple
        As passed to the pooling; they determine the size of the result.
    output_size : tuple (H, W) or (N, C, H, W), optional
        Explicit size, needed if the pooling left a remainder; differs by less than ``stride`` from
        H = (T - 1) * stride - 2 * padding + kernel_size.

    Returns
    -------
    array (N, C, H, W) or (C, H, W)
        Zeros elsewhere. If an index occurs twice, either value.

    Raises
    ------
    ValueError
        Shapes or sizes are inconsistent.
    TypeError
        ``indices`` are not int64.

    Notes
    -----
    The gradient is gathered at the indices, of equal ones for the value that is kept.
    """
    _check(name, rank, input, indices)
    kernel = per_axis(name, "kernel_size", kernel_size, rank)
    strides = kernel if stride is None else per_axis(name, "stride", stride, rank)
    pads = per_axis(name, "padding", padding, rank, 0)
    sizes = _sizes(name, input, (kernel, strides, pads), output_size)
    batch, length = input.shape[:-rank], math.prod(sizes)
    flat = (math.prod(batch), math.prod(input.shape[-rank:]))
    canvas = zeros(input.trace, (flat[0], length), input.dtype)
    result = written(canvas, reshape(input, flat), reshape(indices, flat), 1)
    return reshape(result, (*batch, *sizes))


max_unpool1d, max_unpool2d, max_unpool3d = by_rank(max_unpool)
