# SPDX-License-Identifier: Apache-2.0
"""``nms`` and ``roi_align``."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import _core
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
from sycl_dnn.ir.node import Node, Shape, number
from sycl_dnn.lower.node_lowering import all_computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import (
    CEIL,
    CLAMP,
    EQ,
    FLOOR,
    GE,
    LE,
    LOGICAL_AND,
    LT,
    MAXIMUM,
    MINIMUM,
    REMAINDER,
    cast,
    where,
)
from sycl_dnn.ops.creation import iota
from sycl_dnn.trace.cloning import stopped
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.refusals import value_of
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, narrow, reshape, transpose

Pair = tuple[int, int]


def _wide(name: str, argument: str, x: Any) -> dpnp.ndarray:
    check_values(name, argument, x)
    if dtypes.is_complex(x.dtype):
        raise TypeError(f"{name}: {argument} must not be complex, got {x.dtype}")
    return x if x.dtype in ("float32", "float64") else astype(x, "float32")


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
    The device sorts, the host waits for the boxes and selects.
    Source: ``torchvision.ops.nms``.
    """
    corners, values = _wide("nms", "boxes", boxes), _wide("nms", "scores", scores)
    if corners.ndim != 2 or corners.shape[1] != 4 or values.shape != corners.shape[:1]:
        raise ValueError(
            f"nms: boxes must have shape (n, 4) and scores (n,), got {corners.shape} and "
            f"{values.shape}"
        )
    order = dpnp.argsort(values, descending=True, stable=True)
    ranked = dpnp.asnumpy(dpnp.take(corners, order, axis=0))
    ranks = _core.kept_boxes(ranked, float(iou_threshold), len(ranked))
    chosen = dpnp.asarray(ranks, sycl_queue=corners.sycl_queue)
    return dpnp.take(order, chosen).astype("int64")


# --- roi_align


def _corners_and_sides(corners: Sequence[Any], scale: float, aligned: bool, maximum: Any) -> Any:
    """Return the first corners and the sides of boxes, rows first, in pixels.

    ``corners`` are arrays x1, y1, x2, y2, or nodes, of which ``maximum`` is that with 1.
    """
    offset = 0.5 if aligned else 0.0
    x1, y1, x2, y2 = (corner * scale - offset for corner in corners)
    sides = [y2 - y1, x2 - x1]
    return (y1, x1), sides if aligned else [maximum(s) for s in sides]


def _neighbor(
    start: Node, step: Node, count: Node, n: int, sample: Node, bin_index: Node, is_second: Node
) -> tuple[Node, Node, Node]:
    """Return position, weight and validity of the pixels before or after samples on an axis."""

    def of(value: float) -> Node:
        return number(value, start.dtype)

    sample, bin_index = cast(sample, start.dtype), cast(bin_index, start.dtype)
    # In torchvision's order: rounding decides which samples are outside.
    within = (sample + 0.5) * step / MAXIMUM(count, of(1))
    at = start + bin_index * step + within
    is_inside = LOGICAL_AND(LOGICAL_AND(GE(at, of(-1)), LE(at, of(n))), LT(sample, count))
    at = CLAMP(at, low=0.0, high=float(n - 1))
    floor = FLOOR(at)
    place = where(is_second, MINIMUM(floor + 1, of(n - 1)), floor)
    return cast(place, "int64"), where(is_second, at - floor, 1 - (at - floor)), is_inside


def _samples(
    box: Sequence[Node], shape: Shape, size: Pair, scale: float, counts: Pair, is_fixed: bool,
    aligned: bool,
) -> tuple[Node, Node]:  # fmt: skip
    """Return the pixels from which samples are interpolated, and weights; pixel n is outside.

    ``box`` are image and corners, (K, 1, 1) each. Results are (4, *counts, K, *size); ``counts``
    are the samples along both sides of a bin, the most of any box if they are not fixed.
    """
    n, _, *image_size = shape
    image, *corners = box
    one, zero = number(1, image.dtype), number(0, image.dtype)
    starts, sides = _corners_and_sides(corners, scale, aligned, lambda side: MAXIMUM(side, one))
    neighbor = iota(4, 0, 6)
    is_second = [GE(neighbor, number(2, "int32")), EQ(REMAINDER(neighbor, number(2, "int32")),
                                                      number(1, "int32"))]  # fmt: skip
    n_samples, parts = one, []
    for axis, n_bins in enumerate(size):
        step = sides[axis] / n_bins
        count = number(counts[axis], image.dtype) if is_fixed else CEIL(step)
        n_samples = n_samples * count
        places = iota(counts[axis], 1 + axis, 6), iota(n_bins, 4 + axis, 6)
        parts.append(
            _neighbor(starts[axis], step, count, image_size[axis], *places, is_second[axis])
        )
    (y, wy, in_y), (x, wx, in_x) = parts
    h, w = image_size
    first = cast(CLAMP(image, low=0.0, high=float(n - 1)), "int64") * (h * w)
    pixel = where(LOGICAL_AND(in_y, in_x), first + y * w + x, number(n * h * w, "int64"))
    tests = [GE(image, zero), LT(image, number(n, image.dtype)), *(GE(s, zero) for s in sides)]
    mean = where(functools.reduce(LOGICAL_AND, tests), 1 / MAXIMUM(n_samples, one),
                 number(math.nan, image.dtype))  # fmt: skip
    return pixel, wy * wx * mean


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
    sample_shape = (4 * math.prod(counts), k * rows * columns)
    columns_of_boxes = transpose(stopped(converted(boxes, wide)), (1, 0))
    box = [reshape(narrow(columns_of_boxes, 0, i, 1), (k, 1, 1)) for i in range(5)]
    indices, weights = (
        reshape(t, sample_shape) for t in all_computed(
            lambda *box: _samples(box, input.shape, size, scale, counts, is_fixed, aligned), *box
        )
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
    for image, each in enumerate(boxes):
        if len(each.shape) != 2 or each.shape[1] != 4:
            raise ValueError(f"roi_align: boxes[{image}] must have shape (L, 4), got {each.shape}")
        # Narrow dtypes cannot represent image indices.
        wide: Any = each if each.dtype == "float64" else astype(each, "float32")
        first: Any = full_like(wide[:, :1], float(image))
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
    wide: Any = astype(boxes, dtypes.wide(dtype))
    corners = [wide[:, i] for i in range(1, 5)]
    _, sides = _corners_and_sides(corners, scale, aligned, lambda side: dpnp.maximum(side, 1))
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
