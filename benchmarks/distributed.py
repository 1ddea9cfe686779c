# SPDX-License-Identifier: Apache-2.0
"""`all_reduce` of 4 KB to 64 MB by two processes: oneCCL as here, against torch's gloo.

    python benchmarks/distributed.py [--ranks 2] [--rounds 5]

Ranks are pinned to a core each. Sums are compared before anything is timed. Both libraries are in
each process and take turns, so that other work on the machine meets both; the least time of a call
over all blocks counts, and the slowest rank's.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SIZES = [4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]


def block(call: Callable[[], None], count: int) -> float:
    """Return microseconds of a call."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return 1e6 * (time.perf_counter() - start) / count


def measure(rounds: int) -> None:
    """Run as one rank."""
    import dpnp
    import torch
    import torch.distributed as gloo

    import sycl_dnn
    from sycl_dnn import distributed as dist

    group = dist.init(checking="never")
    torch.set_num_threads(1)
    port = int(os.environ["MASTER_PORT"]) + 1
    address = f"tcp://{os.environ['MASTER_ADDR']}:{port}"
    gloo.init_process_group(
        "gloo", init_method=address, rank=group.rank, world_size=group.size,
        timeout=datetime.timedelta(seconds=600),
    )  # fmt: skip
    for nbytes in SIZES:
        n = nbytes // 4
        x = dpnp.full(n, group.rank + 1, dtype="float32", sycl_queue=group.queue)
        y = torch.full((n,), float(group.rank + 1))
        total = group.size * (group.size + 1) / 2
        check: Any = dist.all_reduce(x)
        gloo.all_reduce(y)
        assert float(check.min()) == float(check.max()) == float(y.min()) == total
        x[:], y[:] = 0, 0

        def ours(x: Any = x) -> None:
            dist.all_reduce(x, out=x)
            sycl_dnn.synchronize(group.queue)

        def theirs(y: Any = y) -> None:
            gloo.all_reduce(y)

        count = max(2, min(200, (16 << 20) // nbytes))
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for way, call in enumerate((ours, theirs)):
                group.barrier()
                times[way].append(block(call, count))
        slowest = [max(map(float, group.exchange(f"{nbytes} {w}", str(min(t)).encode(), "times")))
                   for w, t in enumerate(times)]  # fmt: skip
        middle = [statistics.median(t) for t in times]
        if group.is_main:
            rate = nbytes / slowest[0] / 1e3
            print(
                f"{nbytes >> 10:7d} KB  ours {slowest[0]:9.1f} us ({rate:6.2f} GB/s)  "
                f"gloo {slowest[1]:9.1f} us  ours/gloo {slowest[0] / slowest[1]:5.2f}  "
                f"medians {middle[0]:.1f} {middle[1]:.1f}",
                flush=True,
            )
    gloo.destroy_process_group()


def main() -> int:
    """Start the ranks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="blocks of each library")
    options = parser.parse_args()
    if "WORLD_SIZE" in os.environ:
        measure(options.rounds)
        return 0
    launch = [sys.executable, "-m", "sycl_dnn", "launch", "-n", str(options.ranks), "--no-prefix"]
    return subprocess.call([*launch, __file__, "--rounds", str(options.rounds)])


if __name__ == "__main__":
    sys.exit(main())
