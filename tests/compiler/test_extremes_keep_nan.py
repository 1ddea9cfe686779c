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
    wanted = reference(x, dpnp.asnumpy(other(*arrays)))
    np.testing.assert_allclose(
        dpnp.asnumpy(sycl_dnn.compile(lambda x, y: extreme(x, other(x, y)))(*arrays)), wanted,
        rtol=1e-5, atol=1e-6,
    )  # fmt: skip
