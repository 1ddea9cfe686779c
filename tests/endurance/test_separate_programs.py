# SPDX-License-Identifier: Apache-2.0
"""Programs of this folder: forks, interrupts, refused memory, shared objects, abandoned queues."""

import pytest
from fresh_process import output, run

import sycl_dnn
from endurance import forked
from endurance.processes import lines_of

pytestmark = pytest.mark.slow

RIGHT = ["the result is right: True", "the next is right: True"]
CHILD = ["the product is right: True", "exit code 0"]
#: Programs with their arguments: what they print.
PRINTED = {
    # Ctrl-C ends a wait, the work continues, and later results are correct.
    ("interrupted", "array_work"): ["interrupted, open: False", *RIGHT],
    ("interrupted", "dpnp_work"): ["interrupted, open: False", *RIGHT],
    ("interrupted", "primitive_work"): ["interrupted, open: False", *RIGHT],
    ("forked_before",): [*CHILD, *CHILD, CHILD[0]],
    # oneDNN does not guard descriptors: one thread read memory that the other was freeing.
    ("shared_descriptor", 25): ["True set()"],
    # Only one thread at a time may change a graph; without a lock some hundred rounds crash.
    ("shared_graph", 100): ["60"],
}


@pytest.mark.parametrize("program", PRINTED, ids=str)
def test_programs_end_with_what_they_should_print(program):
    assert lines_of(*program) == PRINTED[program]


def test_an_interrupt_during_a_submission_is_handled_after_it():
    """The device continues right after the signal, so either may come first."""
    interrupted, *rest = lines_of("interrupted", "submission")
    assert interrupted.startswith("interrupted")
    assert rest == RIGHT


@pytest.mark.parametrize("way", ["multiprocessing", "fork"])
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_every_use_of_a_device_is_refused_in_a_forked_child(way, state):
    *refusals, code, parent = lines_of("forked", way, state)
    queue = sycl_dnn.default_queue()
    ways = {**forked.arrays_of(queue), **forked.objects_of(queue), **forked.graphs_of(queue)}
    assert refusals == [f"{name}: refused" for name in ways]
    assert (code, parent) == ("exit code 0", "the parent goes on: True")


def test_refused_allocations_leave_everything_usable():
    counts, too_large, afterwards = lines_of("refused_memory")
    refused, done = map(int, counts.split())
    assert refused >= 1
    assert done >= 1
    assert too_large == "too large: {'refused': 3, 'done': 0}"
    assert afterwards == "afterwards: True"


ABANDONED = """
import gc, weakref
import dpctl, sycl_dnn
from sycl_dnn import onednn as dnnl

base = sycl_dnn.default_queue("cpu")
desc = dnnl.MemoryDesc((16, 16), dnnl.data_type.f32)
alive = []

def use():
    queue = dpctl.SyclQueue(base.sycl_context, base.sycl_device)
    engine = dnnl.Engine(queue)
    memory = dnnl.Memory(desc, engine)
    memory.zero(dnnl.Stream(engine, queue)).wait()
    alive.append(weakref.ref(memory))

for _ in range(50):
    use()
gc.collect()
print("alive:", sum(r() is not None for r in alive))
"""


def test_memory_of_deleted_queues_is_released():
    """The last queue's may live until the next queue comes."""
    assert int(output(ABANDONED).split("alive: ")[1]) <= 1


WAITS = """
import threading
import dpnp, sycl_dnn
import sycl_dnn.functional as F
from sycl_dnn import onednn as dnnl

queue = sycl_dnn.default_queue("cpu")
stream = dnnl.Stream(dnnl.Engine(queue), queue, ordered=True)
F.relu(dpnp.ones((64, 64), dtype="f4", sycl_queue=queue))

def work():
    for _ in range(300_000):
        stream.wait()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("end", flush=True)
"""


def test_threads_that_wait_for_one_queue_do_not_end_the_process():
    """OpenCL's clFinish, called by two threads at once, crashed within some 400,000 waits."""
    done = run("-c", WAITS)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
