# SPDX-License-Identifier: Apache-2.0
"""A program for any launcher: each rank prints its number and the sum of all ranks."""

import dpnp

from sycl_dnn import distributed as dist

group = dist.init(timeout=600)
total = dist.all_reduce(dpnp.full(3, group.rank + 1, dtype="int32", sycl_queue=group.queue))
print(f"rank {group.rank}, {group.local_rank} here, of {group.size}: {total.tolist()}\n", end="")
