# SPDX-License-Identifier: Apache-2.0
"""Maxima and minima propagate the NaN of both operands, also where one is fused."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

MADE = {
    "sum": lambda x, y: x + y,
    "product": lambda x, y: x * y,
    "scaled": lambda x, y: (x + y) * 0.5,
    "masked": lambda x, y: F.masked_fill(x + y, x >= y, 0.25),
    "linear": lambda x, y: F.linear(x, F.ones_like(x[0, :4])) + y,
    "pooled": lambda x, y: F.avg_pool1d(x + y, 1),
}


@pytest.fixture
def arrays(queue):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((3, 8, 4)).astype("f4"), rng.standard_normal((8, 4)).astype("f4")
    x[1, 2, 3] = x[0, 0, 0] = y[5, 1] = np.nan
    y[6, 0] = np.inf
    return tuple(dpnp.asarray(v, sycl_queue=queue) for v in (x, y))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.sweep(4)
def test_fused_extremes_keep_nan_of_both_sides(made, name, arrays):
    extreme, other = getattr(F, name), MADE[made]
    reference = getattr(np, name)
    x = dpnp.asnumpy(arrays[0])
    for function in (
        lambda x, y: extreme(x, other(x, y)),
        lambda x, y: extreme(other(x, y), x),
        lambda x, y: extreme(F.tanh(x), other(x, y)),
    ):
        eager = dpnp.asnumpy(function(*arrays))
        compiled = dpnp.asnumpy(sycl_dnn.compile(function)(*arrays))
        np.testing.assert_allclose(compiled, eager, rtol=1e-5, atol=1e-6)
        assert np.isnan(eager[np.isnan(x)]).all()
    expected = reference(x, dpnp.asnumpy(other(*arrays)))
    np.testing.assert_allclose(
        dpnp.asnumpy(sycl_dnn.compile(lambda x, y: extreme(x, other(x, y)))(*arrays)), expected,
        rtol=1e-5, atol=1e-6,
    )  # fmt: skip


#: Functions that oneDNN's post-ops compute with numbers for NaN, of a product or a convolution.
APPENDED = {
    "relu": F.relu, "relu6": F.relu6, "hardtanh": F.hardtanh, "hardsigmoid": F.hardsigmoid,
    "clamp": lambda y: F.clamp(y, min=0.0), "exp": F.exp, "pow": lambda y: F.pow(y, 2.0),
    "leaky_relu": F.leaky_relu, "mish": F.mish, "log": F.log,
    "prelu": lambda y: F.prelu(y, F.flatten(y)[:1] + np.nan),
    "two": lambda y: F.celu(F.relu(y), 1.3),
}  # fmt: skip


@pytest.mark.parametrize("name", APPENDED)
@pytest.mark.sweep(2)
def test_nothing_that_loses_nan_is_appended_in_the_mode(name, queue):
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((4, 8)).astype("f4")
    weight[1, 3] = np.nan
    x, w = (dpnp.asarray(v, sycl_queue=queue) for v in (np.abs(weight[::2] - weight[2:]), weight))
    image, kernel = F.reshape(x, (1, 2, 2, 4)), F.reshape(w, (4, 2, 2, 2))
    for product, a, b in ((F.linear, x, w), (F.conv2d, image, kernel)):

        def function(a, b, product=product):
            return APPENDED[name](product(a, b))

        with sycl_dnn.nan_mode("propagate"):
            eager, compiled = (
                dpnp.asnumpy(f(a, b)) for f in (function, sycl_dnn.compile(function))
            )
        np.testing.assert_allclose(compiled, eager, rtol=1e-4, atol=1e-5)
        assert np.isnan(eager).any()
