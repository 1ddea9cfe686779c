# SPDX-License-Identifier: Apache-2.0
"""Eight threads share primitives, compiled functions and graphs; each result is checked."""

import threading
from collections import Counter

import dpctl
import dpnp
import pytest
from dpctl.utils import SequentialOrderManager
from helpers.in_threads import in_threads

import sycl_dnn
from endurance.gate import Gate
from endurance.mixed_calls import Shared
from endurance.processes import lines_of
from endurance.threads import Crew, mixed
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl

N_THREADS, N_CALLS = 8, 60
pytestmark = pytest.mark.slow


@pytest.mark.smoke
def test_mixed_calls_of_eight_threads_on_one_queue(queue):
    crew = mixed(N_THREADS, N_CALLS, queue)
    assert (crew.wrong, crew.errors) == ([], [])
    assert sum(crew.counts.values()) == N_THREADS * N_CALLS
    assert set(crew.counts) == set(crew.shared.kinds)


def test_in_order_queue(queue):
    ordered = dpctl.SyclQueue(queue.sycl_device, property="in_order")
    crew = mixed(4, N_CALLS, ordered)
    assert (crew.wrong, crew.errors) == ([], [])


def test_each_thread_with_its_own_queue(queue):
    crews = [Crew(Shared(dpctl.SyclQueue(queue.sycl_device), n), N_CALLS) for n in range(4)]
    in_threads(4, lambda n: crews[n].work(n))
    assert [(c.wrong, c.errors) for c in crews] == [([], [])] * 4


def test_profile_counts_calls_of_eight_threads(queue):
    """One primitive for each call of these kinds, while profiles start and stop."""
    shared = Shared(queue)
    shared.kinds = ("relu", "primitive")
    crew, done = Crew(shared, N_CALLS), threading.Event()

    def look():
        while not done.is_set():
            with sycl_dnn.profile() as other:
                pass
            other.table()

    watcher = threading.Thread(target=look)
    with sycl_dnn.profile() as p:
        watcher.start()
        crew.run(N_THREADS)
    done.set()
    watcher.join()
    assert (crew.wrong, crew.errors) == ([], [])
    threads = Counter(r.thread for r in p.records if r.is_execution)
    assert sorted(threads.values()) == [N_CALLS] * N_THREADS


def test_first_calls_of_a_process_from_eight_threads():
    """dpctl hangs if it receives its first two events at once; the package prevents that."""
    for _ in range(3):
        assert lines_of("first_calls") == ["8"]


def waits(queue):
    """All ways to wait, each for work that ends when ``Gate`` opens."""
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue, ordered=True)
    d = dnnl.MemoryDesc((4,), dnnl.data_type.f32)
    memory = dnnl.Memory(d, engine)
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)
    sycl_dnn.synchronize(queue)

    def many_calls():
        for _ in range(20):
            F.relu(x)

    return {
        "synchronize": lambda: sycl_dnn.synchronize(queue),
        "Stream.wait": stream.wait,
        "event": lambda: memory.zero(stream, [stream_event(queue)]).wait(),
        "a submission": many_calls,
    }


def stream_event(queue):
    """The last event that dpnp knows of."""
    return SequentialOrderManager[queue].submitted_events[-1]


def test_python_runs_while_a_thread_waits(queue):
    """The gate is opened from Python, so a wait that held the GIL would deadlock."""
    if not queue.sycl_device.is_cpu:
        pytest.skip("host tasks of a simulated GPU wait for nothing")
    for name, wait in waits(queue).items():
        gate, counted = Gate(queue), []
        waiter = threading.Thread(target=wait)
        waiter.start()
        for i in range(20_000):
            counted.append(i)
        assert waiter.is_alive(), name
        gate.open()
        waiter.join()
        assert len(counted) == 20_000
        sycl_dnn.synchronize(queue)
