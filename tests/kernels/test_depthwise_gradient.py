# SPDX-License-Identifier: Apache-2.0
"""Gradients of depthwise convolutions with kernels that oneDNN computes group by group."""

import numpy as np
import pytest
from kernel_cases import TOLERANCE, both_passes, error, kernels_of, placed

import sycl_dnn
from sycl_dnn import functional as F

#: Shape, kernel, stride, padding, dilation: rows outside the image, short blocks of channels, no
#: column inside, one image, signals, more columns than registers.
CASES = [
    ((2, 16, 9, 11), (5, 5), 1, 2, 1),
    ((3, 24, 8, 7), (7, 4), 2, 3, 1),
    ((2, 40, 6, 5), (3, 3), 1, 2, 2),
    ((1, 8, 3, 3), (5, 5), 1, 2, 1),
    ((2, 72, 10, 13), (3, 5), 3, (0, 4), (1, 2)),
    ((3, 16, 20), (4,), 1, 3, 1),
    ((2, 32, 15), (5,), 2, 0, 3),
    ((2, 16, 37), (31,), 1, 15, 1),
]


def in_float64(x, dy, weight, stride, padding, dilation):
    """Return the gradients of source, weights and bias by their definitions."""
    rank = x.ndim - 2
    stride, padding, dilation = (np.broadcast_to(v, rank) for v in (stride, padding, dilation))
    sizes, margins = x.shape[2:], [(p, p) for p in padding]
    padded = np.pad(x, [(0, 0), (0, 0), *margins])
    dx, dw = np.zeros_like(padded), np.zeros(weight.shape)
    for tap in np.ndindex(*weight.shape[2:]):
        spans = zip(tap, dilation, stride, dy.shape[2:], strict=True)
        at = (..., *(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in spans))
        dw[(slice(None), 0, *tap)] = (padded[at] * dy).sum((0, *range(2, x.ndim)))
        dx[at] += weight[(slice(None), 0, *tap)].reshape(-1, *(1,) * rank) * dy
    inside = (..., *(slice(p, p + n) for p, n in zip(padding, sizes, strict=True)))
    return dx[inside], dw, dy.sum((0, *range(2, x.ndim)))


def made(case, dtype, queue, layout="channels_last"):
    """Return a function and its arrays, and the gradient of its result."""
    shape, kernel, *window = case
    rng = np.random.default_rng(0)
    channels = shape[1]
    x = placed(rng.standard_normal(shape), queue, layout, dtype)
    weight = placed(rng.standard_normal((channels, 1, *kernel)), queue, "row_major", dtype)
    bias = placed(rng.standard_normal((1, channels)), queue, "row_major", dtype)[0]
    conv = F.conv1d if len(kernel) == 1 else F.conv2d

    def function(x, weight, bias):
        return conv(x, weight, bias, *window, channels)

    dy = rng.standard_normal(function(x, weight, bias).shape)
    return function, [x, weight, bias], placed(dy, queue, layout, dtype)


def host(array):
    return F.astype(array, "float32").asnumpy().astype(np.float64)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("layout", ["channels_last", "row_major"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients(queue, case, layout, dtype):
    function, arrays, dy = made(case, dtype, queue, layout)
    _, *gradients = both_passes(function, arrays, dy)
    expected = in_float64(host(arrays[0]), host(dy), host(arrays[1]), *case[2:])
    for actual, reference in zip(gradients, expected, strict=True):
        assert error(actual, reference) < 2 * TOLERANCE[dtype]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_have_a_kernel(queue, case):
    function, arrays, dy = made(case, "float32", queue)
    with sycl_dnn.kernel_mode("always"):
        _, pullback = sycl_dnn.vjp(function, *arrays)
    assert "depthwise_weights" in kernels_of(pullback, dy)


def test_three_columns_are_left_to_onednn(queue):
    function, arrays, dy = made(((2, 16, 9, 9), (3, 3), 1, 1, 1), "float32", queue)
    with sycl_dnn.kernel_mode("always"):
        _, pullback = sycl_dnn.vjp(function, *arrays)
    assert "depthwise_weights" not in kernels_of(pullback, dy)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_transposed_convolutions(queue, case, dtype):
    """They are gradients of convolutions with respect to the source, plus a bias."""
    (_, (x, weight, bias), dy), (kernel, stride, padding, dilation) = (
        made(case, dtype, queue),
        case[1:],
    )
    rank, channels = len(kernel), x.shape[1]
    stride, padding, dilation = (tuple(np.broadcast_to(v, rank).tolist())
                                 for v in (stride, padding, dilation))  # fmt: skip
    rows = zip(x.shape[2:], dy.shape[2:], kernel, stride, padding, dilation, strict=True)
    more = tuple(n + 2 * p - (t - 1) * s - d * (k - 1) - 1 for n, t, k, s, p, d in rows)
    conv = F.conv_transpose1d if rank == 1 else F.conv_transpose2d

    def function(dy, weight, bias):
        return conv(dy, weight, bias, stride, padding, more, channels, dilation)

    with sycl_dnn.kernel_mode("always"):
        y, pullback = sycl_dnn.vjp(function, dy, weight, bias)
        _, of_weight, of_bias = pullback(x)
    assert "depthwise_weights" in kernels_of(pullback, x)
    of_x, expected, _ = in_float64(host(x), host(dy), host(weight), stride, padding, dilation)
    assert error(host(y), of_x + host(bias).reshape(-1, *(1,) * rank)) < 2 * TOLERANCE[dtype]
    assert error(host(of_weight), expected) < 2 * TOLERANCE[dtype]
    assert error(host(of_bias), host(x).sum((0, *range(2, x.ndim)))) < 2 * TOLERANCE[dtype]


@pytest.mark.parametrize("case", [CASES[0], CASES[2]], ids=str)
def test_second_derivatives(queue, case):
    """They are those of oneDNN's primitives, which the tests of convolutions compare with torch."""
    function, arrays, dy = made(case, "float32", queue)

    def slopes(x, weight):
        _, pullback = sycl_dnn.vjp(function, x, weight, arrays[2])
        return pullback(dy)[:2]

    seeds = tuple(F.sin(a * 3) for a in arrays[:2])
    by_mode = []
    for mode in ("always", "never"):
        with sycl_dnn.kernel_mode(mode):
            _, pullback = sycl_dnn.vjp(slopes, *arrays[:2])
            by_mode.append([host(g) for g in pullback(seeds)])
    for actual, reference in zip(*by_mode, strict=True):
        assert error(actual, reference) < TOLERANCE["float32"]
