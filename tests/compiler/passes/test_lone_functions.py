# SPDX-License-Identifier: Apache-2.0
"""Functions that compiled programs do not append: kernels with the values of the definition."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@pytest.mark.parametrize("slopes", [(-0.5,), (0.5, -0.5, 0.0, -2.0)])
@pytest.mark.parametrize("is_multiplied", [False, True])
def test_prelu_keeps_the_sign_of_zero(slopes, is_multiplied):
    """``max(x, 0) + slope * min(x, 0)``, as oneDNN computes it alone, is +0 for -0.5 * 0."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 4, 3, 3)).astype("f4")
    weights = rng.standard_normal((4, 4, 1, 1)).astype("f4")
    x, weights, slopes = map(dpnp.asarray, (x, weights, np.array(slopes, "f4")))

    def positive(x, w):
        return F.relu(F.conv2d(x, w) if is_multiplied else x + x)

    actual = sycl_dnn.compile(lambda x, w, a: F.prelu(positive(x, w), a))(x, weights, slopes)
    y = positive(x, weights).asnumpy()
    factor = slopes.asnumpy().reshape(1, -1, 1, 1)
    expected = np.where(y > 0, y, factor * y)
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert (np.signbit(actual.asnumpy()) == np.signbit(expected)).all()


@pytest.mark.parametrize("shape", [(2, 8, 3, 3), (2, 8, 5), (4, 8), (2, 8, 2, 2, 2)])
def test_relu_of_a_batch_norm_is_zero_for_minus_infinity(shape):
    """oneDNN's kernels that are not compiled multiply negative numbers by 0."""
    x = dpnp.asarray(10 * np.random.default_rng(6).standard_normal(shape).astype("f4"))
    scale, shift = F.full((8,), 3e38), F.zeros(8)
    function = lambda x: F.relu(F.batch_norm(x, shift, F.ones(8), scale, shift))  # noqa: E731
    found = sycl_dnn.compile(function)(x).asnumpy()
    np.testing.assert_array_equal(found == 0, x.asnumpy() <= 0)
    assert not np.signbit(found).any()
