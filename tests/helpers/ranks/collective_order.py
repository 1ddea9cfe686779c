# SPDX-License-Identifier: Apache-2.0
"""dpnp's work before and after a collective, without a wait; and results without order.

Steps of a program that do not need a collective do not wait for it.

The control must not read by `dpnp.asnumpy` before all ranks have started. That waits for the whole
queue, registered or not, and so for a collective that waits for the other ranks.
"""

import ctypes
import os
import sys
import time
from pathlib import Path

import dpnp
import numpy as np
from dpctl.utils import SequentialOrderManager

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn._dpnp import place, usm_array
from sycl_dnn.distributed.collective import Collective
from sycl_dnn.program.place import place_of

ROUNDS, SIZE = 100, 100_000


def ordered(group):
    """Return the number of rounds with wrong sums."""
    wrong = 0
    for i in range(ROUNDS):
        x = dpnp.full(SIZE, i + group.rank, dtype="int32", sycl_queue=group.queue)
        x += 1
        x = dist.all_reduce(x, out=x)
        x += 1
        expected = sum(i + r + 1 for r in range(group.size)) + 1
        wrong += not (dpnp.asnumpy(x) == expected).all()
    return wrong


def unregistered(group):
    """Return the number of wrong elements on rank 0 if dpnp is unaware of the collective.

    Rank 1 reaches it only after rank 0's product is complete, which should come after the sum.
    """
    stream = place_of(group.queue)[1]
    x = dpnp.full(SIZE, group.rank + 1, dtype="int32", sycl_queue=group.queue)
    memory = place(usm_array(x))
    if group.rank != 0:
        group.exchange("go", b"", "the control")
    begun = Collective("all_reduce", "int32", (SIZE,), SIZE).submit(
        group, stream, memory, memory, starts=True
    )
    if group.rank == 0:
        x *= 3
        SequentialOrderManager[group.queue].wait()
        group.exchange("go", b"", "the control")
    begun.join(stream)
    return int((dpnp.asnumpy(x) != 9).sum())


def beside(group):
    """Return rank 0's results of later steps before rank 1 reaches the preceding collective."""
    step = sycl_dnn.compile(lambda v: (dist.all_reduce(v), F.mul(F.exp(v), 2.0)))
    start = dpnp.zeros(SIZE, dtype="float32", sycl_queue=group.queue)
    for values in (start, start + 1):
        sycl_dnn.synchronize(group.queue)
        total, actual = step(values)
    sycl_dnn.synchronize(group.queue)
    values = start + 2
    if group.rank != 0:
        group.exchange("later", b"", "steps beside a collective")
    total, actual = step(values)
    expected, seen = 2 * np.exp(np.float32(2)), 0.0
    if group.rank == 0:
        # Nothing else may wait for the results, since that would also wait for the collective.
        last = actual.get_array()._pointer + 4 * (SIZE - 1)
        end = time.monotonic() + 300
        while abs(seen - expected) > 1e-3 and time.monotonic() < end:
            seen = ctypes.c_float.from_address(last).value
            time.sleep(0.001)
        group.exchange("later", b"", "steps beside a collective")
    assert (dpnp.asnumpy(total) == 4).all()
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-5)
    return seen


def growth(group, count):
    """Return the growth in MB over this many collectives, after a tenth as many for warm-up."""
    x = dpnp.zeros(1000, dtype="float32", sycl_queue=group.queue)
    step = sycl_dnn.compile(lambda v: F.mul(dist.all_reduce(v), 0.5))

    def resident():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def some(n):
        for _ in range(n // 2):
            dist.all_reduce(x, out=x)
            step(x)
        sycl_dnn.synchronize(group.queue)

    some(count // 10)
    before = resident()
    some(count)
    return resident() - before


def main():
    group = dist.init(timeout=600, checking="never")
    print(f"ordered: {ordered(group)} wrong")
    wrong = unregistered(group)
    if group.is_main:
        print(f"control: {wrong} wrong")
    seen = beside(group)
    if group.is_main:
        print(f"beside: {seen:.3f}")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"growth: {growth(group, count):.1f} MB")


main()
