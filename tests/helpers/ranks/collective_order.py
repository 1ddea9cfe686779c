# SPDX-License-Identifier: Apache-2.0
"""dpnp's work before and after a collective, without a wait."""

import dpnp

from sycl_dnn import distributed as dist

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


main()
