# SPDX-License-Identifier: Apache-2.0

import dpnp
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F


def test_a_queue_is_required():
    with pytest.raises(TypeError, match="queue must be a dpctl.SyclQueue, got str"):
        sycl_dnn.synchronize("cpu")


def test_nothing_is_pending_afterwards(queue):
    x = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    for _ in range(5):
        x = F.relu(x)
    sycl_dnn.synchronize(queue)
    assert sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(queue), queue).pending == 0


@pytest.mark.slow
def test_threads_read_completed_results(queue):
    """``queue.wait()`` alone lets a thread through while another one is in it."""
    x = dpnp.ones((8, 16), dtype="f4", sycl_queue=queue)
    sycl_dnn.synchronize(queue)
    early = []

    def work(number):
        for turn in range(100):
            y = F.softmax(F.relu(F.mul(x, float(number))), dim=-1)
            sycl_dnn.synchronize(queue)
            if not (dpnp.asnumpy(y) == 1 / 16).all():
                early.append((number, turn))

    in_threads(8, work)
    assert not early
