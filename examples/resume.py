# SPDX-License-Identifier: Apache-2.0
"""A training that is interrupted and goes on from a file, bit for bit as one that is not."""

from __future__ import annotations

import itertools
from pathlib import Path

import dpnp
from _common import finish
from _training import begin, check, digit_images, shuffled, train

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def make_net():
    """Return a network whose dropout draws numbers and whose statistics run."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(64, 10),
    )  # fmt: skip


def loss(net, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(net(images), labels)


def main() -> None:
    """Train twice as long at once and in two parts; fail if the weights differ in one bit."""
    options, queue = begin(__doc__, steps=100, rate=0.01, ranks=False)
    data, path = digit_images(queue), Path("out") / "resume.safetensors"
    path.parent.mkdir(exist_ok=True)
    opt = optim.AdamW(optim.schedules.cosine(options.rate, 2 * options.steps), max_norm=1.0)
    batches = shuffled(data, 64, options.seed)
    net, state, first = train(make_net().to(queue), opt, loss, batches, options)
    sycl_dnn.save_checkpoint(path, net=net, state=state, step=options.steps)
    net, state, rest = train(net, opt, loss, batches, options, state)

    # As in another process: all that counts comes from the file.
    fresh = make_net().to(queue)
    found = sycl_dnn.load_checkpoint(path, net=fresh, state=opt.init(fresh), step=0)
    batches = itertools.islice(shuffled(data, 64, options.seed), found["step"], None)
    again, _, repeated = train(found["net"], opt, loss, batches, options, found["state"])
    pairs = zip(sycl_dnn.tree.leaves(net), sycl_dnn.tree.leaves(again), strict=True)
    is_same = all(bool(dpnp.array_equal(a, b)) for a, b in pairs) and rest == repeated
    print(f"loss {first[0]:.3f} to {first[-1]:.3f}, then to {rest[-1]:.4f} and {repeated[-1]:.4f}")
    check(options, "the weights must be the same", is_same)
    finish(options, "resume")


if __name__ == "__main__":
    main()
