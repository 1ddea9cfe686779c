# SPDX-License-Identifier: Apache-2.0
"""Batch norms with given statistics in the weights of products before them."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F

RNG = np.random.default_rng(19)


def test_batch_norm_after_a_product_and_a_sum_is_in_the_weights(queue):
    shapes = [(24, 10), *[(24,)] * 5]
    values = [RNG.random(shape, "f4") + 0.5 for shape in shapes]
    weights, *others = [sycl_dnn.freeze(dpnp.asarray(v, sycl_queue=queue)) for v in values]

    def layer(x):
        y = F.matmul(x, F.transpose(weights, 0, 1)) + others[0]
        return F.relu(F.batch_norm(y, *others[1:]))

    x = RNG.random((3, 10), "f4")
    compiled, on_device = sycl_dnn.compile(layer), dpnp.asarray(x, sycl_queue=queue)
    w, b, mean, variance, scale, shift = values
    expected = (x @ w.T + b - mean) / np.sqrt(variance + 1e-5) * scale + shift
    result = dpnp.asnumpy(compiled(on_device))
    np.testing.assert_allclose(result, np.maximum(expected, 0), 1e-4, 1e-4)
    (part,) = compiled.explain(on_device).parts
    assert part.row == "matmul"
    assert "binary_mul + binary_add (in weights)" in part.fused
