# SPDX-License-Identifier: Apache-2.0
"""Train the digit classifier of ``train_digits.py`` with functions instead of primitives.

The same network and descent: convolution, ReLU, LRN, max pool, linear, cross-entropy. The gradient
comes from ``sycl_dnn.vjp``. Several ranks share every batch: ``python -m sycl_dnn launch -n 2
examples/train_digits_functional.py --distributed``.
"""

from __future__ import annotations

import time

import dpnp
import numpy as np
from _common import make_parser
from _training import add_ranks, averaged, finish, open_ranks, own_rows, progress
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import sycl_dnn
from sycl_dnn import functional as F

GOAL = 0.97


def logits(images, parameters):
    """Map images (N, 1, 8, 8) to logits (N, 10)."""
    conv_weight, conv_bias, weight, bias = parameters
    x = F.relu(F.conv2d(images, conv_weight, conv_bias, padding=1))
    x = F.max_pool2d(F.local_response_norm(x, 5), 2)
    return F.linear(F.flatten(x, 1), weight, bias)


def loss(parameters, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(logits(images, parameters), labels)


def initial_parameters(queue, seed):
    """Return weights with He initialization and zero biases."""
    rng = np.random.default_rng(seed)
    shapes = ((32, 1, 3, 3), (32,), (10, 512), (10,))
    values = [
        rng.standard_normal(s) * np.sqrt(2 / np.prod(s[1:])) if len(s) > 1 else np.zeros(s)
        for s in shapes
    ]
    return [dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in values]


def load(queue, seed):
    """Return training and held-out images and labels, 3 to 1 in each class."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        images.reshape(-1, 1, 8, 8) / 16, labels, test_size=0.25, random_state=seed, stratify=labels
    )
    dtypes = ("f4", "f4", "i8", "i8")
    return [dpnp.asarray(p, dtype=d, sycl_queue=queue) for p, d in zip(parts, dtypes, strict=True)]


def train(parameters, images, labels, options):
    """Train with momentum; return the loss of each step."""
    rng = np.random.default_rng(options.seed)
    velocities = [dpnp.zeros_like(p) for p in parameters]
    one = dpnp.ones((), dtype="f4", sycl_queue=images.sycl_queue)
    losses = []
    for step in (bar := progress(range(options.steps), options)):
        rows = own_rows(rng.permutation(len(images))[:64])
        chosen = dpnp.asarray(rows, sycl_queue=images.sycl_queue)
        value, pullback = sycl_dnn.vjp(loss, parameters, images[chosen], labels[chosen])
        value, grads = averaged(value, pullback(one)[0])
        rate = options.rate * (1 - step / options.steps)
        for p, v, gradient in zip(parameters, velocities, grads, strict=True):
            v *= 0.9
            v += gradient
            p -= rate * v
        losses.append(float(value))
        bar.set_postfix(loss=f"{np.mean(losses[-20:]):.4f}", refresh=False)
    return losses


def main() -> None:
    """Train and test; fail if too few held-out digits are recognized."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=600, help="steps of 64 images")
    parser.add_argument("--rate", type=float, default=0.1, help="learning rate at the start")
    parser.add_argument("--seed", type=int, default=0, help="of the split, weights and order")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32",
                        help="of products (autocast)")  # fmt: skip
    add_ranks(parser)
    options = parser.parse_args()
    queue = open_ranks(options)
    images, held_out, labels, held_out_labels = load(queue, options.seed)
    parameters = initial_parameters(queue, options.seed)
    start = time.perf_counter()
    with sycl_dnn.autocast(options.dtype):
        losses = train(parameters, images, labels, options)
    took = time.perf_counter() - start
    found = logits(held_out, parameters).argmax(axis=1)
    accuracy = float((found == held_out_labels).mean())
    print(f"{len(losses)} steps in {took:.1f} s, {1e3 * took / len(losses):.2f} ms per step")
    print(f"loss {losses[-1]:.4f}, held-out accuracy {accuracy:.4f}")
    if not options.no_check and accuracy < GOAL:
        raise SystemExit(f"failed: the held-out accuracy must be at least {GOAL}")
    finish(options, "train_digits_functional", losses)


if __name__ == "__main__":
    main()
