# SPDX-License-Identifier: Apache-2.0
"""Pooling with possibly asymmetric padding, and unpooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn.functional.conv.windows import Axis
from sycl_dnn.onnx.convolution_operators import Windows, rank_of, windows
from sycl_dnn.onnx.elementwise_operators import is_float, name_of
from sycl_dnn.onnx.model_graph import check_host_size, check_size
from sycl_dnn.onnx.operator_registry import Call, F, operator
from sycl_dnn.onnx.shape_operators import widths

_MAX = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
_AVERAGE = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
#: Images up to this size are averaged by oneDNN, which sums sequentially but is faster for them.
_MOST_POOLED = 8192
_CONV = (F.conv1d, F.conv2d, F.conv3d)


def _pooled(call: Call, x: Any) -> tuple[int, Windows, list[int]]:
    """Return the rank, windows with padding extended to the last one, and their counts."""
    rank, sizes = rank_of(call, x), x.shape[2:]
    window = windows(call, sizes, call.need("kernel_shape"))
    counts, pads = [], []
    for n, s, e, (low, high) in zip(
        sizes, window.strides, window.extents, window.pads, strict=True
    ):
        room = n + low + high - e
        count = (-(-room // s) if call.get("ceil_mode", 0) else room // s) + 1
        if call.get("ceil_mode", 0) and (count - 1) * s >= n + low:
            count -= 1
        if count < 1:
            raise ValueError(f"a window must fit into an axis of {n}, got {e} elements")
        counts.append(count)
        pads.append((low, (count - 1) * s + e - n - low))
    padded = [n + low + high for n, (low, high) in zip(sizes, pads, strict=True)]
    check_size([*x.shape[:2], *padded])
    return rank, window._replace(pads=pads), counts


def _torch_padding(
    window: Windows, sizes: Any, counts: list[int]
) -> tuple[tuple[int, ...], bool] | None:
    """Return torch's padding and ``ceil_mode`` for the same windows; None if there are none."""
    lows = tuple(low for low, _ in window.pads)
    if any(not 0 <= 2 * low <= k for low, k in zip(lows, window.kernel, strict=True)):
        return None
    rows = zip(sizes, window.kernel, window.strides, lows, lows, window.dilations, strict=True)
    axes = [Axis(*row) for row in rows]
    for ceil_mode in (False, True):
        if [a.count(ceil_mode) for a in axes] == counts:
            return lows, ceil_mode
    return None


@operator("MaxPool")
def _max_pool(call: Call, x: Any) -> Any:
    rank, window, counts = _pooled(call, x)
    dtype = name_of(x)
    wide = x if is_float(x) else F.astype(x, "float32")
    padding, pads = _torch_padding(window, x.shape[2:], counts), [(0, 0)] * rank
    if padding is None:
        low = -math.inf if is_float(x) else float(np.iinfo(dtype).min)
        wide, pads = F.pad(wide, widths(window.pads), value=low), window.pads
        padding = (0,) * rank, False
    before, ceil_mode = padding
    pool = _MAX[rank - 1]
    rest = (window.kernel, window.strides, before, window.dilations, ceil_mode)
    if call.n_outputs == 1:
        return F.astype(pool(wide, *rest), dtype)
    maxima, index = pool(wide, *rest, return_indices=True)
    return F.astype(maxima, dtype), _flat_index(call, index, x.shape, wide.shape[2:], pads)


def _flat_index(call: Call, index: Any, shape: Any, padded: Any, pads: Any) -> Any:
    """Convert indices into a channel's padded image to indices into the whole array."""
    places, rest = [], F.astype(index, "int64")
    for size, (low, _) in zip(padded[::-1], pads[::-1], strict=True):
        places.append(F.remainder(rest, size) - low)
        rest = F.astype(F.div(rest, size, rounding_mode="floor"), "int64")
    sizes = shape[2:]
    if not call.get("storage_order", 0):  # row-major
        sizes, places = sizes[::-1], places
    else:
        places = places[::-1]
    n = math.prod(shape[:2])
    flat = (np.arange(n) * math.prod(shape[2:])).reshape(*shape[:2], *(1,) * len(sizes))
    flat_index, step = call.device(flat.astype(np.int64)), 1
    for place, size in zip(places, sizes, strict=True):
        flat_index, step = flat_index + place * step, step * size
    return flat_index


def _window_sums(call: Call, x: Any, rank: int, window: Windows) -> Any:
    """Return the sum of each window."""
    padded = F.pad(x, widths(window.pads)) if any(map(any, window.pads)) else x
    if max(window.dilations) == 1:
        return _AVERAGE[rank - 1](padded, window.kernel, window.strides) * math.prod(window.kernel)
    check_host_size((x.shape[1], *window.kernel))
    ones = call.device(np.ones((x.shape[1], 1, *window.kernel), name_of(x)))
    return _CONV[rank - 1](padded, ones, None, window.strides, 0, window.dilations, x.shape[1])


@operator("AveragePool")
def average_pool(call: Call, x: Any) -> Any:
    """Average each window of the spatial axes."""
    rank, window, counts = _pooled(call, x)
    with_pads = bool(call.get("count_include_pad", 0))
    padding = _torch_padding(window, x.shape[2:], counts)
    if padding is not None and max(window.dilations) == 1 and not (
        with_pads and (padding[1] or call.get("ceil_mode", 0))  # torch counts other padding
    ):  # fmt: skip
        before, ceil_mode = padding
        return _AVERAGE[rank - 1](x, window.kernel, window.strides, before, ceil_mode, with_pads)
    full_pads = windows(call, x.shape[2:], window.kernel).pads
    check_host_size(counts)
    n_summed = np.ones((), np.int64)
    for axis in range(rank):
        check_host_size((counts[axis], window.kernel[axis]))
        starts = np.arange(counts[axis]) * window.strides[axis] - window.pads[axis][0]
        places = starts[:, None] + np.arange(window.kernel[axis]) * window.dilations[axis]
        low, high = full_pads[axis] if with_pads else (0, 0)
        inside = ((places >= -low) & (places < x.shape[2 + axis] + high)).sum(1)
        n_summed = n_summed[..., None] * inside
    return _window_sums(call, x, rank, window) / call.device(n_summed.astype(name_of(x)))


@operator("LpPool")
def _lp_pool(call: Call, x: Any) -> Any:
    rank, window, _ = _pooled(call, x)
    p = float(call.get("p", 2))
    sums = _window_sums(call, F.pow(F.abs(x), p), rank, window)
    return F.pow(F.where(F.eq(sums, 0), 0.0, sums), 1 / p)  # without a gradient at 0


@operator("MaxUnpool", 9, host=(2,))
def _max_unpool(call: Call, x: Any, index: Any, shape: Any = None) -> Any:
    rank_of(call, x)
    n, channels, *sizes = x.shape
    window = windows(call, sizes, call.need("kernel_shape"))
    full = [
        (s - 1) * t - low - high + k
        for s, t, k, (low, high) in zip(
            sizes, window.strides, window.kernel, window.pads, strict=True
        )
    ]
    output_sizes = full if shape is None else call.ints(shape)[2:]
    blank = F.full((n * channels * math.prod(full),), 0.0, device=call.run.queue)
    # Indices refer to the input size of the pooling.
    flat = F.reshape(F.astype(index, "int64"), (-1,))
    unpooled = F.reshape(F.scatter(blank, 0, flat, F.reshape(x, (-1,))), (n, channels, *full))
    pads = [(0, b - a) for a, b in zip(full, output_sizes, strict=True)]
    return F.pad(unpooled, widths(pads)) if any(map(any, pads)) else unpooled


def _spatial_axes(x: Any) -> tuple[int, ...]:
    """Return the spatial axes."""
    if len(x.shape) < 3:
        raise ValueError(f"the input must have at least 3 axes, got {len(x.shape)}")
    return tuple(range(2, len(x.shape)))


def mean_of_images(x: Any) -> Any:
    """Return the mean over the spatial axes, which remain with one element."""
    axes, sizes = _spatial_axes(x), tuple(x.shape[2:])
    is_pooled = len(axes) <= 3 and is_float(x) and name_of(x) != "float64"
    if is_pooled and 0 < math.prod(sizes) <= _MOST_POOLED and math.prod(x.shape):
        return _AVERAGE[len(axes) - 1](x, sizes)
    return F.mean(x, axes, True)


operator("GlobalAveragePool")(lambda call, x: mean_of_images(x))
operator("GlobalMaxPool")(lambda call, x: F.amax(x, _spatial_axes(x), True))


@operator("GlobalLpPool")
def _global_lp(call: Call, x: Any) -> Any:
    return F.norm(x, call.get("p", 2), _spatial_axes(x), True)
