# SPDX-License-Identifier: Apache-2.0
"""Biases, scales and weights that are views with gaps, reversed or repeated."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.standard_normal(shape).astype("f4")


IMAGES, ROWS, VECTOR, SCALE = numbers(2, 8, 5, 6), numbers(4, 8), numbers(8), numbers(8)
ARGUMENTS = {
    "conv1d": (F.conv1d, numbers(2, 8, 7), numbers(8, 8, 3), VECTOR),
    "conv2d": (F.conv2d, IMAGES, numbers(8, 8, 3, 3), VECTOR),
    "conv2d of one pixel": (F.conv2d, IMAGES, numbers(8, 8, 1, 1), VECTOR),
    "conv2d in groups": (
        lambda x, w, b: F.conv2d(x, w, b, groups=2), IMAGES, numbers(8, 4, 3, 3), VECTOR,
    ),
    "conv3d": (F.conv3d, numbers(1, 3, 4, 5, 6), numbers(8, 3, 2, 2, 2), VECTOR),
    "conv_transpose2d": (F.conv_transpose2d, IMAGES, numbers(8, 8, 2, 2), VECTOR),
    "linear": (F.linear, ROWS, numbers(8, 8), VECTOR),
    "linear of one row": (F.linear, numbers(1, 8), numbers(8, 8), VECTOR),
    "bilinear": (F.bilinear, ROWS, ROWS, numbers(8, 8, 8), VECTOR),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (8,), w, b), ROWS, SCALE, VECTOR),
    "rms_norm": (lambda x, w: F.rms_norm(x, (8,), w), ROWS, SCALE),
    "embedding": (lambda w: F.embedding(dpnp.asarray([1, 3], sycl_queue=w.sycl_queue), w), ROWS),
    "folded into a convolution": (
        lambda x, w, s, b: F.relu(F.add(F.mul(F.conv2d(x, w), F.reshape(s, (8, 1, 1))),
                                        F.reshape(b, (8, 1, 1)))),
        IMAGES, numbers(8, 8, 3, 3), SCALE, VECTOR,
    ),
}  # fmt: skip


def with_gaps(array, queue):
    return dpnp.asarray(np.repeat(array, 2, axis=-1), sycl_queue=queue)[..., ::2]


def reversed_view(array, queue):
    return dpnp.asarray(array[..., ::-1].copy(), sycl_queue=queue)[..., ::-1]


def column(array, queue):
    """The first of three columns: each axis has gaps."""
    return dpnp.asarray(np.stack([array, array + 9, array - 9], -1), sycl_queue=queue)[..., 0]


@pytest.mark.parametrize("view", [with_gaps, reversed_view, column])
@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.sweep(6)
def test_values_and_gradients_equal_those_of_dense_arrays(queue, name, view):
    function, *arrays = ARGUMENTS[name]
    dense = [dpnp.asarray(a, sycl_queue=queue) for a in arrays]
    views = [view(a, queue) for a in arrays]
    expected, pullback = sycl_dnn.vjp(function, *dense)
    dy = dpnp.asarray(RNG.standard_normal(expected.shape).astype("f4"), sycl_queue=queue)
    value, reverse = sycl_dnn.vjp(function, *views)
    actual = [sycl_dnn.compile(function)(*views), function(*views), value, *reverse(dy)]
    for a, b in zip(actual, [expected] * 3 + list(pullback(dy)), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-4)


def test_an_expanded_number_as_a_bias(queue):
    x, w = (dpnp.asarray(a, sycl_queue=queue) for a in (ROWS, numbers(8, 8)))
    bias = dpnp.broadcast_to(dpnp.asarray(2.5, dtype="f4", sycl_queue=queue), (8,))
    result = F.linear(x, w, bias).asnumpy()
    np.testing.assert_allclose(result, F.linear(x, w).asnumpy() + 2.5, rtol=1e-5, atol=1e-5)
