# SPDX-License-Identifier: Apache-2.0
"""Gradients of slices that cover an array, which kernels write to their places in it."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

SHAPES = [(8, 2), (2, 2), (8, 4), (8, 1, 2), (1, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_transposed", [False, True])
def test_gradients_of_halves(queue, shape, is_transposed):
    values = np.random.default_rng(0).normal(size=shape).astype("f4")
    x = dpnp.asarray(values, sycl_queue=queue)
    if is_transposed:
        x = dpnp.asarray(np.ascontiguousarray(values.T), sycl_queue=queue).T
    a, b = np.split(values, 2, -1)
    s = 1 / (1 + np.exp(-b))
    expected = np.concatenate([2 * a * s * s, 2 * a * s * a * s * (1 - s)], -1)
    for _ in range(2):
        gradient = sycl_dnn.grad(lambda x: F.sum(F.glu(x, -1) ** 2))(x)
        np.testing.assert_allclose(dpnp.asnumpy(gradient), expected, rtol=1e-4, atol=1e-5)
