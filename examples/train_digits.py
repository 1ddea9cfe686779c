# SPDX-License-Identifier: Apache-2.0
"""Train an image classifier with oneDNN primitives only: handwritten digits, 8x8 pixels.

Shows convolution, ReLU, LRN, max pool, inner product and log-softmax, forward and backward, on
memory that they share with dpnp: dpnp writes the images, computes the loss and updates the weights
in place, without a copy or a wait. The network is in ``_digits_net.py``. With several ranks, each
batch is split among them: ``python -m sycl_dnn launch -n 2 examples/train_digits.py
--distributed``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
from _common import finish, make_parser, print_implementations
from _digits_net import DigitsNet
from _training import add_ranks, open_ranks, own_rows, progress, ranks_of
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sycl_dnn import distributed as dist

GOAL = 0.97


def parse_arguments():
    """Read the command line; return the options and the queue."""
    parser = make_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=20, help="passes over the training images")
    parser.add_argument("--steps", type=int, help="stop after this many steps")
    parser.add_argument("--batch", type=int, default=64, help="images per step")
    parser.add_argument("--rate", type=float, default=0.1, help="learning rate at the start")
    parser.add_argument("--momentum", type=float, default=0.9, help="of the gradient descent")
    parser.add_argument("--seed", type=int, default=0, help="of the split, weights and order")
    parser.add_argument("--output", type=Path, default=Path("out/train_digits.png"), help="figure")
    add_ranks(parser)
    options = parser.parse_args()
    if not 0 < options.batch <= 1347 or options.epochs < 1 or (options.steps or 1) < 1:
        parser.error("--epochs and --steps must be at least 1, --batch in 1..1347")
    queue = open_ranks(options)
    n_ranks = ranks_of(options).size
    if options.batch % n_ranks:
        parser.error(f"--batch must be a multiple of the {n_ranks} ranks, got {options.batch}")
    return options, queue


class Digits:
    """Images (n, 1, 8, 8) in 0..1 and labels, on the device."""

    def __init__(self, images, labels, queue):
        self.images = dpnp.asarray(images[:, None] / 16, dtype="f4", sycl_queue=queue)
        self.labels = labels
        self.one_hot = dpnp.asarray(np.eye(10)[labels], dtype="f4", sycl_queue=queue)

    def __len__(self):
        return len(self.labels)

    @classmethod
    def load(cls, queue, seed):
        """Return the training and the held-out images, 3 to 1 in each class."""
        images, labels = load_digits(return_X_y=True)
        parts = train_test_split(
            images.reshape(-1, 8, 8), labels, test_size=0.25, random_state=seed, stratify=labels
        )
        return cls(parts[0], parts[2], queue), cls(parts[1], parts[3], queue)


class MomentumDescent:
    """Gradient descent in dpnp, in place on the memory that the primitives use."""

    def __init__(self, parameters, momentum):
        self.parameters = [(value, grad, dpnp.zeros_like(value)) for value, grad in parameters]
        self.momentum = momentum

    def step(self, rate):
        """Submit v = momentum * v + gradient; value -= rate * v for all parameters."""
        for value, gradient, velocity in self.parameters:
            velocity *= self.momentum
            velocity += gradient
            value -= rate * velocity


def batches(data, size, random):
    """Yield endless batches of device arrays (images, one_hot) in random order."""
    while True:
        order = dpnp.asarray(random.permutation(len(data)), sycl_queue=data.images.sycl_queue)
        images, one_hot = data.images[order], data.one_hot[order]
        for i in range(0, len(data) - size + 1, size):
            yield own_rows(images[i : i + size]), own_rows(one_hot[i : i + size])


def train_step(net, descent, images, one_hot, rate):
    """Submit one step, wait for its loss and return it."""
    net.images[...] = images
    net.diff[...] = one_hot / -len(images)
    net.forward()
    loss = (net.diff * net.log_probabilities).sum()
    net.backward()
    if dist.init().size > 1:
        loss = dist.all_reduce(loss, "mean")
        for _, gradient, _ in descent.parameters:
            dist.all_reduce(gradient, "mean", out=gradient)
    descent.step(rate)
    return float(loss)


def train(net, data, options):
    """Return the loss of each step and the duration of the steps in seconds."""
    n_steps = options.steps or options.epochs * (len(data) // options.batch)
    descent = MomentumDescent(net.parameters(), options.momentum)
    source = batches(data, options.batch, np.random.default_rng(options.seed))
    losses, start = [], time.perf_counter()
    for step in (bar := progress(range(n_steps), options)):
        rate = options.rate * (1 - step / n_steps)
        images, one_hot = next(source)
        losses.append(train_step(net, descent, images, one_hot, rate))
        bar.set_postfix(loss=f"{np.mean(losses[-20:]):.4f}", refresh=False)
    return losses, time.perf_counter() - start


def predict(net, data):
    """Return the most probable class of each image; the last batch may be partly filled."""
    found, size = [], len(net.images)
    for i in range(0, len(data), size):
        images = data.images[i : i + size]
        net.images[: len(images)] = images
        net.forward()
        found.append(net.log_probabilities[: len(images)].argmax(axis=1))
    return dpnp.concatenate(found).asnumpy()


def draw(path, losses, data, found):
    """Write a figure with the loss of each step and misclassified digits."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(12, 4), layout="constrained")
    panels: Any = figure.subfigures(1, 2)  # an array, which matplotlib does not declare
    left, right = panels
    axes = left.subplots()
    axes.semilogy(losses)
    axes.set(xlabel="step", ylabel="loss", title="training loss")
    wrong = np.flatnonzero(found != data.labels)
    right.suptitle(f"{len(wrong)} of {len(data)} held-out digits misclassified: true > found")
    images = data.images.asnumpy()
    grid = right.subplots(2, 5).ravel()
    for axes in grid:
        axes.axis("off")
    for axes, i in zip(grid, wrong, strict=False):
        axes.imshow(images[i, 0], cmap="gray_r")
        axes.set_title(f"{data.labels[i]} > {found[i]}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"figure: {path}")


def main() -> None:
    """Train, test, draw; fail if too few held-out digits are recognized."""
    options, queue = parse_arguments()
    training, held_out = Digits.load(queue, options.seed)
    net = DigitsNet(queue, options.batch // ranks_of(options).size, seed=options.seed)
    print_implementations(net.implementations)
    losses, seconds = train(net, training, options)
    found = predict(net, held_out)
    accuracy = np.mean(found == held_out.labels)
    print(f"{len(losses)} steps in {seconds:.1f} s, {1e3 * seconds / len(losses):.2f} ms per step")
    print(f"loss {losses[-1]:.4f}, held-out accuracy {accuracy:.4f}")
    if ranks_of(options).is_main:
        draw(options.output, losses, held_out, found)
    if not options.no_check and accuracy < GOAL:
        raise SystemExit(f"failed: the held-out accuracy must be at least {GOAL}")
    finish(options, "train_digits")


if __name__ == "__main__":
    main()
