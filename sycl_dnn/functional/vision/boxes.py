# SPDX-License-Identifier: Apache-2.0
"""``nms`` and ``roi_align``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import in_dtype
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.convert import astype, converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.arithmetic.operands import by_values, check_values, not_an_array
from sycl_dnn.functional.creation.factories import full_like
from sycl_dnn.functional.embeddings import embedding
from sycl_dnn.functional.reduction.sums import sum as summed
from sycl_dnn.functional.shape.joining import cat, join
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.refusals import value_of
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, reshape, transpose


def _wide(name: str, argument: str, x: Any) -> dpnp.ndarray:
    check_values(name, argument, x)
    if dtypes.is_complex(x.dtype):
        raise TypeError(f"{name}: {argument} must not be complex, got {x.dtype}")
    return x if x.dtype in ("float32", "float64") else astype(x, "float32")


#: Number of boxes that are compared with all others at a time, which bounds the memory.
_BLOCK = 256


def _overlaps(block: dpnp.ndarray, boxes: dpnp.ndarray, threshold: float) -> np.ndarray:
    """Return which pairs have an intersection over union above ``threshold``."""
    low = dpnp.maximum(block[:, None, :2], boxes[None, :, :2])
    high = dpnp.minimum(block[:, None, 2:], boxes[None, :, 2:])
    sides = dpnp.maximum(high - low, 0)
    intersection = sides[..., 0] * sides[..., 1]
    areas = [(b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) for b in (block, boxes)]
    union = areas[0][:, None] + areas[1][None, :] - intersection
    return dpnp.asnumpy(intersection / union > threshold)


@by_values
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> dpnp.ndarray:
    """Apply non-maximum suppression: keep boxes by decreasing score unless they overlap kept ones.

    Parameters
    ----------
    boxes : array (n, 4)
        Corners (x1, y1, x2, y2) with x1 < x2 and y1 < y2.
    scores : array (n,)
    iou_threshold : float
        Boxes are dropped if their intersection over union with a kept one is larger.

    Returns
    -------
    array (k,) of int64
        Indices of the kept boxes, by decreasing score.

    Raises
    ------
    TypeError
        An argument is not an array, or is traced.
    ValueError
        The shapes do not match.

    Notes
    -----
    The device computes overlaps, of 256 boxes with all others at a time; the host waits for them
    and selects.
    Source: ``torchvision.ops.nms``.
    """
    corners, values = _wide("nms", "boxes", boxes), _wide("nms", "scores", scores)
    if corners.ndim != 2 or corners.shape[1] != 4 or values.shape != corners.shape[:1]:
        raise ValueError(
            f"nms: boxes must have shape (n, 4) and scores (n,), got {corners.shape} and "
            f"{values.shape}"
        )
    order = dpnp.argsort(values, descending=True, stable=True)
    is_suppressed = np.zeros(len(corners), bool)
    ranks = []
    ranked = dpnp.take(corners, order, axis=0)
    for start in range(0, len(corners), _BLOCK):
        block = ranked[start : start + _BLOCK]
        if is_suppressed[start : start + len(block)].all():
            continue
        overlaps = _overlaps(block, ranked[start:], iou_threshold)
        for offset in range(len(block)):
            if not is_suppressed[start + offset]:
                ranks.append(start + offset)
                is_suppressed[start:] |= overlaps[offset]
    chosen = dpnp.asarray(np.array(ranks, "int64"), sycl_queue=corners.sycl_queue)
    return dpnp.take(order, chosen).astype("int64")


# --- roi_align


def _corners_and_sides(boxes: dpnp.ndarray, scale: float, aligned: bool) -> tuple[Any, Any]:
    """Return the first corners and the sides of boxes, rows first, in pixels."""
    offset = 0.5 if aligned else 0.0
    x1, y1, x2, y2 = (boxes[:, i] * scale - offset for i in (1, 2, 3, 4))
    sides = [y2 - y1, x2 - x1]
    return (y1, x1), sides if aligned else [dpnp.maximum(s, 1) for s in sides]


class _Samples:
    """The pixels and weights from which samples of boxes are interpolated; index n is outside."""

    def __init__(
        self, shape: Sequence[int], size: tuple[int, int], scale: float, counts: Any,
        is_fixed: bool, aligned: bool,
    ) -> None:  # fmt: skip
        self._shape, self._size, self._scale = shape, size, scale
        #: Samples along both sides of a bin; the maximum if they are not fixed.
        self._counts, self._is_fixed, self._aligned = counts, is_fixed, aligned

    def _along(self, start: Any, length: Any, axis: int) -> tuple[Any, ...]:
        """Return positions, weights, validity and counts of one axis, (boxes, bins * samples)."""
        n_bins, max_samples, n = self._size[axis], self._counts[axis], self._shape[2 + axis]
        like = {"dtype": start.dtype, "sycl_queue": start.sycl_queue}
        step = length / n_bins
        count = dpnp.full(step.shape, max_samples, **like) if self._is_fixed else dpnp.ceil(step)
        bin_index = dpnp.repeat(dpnp.arange(n_bins, **like), max_samples)[None]
        sample = dpnp.tile(dpnp.arange(max_samples, **like), n_bins)[None]
        n_samples = count[:, None]
        # In torchvision's order: rounding decides which samples are outside.
        within = (sample + 0.5) * step[:, None] / dpnp.maximum(n_samples, 1)
        coordinates = start[:, None] + bin_index * step[:, None] + within
        is_inside = (coordinates >= -1) & (coordinates <= n) & (sample < n_samples)
        coordinates = dpnp.clip(coordinates, 0, n - 1)
        floor = dpnp.floor(coordinates)
        fraction = coordinates - floor
        neighbors = [floor.astype("int64"), dpnp.minimum(floor + 1, n - 1).astype("int64")]
        return neighbors, [1 - fraction, fraction], is_inside, count

    def __call__(self, boxes: dpnp.ndarray) -> list[dpnp.ndarray]:
        (n, _, h, w), (rows, columns) = self._shape, self._size
        (y1, x1), sides = _corners_and_sides(boxes, self._scale, self._aligned)
        ys, wys, in_y, ny = self._along(y1, sides[0], 0)
        xs, wxs, in_x, nx = self._along(x1, sides[1], 1)
        image = dpnp.clip(boxes[:, 0], 0, n - 1).astype("int64")[:, None, None] * (h * w)
        is_inside, outside = in_y[:, :, None] & in_x[:, None, :], dpnp.full_like(image, n * h * w)
        scale = 1 / dpnp.maximum(ny * nx, 1)
        is_valid = (boxes[:, 0] >= 0) & (boxes[:, 0] < n) & (sides[0] >= 0) & (sides[1] >= 0)
        scale = in_dtype(dpnp.where(is_valid, scale, math.nan), scale.dtype)[:, None, None]
        indices, weights = [], []
        for y, wy in zip(ys, wys, strict=True):
            for x, wx in zip(xs, wxs, strict=True):
                index = image + y[:, :, None] * w + x[:, None, :]
                indices.append(dpnp.where(is_inside, index, outside))
                weights.append(wy[:, :, None] * wx[:, None, :] * scale)
        split = (4, len(boxes), rows, self._counts[0], columns, self._counts[1])
        order, shape = (0, 3, 5, 1, 2, 4), (-1, len(boxes) * rows * columns)
        return [
            dpnp.stack(v).reshape(split).transpose(order).reshape(shape) for v in (indices, weights)
        ]


@operation
def _roi_align(input, boxes, size, scale, counts, is_fixed, aligned):
    name = "roi_align"
    check_float(name, input=input, boxes=boxes)
    if input.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 5:
        raise ValueError(
            f"{name}: input must have shape (N, C, H, W) and boxes (K, 5), got {input.shape} and "
            f"{boxes.shape}"
        )
    n, channels, h, w = input.shape
    k, (rows, columns) = boxes.shape[0], size
    shape = (k, channels, rows, columns)
    if 0 in shape or not input.size:
        return zeros(input.trace, shape, input.dtype)
    wide = dtypes.wide(input.dtype)
    call = _Samples(input.shape, size, scale, counts, is_fixed, aligned)
    sample_shape = (4 * math.prod(counts), k * rows * columns)
    indices, weights = input.trace.array_call(
        call, [converted(boxes, wide)], [Out(sample_shape, "int64"), Out(sample_shape, wide)],
        lambda entry, grads: {},
    )  # fmt: skip
    table = reshape(transpose(converted(input, wide), (0, 2, 3, 1)), (n * h * w, channels))
    # Samples outside read a row of zeros: multiplying an infinite pixel by 0 would give NaN.
    table = join([table, filled(input.trace, 0.0, (1, channels), wide)], 0)
    pixels = reshape(embedding(reshape(indices, (indices.size,)), table), (*sample_shape, channels))
    result = summed(mul(pixels, reshape(weights, (*sample_shape, 1))), 0)
    images = transpose(reshape(result, (k, rows, columns, channels)), (0, 3, 1, 2))
    return converted(images, input.dtype)


def _with_image_index(boxes: Sequence[Any]) -> Any:
    """Convert lists of boxes (L, 4) per image to (K, 5) with the image index first."""
    rows = []
    for number, each in enumerate(boxes):
        if len(each.shape) != 2 or each.shape[1] != 4:
            raise ValueError(f"roi_align: boxes[{number}] must have shape (L, 4), got {each.shape}")
        # Narrow dtypes cannot represent image indices.
        wide: Any = each if each.dtype == "float64" else astype(each, "float32")
        first: Any = full_like(wide[:, :1], float(number))
        rows.append(cat([first, wide], 1))
    return cat(rows)


#: Maximum number of samples along a side of a bin; more indicate a mistake in the boxes.
_MAX_SAMPLES = 2**20


def _sample_counts(
    boxes: Any, dtype: Any, size: tuple[int, int], scale: float, aligned: bool
) -> tuple[int, int]:
    """Return the number of samples along both sides of the largest box; the host waits for it."""
    if isinstance(boxes, Tensor):
        refusal = "roi_align: sampling_ratio must be positive inside a compiled function"
        boxes = value_of("roi_align", boxes, refusal)
    if not len(boxes):
        return 1, 1
    # Computed as the samples are placed: different rounding could lose a sample.
    wide = astype(boxes, dtypes.wide(dtype))
    _, sides = _corners_and_sides(wide, scale, aligned)
    counts = [dpnp.asnumpy(dpnp.ceil(s / n)) for s, n in zip(sides, size, strict=True)]
    largest = [max(float(c[np.isfinite(c)].max(initial=1)), 1.0) for c in counts]
    is_finite = all(np.isfinite(c).all() for c in counts)
    if max(largest) > _MAX_SAMPLES or not is_finite:
        actual = f"{max(largest):.0f}" if is_finite else "one that is not finite"
        raise ValueError(
            f"roi_align: boxes must be finite, with at most {_MAX_SAMPLES} points for one of the "
            f"result along a side, got {actual}"
        )
    return int(largest[0]), int(largest[1])


def roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Sample boxes of images into arrays of equal size.

    Parameters
    ----------
    input : array (N, C, H, W)
        Floating point.
    boxes : array (K, 5), or a list of N arrays (L, 4)
        Image index and corners (x1, y1, x2, y2), or a list of corners per image.
    output_size : int or (int, int)
        Rows and columns.
    spatial_scale : float
        Pixels of ``input`` per unit of the box coordinates.
    sampling_ratio : int
        Samples along each side of an output bin. If not positive, one per pixel of the bin; the
        boxes are then read, which waits for the device and is impossible in a trace.
    aligned : bool
        Whether to shift coordinates by half a pixel, so that samples are centered.

    Returns
    -------
    array (K, C, rows, columns)

    Raises
    ------
    TypeError
        A dtype is not floating point.
    ValueError
        The shapes do not match.

    Notes
    -----
    Only ``input`` has a gradient; bfloat16 and float16 are computed in float32. A box with an
    invalid image index or negative sides gives NaN. Source: ``torchvision.ops.roi_align``; He et
    al., "Mask R-CNN", arXiv:1703.06870.
    """
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * 2
    rows, columns = (checked_int("roi_align", "output_size", n, 1) for n in sizes)
    ratio = checked_int("roi_align", "sampling_ratio", sampling_ratio)
    rois = _with_image_index(boxes) if isinstance(boxes, (tuple, list)) else boxes
    for argument, array in (("input", input), ("boxes", rois)):
        if not hasattr(array, "dtype"):
            raise not_an_array("roi_align", argument, array)
    is_fixed = ratio > 0
    size = (rows, columns)
    counts = (ratio, ratio)
    if not is_fixed:
        counts = _sample_counts(rois, input.dtype, size, spatial_scale, aligned)
    return _roi_align(input, rois, size, float(spatial_scale), counts, is_fixed, bool(aligned))
