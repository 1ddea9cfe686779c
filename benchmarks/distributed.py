# SPDX-License-Identifier: Apache-2.0
"""Several ranks: speed of collectives and of training, and the latency that overlap hides.

    python benchmarks/distributed.py [all_reduce|training|overlap|model ...] [--ranks 2]

`all_reduce`: 4 KB to 64 MB, this package's oneCCL against torch's gloo. `training`: a GPT's
steps by one rank while the others are idle, by all ranks separately, and by all together with
averaged gradients; the batch of a rank is the same. `overlap`: the same steps with 15 ms of latency
added to every collective, overlapping with the reverse pass or not.
`model`: the prediction of scale_model.py for such a step from the times of its parts, against runs
with 0 to 40 ms of latency.

Each rank is pinned to a core. Values are compared before anything is timed. Each process runs all
variants alternately, so that other programs on the machine affect them equally.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SIZES = [4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
LATENCY = 0.015
#: Of the gradients of the GPT, which are 21 MB in total.
BUCKET = 4 << 20


def block(call: Callable[[], Any], count: int) -> tuple[float, float]:
    """Return microseconds of a call: elapsed time, and CPU time of this process."""
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(count):
        call()
    took, busy = time.perf_counter() - start, time.process_time() - busy
    return 1e6 * took / count, 1e6 * busy / count


def largest(group: Any, values: tuple[float, ...]) -> list[float]:
    """Return the largest of all ranks for each value."""
    said = group.exchange("times", " ".join(map(str, values)).encode(), "times")
    return [max(row) for row in zip(*([float(v) for v in t.split()] for t in said), strict=True)]


class Times:
    """Microseconds of a call by the slowest rank, for each of several variants and each round."""

    def __init__(
        self, group: Any, ways: dict[str, Callable[[], Any]], count: int, rounds: int
    ) -> None:
        self.wall: dict[str, list[float]] = {name: [] for name in ways}
        self.busy: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, call in ways.items():
                group.barrier()
                wall, busy = largest(group, block(call, count))
                self.wall[name].append(wall)
                self.busy[name].append(busy)

    def ms(self, name: str) -> float:
        """Return the median in milliseconds."""
        return statistics.median(self.wall[name]) / 1e3

    def ratio(self, over: str, under: str, factor: float = 1) -> float:
        """Return the median over the rounds of one variant's time over another's."""
        pairs = zip(self.wall[over], self.wall[under], strict=True)
        return statistics.median(factor * a / b for a, b in pairs)

    def more(self, late: str, name: str) -> float:
        """Return the median over the rounds of the milliseconds that one variant takes longer."""
        pairs = zip(self.wall[late], self.wall[name], strict=True)
        return statistics.median(a - b for a, b in pairs) / 1e3


# --- all_reduce


def gloo_sum(group: Any) -> Callable[[int], Callable[[], None]]:
    """Return a function that sums this many numbers by torch's gloo; it is checked once."""
    import torch
    import torch.distributed as gloo

    torch.set_num_threads(1)
    port = int(os.environ["MASTER_PORT"]) + 1
    gloo.init_process_group(
        "gloo", init_method=f"tcp://{os.environ['MASTER_ADDR']}:{port}", rank=group.rank,
        world_size=group.size, timeout=datetime.timedelta(seconds=600),
    )  # fmt: skip

    def made(n: int) -> Callable[[], None]:
        y = torch.full((n,), float(group.rank + 1))
        gloo.all_reduce(y)
        assert float(y.min()) == float(y.max()) == group.size * (group.size + 1) / 2
        y[:] = 0
        return lambda: gloo.all_reduce(y)

    return made


def our_sum(group: Any, n: int) -> Callable[[], None]:
    """Return our sum of this many numbers, in place and with a wait."""
    import dpnp

    import sycl_dnn
    from sycl_dnn import distributed as dist

    x = dpnp.full(n, group.rank + 1, dtype="float32", sycl_queue=group.queue)
    check: Any = dist.all_reduce(x)
    assert float(check.min()) == float(check.max()) == group.size * (group.size + 1) / 2
    x[:] = 0

    def run() -> None:
        dist.all_reduce(x, out=x)
        sycl_dnn.synchronize(group.queue)

    return run


def all_reduce(group: Any, rounds: int) -> None:
    """Print a row for each size: the shortest time of the slowest rank."""
    gloo = gloo_sum(group)
    for nbytes in SIZES:
        n = nbytes // 4
        ways = {"ours": our_sum(group, n), "gloo": gloo(n)}
        times = Times(group, ways, max(2, min(200, (16 << 20) // nbytes)), rounds)
        if not group.is_main:
            continue
        best = {name: min(t) for name, t in times.wall.items()}
        rate = nbytes / best["ours"] / 1e3
        print(f"{nbytes >> 10:7d} KB  ours {best['ours']:9.1f} us ({rate:6.2f} GB/s)  "
              f"gloo {best['gloo']:9.1f} us  ours/gloo {best['ours'] / best['gloo']:5.2f} "
              f"(median of rounds {times.ratio('ours', 'gloo'):.2f})", flush=True)  # fmt: skip


# --- training


@contextlib.contextmanager
def nothing_beside() -> Iterator[None]:
    """Make functions traced in this block wait for each collective immediately."""
    from sycl_dnn.distributed.traced_collectives import CollectiveStep

    start = CollectiveStep.start_into
    del CollectiveStep.start_into
    try:
        yield
    finally:
        CollectiveStep.start_into = start  # type: ignore[method-assign]


class Training:
    """A GPT on each rank, and one variant of its training steps over ``rows`` sequences."""

    def __init__(self, group: Any, averages: bool, rows: int = 16) -> None:
        import dpnp
        from models import training_zoo

        import sycl_dnn
        from sycl_dnn import distributed as dist
        from sycl_dnn import optim

        entry = training_zoo.ENTRIES["gpt"]
        sycl_dnn.manual_seed(0)
        self.net = entry.module().to(group.queue)
        opt = optim.AdamW(1e-4)
        self.state = opt.init(self.net)
        batch = entry.batches(group.size)[group.rank]
        self._batch = tuple(dpnp.asarray(a[:rows], sycl_queue=group.queue) for a in batch)
        self._queue = group.queue

        def step(net: Any, state: Any, *batch: Any) -> Any:
            value, grads = sycl_dnn.value_and_grad(entry.loss)(net, *batch)
            if averages:
                # Ranks reach the collectives in this order: the loss is available first.
                value = dist.all_reduce(value, "mean")
                grads = dist.average_gradients(grads, BUCKET)
            return value, *opt.update(grads, state, net)

        self._step = sycl_dnn.compile(step)
        self._loss = sycl_dnn.compile(entry.loss)

    def forward(self) -> float:
        """Compute only the loss."""
        return float(self._loss(self.net, *self._batch))

    def __call__(self) -> float:
        """Run a step; return its loss."""
        value, self.net, self.state = self._step(self.net, self.state, *self._batch)
        self._queue.wait()
        return float(value)


def n_collectives(training: Training) -> int:
    """Return the number of collectives in a step: the buckets, and that of the loss."""
    from sycl_dnn import tree
    from sycl_dnn.distributed.gradient_buckets import buckets

    return 1 + len(list(buckets(tree.leaves(training.net), BUCKET)))


def training(group: Any, rounds: int) -> None:
    """Print the throughput of all ranks relative to that of one."""
    alone, together = Training(group, False), Training(group, True)
    losses = [alone(), together()]
    mean = (
        sum(float(v) for v in group.exchange("loss", str(losses[0]).encode(), "loss")) / group.size
    )
    assert abs(losses[1] / mean - 1) < 1e-5, losses
    rest: Callable[[], Any] = lambda: None  # noqa: E731
    ways = {"one": alone if group.is_main else rest, "apart": alone, "together": together}
    for call in ways.values():
        block(call, 2)
    times = Times(group, ways, 1, 3 * rounds)
    if not group.is_main:
        return
    for name in ("apart", "together"):
        busy = statistics.median(times.busy[name]) / statistics.median(times.busy["one"])
        print(
            f"GPT, {group.size} ranks {name:8s}: {times.ms(name):7.1f} ms a step, one alone "
            f"{times.ms('one'):7.1f} ms: {times.ratio('one', name, group.size):.2f} times the "
            f"throughput; CPU time of a rank {busy:.3f} times that of one alone",
            flush=True,
        )


def overlap(group: Any, rounds: int) -> None:
    """Print which share of an added latency is hidden."""
    beside, after = Training(group, True, 8), Training(group, True, 8)
    with nothing_beside():
        losses = [after()]
    losses.append(beside())
    assert losses[0] == losses[1], losses
    n = n_collectives(beside)

    ways = {
        "after": after, "beside": beside, "after, late": late(after, LATENCY),
        "beside, late": late(beside, LATENCY),
    }  # fmt: skip
    for call in ways.values():
        block(call, 2)
    times = Times(group, ways, 1, 3 * rounds)
    if not group.is_main:
        return
    for name in ways:
        print(f"GPT, {n} collectives {name:12s}: {times.ms(name):7.1f} ms a step")
    waits, more = (times.more(name + ", late", name) for name in ("after", "beside"))
    put_in = 1e3 * LATENCY * n
    print(
        f"{n} x {1e3 * LATENCY:g} ms of latency make a step {waits:.1f} ms longer where it waits, "
        f"{more:.1f} ms beside the reverse pass: {1 - more / put_in:.0%} of {put_in:.0f} ms hidden",
        flush=True,
    )


def late(call: Callable[[], Any], seconds: float) -> Callable[[], None]:
    """Return the call with this latency in each collective."""
    from sycl_dnn import _core

    def run() -> None:
        _core.Communicator.set_latency(seconds)
        call()
        _core.Communicator.set_latency(0)

    return run


def model(group: Any, rounds: int) -> None:
    """Print steps with latency, as predicted from one without and as measured."""
    import scale_model

    alone, beside, after = (Training(group, averages, 2) for averages in (False, True, True))
    with nothing_beside():
        after()
    n, given = n_collectives(beside), [0.0, 0.005, 0.015, 0.040]
    ways: dict[str, Callable[[], Any]] = {"alone": alone, "forward": alone.forward}
    for way, call in (("beside", beside), ("after", after)):
        ways |= {f"{way} {seconds}": late(call, seconds) for seconds in given}
    for call in ways.values():
        block(call, 2)
    times = Times(group, ways, 1, 2 * rounds)
    if not group.is_main:
        return
    forward, whole = times.ms("forward"), times.ms("alone")
    each = max(0.0, times.ms("after 0.0") - whole) / n
    update = 0.1 * whole
    print(f"forward {forward:.1f} ms, step alone {whole:.1f} ms, {n} collectives of {each:.1f} ms")
    reverse = whole - forward - update
    for way in ("beside", "after"):
        for seconds in given:
            waits = [1e3 * seconds] * n
            said = scale_model.step(forward, reverse, update, waits, way == "beside", each)
            found = times.ms(f"{way} {seconds}")
            print(
                f"{way:6s} {1e3 * seconds:4.0f} ms: predicted {said:7.1f} ms, measured "
                f"{found:7.1f} ms ({said / found - 1:+.0%})",
                flush=True,
            )


PARTS = {"all_reduce": all_reduce, "training": training, "overlap": overlap, "model": model}


def run_part(name: str, rounds: int) -> None:
    """Run as one rank."""
    from sycl_dnn import distributed as dist

    PARTS[name](dist.init(checking="never"), rounds)


def main() -> int:
    """Start the ranks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="those above")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="blocks of each way")
    options = parser.parse_args()
    if "WORLD_SIZE" in os.environ:
        run_part(options.parts[0], options.rounds)
        return 0
    launch = [sys.executable, "-m", "sycl_dnn", "launch", "-n", str(options.ranks), "--no-prefix"]
    for part in options.parts:
        status = subprocess.call(
            [*launch, __file__, part, "--rounds", str(options.rounds)],
            cwd=Path(__file__).parent,
        )
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
