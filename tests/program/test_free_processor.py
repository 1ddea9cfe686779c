# SPDX-License-Identifier: Apache-2.0
"""Calls keep away from processors that a thread of the CPU driver is bound to."""

import fresh_process

#: Begins on each processor, prints whether the call ends on one that is free, if there is any.
CODE = """
import ctypes, os, time
import dpnp, sycl_dnn
from sycl_dnn import functional as F

x = dpnp.ones(8, dtype="f4", sycl_queue=sycl_dnn.default_queue("cpu"))
for _ in range(3):
    F.relu(x).asnumpy()
everywhere = os.sched_getaffinity(0)
threads = [os.sched_getaffinity(int(t)) for t in os.listdir("/proc/self/task")]
bound = {next(iter(a)) for a in threads if len(a) == 1}
place_of_thread = ctypes.CDLL(None).sched_getcpu


def leaves(place):
    for _ in range(100):  # others may move the thread, too
        os.sched_setaffinity(0, {place})
        os.sched_setaffinity(0, everywhere)
        time.sleep(0.002)
        F.relu(x)
        if place_of_thread() not in bound:
            return True
    return False


is_possible = everywhere - bound and len(everywhere) <= 4
print(not is_possible or all(map(leaves, everywhere)), os.sched_getaffinity(0) == everywhere)
"""


def test_a_call_leaves_a_bound_processor():
    assert fresh_process.output(CODE).split() == ["True", "True"]


#: Prints whether one thread may run only where no driver's thread is bound while primitives follow
#: each other, and whether all may run afterwards where they could before.
LANE = """
import os, time
import dpnp, sycl_dnn
from sycl_dnn import _core, functional as F

x = dpnp.ones((64, 256), dtype="f4", sycl_queue=sycl_dnn.default_queue("cpu"))
everywhere = os.sched_getaffinity(0)
primitives = sycl_dnn.compile(lambda x: F.layer_norm(x, (256,)), passes={"run_on_host": False})


def threads():
    return {t: os.sched_getaffinity(int(t)) for t in os.listdir("/proc/self/task")}


def closed():
    while _core.host_lane()[1]:
        time.sleep(0.01)
    time.sleep(0.11)


for _ in range(3):
    F.softmax(x, 1).asnumpy()  # the driver's threads are there
closed()
before = threads()
bound = {p for a in before.values() if len(a) == 1 for p in a}
free = everywhere - bound
time.sleep(1.1)  # the last look may be older than the driver's threads
moved = []
for _ in range(200):
    primitives(x).asnumpy()
    moved += [a for t, a in threads().items() if a != before.get(t, everywhere)]
closed()
after = threads()
is_possible = len(everywhere) <= 4 and len(free) == 1 and bound
print(not is_possible or bool(moved) and all(a == free for a in moved),
      all(after[t] == before[t] for t in before))
"""


def test_the_thread_that_executes_primitives_is_bound_while_they_follow_each_other():
    assert fresh_process.output(LANE).split() == ["True", "True"]
