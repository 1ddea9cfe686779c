# SPDX-License-Identifier: Apache-2.0
"""Boxes in images: nms, roi_align."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec, queue_of
from functional.checks import checked

import sycl_dnn
from sycl_dnn import functional as F

#: Image, then corners; one box lies partly outside.
BOXES = np.array([[0, 0.5, 0.2, 3.1, 4.0], [1, -1.5, 1, 2, 7], [0, 2, 2, 2.4, 2.6]])


def point(image, y, x):
    h, w = image.shape[1:]
    if not (-1 <= y <= h and -1 <= x <= w):
        return 0 * image[:, 0, 0]
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    t, l = int(y), int(x)  # noqa: E741
    b, r = min(t + 1, h - 1), min(l + 1, w - 1)
    fy, fx = y - t, x - l
    return (
        image[:, t, l] * (1 - fy) * (1 - fx) + image[:, t, r] * (1 - fy) * fx
        + image[:, b, l] * fy * (1 - fx) + image[:, b, r] * fy * fx
    )  # fmt: skip


def aligned_boxes(x, size, scale=1.0, ratio=-1, aligned=False):
    result = x.new_zeros((len(BOXES), x.shape[1], *size))
    for k, (n, *corners) in enumerate(BOXES):
        x1, y1, x2, y2 = np.array(corners) * scale - (0.5 if aligned else 0)
        sides = np.array([y2 - y1, x2 - x1])
        sides = sides if aligned else np.maximum(sides, 1)
        steps = sides / size
        counts = [ratio] * 2 if ratio > 0 else np.ceil(steps).astype(int)
        for i, j in np.ndindex(*size):
            for a, b in np.ndindex(*counts):
                y = y1 + (i + (a + 0.5) / counts[0]) * steps[0]
                z = x1 + (j + (b + 0.5) / counts[1]) * steps[1]
                result[k, :, i, j] += point(x[int(n)], y, z) / np.prod(counts)
    return result


def roi_align(x, size, *more):
    """The function for these boxes."""
    wide = "f8" if str(getattr(x, "dtype", "")) == "float64" else "f4"
    result = dpnp.asarray(BOXES, dtype=wide, sycl_queue=queue_of(x))
    is_narrow = str(getattr(x, "dtype", "")) == "bfloat16"
    return F.roi_align(x, F.astype(result, "bfloat16") if is_narrow else result, size, *more)


X = Spec((2, 3, 6, 5))
CASES = [
    Case("roi-align", roi_align, (X, (2, 3), 1.0, 2), torch=aligned_boxes),
    Case("roi-align-aligned", roi_align, (X, (2, 2), 0.5, 1, True), torch=aligned_boxes),
    *(
        Case(
            f"roi-align-adaptive-{a}",
            roi_align,
            (X, (2, 2), 1.0, -1, a),
            torch=aligned_boxes,
            has_gradient=False,
        )
        for a in (False, True)
    ),
]
TestCases = checked(CASES)


def test_boxes_of_each_image_and_traces(queue):
    x = dpnp.asarray(np.random.default_rng(0).random((2, 3, 6, 5)), dtype="f4", sycl_queue=queue)
    whole = dpnp.asarray(BOXES[[0, 2, 1]], dtype="f4", sycl_queue=queue)
    lists = [whole[:2, 1:], whole[2:, 1:]]
    one = F.roi_align(x, whole, 2, 1.0, 2)
    np.testing.assert_allclose(F.roi_align(x, lists, 2, 1.0, 2).asnumpy(), one.asnumpy())
    compiled = sycl_dnn.compile(lambda x, b: F.roi_align(x, b, 2, 1.0, 2))
    np.testing.assert_allclose(compiled(x, whole).asnumpy(), one.asnumpy(), rtol=1e-6)
    assert F.roi_align(x, whole[:0], 2, 1.0, 2).shape == (0, 3, 2, 2)
    with pytest.raises(TypeError, match="roi_align: sampling_ratio must be positive"):
        sycl_dnn.compile(lambda x, b: F.roi_align(x, b, 2))(x, whole)
    value, _ = sycl_dnn.vjp(lambda x, b: F.roi_align(x, b, 2), x, whole)
    np.testing.assert_array_equal(value.asnumpy(), F.roi_align(x, whole, 2).asnumpy())
    with pytest.raises(ValueError, match="roi_align: input must have shape"):
        F.roi_align(x, whole[:, 1:], 2, 1.0, 2)


def test_infinities_outside_of_a_box_have_no_effect(queue):
    """The largest box has 4 samples along a side; those the small one lacks are not read."""
    image = np.ones((1, 1, 6, 6), "f4")
    image[..., 3:] = np.inf
    image[..., 4, 0] = np.inf
    boxes = [[0, 0, 0, 2, 2], [0, 0, 0, 4, 4], [0, -9, 0, -5, 2], [0, 1, 5, 2, 12]]
    x, provided = (dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (image, boxes))
    result, pullback = sycl_dnn.vjp(lambda x: F.roi_align(x, provided, 1, 1.0, 4), x)
    np.testing.assert_allclose(result.asnumpy().ravel(), [1, np.inf, 0, 0.25], rtol=1e-6)
    np.testing.assert_allclose(pullback(F.ones_like(result))[0].asnumpy().sum(), 2.25, rtol=1e-6)
    adaptive = F.roi_align(x, provided[:2], 1).asnumpy().ravel()
    np.testing.assert_allclose(adaptive, [1, np.inf], rtol=1e-6)


def test_invalid_boxes_give_nan_or_are_refused(queue):
    x = dpnp.ones((2, 1, 4, 4), dtype="f4", sycl_queue=queue)
    rows = [
        [0, 0, 0, 2, 2],
        [2, 0, 0, 2, 2],
        [-1, 0, 0, 2, 2],
        [1, 2, 0, 1, 2],
        [0, np.nan, 0, 2, 2],
    ]
    provided = dpnp.asarray(rows, dtype="f4", sycl_queue=queue)
    result = dpnp.asnumpy(F.roi_align(x, provided, 1, 1.0, 2, True)).ravel()
    np.testing.assert_array_equal(np.isnan(result), [False, True, True, True, True])
    assert np.isnan(dpnp.asnumpy(F.roi_align(x, provided[:4], 1, aligned=True)).ravel()[1:]).all()
    with pytest.raises(ValueError, match="roi_align: boxes must be finite, .* got "):
        F.roi_align(x, provided, 1)


def test_many_images_of_narrow_boxes(queue):
    """bfloat16 has no 257."""
    x = dpnp.arange(300, dtype="f4", sycl_queue=queue).reshape(300, 1, 1, 1)
    box = sycl_dnn.asarray([[0, 0, 1, 1]], dtype="bfloat16", sycl_queue=queue)
    result = F.roi_align(x, [box] * 300, 1, 1.0, 1)
    np.testing.assert_array_equal(dpnp.asnumpy(result).ravel(), np.arange(300))


def test_nms_of_more_boxes_than_one_block(queue):
    rng = np.random.default_rng(0)
    corners = np.floor(rng.random((700, 2)) * 12) * 4
    boxes = np.concatenate([corners, corners + [4, 4]], 1)
    scores = rng.permutation(700)
    best = {}
    for number in np.argsort(-scores):
        best.setdefault(tuple(corners[number]), number)
    args = [dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (boxes, scores)]
    assert F.nms(*args, 0.5).tolist() == list(best.values())


def test_nms_keeps_the_best_of_overlapping_boxes(queue):
    boxes = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 10], [21, 20, 30, 31]]
    provided = dpnp.asarray(boxes, dtype="f4", sycl_queue=queue)
    scores = dpnp.asarray([0.8, 0.9, 0.3, 0.7, 0.6], dtype="f4", sycl_queue=queue)
    result = F.nms(provided, scores, 0.5)
    assert (result.dtype, result.asnumpy().tolist()) == (np.int64, [1, 4])
    assert F.nms(provided, scores, 0.85).asnumpy().tolist() == [1, 0, 4, 2]
    assert F.nms(provided[:0], scores[:0], 0.5).shape == (0,)
    with pytest.raises(ValueError, match="nms: boxes must have shape"):
        F.nms(provided, scores[:2], 0.5)
    with pytest.raises(TypeError, match="nms: boxes must be an array with values"):
        sycl_dnn.compile(lambda b, s: F.nms(b, s, 0.5))(provided, scores)
    kept = sycl_dnn.grad(lambda b, s: b[F.nms(b, s, 0.5)].sum())(provided, scores)
    assert kept.asnumpy().tolist() == [[0] * 4, [1] * 4, [0] * 4, [0] * 4, [1] * 4]


def test_samples_of_boxes_are_placed_by_kernels(queue):
    x = dpnp.ones((1, 2, 5, 5), dtype="f4", sycl_queue=queue)
    boxes = dpnp.asarray([[0, 1, 1, 4, 4]], dtype="f4", sycl_queue=queue)
    report = sycl_dnn.compile(lambda x, b: F.roi_align(x, b, 2, 1.0, 2)).explain(x, boxes)
    assert "dpnp" not in {part.way for part in report.parts}
