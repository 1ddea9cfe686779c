# SPDX-License-Identifier: Apache-2.0
"""GridSample, RoiAlign and DeformConv."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn.onnx.convolution_operators import Windows, windows
from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.model_graph import check_size
from sycl_dnn.onnx.operator_registry import Call, F, operator

_MODES = {"linear": "bilinear", "cubic": "bicubic"}


@operator("GridSample", 16)
def _grid_sample(call: Call, x: Any, grid: Any) -> Any:
    mode = call.get("mode", "bilinear")
    mode, padding = _MODES.get(mode, mode), call.get("padding_mode", "zeros")
    if mode == "bicubic" and len(x.shape) != 4:
        call.refuse("cubic interpolation must be over two axes")
    return F.grid_sample(x, grid, mode, padding, bool(call.get("align_corners", 0)))


@operator("AffineGrid", 20, host=(1,))
def _affine_grid(call: Call, theta: Any, size: Any) -> Any:
    check_size(call.ints(size))
    return F.affine_grid(theta, tuple(call.ints(size)), bool(call.get("align_corners", 0)))


@operator("RoiAlign", 10)
def _roi_align(call: Call, x: Any, rois: Any, batch: Any) -> Any:
    coordinates = call.get("coordinate_transformation_mode", "half_pixel")
    aligned = call.version >= 16 and coordinates == "half_pixel"
    boxes = F.cat([F.reshape(F.astype(batch, name_of(rois)), (-1, 1)), rois], 1)
    size = call.get("output_height", 1), call.get("output_width", 1)
    ratio = call.get("sampling_ratio", 0)
    check_size((rois.shape[0], x.shape[1], *size))
    check_size((rois.shape[0], *(n * max(ratio, 1) for n in size)))
    if not ratio:
        call.host(rois)  # their sizes decide how many elements are read
    if call.get("mode", "avg") == "avg":
        scale = call.get("spatial_scale", 1.0)
        return F.roi_align(x, boxes, size, scale, ratio or -1, aligned)
    return call.refuse("mode must be avg")


@operator("DeformConv", 19)
def _deform_conv(
    call: Call, x: Any, w: Any, offset: Any, bias: Any = None, mask: Any = None
) -> Any:
    n, channels, height, width = x.shape
    window = windows(call, (height, width), w.shape[2:])
    groups, parts = call.get("group", 1), call.get("offset_group", 1)
    taps, (rows, columns) = window.kernel[0] * window.kernel[1], offset.shape[2:]
    offset = F.reshape(offset, (n, parts, taps, 2, rows, columns))
    tops, lefts = np.meshgrid(
        *(np.arange(k) * d for k, d in zip(window.kernel, window.dilations, strict=True)),
        indexing="ij",
    )
    start = _tap_positions(window, tops, lefts, rows, columns)
    places = offset + call.device(start.astype(name_of(x)))
    sizes = np.array([height, width], name_of(x)).reshape(2, 1, 1)
    places = places * call.device(2 / np.maximum(sizes - 1, 1)) - 1.0
    grid = F.flip(F.permute(places, (0, 1, 2, 4, 5, 3)), 5)
    grid = F.reshape(grid, (n * parts, taps * rows, columns, 2))
    image = F.reshape(x, (n * parts, channels // parts, height, width))
    samples = F.grid_sample(image, grid, "bilinear", "zeros", True)
    samples = F.reshape(samples, (n, parts, channels // parts, taps, rows, columns))
    if mask is not None:
        samples = samples * F.reshape(mask, (n, parts, 1, taps, rows, columns))
    group_channels = channels // groups
    samples = F.reshape(samples, (n, groups, group_channels * taps, rows * columns))
    weights = F.reshape(w, (groups, w.shape[0] // groups, group_channels * taps))
    output = F.reshape(F.matmul(weights, samples), (n, w.shape[0], rows, columns))
    return output if bias is None else output + F.reshape(bias, (-1, 1, 1))


def _starts(window: Windows, axis: int, n: int) -> np.ndarray:
    return np.arange(n) * window.strides[axis] - window.pads[axis][0]


def _tap_positions(window: Windows, tops: Any, lefts: Any, rows: int, columns: int) -> np.ndarray:
    """Return each tap's position without offsets, (taps, 2, rows, columns)."""
    positions = np.empty((int(tops.size), 2, rows, columns))
    positions[:, 0] = tops.reshape(-1, 1, 1) + _starts(window, 0, rows)[:, None]
    positions[:, 1] = lefts.reshape(-1, 1, 1) + _starts(window, 1, columns)
    return positions


@operator("MaxRoiPool", host=(1,))
def _max_roi_pool(call: Call, x: Any, rois: Any) -> Any:
    height, width = call.need("pooled_shape")
    check_size((len(rois), height, width), 20)  # one reduction for each
    scale = call.get("spatial_scale", 1.0)
    pooled = []
    for batch, *box in rois:
        left, top, right, bottom = (int(np.floor(v * scale + 0.5)) for v in box)
        image = F.select(x, 0, int(batch))
        rows = _cells(top, bottom, height, x.shape[2])
        columns = _cells(left, right, width, x.shape[3])
        cells = [[_peak(image, r, c) for c in columns] for r in rows]
        pooled.append(F.stack([F.stack(row, 1) for row in cells], 1))
    return F.stack(pooled, 0)


def _cells(first: int, last: int, n: int, size: int) -> list[range]:
    length = max(last - first + 1, 1) / n
    bounds = [
        (first + int(np.floor(i * length)), first + int(np.ceil((i + 1) * length)))
        for i in range(n)
    ]
    return [range(min(max(a, 0), size), min(max(b, 0), size)) for a, b in bounds]


def _peak(image: Any, rows: range, columns: range) -> Any:
    if not rows or not columns:
        return F.amax(image, (1, 2)) * 0.0
    return F.amax(image[:, rows.start : rows.stop, columns.start : columns.stop], (1, 2))
