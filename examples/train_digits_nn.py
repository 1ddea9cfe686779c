# SPDX-License-Identifier: Apache-2.0
"""Train a classifier of digits with modules and an optimizer: one compiled step.

Several ranks share every batch: ``python -m sycl_dnn launch -n 2 examples/train_digits_nn.py
--distributed``.
"""

from __future__ import annotations

import numpy as np
from _training import add_dropout, begin, check, finish, saved, shuffled, synchronized, train
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


def loss(net, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(net(images), labels)


def main() -> None:
    """Train and test; fail if too few held-out digits are recognized."""
    options, queue = begin(__doc__, steps=300, rate=0.01, more=add_dropout)
    images, held_out, labels, held_out_labels = load(queue, options.seed)
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    net = synchronized(make_net(options.dropout), options).to(queue)
    net, _, losses = train(net, opt, loss, shuffled((images, labels), 64, options.seed), options)
    path = saved(net, options, "train_digits_nn")
    net = sycl_dnn.load(path, make_net().to(queue)).eval()
    accuracy = float((net(held_out).argmax(axis=1) == held_out_labels).mean())
    print(f"loss {losses[0]:.4f} to {np.mean(losses[-20:]):.4f}, "
          f"held-out accuracy {accuracy:.4f}; weights in {path}")  # fmt: skip
    check(options, "the held-out accuracy must be at least 0.97", accuracy >= 0.97)
    finish(options, "train_digits_nn", losses)


if __name__ == "__main__":
    main()
