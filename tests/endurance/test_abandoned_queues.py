# SPDX-License-Identifier: Apache-2.0
"""Memory used on a deleted queue is released, although nobody waited for the queue."""

import pytest
from fresh_process import output

pytestmark = pytest.mark.slow

CODE = """
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
    assert int(output(CODE).split("alive: ")[1]) <= 1
