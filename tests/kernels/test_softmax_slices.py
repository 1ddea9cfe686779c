# SPDX-License-Identifier: Apache-2.0
"""Softmax by kernels: values, gradients, special values, along axes innermost and outer."""

import numpy as np
import pytest
from kernel_cases import TOLERANCE, both_passes, error, host, kernels_of, placed

import sycl_dnn
from sycl_dnn import functional as F

#: Shape, axis, layout: whole vectors; overlapping ones; several rows of blocks; few; other axes.
CASES = [
    ((2, 5, 4, 16), 1, "row_major"),
    ((3, 7, 7, 7), 1, "row_major"),
    ((2, 3, 10, 15), 1, "row_major"),
    ((5, 4, 3, 3), 1, "row_major"),
    ((6, 3, 4, 5), 0, "row_major"),
    ((2, 24, 5, 3), 2, "channels_last"),
]


def expected(x, dy, axis, is_log):
    """Return the value and the gradient in float64."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    total = powers.sum(axis, keepdims=True)
    y = powers / total
    if is_log:
        value = np.log(powers) - np.log(total)
        return [value, dy - y * dy.sum(axis, keepdims=True)]
    return [y, y * (dy - (y * dy).sum(axis, keepdims=True))]


#: Innermost: a vector, vectors that overlap, several of them, rows that overlap; channels-last.
ROW_CASES = [
    ((7, 8), 1, "row_major"),
    ((3, 2, 11), 2, "row_major"),
    ((5, 16), 1, "row_major"),
    ((9, 37), 1, "row_major"),
    ((4, 64), -1, "row_major"),
    ((2, 24, 3, 3), 1, "channels_last"),
]
EVERY = [
    *((name, *case, "float32") for case in ROW_CASES for name in ("softmax", "log_softmax")),
    *((name, *ROW_CASES[3], "bfloat16") for name in ("softmax", "log_softmax")),
    ("softmax", *ROW_CASES[1], "float16"),
    *(("softmax", *case, "float32") for case in CASES),
    *(("log_softmax", *CASES[i], "float32") for i in (1, 5)),
    *((name, *CASES[1], "bfloat16") for name in ("softmax", "log_softmax")),
    ("softmax", *CASES[2], "float16"),
]


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("name", "shape", "axis", "layout", "dtype"), EVERY)
def test_values_and_gradients(queue, name, shape, axis, layout, dtype):
    rng = np.random.default_rng(0)
    x, dy = (placed(3 * rng.standard_normal(shape), queue, layout, dtype) for _ in range(2))

    def function(x):
        return getattr(F, name)(x, axis)

    kind = "softmax_slices" if (shape, axis, layout) in CASES else "softmax_rows"
    assert kernels_of(function, x) == [f"{kind}_forward"]
    made = both_passes(function, [x], dy)
    for mine, other in zip(
        made, expected(host(x), host(dy), axis, name == "log_softmax"), strict=True
    ):
        assert error(mine, other) < 2 * TOLERANCE[dtype]


@pytest.mark.slow
@pytest.mark.parametrize("length", [8, 21, 40])
def test_special_values_of_rows(queue, length):
    x = np.zeros((6, length), np.float32)
    x[0, -1] = np.nan
    x[1] = -np.inf
    x[2, 0] = np.inf
    x[3, 3] = -np.inf
    x[4, -2:] = 3e38, -3e38
    with sycl_dnn.kernel_mode("always"):
        y, pullback = sycl_dnn.vjp(lambda x: F.softmax(x, 1), placed(x, queue))
        dx = host(pullback(y)[0])
        logarithm = host(F.log_softmax(placed(x, queue), 1))
    y = host(y)
    for made in (y, dx, logarithm):
        assert np.isnan(made[:3]).all()
        assert not np.isnan(made[3:]).any()
    assert y[3, 3] == 0
    assert np.abs(np.delete(y[3], 3) - 1 / (length - 1)).max() < 1e-7
    assert y[4].tolist() == [*(0,) * (length - 2), 1, 0]
    assert logarithm[3, 3] == -np.inf
    assert np.abs(y[5] - 1 / length).max() < 1e-7


@pytest.mark.slow
def test_special_values(queue):
    x = np.zeros((1, 3, 16), np.float32)
    x[0, :, 0] = np.nan, 0, 1
    x[0, :, 1] = -np.inf
    x[0, :, 2] = np.inf, 0, 1
    x[0, :, 3] = -np.inf, 0, 0
    x[0, :, 4] = 3e38, -3e38, 0
    with sycl_dnn.kernel_mode("always"):
        y = host(F.softmax(placed(x, queue), 1))[0]
        logarithm = host(F.log_softmax(placed(x, queue), 1))[0]
    assert np.isnan(y[:, :3]).all()
    assert np.isnan(logarithm[:, :3]).all()
    assert y[:, 3].tolist() == [0, 0.5, 0.5]
    assert y[:, 4].tolist() == [1, 0, 0]
    assert logarithm[0, 3] == -np.inf
    assert logarithm[0, 4] == 0
    assert np.abs(y[:, 5:] - 1 / 3).max() < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "axis"), [((1, 3, 9), 1), ((1, 9, 10), 2)])
def test_second_derivative(queue, shape, axis):
    values = np.random.default_rng(1).standard_normal(shape)

    def slope(x):
        return sycl_dnn.grad(lambda x: F.sum(F.mul(F.softmax(x, axis), F.softmax(x, axis))))(x)

    with sycl_dnn.kernel_mode("always"):
        made = host(sycl_dnn.grad(lambda x: F.sum(F.square(slope(x))))(placed(values, queue)))

    def penalty(x):
        y = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
        first = y * (2 * y - (2 * y * y).sum(axis, keepdims=True))
        return (first**2).sum(axis, keepdims=True)

    step, found = 1e-5, np.empty_like(values)
    for place in range(shape[axis]):
        at = np.zeros_like(values)
        index = (slice(None),) * axis + (slice(place, place + 1),)
        at[index] = step
        found[index] = (penalty(values + at) - penalty(values - at)) / (2 * step)
    assert error(made, found) < 1e-4


def test_compiled_and_innermost(queue):
    x = placed(np.random.default_rng(2).standard_normal((2, 5, 16)), queue)
    reference = expected(host(x), host(x), 1, False)[0]
    with sycl_dnn.kernel_mode("always"):
        assert error(host(sycl_dnn.compile(lambda x: F.softmax(x, 1))(x)), reference) < 1e-6
        # Compiled functions keep the primitive along the innermost axis: attention is found by it.
        inner = sycl_dnn.compile(lambda x: F.softmax(x, 2))
        assert error(host(inner(x)), expected(host(x), host(x), 2, False)[0]) < 1e-6
    assert not kernels_of(inner, x)
    assert not kernels_of(lambda x: F.softmax(x, 2), F.tile(x, (1, 1, 5)))
