# SPDX-License-Identifier: Apache-2.0
"""Products with integer weights only, which are decompressed on the fly."""

import dpnp
import numpy as np
import pytest
from comparing import reference_warnings
from functional.samples import Sample, array

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.quantized.quantize import RANGES

#: Axis, group size and zero points of weights that are decompressed.
COMPRESSED = [(None, None, False), (0, None, False), (0, None, True), (1, 16, False), (1, 32, True)]


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize(("axis", "group", "zero"), COMPRESSED)
@pytest.mark.sweep(3)
def test_linear_with_quantized_weights(dtype, axis, group, zero, queue, recwarn):
    w = Sample(queue, (6, 64), dtype, axis, group, zero)
    x = np.random.default_rng(2).integers(-4, 5, (2, 3, 64)).astype("f4")
    bias = np.arange(6.0)
    expected = x @ w.numbers.T + bias
    frozen = w.tensor._replace(data=sycl_dnn.freeze(w.tensor.data))
    for weight in (w.tensor, frozen, frozen):
        actual = F.linear(array(x, queue), weight, array(bias, queue))
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-5, atol=1e-5)
    narrow = sycl_dnn.asarray(x, "bfloat16", sycl_queue=queue)
    actual = F.linear(narrow, w.tensor, array(bias, queue))
    assert actual.dtype == "bfloat16"
    np.testing.assert_allclose(
        actual.asnumpy(), expected, rtol=2e-2, atol=2e-2 * np.abs(expected).max()
    )
    assert not reference_warnings(recwarn, queue)


@pytest.mark.parametrize(("axis", "group"), [(None, None), (1, None), (0, 16)])
def test_matmul_with_quantized_weights(axis, group, queue):
    w = Sample(queue, (32, 6), "int8", axis, group)
    x = np.random.default_rng(2).integers(-4, 5, (3, 32)).astype("f4")
    actual = F.matmul(array(x, queue), w.tensor)
    np.testing.assert_allclose(dpnp.asnumpy(actual), x @ w.numbers, rtol=1e-5, atol=1e-5)


def test_gradient_through_quantized_weights(queue):
    w = Sample(queue, (6, 32), "int4", 1, 16)
    x, bias = array(np.ones((3, 32)), queue), array(np.zeros(6), queue)
    y, pullback = sycl_dnn.vjp(lambda x, b: F.linear(x, w.tensor, b), x, bias)
    grads = pullback(dpnp.ones_like(y))
    np.testing.assert_allclose(dpnp.asnumpy(grads[0]), np.ones((3, 6)) @ w.numbers, rtol=1e-5)
    np.testing.assert_allclose(dpnp.asnumpy(grads[1]), np.full(6, 3.0))


def test_autocast_keeps_decompression(queue):
    w = Sample(queue, (6, 32), "int8", 0)
    x = np.ones((3, 32), "f4")
    with sycl_dnn.autocast("bfloat16"):
        actual = F.linear(array(x, queue), w.tensor)
    np.testing.assert_allclose(dpnp.asnumpy(actual), x @ w.numbers.T, rtol=1e-5)
