# SPDX-License-Identifier: Apache-2.0
"""Linear interpolation and its gradients by kernels: any sizes, NaN, second derivatives, dtypes."""

import numpy as np
import pytest
from kernel_cases import TOLERANCE, both_passes, error, host, kernels_of, placed, torch_passes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.shape import interpolate as matrices

#: Shape, size: larger, smaller, both, one element, one axis kept, 1-D, eight channels.
CASES = [
    ((2, 16, 5, 7), (10, 14)),
    ((1, 24, 9, 6), (4, 5)),
    ((3, 8, 4, 6), (9, 3)),
    ((1, 16, 1, 5), (3, 5)),
    ((2, 32, 6, 6), (6, 13)),
    ((2, 16, 11), (23,)),
]


def resized(size):
    mode = "linear" if len(size) == 1 else "bilinear"
    return lambda x: F.interpolate(x, size, mode=mode)


def expected(x, dy):
    """Return the value and the gradient in float64 by the matrices of interpolation."""
    value, gradient = x, dy
    for axis in range(2, x.ndim):
        n, t = x.shape[axis], dy.shape[axis]
        matrix = matrices._taps(matrices.Resize(n, t, n / t), False, False, False).matrix()
        value = np.moveaxis(np.tensordot(value, matrix, (axis, 1)), -1, axis)
        gradient = np.moveaxis(np.tensordot(gradient, matrix, (axis, 0)), -1, axis)
    return value, gradient


@pytest.mark.sweep(8)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", ["channels_last", "row_major"])
@pytest.mark.parametrize(("shape", "size"), CASES)
def test_values_and_gradients(queue, shape, size, layout, dtype):
    rng = np.random.default_rng(0)
    x = placed(rng.standard_normal(shape), queue, layout, dtype)
    dy = placed(rng.standard_normal((*shape[:2], *size)), queue, layout, dtype)
    with sycl_dnn.kernel_mode("always"):
        _, pullback = sycl_dnn.vjp(resized(size), x)
    assert kernels_of(pullback, dy) == ["resized_backward"]
    if layout == "channels_last":
        assert kernels_of(resized(size), x) == ["resized_forward"]
    result = both_passes(resized(size), [x], dy)
    for mine, reference in zip(result, expected(host(x), host(dy)), strict=True):
        assert error(mine, reference) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "size"), [((2, 3, 5, 7), (10, 14)), ((1, 20, 9, 6), (4, 5)), ((2, 13, 11), (23,))]
)
def test_gradients_of_any_number_of_channels(queue, shape, size, dtype):
    rng = np.random.default_rng(0)
    x = placed(rng.standard_normal(shape), queue, "channels_last", dtype)
    dy = placed(rng.standard_normal((*shape[:2], *size)), queue, "channels_last", dtype)
    with sycl_dnn.kernel_mode("always"):
        _, pullback = sycl_dnn.vjp(resized(size), x)
        y, again = sycl_dnn.vjp(lambda x, dy: sycl_dnn.vjp(resized(size), x)[1](dy)[0], x, dy)
    assert kernels_of(pullback, dy) == ["resized_backward"]
    value, gradient = expected(host(x), host(dy))
    assert error(host(y), gradient) < TOLERANCE[dtype]
    assert error(host(again(x)[1]), value) < TOLERANCE[dtype]


@pytest.mark.parametrize("size", [(12, 12), (8, 8), (3, 3)])
def test_nonfinite_values_spread_as_in_torch(queue, size):
    pytest.importorskip("torch")
    import torch.nn.functional as torch_functional

    x, dy = np.zeros((1, 8, 4, 4)), np.zeros((1, 8, *size))
    x[0, 0, 1, 1], x[0, 1, 2, 0], x[0, 2, 3, 3] = np.nan, np.inf, -np.inf
    dy[0, 0, 1, 1], dy[0, 1, 2, 0] = np.nan, np.inf
    images = [placed(a, queue, "channels_last") for a in (x, dy)]
    result = both_passes(resized(size), [images[0]], images[1])

    def function(x):
        return torch_functional.interpolate(x, size, mode="bilinear")

    for mine, reference in zip(result, torch_passes(function, [x], dy, "float32"), strict=True):
        np.testing.assert_array_equal(mine, reference)


def test_sizes_beyond_the_kernel_run_in_onednn(queue):
    x = placed(np.ones((1, 8, 2, 2)), queue, "channels_last")
    dy = placed(np.ones((1, 8, 30, 2)), queue, "channels_last")
    with sycl_dnn.kernel_mode("always"):
        _, pullback = sycl_dnn.vjp(resized((30, 2)), x)
    assert kernels_of(pullback, dy) == []
    assert error(host(pullback(dy)[0]), np.full((1, 8, 2, 2), 15.0)) < 1e-6
