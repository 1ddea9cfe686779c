# SPDX-License-Identifier: Apache-2.0
"""dpnp's work before and after a collective, without a wait; and what becomes of it without order.

The control must not read by `dpnp.asnumpy` before all ranks have begun: that waits for the whole
queue, whatever is registered, and so for a collective that waits for the others.
"""

import dpnp
from dpctl.utils import SequentialOrderManager

from sycl_dnn import distributed as dist
from sycl_dnn._dpnp import place, usm_array
from sycl_dnn.distributed.collective import Collective
from sycl_dnn.program.place import place_of

ROUNDS, SIZE = 100, 100_000


def ordered(group):
    """Return in how many rounds the sums are wrong."""
    wrong = 0
    for i in range(ROUNDS):
        x = dpnp.full(SIZE, i + group.rank, dtype="int32", sycl_queue=group.queue)
        x += 1
        x = dist.all_reduce(x, out=x)
        x += 1
        wanted = sum(i + r + 1 for r in range(group.size)) + 1
        wrong += not (dpnp.asnumpy(x) == wanted).all()
    return wrong


def unregistered(group):
    """Return how many numbers of rank 0 are wrong where dpnp is not told of the collective.

    Rank 1 comes to it only after rank 0's product is complete, which should come after the sum.
    """
    stream = place_of(group.queue)[1]
    x = dpnp.full(SIZE, group.rank + 1, dtype="int32", sycl_queue=group.queue)
    memory = place(usm_array(x))
    if group.rank != 0:
        group.exchange("go", b"", "the control")
    begun = Collective("all_reduce", "int32", SIZE, SIZE).submit(
        group, stream, memory, memory, starts=True
    )
    if group.rank == 0:
        x *= 3
        SequentialOrderManager[group.queue].wait()
        group.exchange("go", b"", "the control")
    begun.join(stream)
    return int((dpnp.asnumpy(x) != 9).sum())


def main():
    group = dist.init(timeout=600, checking="never")
    print(f"ordered: {ordered(group)} wrong")
    wrong = unregistered(group)
    if group.is_main:
        print(f"control: {wrong} wrong")


main()
