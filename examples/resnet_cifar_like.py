# SPDX-License-Identifier: Apache-2.0
"""A residual network on colored digits in CIFAR's size; the code is written as for torch."""

from __future__ import annotations

import dpnp
import numpy as np
from _training import begin, check, digit_images, finish, shuffled, synchronized, train

from sycl_dnn import functional as F
from sycl_dnn import nn, optim


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x):
        """Map images to images."""
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """Maps images (N, 3, 32, 32) to logits (N, 10)."""

    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layers = nn.Sequential(
            Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2)
        )
        self.linear = nn.Linear(4 * width, 10)

    def forward(self, x):
        """Return the logits."""
        x = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


def colored(images, seed):
    """Return digits in a bright color on a dark one, shifted by some pixels, with noise."""
    rng, host = np.random.default_rng(seed), dpnp.asnumpy(images) / 2 + 0.5
    colors = rng.uniform(0.2, 1, (2, len(host), 3, 1, 1)).astype("f4")
    result = colors[0] * host - colors[1] * (1 - host) + 0.1 * rng.standard_normal(host.shape)
    moves = rng.integers(-2, 3, (len(host), 2))
    moved = [np.roll(image, move, (1, 2)) for image, move in zip(result, moves, strict=True)]
    return dpnp.asarray(np.stack(moved), dtype="f4", sycl_queue=images.sycl_queue)


def loss(net, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(net(images), labels, label_smoothing=0.05)


def main() -> None:
    """Train on three quarters of the images; fail if too few of the others are recognized."""
    options, queue = begin(__doc__, steps=200, rate=0.01)
    images, labels = digit_images(queue, 32)
    images, n = colored(images, options.seed), 1350
    rates = optim.schedules.one_cycle(options.rate, options.steps)
    opt = optim.AdamW(rates, weight_decay=0.02, decay_mask=lambda name, p: p.ndim > 1)
    batches = shuffled((images[:n], labels[:n]), 64, options.seed)
    net, _, losses = train(synchronized(ResNet(), options).to(queue), opt, loss, batches, options)
    found = net.eval()(images[n:]).argmax(axis=1)
    accuracy = float((found == labels[n:]).mean())
    print(f"loss {losses[0]:.3f} to {np.mean(losses[-10:]):.3f}, held-out accuracy {accuracy:.3f}")
    goal = 0.8 if options.steps >= 200 else 0.2
    check(options, f"the held-out accuracy must be at least {goal}", accuracy >= goal)
    finish(options, "resnet_cifar_like", losses)


if __name__ == "__main__":
    main()
