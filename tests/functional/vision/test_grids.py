# SPDX-License-Identifier: Apache-2.0
"""Grid sampling: affine_grid, grid_sample."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked

import sycl_dnn
from sycl_dnn import functional as F

IMAGE, PLACES = Spec((2, 3, 4, 5)), Spec((2, 3, 2, 2))
CASES = [
    Case("grid", F.grid_sample, (IMAGE, PLACES), {"align_corners": False},
         torch="grid_sample", slack=5.0),
    Case("grid-corners", F.grid_sample, (IMAGE, PLACES), {"align_corners": True},
         torch="grid_sample", slack=5.0),
    Case("grid-volume", F.grid_sample,
         (Spec((1, 2, 3, 4, 3)), Spec((1, 2, 2, 3, 3))), {"align_corners": False},
         torch="grid_sample", slack=5.0),
    *(Case(f"affine-{corners}", F.affine_grid, (Spec((2, 2, 3)), (2, 3, 4, 5), corners),
           torch="affine_grid") for corners in (False, True)),
    Case("affine-volume", F.affine_grid, (Spec((1, 3, 4)), (1, 2, 2, 1, 4), False),
         torch="affine_grid"),
]  # fmt: skip
CASES += [
    *(Case(f"{mode}-{padding}-{corners}", F.grid_sample,
           (IMAGE, PLACES, mode, padding, corners), torch="grid_sample", slack=5.0)
      for mode in ("bilinear", "nearest", "bicubic")
      for padding, corners in (("zeros", False), ("border", True), ("reflection", False),
                               ("reflection", True))),
    Case("bf16", F.grid_sample, (IMAGE, PLACES, "bilinear", "border", False),
         torch="grid_sample", dtype="bfloat16", slack=2.0),
]  # fmt: skip
TestCases = checked(CASES, sweep=4, may_be_slow=True)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_nonfinite_coordinates_match_torch(padding, queue):
    torch = pytest.importorskip("torch")
    image = np.random.default_rng(0).random((1, 2, 3, 3)).astype("f4")
    grid = np.array([[[[np.nan, 0], [5, 5]], [[0, np.inf], [-1, 1]]]], "f4")
    for mode in ("bilinear", "nearest"):
        expected = torch.nn.functional.grid_sample(
            torch.tensor(image), torch.tensor(grid), mode, padding, False
        )
        args = (dpnp.asarray(v, sycl_queue=queue) for v in (image, grid))
        actual = F.grid_sample(*args, mode, padding, False)
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected.numpy(), rtol=1e-5, atol=1e-6)


nan, inf = np.nan, np.inf
#: Images, places, options; torch's value and gradients. That of NaN with a border ends torch.
SPECIAL = {
    "an infinity of another image": (
        [[[[inf, 2], [3, 4]]], [[[1, 1], [1, 1]]]], [[[[0.75, 0.5]]], [[[-1.25, 0.5]]]], {},
        [3, 0.25], [0, 0, 0, 0.75, 0, 0, 0.25, 0], [-4, -3, 1, -0.25],
    ),
    "NaN": (
        [[[[nan, 1], [inf, 2]]]], [[[[0.9, 0.2], [3, 0]]]], {},
        [1.02, 0], [0, 0.18, 0, 0.42], [-1.7, 0.6, 0, 0],
    ),
    "border": (
        [[[[inf, 1], [3, 2]]]], [[[[1.5, 0.2], [0.25, inf], [inf, 0.1]]]],
        {"padding_mode": "border"},
        [1.7, 2.25, 1.6], [0, 0.7, 0.25, 2.05], [0, 1, -1, 0, 0, 1],
    ),
    "reflection": (
        [[[[1, inf], [3, 2]]]], [[[[-1.5, 0.7], [-0.75, 5.5]]]], {"padding_mode": "reflection"},
        [3, 3], [0, 0, 2, 0], [0, 0, 0, 0],
    ),
    "at the border": (
        [[[[1, 2], [3, 5]]]], [[[[-1, 0], [1, 0], [nan, 0]]]],
        {"padding_mode": "border", "align_corners": True},
        [2, 3.5, 2], [1, 0.5, 1, 0.5], [0, 1, 0, 1.5, 0, 1],
    ),
    "places that are none": (
        [[[[1, 2], [3, 4]]]], [[[[nan, 0.5], [0.25, 0.25], [-0.5, -inf]]]], {},
        [nan, 3.25, nan], [0.0625, 0.1875, 0.1875, 0.5625], [0, nan, 1, 2, nan, 0],
    ),
    "nearest": (
        [[[[inf, 2], [3, 4]]]], [[[[nan, 0.5], [inf, 0.25], [0.5, 0.25], [-0.5, 1.6]]]],
        {"mode": "nearest"}, [0, 0, 4, 0], [0, 0, 0, 1], [0] * 8,
    ),
    "bicubic": (
        [[[[inf, 2, 1, 3], [3, 4, 6, 7]]]], [[[[1.5, 0.5]]]], {"mode": "bicubic"},
        [-0.65625], [0, 0, 0, 0, 0, 0, 0, -0.09375], [2.625, 0.2109375],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.sweep(2)
def test_unused_points_have_no_effect(name, queue):
    """0 times an infinite pixel is NaN: pixels that are not sampled must not be multiplied."""
    image, grid, options, *expected = SPECIAL[name]
    args = [dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (image, grid)]

    def both(x, places):
        actual, pullback = sycl_dnn.vjp(
            lambda x, p: F.grid_sample(x, p, **{"align_corners": False, **options}), x, places
        )
        return actual, *pullback(F.ones_like(actual))

    for run in (both, sycl_dnn.compile(both)):
        for actual, value in zip(run(*args), expected, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(actual).ravel(), value, rtol=1e-5, atol=1e-5)


def test_nonfinite_coordinates_in_volumes(queue):
    """They are outside, or the last point of an axis, and never NaN as in images: torch's rule."""
    image = np.arange(1.0, 9).reshape(1, 1, 2, 2, 2)
    grid = [[[[[nan, 0, 0], [0, inf, 0], [0, 0, -inf], [-0.5, -0.5, -0.5]]]]]
    x, places = (dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (image, grid))
    for padding, expected in (("zeros", [0, 0, 0, 1]), ("border", [5, 5.5, 2.5, 1])):
        actual = F.grid_sample(x, places, "bilinear", padding, False)
        np.testing.assert_allclose(dpnp.asnumpy(actual).ravel(), expected)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_images_with_an_axis_of_length_1_compile(mode, queue):
    """The place along it is a constant, which calls over arrays read."""
    x = dpnp.asarray(np.arange(8.0).reshape(1, 2, 1, 4), dtype="f4", sycl_queue=queue)
    grid = dpnp.asarray([[[[0.3, 0.2], [-2, 3]]]], dtype="f4", sycl_queue=queue)
    for padding in ("border", "reflection"):

        def call(x, grid, padding=padding):
            return F.grid_sample(x, grid, mode, padding, True)

        result = call(x, grid)
        assert dpnp.isfinite(result).all()
        np.testing.assert_allclose(
            dpnp.asnumpy(sycl_dnn.compile(call)(x, grid)), dpnp.asnumpy(result), rtol=1e-6
        )
