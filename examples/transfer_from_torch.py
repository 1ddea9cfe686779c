# SPDX-License-Identifier: Apache-2.0
"""Transfer learning from torch: load a state dict, freeze all but the head.

torch learns the digits below 5, the new head those from 5 to 9. Without torch, it only prints a
message.
"""

from __future__ import annotations

import importlib
import importlib.util
import types
from typing import Any

import dpnp
import numpy as np
from _training import begin, check, digit_images, finish, shuffled, train

from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def make_net(nn: types.ModuleType):
    """Return the network, built from torch's modules or ours."""
    body = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
    )  # fmt: skip
    return nn.Sequential(body, nn.Linear(512, 5))


def trained_by_torch(images, labels):
    """Return the state dict of the network after some steps in torch, and some logits."""
    torch: Any = importlib.import_module("torch")  # not a requirement of the examples
    torch.manual_seed(0)
    net = make_net(torch.nn)
    opt = torch.optim.AdamW(net.parameters(), 3e-3)
    chosen = np.flatnonzero(labels < 5)
    x, y = torch.from_numpy(images[chosen]), torch.from_numpy(labels[chosen])
    for start in range(0, len(x) - 64, 64):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(
            net(x[start : start + 64]), y[start : start + 64]
        ).backward()
        opt.step()
    with torch.no_grad():
        return net.state_dict(), net.eval()(x[:8]).numpy(), images[chosen[:8]]


def loss(net, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(net(images), labels)


def main() -> None:
    """Load, compare, train the head; fail if it recognizes too few digits."""
    options, queue = begin(__doc__, steps=150, rate=0.01)
    if importlib.util.find_spec("torch") is None:
        print("transfer_from_torch: skipped, torch is not installed")
        return
    images, labels = digit_images(queue)
    weights, expected, some = trained_by_torch(dpnp.asnumpy(images), dpnp.asnumpy(labels))
    net = make_net(nn).to(queue)
    net.load_state_dict(weights)
    actual = dpnp.asnumpy(net.eval()(dpnp.asarray(some, sycl_queue=queue)))
    error = float(np.abs(actual - expected).max())
    net[1] = nn.Linear(512, 5).to(queue)
    net.train().freeze(lambda name: name.startswith("0."))
    net[0].eval()  # keeps torch's running statistics
    rows = labels >= 5
    images, labels = images[rows], labels[rows] - 5
    batches = shuffled((images[:600], labels[:600]), 64, options.seed)
    net, _, losses = train(net, optim.AdamW(options.rate), loss, batches, options)
    accuracy = float((net.eval()(images[600:]).argmax(axis=1) == labels[600:]).mean())
    print(f"logits off by {error:.1e}; loss {losses[0]:.3f} to {losses[-1]:.3f}, "
          f"accuracy on held-out digits from 5 on {accuracy:.3f}")  # fmt: skip
    check(options, "logits must be torch's, accuracy at least 0.9", error < 1e-3 and accuracy > 0.9)
    finish(options, "transfer_from_torch", losses)


if __name__ == "__main__":
    main()
