# SPDX-License-Identifier: Apache-2.0
"""At exit, static destructors find no device objects."""

import pytest
from fresh_process import output, run

pytestmark = pytest.mark.slow

CODE = """
import atexit

def look():
    print(_core.get_primitive_cache_capacity(), _core.get_compiled_partition_cache_capacity(),
          _core.host_lane()[1])

atexit.register(look)  # the first one comes last

import dpnp
import sycl_dnn
import sycl_dnn.functional as F
from sycl_dnn import _core

x = dpnp.ones((8, 8), dtype="f4", sycl_queue=sycl_dnn.default_queue("cpu"))
for _ in range(3):
    for _ in range(4):
        x = F.relu(F.linear(x, x, None))
assert _core.get_primitive_cache_capacity() > 0
"""


def test_caches_are_empty_when_static_objects_are_destroyed():
    """oneDNN's caches hold kernels and memory of devices; no host task is pending either."""
    assert output(CODE) == "0 0 False"


LONG = """
import time

def long(x):
    for _ in range(20):
        x = F.linear(x, x, None)
    return x

run = sycl_dnn.compile(long, passes={"run_on_host": False}).warmup(x)
while _core.host_lane()[1]:
    time.sleep(0.01)
opened = _core.host_lane()[0]
while _core.host_lane()[0] == opened:
    run(x)
"""


def test_host_tasks_of_a_long_program_have_finished():
    """Those that keep SYCL's other threads busy end before the process does."""
    assert output(CODE + LONG, SYCL_QUEUE_THREAD_POOL_SIZE="6").endswith("False")


DAEMONS = """
import sys, threading, time
import dpnp, sycl_dnn
import sycl_dnn.functional as F
from sycl_dnn import onednn as dnnl

queue = sycl_dnn.default_queue("cpu")
x = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
engine = dnnl.Engine(queue)
stream = dnnl.Stream(engine, queue, ordered=True)
compiled = sycl_dnn.compile(lambda x: F.softmax(F.relu(F.linear(x, x)), dim=-1)).warmup(x)
bound = sycl_dnn.plan(F.softmax, x, dim=-1)
d = dnnl.MemoryDesc((64, 64), dnnl.data_type.f32)
product = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
a, b = dnnl.Memory(d, engine), dnnl.Memory(d, engine)
calls = {
    "eager": lambda: F.relu(x),
    "compiled": lambda: compiled(x),
    "plan": bound,
    "execute": lambda: product.execute(stream, {"src": a, "weights": a, "dst": b}),
    "wait": lambda: (F.relu(x), sycl_dnn.synchronize(queue)),
    "stream": stream.wait,
    "making": lambda: dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d)),
}

def work(call):
    while True:
        call()

for call in calls.values():
    call()
for name in sys.argv[1:] or calls:
    threading.Thread(target=work, args=(calls[name],), daemon=True).start()
time.sleep(0.05)
print("end", flush=True)
"""
KINDS = ("eager", "compiled", "plan", "execute", "wait", "stream", "making")
ALL_AT_ONCE = pytest.param(KINDS, marks=pytest.mark.smoke, id=" ".join(KINDS))


@pytest.mark.parametrize("kinds", [*((kind, kind) for kind in KINDS), ALL_AT_ONCE], ids=" ".join)
def test_daemon_threads_end_with_the_process(kinds):
    """Anywhere inside a call when the interpreter exits."""
    done = run("-c", DAEMONS, *kinds)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
