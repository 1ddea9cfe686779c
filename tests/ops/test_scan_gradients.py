# SPDX-License-Identifier: Apache-2.0
"""Weights in the gradients of logarithms of sums do not have the rounding errors of the sums."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


def weights(x):
    """The derivative of each cumulative result by each element, in float64."""
    powers = np.tril(np.exp(x - x.max())[None].repeat(x.size, 0))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("offset", [-5000.0, 0.0, 5000.0])
def test_gradients_and_tangents_of_large_numbers(offset, queue):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(30) * 2 + offset).astype("f4")
    g = rng.standard_normal(30).astype("f4")
    jacobian = weights(x.astype("f8"))
    a, v = (dpnp.asarray(n, sycl_queue=queue) for n in (x, g))
    _, pullback = sycl_dnn.vjp(lambda x: F.logcumsumexp(x, 0), a)
    found = dpnp.asnumpy(pullback(v)[0])
    np.testing.assert_allclose(found, g @ jacobian, rtol=2e-5, atol=1e-6)
    _, tangent = sycl_dnn.jvp(lambda x: F.logcumsumexp(x, 0), (a,), (v,))
    np.testing.assert_allclose(dpnp.asnumpy(tangent), jacobian @ g, rtol=2e-5, atol=1e-6)
