# SPDX-License-Identifier: Apache-2.0
"""Calls leave processors that a thread of the CPU driver is bound to."""

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
