# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn._core import ResultPool
from sycl_dnn.trace import allocation


@pytest.fixture(autouse=True)
def clean():
    sycl_dnn.cache.clear()
    yield
    sycl_dnn.cache.clear()


def large(queue, value=1.0, n=1 << 16):
    return dpnp.full(n, value, dtype="f4", sycl_queue=queue)


def test_memory_of_a_deleted_result_is_reused(queue):
    x = large(queue)
    places = set()
    for _ in range(1000):
        y = F.relu(x)
        places.add(y.get_array()._pointer)
        del y
    assert len(places) <= 2  # whether or not the calls before are complete


def test_memory_of_a_dropped_result_serves_calls_in_order(queue):
    x, total = large(queue), large(queue, 0.0)
    for i in range(50):
        total = F.add(total, F.mul(F.exp(F.mul(x, 0.0)), float(i)))
    np.testing.assert_array_equal(dpnp.asnumpy(total), np.full(1 << 16, 1225, "f4"))


def test_unfinished_calls_of_another_queue_keep_their_memory(queue):
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    stream = sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(other), other)
    results, x = [], large(queue, 3.0)
    for i in range(30):
        y = F.mul(x, float(i))
        results.append(large(other, 0.0))
        queue.wait()
        F.mul(y.to_device(other), 2.0, out=results[-1])
        del y
    stream.wait()
    assert [float(r[-1]) for r in results] == [6.0 * i for i in range(30)]


def test_unfinished_calls_of_other_threads_keep_their_memory(queue):
    x = large(queue)

    def calls(value):
        kept = [F.add(F.mul(F.exp(F.mul(x, 0.0)), value), float(i)) for i in range(40)]
        return [float(y[-1]) for y in kept]

    with ThreadPoolExecutor(4) as threads:
        for value, last in enumerate(threads.map(calls, range(8))):
            assert last == [float(value + i) for i in range(40)]


def test_living_results_keep_their_memory(queue):
    x = large(queue)
    kept = [F.relu(x * i) for i in range(20)]
    assert len({y.get_array()._pointer for y in kept}) == 20
    for i, y in enumerate(kept):
        np.testing.assert_array_equal(dpnp.asnumpy(y[:3]), [i, i, i])


def test_a_view_keeps_the_memory(queue):
    y = F.relu(large(queue, 7.0))
    view = y[10:13]
    del y
    for i in range(40):
        F.relu(large(queue, float(i)))
    np.testing.assert_array_equal(dpnp.asnumpy(view), [7, 7, 7])


@pytest.mark.slow
def test_dpnp_reads_before_the_memory_is_written_again(queue):
    """dpnp's kernel may still run when its argument has been dropped."""
    results = []
    for i in range(100):
        y = F.relu(large(queue, float(i)))
        results.append(y + y)
        del y
    for i, r in enumerate(results):
        assert float(r.min()) == float(r.max()) == 2 * i


def test_queues_do_not_share_memory(queue):
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    first = F.relu(large(queue))
    place = first.get_array()._pointer
    queue.wait()
    del first
    F.relu(large(queue, n=8))
    assert F.relu(large(other)).get_array()._pointer != place


def test_the_pool_is_bounded(queue):
    bounded = ResultPool(queue, 8 << 20)
    kept = [bounded.take(dpctl.memory.MemoryUSMDevice, 256 << 10) for _ in range(40)]
    assert bounded.nbytes == 8 << 20
    assert len({y._pointer for y in kept}) == 40


def test_blocks_in_use_do_not_hide_the_free_ones(queue):
    blocks = ResultPool(queue, 1 << 30)
    kept = [blocks.take(dpctl.memory.MemoryUSMDevice, 1000) for _ in range(100)]
    held = blocks.nbytes
    del kept[50:52]
    for _ in range(1000):
        blocks.take(dpctl.memory.MemoryUSMDevice, 1000)
    assert blocks.nbytes <= held + 10 * ResultPool.rounded(1000)


def test_clear_frees_unused_memory(queue):
    y = F.relu(large(queue))
    z = F.relu(large(queue))
    held = allocation.pool_of(queue).nbytes
    assert sycl_dnn.cache.memory() >= held
    queue.wait()
    del z
    sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(queue), queue).wait()
    sycl_dnn.cache.clear()
    assert allocation.pool_of(queue).nbytes == held / 2
    assert float(y.sum()) == 1 << 16


@pytest.mark.parametrize(
    "nbytes", [0, 1, 257, 5000, 65536, 65537, 100_000, 1 << 20, (1 << 20) + 1, 25_690_112]
)
def test_a_block_is_at_most_an_eighth_larger(nbytes):
    assert nbytes <= ResultPool.rounded(nbytes) <= max(nbytes * 9 / 8 + 1, nbytes + 256)


def test_a_reused_array_is_as_new(queue):
    x = dpnp.ones((4, 4), dtype="f4", sycl_queue=queue)

    def result():
        actual = F.relu(x)
        sycl_dnn.synchronize(queue)
        return actual

    for _ in range(3):
        result()
    changed = result()
    changed.get_array().flags.writable = False
    del changed
    fresh = result()
    assert fresh.get_array().flags.writable
    fresh.shape = (16,)
    del fresh
    fresh = result()
    assert fresh.shape == (4, 4)
    view, other = fresh[1:], result()
    del fresh
    third = result()
    other[...] = 5
    third[...] = 7
    assert dpnp.asnumpy(view).tolist() == [[1] * 4] * 3
    assert dpnp.asnumpy(other).tolist() == [[5] * 4] * 4
