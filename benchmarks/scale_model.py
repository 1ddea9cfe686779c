# SPDX-License-Identifier: Apache-2.0
"""The cost of collectives and training steps by a model of latency and bandwidth.

    python benchmarks/scale_model.py [--latency-us 5] [--gb-per-s 10] [--step-ms 100] [--mb 400]

Prints what the model predicts for 2 to 1,024 devices: **a prediction**, not a measurement.
docs/distributed_scale.md explains it; `distributed.py model` compares it with runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """The time of a message: ``latency`` seconds plus its bytes over ``rate`` bytes a second."""

    latency: float
    rate: float


def ring(ranks: int, nbytes: float, link: Link) -> float:
    """Return the seconds of an all_reduce in a ring: 2 (n - 1) messages of one part each."""
    return 2 * (ranks - 1) * (link.latency + nbytes / ranks / link.rate)


def tree(ranks: int, nbytes: float, link: Link) -> float:
    """Return the same for a tree of pairs: all bytes up to the root, and down again."""
    return 2 * math.ceil(math.log2(ranks)) * (link.latency + nbytes / link.rate)


def all_reduce(ranks: int, nbytes: float, link: Link) -> float:
    """Return the better of the two."""
    return 0.0 if ranks == 1 else min(ring(ranks, nbytes, link), tree(ranks, nbytes, link))


def step(
    forward: float, reverse: float, update: float, collectives: Sequence[float],
    beside: bool = True, work: float = 0.0,
) -> float:  # fmt: skip
    """Return the seconds of a training step whose gradients are reduced in buckets.

    The buckets are complete at equal intervals during the reverse pass, the last one at its end.
    One collective runs at a time, overlapping with the reverse pass if ``beside`` is true, else
    after it. ``work`` is the time that each takes from the computing cores, which overlaps with
    nothing: on CPUs the sums and copies.
    """
    reverse += work * len(collectives)
    end = 0.0
    for number, seconds in enumerate(collectives, 1):
        ready = reverse * number / len(collectives) if beside else reverse
        end = max(end, ready) + seconds
    return forward + max(end, reverse) + update


def main() -> None:
    """Print the prediction."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--latency-us", type=float, default=5, help="of a message between devices")
    add("--gb-per-s", type=float, default=10, help="of a link, in one direction")
    add("--step-ms", type=float, default=100, help="of one device alone")
    add("--mb", type=float, default=400, help="of gradients, which is 100 million in float32")
    add("--bucket-mb", type=float, default=32)
    options = parser.parse_args()
    link = Link(options.latency_us * 1e-6, options.gb_per_s * 1e9)
    alone = options.step_ms * 1e-3
    # A reverse pass takes about twice as long as a forward one; the optimizer a tenth.
    forward, reverse, update = 0.3 * alone, 0.6 * alone, 0.1 * alone
    n = max(1, round(options.mb / options.bucket_mb))
    print("devices  ring ms  tree ms   step ms: beside  after   efficiency: beside  after")
    for ranks in [2**i for i in range(11)]:
        nbytes = options.mb * 1e6
        costs = [all_reduce(ranks, nbytes / n, link)] * n
        times = [step(forward, reverse, update, costs, beside) for beside in (True, False)]
        whole = [0.0, 0.0] if ranks == 1 else [f(ranks, nbytes, link) for f in (ring, tree)]
        print(
            f"{ranks:7d}  {1e3 * whole[0]:7.1f}  {1e3 * whole[1]:7.1f}   "
            f"{1e3 * times[0]:15.1f}  {1e3 * times[1]:5.1f}   {alone / times[0]:17.0%}  "
            f"{alone / times[1]:5.0%}"
        )


if __name__ == "__main__":
    main()
