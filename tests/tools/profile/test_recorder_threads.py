# SPDX-License-Identifier: Apache-2.0
"""Profiles while several threads submit, and while profiles come and go."""

import threading
from collections import Counter

import dpnp
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F

N_THREADS, N_CALLS = 4, 50


def run_in_threads(work):
    ready = threading.Barrier(N_THREADS)

    def body(_):
        ready.wait()
        for _ in range(N_CALLS):
            work()

    in_threads(N_THREADS, body)


@pytest.mark.parametrize("wait", [False, True])
def test_all_threads_are_recorded(queue, wait):
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)
    F.relu(x)
    with sycl_dnn.profile(wait=wait) as p:
        run_in_threads(lambda: F.relu(x))
    calls = Counter(r.thread for r in p.records if r.is_execution)
    assert sorted(calls.values()) == [N_CALLS] * N_THREADS


def test_profiles_of_several_threads(queue):
    """Each sees at least its own; what others do may be among it."""
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)
    F.tanh(x)

    def work():
        with sycl_dnn.profile() as p:
            F.tanh(x)
        here = threading.get_native_id()
        assert sum(r.thread == here for r in p.records) == 1

    run_in_threads(work)
    assert not _core.is_recording()
