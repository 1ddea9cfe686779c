# SPDX-License-Identifier: Apache-2.0
"""Calls on a CPU keep to one of SYCL's threads while they follow each other; others may run."""

import threading
import time

import dpctl
import dpnp
import fresh_process
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import _core, graph, onednn
from sycl_dnn import functional as F

SETUP = """
import dpnp, sycl_dnn
from sycl_dnn import _core, functional as F
from dpctl import SyclQueue
def long(x):
    for i in range(20):
        x = F.layer_norm(x, (64,))
    return x
x = dpnp.ones((64, 64), dtype="f4", sycl_queue=sycl_dnn.default_queue("cpu"))
run = sycl_dnn.compile(long, passes={"run_on_host": False})
"""


def long(x):
    """Twenty primitives that nothing fuses."""
    for _ in range(20):
        x = F.layer_norm(x, (64,))
    return x


def of_kernels(x):
    """Twenty generated kernels, which need no thread of the pool."""
    for _ in range(20):
        x = F.softmax(x, -1)
    return x


@pytest.fixture
def cpu():
    return sycl_dnn.default_queue("cpu")


def make(queue, seed=0):
    values = np.random.default_rng(seed).standard_normal((64, 64), dtype=np.float32)
    return dpnp.asarray(values, sycl_queue=queue)


def until_closed():
    for _ in range(2000):
        if not _core.host_lane()[1]:
            time.sleep(0.11)  # after a conflict none is opened for 100 ms
            return
        time.sleep(0.01)
    raise AssertionError("the lane does not end")


def test_a_long_program_opens_a_lane_that_ends(cpu):
    run = sycl_dnn.compile(long, passes={"run_on_host": False}).warmup(make(cpu))
    until_closed()
    before, _ = _core.host_lane()
    run(make(cpu))
    cpu.wait()
    # More than one where the machine stood still in between.
    assert _core.host_lane()[0] > before
    until_closed()


def test_a_program_of_kernels_opens_no_lane(cpu):
    x, run = make(cpu), sycl_dnn.compile(of_kernels)
    run.warmup(x)
    until_closed()
    before, _ = _core.host_lane()
    run(x)
    assert _core.host_lane()[0] == before


def call_of_function(queue):
    x = F.cat([make(queue)] * 8)  # too much for the caller's thread
    return lambda: F.layer_norm(x, (64,))


def call_of_primitive(queue):
    engine, layout = onednn.Engine(queue), onednn.MemoryDesc((64, 64), "f32", "ab")
    relu = onednn.Primitive(
        onednn.eltwise_forward(
            engine,
            prop_kind=onednn.prop_kind.forward_inference,
            algorithm=onednn.algorithm.eltwise_relu,
            src=layout,
            dst=layout,
        )
    )
    arguments = {name: onednn.Memory(layout, engine) for name in ("src", "dst")}
    stream = onednn.Stream(engine, queue)
    return lambda: relu.execute(stream, arguments)


def call_of_partition(queue):
    engine = onednn.Engine(queue)
    src, dst = (graph.LogicalTensor(i, "f32", (64, 64)) for i in (0, 1))
    relu = graph.Partition(graph.Op(0, "ReLU", [src], [dst]), onednn.engine_kind.cpu)
    compiled = relu.compile([src], [dst], engine)
    x, y = (graph.Tensor(t, engine, make(queue)) for t in (*compiled.inputs, *compiled.outputs))
    stream = onednn.Stream(engine, queue)
    return lambda: compiled.execute(stream, [x], [y])


@pytest.mark.parametrize("kind", [call_of_function, call_of_primitive, call_of_partition])
def test_one_primitive_opens_a_lane(cpu, kind):
    call = kind(cpu)
    call()
    cpu.wait()
    until_closed()
    before, _ = _core.host_lane()
    call()
    cpu.wait()
    assert _core.host_lane()[0] > before
    until_closed()


def test_two_queues_in_turn_open_few_lanes(cpu):
    """Opening one for each call would cost more than the calls."""
    other = dpctl.SyclQueue(cpu.sycl_context, cpu.sycl_device)
    calls = [call_of_function(cpu), call_of_function(other)]
    before, start = _core.host_lane()[0], time.monotonic()
    for _ in range(200):
        for call in calls:
            call()
    sycl_dnn.synchronize(cpu)
    sycl_dnn.synchronize(other)
    assert _core.host_lane()[0] - before < 3 + (time.monotonic() - start) / 0.1


def test_calls_in_a_row_share_a_lane(cpu):
    x = make(cpu)
    run = sycl_dnn.compile(long, passes={"run_on_host": False}).warmup(x)
    before, _ = _core.host_lane()
    for _ in range(300):
        run(x)
    cpu.wait()
    assert _core.host_lane()[0] - before < 150


@pytest.mark.slow
def test_a_pool_of_one_thread_needs_no_lane():
    code = SETUP + "y = run(x); y.sycl_queue.wait(); print(_core.host_lane())"
    assert fresh_process.output(code, SYCL_QUEUE_THREAD_POOL_SIZE="1") == "(0, False)"


@pytest.mark.slow
def test_the_process_ends_with_a_lane_open():
    code = SETUP + "y = run(x); print(_core.host_lane()[0] > 0)"
    assert fresh_process.output(code) == "True"


@pytest.mark.slow
def test_queues_of_several_threads(cpu):
    run = sycl_dnn.compile(long, passes={"run_on_host": False})
    expected = dpnp.asnumpy(run(make(cpu)))
    wrong = []

    def work(_):
        queue = dpctl.SyclQueue(cpu.sycl_context, cpu.sycl_device)
        x = make(queue)
        for _ in range(50):
            y = run(x)
            sycl_dnn.synchronize(queue)
            if not np.array_equal(dpnp.asnumpy(y), expected):
                wrong.append(queue)

    in_threads(4, work)
    assert not wrong


@pytest.mark.slow
def test_dpnp_work_continues_beside_a_lane(cpu):
    """Calls of oneMKL through dpnp are why the pool has more threads than one."""
    x, run = make(cpu), sycl_dnn.compile(long, passes={"run_on_host": False})
    a = dpnp.eye(64, dtype="f4", sycl_queue=cpu) * 2
    for _ in range(20):
        y = run(x)
        inverse = dpnp.linalg.inv(a)
        values, _ = dpnp.linalg.eigh(a)
        spectrum = dpnp.fft.fft(x)
    assert np.allclose(dpnp.asnumpy(inverse), np.eye(64) / 2)
    assert np.allclose(dpnp.asnumpy(values), 2)
    assert np.allclose(dpnp.asnumpy(spectrum), np.fft.fft(dpnp.asnumpy(x)), atol=1e-3)
    assert np.allclose(dpnp.asnumpy(y).mean(-1), 0, atol=1e-5)


def test_a_task_that_keeps_a_thread_delays_few_calls(cpu):
    """No thread is left then, and the calls must not wait for that each time."""
    other, over, ended = dpctl.SyclQueue(cpu.sycl_device), threading.Event(), threading.Event()

    class Waits:
        def __del__(self):
            over.wait(60)
            ended.set()

    call = call_of_function(cpu)
    waiting = other._submit_keep_args_alive((Waits(),), [])
    before, start = _core.host_lane()[0], time.monotonic()
    while time.monotonic() - start < 0.5:
        call()
        cpu.wait()
    assert _core.host_lane()[0] - before < 3 + (time.monotonic() - start) / 0.1
    over.set()
    waiting.wait()
    assert ended.is_set()


def sleeping(event):
    return event.wait(60)


def spinning(event):
    end = time.monotonic() + 60
    while not event.is_set() and time.monotonic() < end:
        pass
    return event.is_set()


@pytest.mark.parametrize("wait", [sleeping, spinning])
@pytest.mark.parametrize("n_threads", [0, 1])
@pytest.mark.parametrize("program", [long, of_kernels])
def test_other_tasks_that_wait_for_each_other_finish(cpu, program, n_threads, wait):
    """They need two threads of the pool, and get them although programs keep arriving."""
    x, run, over = make(cpu), sycl_dnn.compile(program).warmup(make(cpu)), threading.Event()
    other, second, seen = dpctl.SyclQueue(cpu.sycl_device), threading.Event(), []

    class Waits:
        def __del__(self):
            seen.append(wait(second))

    class Sets:
        def __del__(self):
            second.set()

    def keep_running():
        while not over.is_set():
            run(x)

    threads = [threading.Thread(target=keep_running) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        run(x)
    waiting = other._submit_keep_args_alive((Waits(),), [])
    other._submit_keep_args_alive((Sets(),), [])
    while not seen:
        run(x)
    over.set()
    for thread in threads:
        thread.join()
    waiting.wait()
    assert seen == [True]
