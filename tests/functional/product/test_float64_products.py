# SPDX-License-Identifier: Apache-2.0
"""Products of small float64 matrices are kernels with gradients; large ones are oneMKL's."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.program.executable import ArrayCall

SHAPES = [((4, 5), (5, 3)), ((2, 3, 4, 5), (5,)), ((2, 1, 4, 5), (3, 5, 2)), ((1, 300), (300, 1))]


@pytest.fixture
def calls(monkeypatch):
    """The names of the calls of dpnp in programs."""
    names, run = [], ArrayCall.run

    def noted(self, *args):
        names.append(self._name)
        run(self, *args)

    monkeypatch.setattr(ArrayCall, "run", noted)
    return names


def arrays(shapes, queue):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape) for shape in shapes]
    return values, [dpnp.asarray(v, sycl_queue=queue) for v in values]


@pytest.mark.float64
@pytest.mark.parametrize("shapes", SHAPES)
def test_small_products(shapes, queue, calls):
    (a, b), (x, y) = arrays(shapes, queue)
    np.testing.assert_allclose(dpnp.asnumpy(F.matmul(x, y)), a @ b, rtol=1e-13, atol=1e-14)
    gradient = sycl_dnn.grad(lambda x, y: F.sum(F.square(F.matmul(x, y))), argnums=(0, 1))
    dx, dy = gradient(x, y)
    step = 1e-6 * np.sign(a)
    slope = (np.sum(((a + step) @ b) ** 2) - np.sum(((a - step) @ b) ** 2)) / 2e-6
    np.testing.assert_allclose(np.sum(dpnp.asnumpy(dx) * np.sign(a)), slope, rtol=1e-6)
    assert dy.shape == b.shape
    assert not calls


@pytest.mark.float64
def test_large_products(queue, calls):
    (a, b), (x, y) = arrays([(256, 200), (200, 256)], queue)
    np.testing.assert_allclose(dpnp.asnumpy(F.matmul(x, y)), a @ b, rtol=1e-12, atol=1e-12)
    assert calls == ["matmul"]
