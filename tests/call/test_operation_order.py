# SPDX-License-Identifier: Apache-2.0
"""Calls interleaved with dpnp's work, from several threads, with arrays already deleted."""

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@pytest.fixture(params=["out of order", "in order"])
def any_queue(request, queue):
    options = {"property": "in_order"} if request.param == "in order" else {}
    return dpctl.SyclQueue(queue.sycl_context, queue.sycl_device, **options)


@pytest.mark.slow
def test_order_with_dpnp_without_waiting(any_queue):
    """200 of 200: a product between two additions by dpnp."""
    n = 64
    eye = dpnp.eye(n, dtype="f4", sycl_queue=any_queue)
    one = dpnp.ones((n, n), dtype="f4", sycl_queue=any_queue)
    wrong = 0
    for _ in range(200):
        x = dpnp.zeros((n, n), dtype="f4", sycl_queue=any_queue)
        for _ in range(4):
            x = F.matmul(x + one, eye)
        y = x + one
        wrong += not (dpnp.asnumpy(y) == 5).all()
    assert wrong == 0


@pytest.mark.slow
def test_arrays_may_be_dropped_while_work_is_queued(queue):
    x = dpnp.ones((256, 256), dtype="f4", sycl_queue=queue)
    half = x / 256
    for _ in range(1000):
        x = F.matmul(x, half)
    np.testing.assert_allclose(dpnp.asnumpy(x), 1.0, rtol=1e-4)


def test_a_pullback_outlives_its_arrays(queue):
    x = dpnp.ones((8, 16), dtype="f4", sycl_queue=queue)
    w = dpnp.full((4, 16), 0.5, dtype="f4", sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(F.linear, x, w)
    dy = dpnp.ones_like(y)
    del x, w, y
    dx, dw = pullback(dy)
    assert (dpnp.asnumpy(dx) == 2).all()
    assert (dpnp.asnumpy(dw) == 8).all()


def test_a_failed_call_leaves_everything_usable(queue):
    x = dpnp.ones((8, 16), dtype="f4", sycl_queue=queue)
    for _ in range(3):
        with pytest.raises(ValueError, match="linear: weight must"):
            F.linear(x, x[:, :3])
    assert (dpnp.asnumpy(F.relu(x)) == 1).all()
