# SPDX-License-Identifier: Apache-2.0
"""Memory of a pending execution stays alive until it completes; threads, queues, exit."""

import gc
import os
import subprocess
import sys
import threading

import dpctl
import dpnp
import numpy as np
import pytest
from endurance.memory import resident_mb
from in_threads import in_threads

from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
FORWARD = dnnl.prop_kind.forward_inference


def relu(engine, d):
    algorithm = dnnl.algorithm.eltwise_relu
    pd = dnnl.eltwise_forward(engine, prop_kind=FORWARD, algorithm=algorithm, src=d, dst=d)
    return dnnl.Primitive(pd)


def square(engine, n):
    d = dnnl.MemoryDesc((n, n), F32)
    return dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))


@pytest.mark.slow
def test_thousand_queued_calls_whose_arrays_were_deleted(queue, engine):
    stream = dnnl.Stream(engine, queue, ordered=True)
    matmul = square(engine, 64)
    eye = dpnp.eye(64, dtype="f4", sycl_queue=queue)
    queue.wait()
    weights = dnnl.Memory.from_array(eye, engine)
    results = []
    for i in range(1000):
        src = dpnp.full((64, 64), float(i), dtype="f4", sycl_queue=queue)
        dst = dpnp.empty_like(src)
        args = {"src": dnnl.Memory.from_array(src, engine), "weights": weights}
        args["dst"] = dnnl.Memory.from_array(dst, engine)
        matmul.execute(stream, args)
        if i % 100 == 0:
            results.append((i, dst))
        del src, dst, args
    del weights, eye, matmul
    gc.collect()
    stream.wait()
    for i, dst in results:
        assert (dst.asnumpy() == i).all()


@pytest.mark.slow
@pytest.mark.resident_memory
def test_memories_are_released_after_completion(queue, engine, stream):
    """20 times 40 MB, each deleted at once: they do not accumulate."""
    d = dnnl.MemoryDesc((10_000_000,), F32)
    primitive = relu(engine, d)
    dst = dnnl.Memory(d, engine)
    before = None
    for _ in range(20):
        src = dpnp.ones((10_000_000,), dtype="f4", sycl_queue=queue)
        queue.wait()
        primitive.execute(stream, {"src": dnnl.Memory.from_array(src, engine), "dst": dst})
        del src
        stream.wait()
        before = before or resident_mb()
    assert stream.pending == 0
    assert resident_mb() - before < 60


MANY_CALLS = """
import sycl_dnn
from sycl_dnn import onednn as dnnl
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
engine = dnnl.Engine("cpu")
stream = dnnl.Stream(engine)
d = dnnl.MemoryDesc((16, 16), dnnl.data_type.f32)
matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
args = dict((name, dnnl.Memory(d, engine)) for name in ("src", "weights", "dst"))
def chain(calls):
    event = ()
    for _ in range(calls):
        event = (matmul.execute(stream, args, event),)
        assert stream.pending < 9
chain(5000)
before = resident()
chain(100_000)
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.resident_memory
@pytest.mark.parametrize("pool_size", ["1", "6"])
def test_work_in_flight_on_a_cpu_is_bounded_and_flat_in_memory(pool_size):
    """A product so small that oneDNN does not split it.

    What it splits, TBB notes for its other threads in objects that only they take away. Where they
    get no CPU for long, these pile up: 175 bytes for a relu, however it is called.
    """
    environment = {**os.environ, "SYCL_QUEUE_THREAD_POOL_SIZE": pool_size}
    done = subprocess.run(
        [sys.executable, "-c", MANY_CALLS], capture_output=True, env=environment, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2


@pytest.mark.slow
def test_eight_threads_share_one_primitive(queue, engine):
    """A primitive that needs a scratchpad: each execution must have its own."""
    window = {"strides": (1, 1), "padding_l": (1, 1), "padding_r": (1, 1)}
    window["algorithm"] = dnnl.algorithm.convolution_direct
    free = [dnnl.MemoryDesc(s, F32, "any") for s in ((2, 8, 8, 8), (16, 8, 3, 3), (2, 16, 8, 8))]
    names = dict(zip(("src", "weights", "dst"), free, strict=True))
    pd = dnnl.convolution_forward(engine, prop_kind=FORWARD, **names, **window)
    primitive = dnnl.Primitive(pd)
    failures = []

    def work(number):
        stream = dnnl.Stream(engine, queue)
        args = {}
        for name, slot in primitive.arguments.items():
            if slot["required"]:
                args[name] = dnnl.Memory(slot["desc"], engine)
        plain = dnnl.MemoryDesc((2, 8, 8, 8), F32)
        for _ in range(100):
            event = upload(stream, plain, float(number), args["src"])
            event = upload(stream, dnnl.MemoryDesc((16, 8, 3, 3), F32), 1.0, args["weights"], event)
            primitive.execute(stream, args, [event]).wait()
        actual = read(stream, args["dst"])
        if not (actual[:, :, 1:-1, 1:-1] == number * 72.0).all():
            failures.append(number)

    in_threads(8, work)
    assert failures == []


def upload(stream, plain, value, target, depends=None):
    """Reorder a constant tensor into ``target``; return the event."""
    engine = stream.engine
    array = dpnp.asarray(np.full(plain.dims, value, "f4"), sycl_queue=stream.sycl_queue)
    source = dnnl.Memory(plain, engine, array)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=plain, dst=target.desc))
    return reorder.execute(stream, {"src": source, "dst": target}, [depends] if depends else ())


def read(stream, memory):
    plain = dnnl.Memory(dnnl.MemoryDesc(memory.desc.dims, F32), stream.engine)
    reorder = dnnl.Primitive(dnnl.reorder(stream.engine, src=memory.desc, dst=plain.desc))
    reorder.execute(stream, {"src": memory, "dst": plain}).wait()
    return plain.to_array().asnumpy()


def test_two_queues_and_two_engines(queue):
    contexts = [queue.sycl_context, dpctl.SyclContext([queue.sycl_device])]
    for context in contexts:
        first, second = (dpctl.SyclQueue(context, queue.sycl_device) for _ in range(2))
        engine = dnnl.Engine(first)
        assert dnnl.Engine(second) == engine
        assert hash(dnnl.Engine(second)) == hash(engine)
        matmul = square(engine, 32)
        a = dpnp.full((32, 32), 2.0, dtype="f4", sycl_queue=first)
        first.wait()
        src = dnnl.Memory.from_array(a, engine)
        middle, last = (dnnl.Memory(src.desc, engine) for _ in range(2))
        event = matmul.execute(
            dnnl.Stream(engine, first), {"src": src, "weights": src, "dst": middle}
        )
        args = {"src": middle, "weights": src, "dst": last}
        matmul.execute(dnnl.Stream(engine, second), args, [event]).wait()
        assert (last.to_array().asnumpy() == 2.0**3 * 32 * 32).all()
    assert dnnl.Engine(dpctl.SyclQueue(contexts[1], queue.sycl_device)) != dnnl.Engine(queue)


@pytest.mark.slow
def test_other_threads_run_while_one_waits(engine, stream):
    """The GIL is free during execution and wait."""
    matmul = square(engine, 1024)
    args = {n: dnnl.Memory(matmul.arguments[n]["desc"], engine) for n in ("src", "weights", "dst")}
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(5):
        start = len(ticks)
        matmul.execute(stream, args)
        stream.wait()
        assert len(ticks) > start
    done.set()
    thread.join()


EXIT_WHILE_BUSY = """
import sycl_dnn, sys
from sycl_dnn import onednn as dnnl
engine = dnnl.Engine(sycl_dnn.default_queue())
stream = dnnl.Stream(engine, ordered={ordered})
d = dnnl.MemoryDesc((512, 512), dnnl.data_type.f32)
matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
args = dict((n, dnnl.Memory(d, engine)) for n in ("src", "weights", "dst"))
for _ in range(7):
    matmul.execute(stream, args)
{end}
"""


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del args, matmul, stream, engine"])
def test_exit_while_busy(ordered, end):
    program = EXIT_WHILE_BUSY.format(ordered=ordered, end=end)
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=900)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""


@pytest.mark.resident_memory
def test_streams_and_engines_made_ten_thousand_times(queue):
    for _ in range(500):
        dnnl.Stream(dnnl.Engine(queue), queue)
    before = resident_mb()
    for _ in range(10_000):
        dnnl.Stream(dnnl.Engine(queue), queue)
    assert resident_mb() - before < 5


FOOTPRINT = """
import dpctl, dpnp, os
if {first}: import sycl_dnn
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
import sycl_dnn._runtime
queue = dpctl.SyclQueue("cpu")
dpnp.ones(10, sycl_queue=queue)
before = resident()
import sycl_dnn
from sycl_dnn import onednn as dnnl
engine = dnnl.Engine(queue)
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.resident_memory
def test_footprint_of_import_and_engine():
    """At most 40 MB beside dpctl and dpnp, the queue and a first array.

    How much depends on the page cache: see docs/architecture.md.
    """
    program = FOOTPRINT.format(first=False).replace("import sycl_dnn._runtime", REGISTER)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=900, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 40


REGISTER = """
import importlib.metadata as m
driver = [f for f in m.files("intel-opencl-rt") if f.name == "libintelocl.so"][0]
os.environ["OCL_ICD_FILENAMES"] = str(driver.locate())
"""
