# SPDX-License-Identifier: Apache-2.0
"""Several threads read results of one CPU queue with plain dpnp code, never too early."""

import threading

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from endurance.processes import lines_of_readers
from endurance.readers import Readers, network

pytestmark = pytest.mark.slow


def test_eight_threads_never_read_a_result_too_early():
    """``python -m endurance.readers 100000`` is the long version.

    Without the waits 4 to 6 % of such reads are early. A call submits some 40 primitives, which
    takes 80 ms where others keep the CPUs busy.
    """
    lines = lines_of_readers("readers", 320)
    assert len(lines) == 8
    assert [line for line in lines if not line.endswith(": 0 of 320")] == []


@pytest.mark.parametrize("options", [[], ["inside"]])
def test_first_use_of_dpnp_from_eight_threads_does_not_hang(options):
    """Two of its threads wait for each other where its extension modules were not used before."""
    assert lines_of_readers("first_uses", *options, repeat_hangs=False) == ["0 wrong []"]


@pytest.mark.parametrize("order", [[], ["in_order"]])
def test_pending_results_when_the_first_threads_start(order):
    """A new thread that waits must not release others that wait for older work."""
    queue = dpctl.SyclQueue("cpu", property=order)
    readers, early = Readers(queue), []
    for turn in range(30):
        actual = readers.compiled(readers.x, readers.w, readers.scales[turn % 8])

        def read(actual=actual, expected=turn % 8 + 1):
            if not (dpnp.asnumpy(actual) == expected).all():
                early.append(expected)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        read()
        for thread in threads:
            thread.join()
    assert early == []


def test_a_single_thread_does_not_wait(queue):
    """A call returns while its work is in flight, also after other threads have exited."""
    threading.Thread(target=lambda: None).start()
    x = dpnp.ones((64, 512), dtype="f4", sycl_queue=queue)  # some milliseconds of work
    w = dpnp.asarray(np.eye(512, dtype="f4"), sycl_queue=queue)
    compiled = sycl_dnn.compile(network)
    sycl_dnn.synchronize(queue)
    stream = sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(queue), queue)
    for _ in range(50):
        compiled(x, w, x)
        if stream.pending > 1:
            return
    pytest.fail("no call was under way when the next one was made")
