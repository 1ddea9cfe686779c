# SPDX-License-Identifier: Apache-2.0
"""Averages over windows of unequal lengths, for any innermost and any shrinking axis."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


def averages(x, sizes):
    """PyTorch's windows, in float64."""
    result = x.astype("f8")
    for axis, n_out in enumerate(sizes, start=2):
        n = result.shape[axis]
        spans = [(i * n // n_out, -(-(i + 1) * n // n_out)) for i in range(n_out)]
        parts = [result.take(range(*span), axis).mean(axis, keepdims=True) for span in spans]
        result = np.concatenate(parts, axis)
    return result


@pytest.mark.parametrize("layout", [(0, 1, 2, 3), (0, 2, 3, 1), (1, 2, 3, 0), (0, 1, 3, 2)])
@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((2, 3, 40, 50), (7, 9)), ((2, 20, 40, 50), (7, 9)), ((2, 20, 40, 50), (60, 9)),
        ((2, 20, 9, 5), (4, 3)), ((2, 3, 5, 40), (7, 55)), ((1, 16, 40, 1), (7, 1)),
        ((2, 17, 33, 34), (33, 9)),
    ],
)  # fmt: skip
@pytest.mark.sweep(4)
def test_values_and_gradients(layout, shape, sizes, queue):
    values = np.random.default_rng(0).standard_normal(shape).astype("f4")
    stored = dpnp.asarray(np.ascontiguousarray(values.transpose(layout)), sycl_queue=queue)
    x = stored.transpose(np.argsort(layout).tolist())
    found = dpnp.asnumpy(F.adaptive_avg_pool2d(x, sizes))
    np.testing.assert_allclose(found, averages(values, sizes), rtol=1e-5, atol=2e-6)
    weights = np.random.default_rng(1).standard_normal(found.shape).astype("f4")
    provided = dpnp.asarray(weights, sycl_queue=queue)
    slopes = sycl_dnn.grad(lambda x: F.sum(F.adaptive_avg_pool2d(x, sizes) * provided))(x)
    # The gradient of a linear function is its transpose.
    left = (dpnp.asnumpy(slopes).astype("f8") * values).sum()
    np.testing.assert_allclose(
        left, (averages(values, sizes) * weights).sum(), rtol=1e-4, atol=1e-3
    )
