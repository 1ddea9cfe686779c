# SPDX-License-Identifier: Apache-2.0
"""dpnp's work before and after a collective, without a wait; and the control that goes wrong."""

import dpnp
import numpy as np

from sycl_dnn import _core
from sycl_dnn import distributed as dist
from sycl_dnn._dpnp import place, usm_array
from sycl_dnn.distributed.collective import Collective

ROUNDS, SIZE = 100, 100_000


def main():
    group = dist.init(timeout=600)
    wrong = 0
    for i in range(ROUNDS):
        x = dpnp.full(SIZE, i + group.rank, dtype="int32", sycl_queue=group.queue)
        x += 1
        x = dist.all_reduce(x, out=x)
        x += 1
        wanted = sum(i + r + 1 for r in range(group.size)) + 1
        wrong += not (dpnp.asnumpy(x) == wanted).all()
    print(f"ordered: {wrong} wrong")

    unordered = _core.Stream(_core.Engine(group.queue), group.queue, ordered=False)
    wrong = 0
    for i in range(ROUNDS):
        x = dpnp.full(SIZE, i + group.rank, dtype="int32", sycl_queue=group.queue)
        group.queue.wait()
        where = place(usm_array(x))
        Collective("all_reduce", "int32", SIZE, SIZE).submit(group, unordered, where, where)
        y = dpnp.asnumpy(x + 1)
        unordered.wait()
        wrong += not np.all(y == sum(i + r for r in range(group.size)) + 1)
    print(f"unordered: {'some' if wrong else 'none'} wrong")


main()
