# SPDX-License-Identifier: Apache-2.0
"""Train a classifier of digits with modules and an optimiser: one compiled step.

Several ranks share every batch: ``python -m sycl_dnn launch -n 2 examples/train_digits_nn.py
--distributed``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _common import finish
from _training import (
    add_dropout,
    averaged,
    begin,
    check,
    progress,
    shuffled,
    synchronised,
    write_once,
)
from train_digits_functional import load

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def make_net(dropout=0.2):
    """Return a network that maps images (N, 1, 8, 8) to logits (N, 10)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(dropout), nn.Linear(512, 10),
    )  # fmt: skip


def main() -> None:
    """Train and test; fail if too few held-out digits are recognised."""
    options, queue = begin(__doc__, steps=300, rate=0.01, more=add_dropout)
    images, held_out, labels, held_out_labels = load(queue, options.seed)
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    net = synchronised(make_net(options.dropout), options).to(queue)

    def step(net, state, images, labels):
        loss = lambda net: F.cross_entropy(net(images), labels)  # noqa: E731
        value, grads = averaged(*sycl_dnn.value_and_grad(loss)(net))
        return value, *opt.update(grads, state, net)

    run = sycl_dnn.compile(step) if options.compile else step
    state, losses = opt.init(net), []
    batches = shuffled((images, labels), 64, options.seed)
    with sycl_dnn.autocast(options.dtype):  # "float32" casts nothing
        for _ in progress(range(options.steps), options):
            value, net, state = run(net, state, *next(batches))
            losses.append(value)  # converted to a number later: nothing waits here
    path = Path("out") / "train_digits_nn.safetensors"
    path.parent.mkdir(exist_ok=True)
    write_once(options, sycl_dnn.save, path, net)
    net = sycl_dnn.load(path, make_net().to(queue)).eval()
    accuracy = float((net(held_out).argmax(axis=1) == held_out_labels).mean())
    first, last = float(losses[0]), np.mean([float(v) for v in losses[-20:]])
    print(f"loss {first:.4f} to {last:.4f}, held-out accuracy {accuracy:.4f}; weights in {path}")
    check(options, "the held-out accuracy must be at least 0.97", accuracy >= 0.97)
    finish(options, "train_digits_nn")


if __name__ == "__main__":
    main()
