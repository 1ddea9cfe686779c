# SPDX-License-Identifier: Apache-2.0
"""A convolutional network on images of digits: losses and parameters of some ways to train it."""

import sys

import dpnp
import numpy as np
from sklearn.datasets import load_digits

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree

WAY, PATH = sys.argv[1], sys.argv[2]
STEPS, BATCH = 12, 32


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(128, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def loss(net, images, labels):
    return F.cross_entropy(net(images), labels)


def step_of(opt, group):
    def step(net, state, images, labels):
        value, grads = sycl_dnn.value_and_grad(loss)(net, images, labels)
        if WAY in ("eager", "compiled"):
            grads = dist.average_gradients(grads, 4096)
        return dist.all_reduce(value, "mean"), *opt.update(grads, state, net)

    return step if WAY == "eager" else sycl_dnn.compile(step)


def main():
    group = dist.init(timeout=600)
    sycl_dnn.manual_seed(group.rank if WAY == "wrapped" else 0)
    net = network().to(group.queue)
    if WAY == "wrapped":
        if group.rank == 0:
            sycl_dnn.manual_seed(0)
            net = network().to(group.queue)
        net = dist.DataParallel(net, 4096)
    opt = optim.AdamW(0.01, max_norm=1.0)
    opt = dist.ShardedOptimizer(opt) if WAY == "sharded" else opt
    state, step, losses = opt.init(net), step_of(opt, group), []
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype("f4")
    for chosen in list(dist.own_batches(len(images), BATCH, seed=1))[:STEPS]:
        x = dpnp.asarray(images[chosen], sycl_queue=group.queue)
        y = dpnp.asarray(digits.target[chosen], sycl_queue=group.queue)
        value, net, state = step(net, state, x, y)
        losses.append(value)
    row = np.concatenate([dpnp.asnumpy(a).ravel() for a in tree.leaves(net)])
    if WAY == "sharded":
        check_checkpoint(opt, state, net)
    bits = group.exchange("parameters", row.tobytes(), "comparing")
    assert all(b == bits[0] for b in bits), "ranks have different parameters"
    if group.is_main:
        np.savez(PATH, losses=[float(v) for v in losses], parameters=row)


def check_checkpoint(opt, state, net):
    """The whole state is the optimiser's own, and its parts are those of this rank."""
    whole = opt.whole_state(state, net)
    plain = opt.optimizer.init(net)
    assert tree.names(whole) == tree.names(plain)
    assert [a.shape for a in tree.leaves(whole)] == [a.shape for a in tree.leaves(plain)]
    own = opt.own_state(whole, net)
    for a, b in zip(tree.leaves(own), tree.leaves(state), strict=True):
        assert (dpnp.asnumpy(a) == dpnp.asnumpy(b)).all()


main()
