# SPDX-License-Identifier: Apache-2.0
"""A process that ends leaves nothing of a device to static destructors."""

from fresh_process import output

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
    """oneDNN's caches hold kernels and memory of devices; no host task is on its way either."""
    assert output(CODE) == "0 0 False"


LONG = """
def long(x):
    for _ in range(20):
        x = F.softmax(x, -1)
    return x

run = sycl_dnn.compile(long).warmup(x)
opened = _core.host_lane()[0]
while _core.host_lane()[0] == opened:
    run(x)
"""


def test_host_tasks_of_a_long_program_are_over():
    """Those that keep SYCL's other threads busy end before the process does."""
    assert output(CODE + LONG, SYCL_QUEUE_THREAD_POOL_SIZE="6").endswith("False")
