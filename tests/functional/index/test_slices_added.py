# SPDX-License-Identifier: Apache-2.0
"""index_add against torch."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

X = np.random.default_rng(0).standard_normal((2, 3, 4)).round(2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("dim", "alpha"), [(0, 1), (1, 2.0), (-1, -0.5)])
def test_value_and_gradients_match_torch(dim, alpha, dtype, queue):
    torch = pytest.importorskip("torch")
    numbers = np.array([1, 0, 1, 1, 0])
    shape = list(X.shape)
    shape[dim] = 5
    rows = np.random.default_rng(1).standard_normal(shape).round(2)
    x, s = (torch.tensor(v, dtype=getattr(torch, dtype), requires_grad=True) for v in (X, rows))
    expected = torch.index_add(x.float(), dim, torch.tensor(numbers), s.float(), alpha=alpha)
    expected.square().sum().backward()
    mine = [to_device(v, dtype, queue) for v in (X, rows)]
    index = dpnp.asarray(numbers, sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(lambda x, s: F.index_add(x, dim, index, s, alpha=alpha), *mine)
    limit = 1e-5 if dtype == "float32" else 5e-2
    np.testing.assert_allclose(to_numpy(y), expected.detach(), rtol=limit, atol=limit)
    for found, provided in zip(pullback(2 * y if dtype == "float32" else F.mul(y, 2.0)), (x, s),
                            strict=True):  # fmt: skip
        np.testing.assert_allclose(
            to_numpy(found), provided.grad.float(), rtol=limit, atol=2 * limit
        )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, i: F.index_add(x, 0, x, x), TypeError, "index_add: index must"),
        (lambda x, i: F.index_add(x, 0, i, x[:1]), ValueError, "source must have shape"),
        (lambda x, i: F.index_add(x, 0, i, 1.0), TypeError, "source must be an array"),
        (lambda x, i: F.index_add(x, 0, i, x.astype("int64")), TypeError, "must have dtype"),
    ],
)
def test_refused(call, error, words, queue):
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=queue)
    with pytest.raises(error, match=words):
        call(x, dpnp.asarray([0, 1], sycl_queue=queue))
