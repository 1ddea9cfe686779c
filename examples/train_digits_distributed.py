# SPDX-License-Identifier: Apache-2.0
"""Train a classifier of digits in several processes, each with a part of every batch.

    python examples/train_digits_distributed.py
    python -m sycl_dnn launch -n 2 examples/train_digits_distributed.py --distributed
    python -m sycl_dnn launch -n 2 examples/train_digits_distributed.py --distributed --sharded

The losses are those of one process up to rounding; the ranks compare them at every step.
"""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from _training import begin, check, finish, progress, ranks_of
from train_digits_functional import load

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def add_options(parser: Any) -> None:
    """Add the additional options of this program."""
    parser.add_argument("--sharded", action="store_true", help="divide the optimizer's state")


def make_net() -> nn.Module:
    """Return a network that maps images (N, 1, 8, 8) to logits (N, 10)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), dist.SyncBatchNorm(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def batches(n: int, size: int, seed: int) -> Any:
    """Yield this rank's part of endless batches."""
    epoch = 0
    while True:
        yield from dist.own_batches(n, size, seed, epoch)
        epoch += 1


def main() -> None:
    """Train and test; fail if too few held-out digits are recognized."""
    options, queue = begin(__doc__, steps=200, rate=0.01, more=add_options)
    group = ranks_of(options)
    images, held_out, labels, held_out_labels = load(queue, options.seed)
    net, opt = make_net().to(queue), optim.AdamW(options.rate, max_norm=1.0)
    way: Any = dist.ShardedOptimizer(opt) if options.sharded else opt

    def step(net: Any, state: Any, images: Any, labels: Any) -> Any:
        loss = lambda net: F.cross_entropy(net(images), labels)  # noqa: E731
        value, grads = sycl_dnn.value_and_grad(loss)(net)
        grads = grads if options.sharded else dist.average_gradients(grads)
        return dist.all_reduce(value, "mean"), *way.update(grads, state, net)

    run = sycl_dnn.compile(step) if options.compile else step
    state, losses, source = way.init(net), [], batches(len(images), 64, options.seed)
    with sycl_dnn.autocast(options.dtype):  # "float32" casts nothing
        for _ in progress(range(options.steps), options):
            chosen = dpnp.asarray(next(source), sycl_queue=queue)
            value, net, state = run(net, state, images[chosen], labels[chosen])
            losses.append(value)
    last = np.mean([float(v) for v in losses[-20:]])
    dist.compare_words(f"mean of the last losses: {last!r}")
    net.eval()
    accuracy = float((net(held_out).argmax(axis=1) == held_out_labels).mean())
    if group.is_main:
        print(f"{group.size} ranks, loss {last:.4f}, held-out accuracy {accuracy:.4f}")
        check(options, "the held-out accuracy must be at least 0.96", accuracy >= 0.96)
        finish(options, "train_digits_distributed", losses)


if __name__ == "__main__":
    main()
