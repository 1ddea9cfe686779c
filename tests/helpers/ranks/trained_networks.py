# SPDX-License-Identifier: Apache-2.0
"""Digits, a GPT and an LSTM, each trained in several ways: losses and parameters.

trained_networks.py "digits:wrapped gpt:compiled" results.npz [FIRST END CHECKPOINT]

With numbers of steps it reads the checkpoint before the first, if that is not 0, and writes it at
the end.
"""

import sys

import dpnp
import numpy as np
from letters_network import GPT
from sklearn.datasets import load_digits

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree

CASES, PATH = [case.split(":") for case in sys.argv[1].split()], sys.argv[2]
FIRST, END, FILE = sys.argv[3:] or (0, 12, "")
BATCH, LETTERS, LENGTH, WIDTH = 32, 11, 8, 16
#: Several buckets in each network.
BUCKET_BYTES = 4096
#: The gradient of a key's bias is rounding error, which Adam's default epsilon makes full steps.
BOUND = 1e-5


def digits_network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(128, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def digits_data():
    digits = load_digits()
    return (digits.images[:, None] / 16).astype("f4"), digits.target


class Letters(GPT):
    """Applies its causal mask itself, so that it has one argument like the other networks."""

    def __init__(self):
        super().__init__(LETTERS, LENGTH, WIDTH, 2 * WIDTH)

    def forward(self, letters):
        return super().forward(letters, F.triu(F.full((LENGTH, LENGTH), float("-inf")), 1))


def letters_data():
    rows = np.random.default_rng(3).integers(0, LETTERS, (500, LENGTH + 1)).cumsum(1) % LETTERS
    return rows[:, :-1], rows[:, 1:]


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, WIDTH, batch_first=True), nn.Linear(WIDTH, 4)

    def forward(self, x):
        _, (last, _) = self.lstm(x)
        return self.head(last[-1])


def sequences_data():
    x = np.random.default_rng(4).standard_normal((500, 6, 3)).astype("f4")
    return x, x.sum((1, 2)).round().astype(int) % 4


NETWORKS = {
    "digits": (digits_network, digits_data),
    "gpt": (Letters, letters_data),
    "lstm": (LSTM, sequences_data),
}


def loss(net, x, labels):
    return F.cross_entropy(net(x), F.reshape(labels, (-1,)))


def step_of(opt, way):
    def step(net, state, x, labels):
        value, grads = sycl_dnn.value_and_grad(loss)(net, x, labels)
        if way in ("eager", "compiled"):
            grads = dist.average_gradients(grads, BUCKET_BYTES)
        return dist.all_reduce(value, "mean"), *opt.update(grads, state, net)

    # Wrapped: the averages are part of the reverse pass, which runs separately here.
    return step if way in ("eager", "wrapped") else sycl_dnn.compile(step)


def begun(network, way, group):
    """Return a network that is the same on all ranks, for any previous values."""
    sycl_dnn.manual_seed(group.rank if way == "wrapped" else 0)
    net = network().to(group.queue)
    if way != "wrapped":
        return net
    if group.rank == 0:
        sycl_dnn.manual_seed(0)
        net = network().to(group.queue)
    return dist.DataParallel(net, BUCKET_BYTES)


def train(name, way, group):
    network, data = NETWORKS[name]
    net, opt = begun(network, way, group), optim.AdamW(0.01, eps=BOUND, max_norm=1.0)
    opt = dist.ShardedOptimizer(opt) if way == "sharded" else opt
    state, step, losses = opt.init(net), step_of(opt, way), []
    if int(FIRST):
        whole = {"net": net, "state": opt.optimizer.init(net)}
        found = sycl_dnn.load_checkpoint(FILE, device=group.queue, **whole)
        net, state = found["net"], opt.own_state(found["state"], found["net"])
    inputs, labels = data()
    for chosen in list(dist.own_batches(len(inputs), BATCH, seed=1))[int(FIRST) : int(END)]:
        args = [dpnp.asarray(a[chosen], sycl_queue=group.queue) for a in (inputs, labels)]
        value, net, state = step(net, state, *args)
        losses.append(value)
    if way == "sharded":
        whole = checked_state(opt, state, net)
        if FILE and group.is_main:
            sycl_dnn.save_checkpoint(FILE, net=net, state=whole)
    row = np.concatenate([dpnp.asnumpy(a).ravel() for a in tree.leaves(net)])
    bits = group.exchange("parameters", row.tobytes(), "comparing")
    assert all(b == bits[0] for b in bits), f"{name}, {way}: ranks have different parameters"
    return {"losses": [float(v) for v in losses], "parameters": row}


def checked_state(opt, state, net):
    """Return the whole state: the optimizer's own, whose parts are those of this rank."""
    whole = opt.whole_state(state, net)
    plain = opt.optimizer.init(net)
    assert tree.names(whole) == tree.names(plain)
    assert [a.shape for a in tree.leaves(whole)] == [a.shape for a in tree.leaves(plain)]
    own = opt.own_state(whole, net)
    for a, b in zip(tree.leaves(own), tree.leaves(state), strict=True):
        assert (dpnp.asnumpy(a) == dpnp.asnumpy(b)).all()
    return whole


def main():
    group = dist.init(timeout=600)
    found = {}
    for name, way in CASES:
        result = train(name, way, group)
        found |= {f"{name}:{way}:{key}": value for key, value in result.items()}
    if group.is_main:
        np.savez(PATH, **found)


main()
