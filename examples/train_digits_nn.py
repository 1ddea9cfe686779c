# SPDX-License-Identifier: Apache-2.0
"""Train a classifier of digits with modules and an optimiser: one compiled step.

Convolutions with batch normalization, dropout, AdamW with a schedule, and gradients of bounded
norm. The weights are saved and loaded at the end.
"""

from __future__ import annotations

import time
from pathlib import Path

import dpnp
import numpy as np
from _common import finish, make_parser, open_queue
from tqdm import tqdm
from train_digits_functional import load

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

GOAL = 0.97


class Net(nn.Module):
    """Maps images (N, 1, 8, 8) to logits (N, 10)."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        """Return the logits."""
        x = F.relu(self.norm(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(self.drop(x.flatten(1)))


def loss(net, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(net(images), labels)


def train(net, images, labels, options):
    """Train in place; return the loss of each step."""
    rate = optim.schedules.one_cycle(options.rate, options.steps)
    opt = optim.AdamW(rate, max_norm=1.0)
    state, rng, losses = opt.init(net), np.random.default_rng(options.seed), []

    def step(net, state, images, labels):
        value, grads = sycl_dnn.value_and_grad(loss)(net, images, labels)
        return value, *opt.update(grads, state, net)

    step = sycl_dnn.compile(step) if options.compile else step
    for _ in tqdm(range(options.steps), desc="training", unit="step"):
        chosen = dpnp.asarray(rng.permutation(len(images))[:64], sycl_queue=images.sycl_queue)
        value, net, state = step(net, state, images[chosen], labels[chosen])
        losses.append(value)  # a number only when it is asked for: nothing waits here
    return net, [float(v) for v in losses]


def main() -> None:
    """Train and test; fail if too few held-out digits are recognised."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=300, help="steps of 64 images")
    parser.add_argument("--rate", type=float, default=0.01, help="the largest learning rate")
    parser.add_argument("--seed", type=int, default=0, help="of the split, weights and order")
    parser.add_argument("--no-compile", dest="compile", action="store_false",
                        help="run the step operation by operation")  # fmt: skip
    options = parser.parse_args()
    queue = open_queue(options.device)
    sycl_dnn.manual_seed(options.seed)
    images, held_out, labels, held_out_labels = load(queue, options.seed)
    start = time.perf_counter()
    net, losses = train(Net().to(queue), images, labels, options)
    took = time.perf_counter() - start
    path = Path("out") / "train_digits_nn.safetensors"
    path.parent.mkdir(exist_ok=True)
    sycl_dnn.save(path, net)
    net = sycl_dnn.load(path, Net().to(queue)).eval()
    accuracy = float((net(held_out).argmax(axis=1) == held_out_labels).mean())
    print(f"{len(losses)} steps in {took:.1f} s, {1e3 * took / len(losses):.2f} ms per step")
    print(f"loss {np.mean(losses[-20:]):.4f}, held-out accuracy {accuracy:.4f}; weights in {path}")
    if not options.no_check and accuracy < GOAL:
        raise SystemExit(f"failed: the held-out accuracy must be at least {GOAL}")
    finish(options, "train_digits_nn")


if __name__ == "__main__":
    main()
