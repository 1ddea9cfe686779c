# SPDX-License-Identifier: Apache-2.0
"""Train a network to recognize digits: the program of ``port/torch_training.py``, ported.

Functions have the same names in both. ``docs/pytorch.md`` shows them side by side.
"""

import csv
import math
from pathlib import Path

import numpy as np
from _common import make_parser, start
from _training import finish
from sklearn.datasets import load_digits

import sycl_dnn
from sycl_dnn import data, nn, optim
from sycl_dnn import functional as F
from sycl_dnn.optim import schedules

BATCH, PARTS, WARMUP, PATIENCE = 25, 2, 20, 2
UPDATES_PER_EPOCH = 1500 // BATCH // PARTS


class Net(nn.Module):
    """Logits (N, 10) of images (N, 1, 8, 8)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, x):
        """Convolve, normalize, halve the size, classify."""
        x = F.relu(self.norm(self.conv(x)))
        x = F.max_pool2d(x, 2)
        return self.head(x.flatten(1))


def load_data():
    """Return training data and held-out data."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 1, 8, 8).astype("f4") / 16
    training = images[:1500], labels[:1500]
    return training, (images[1500:], labels[1500:])


def make_batches(training):
    """Return shuffled batches of equal size."""
    return data.Batches(
        training,
        BATCH,
        shuffle=True,
        seed=0,
        drop_last=True,
    )


def make_optimizer(epochs):
    """Return AdamW with its schedule."""
    plain = {"norm.weight", "norm.bias", "head.bias"}
    groups = [(lambda name: name in plain, {"weight_decay": 0.0})]

    rest = epochs * UPDATES_PER_EPOCH - WARMUP
    fall = schedules.cosine(0.01, rest)
    return optim.AdamW(
        schedules.warmup(WARMUP, fall),
        weight_decay=0.05,
        groups=groups,
        max_norm=1.0,
    )


@sycl_dnn.compile
def accumulate(net, sums, x, y):
    """Return the loss of a batch, and the sum of gradients."""

    def loss(net):
        return F.cross_entropy(net(x), y)

    value, grads = sycl_dnn.value_and_grad(loss)(net)
    return value, optim.accumulate(sums, grads, weight=1 / PARTS)


def make_update(opt, ema):
    """Return the update of weights and average."""

    @sycl_dnn.compile
    def update(sums, net, state, average):
        net, state = opt.update(sums, state, net)
        if average is None:
            return net, state, ema.init(net)
        return net, state, ema.update(average, net)

    return update


def train_epoch(net, state, average, update, batches, options):
    """Train for an epoch; return new trees, and losses."""
    sums, losses = None, []
    net.train()
    for number, (x, y) in enumerate(batches, 1):
        with sycl_dnn.autocast(options.dtype):
            loss, sums = accumulate(net, sums, x, y)
        losses.append(loss)
        if number % PARTS == 0:
            net, state, average = update(sums, net, state, average)
            sums = None
    return net, state, average, [float(loss) for loss in losses]


def validate(average, images, labels):
    """Return the loss of the averaged network, and its accuracy."""
    scores = average.eval()(images)
    loss = F.cross_entropy(scores, labels)
    accuracy = (scores.argmax(axis=1) == labels).mean()
    return float(loss), float(accuracy)


def restore(path, net, opt, ema):
    """Read a checkpoint into trees of the same structure."""
    return sycl_dnn.load_checkpoint(
        path,
        net=net,
        state=opt.init(net),
        average=ema.init(net),
        epoch=0,
        best=0.0,
        waited=0,
    )


def run(options, queue):
    """Train until the held-out loss stops decreasing."""
    sycl_dnn.manual_seed(0)
    training, held_out = load_data()
    batches, net = make_batches(training), Net().to(queue)
    if options.init:
        net.load_state_dict(sycl_dnn.load(options.init))
    opt, ema = make_optimizer(options.epochs), optim.EMA(0.95)
    update = make_update(opt, ema)
    held_out = [sycl_dnn.asarray(a, sycl_queue=queue) for a in held_out]

    now = {
        "net": net,
        "state": opt.init(net),
        "average": None,
        "epoch": 0,
        "best": math.inf,
        "waited": 0,
    }
    if options.resume:
        now = restore(options.checkpoint, net, opt, ema)
    batches.epoch = now["epoch"]
    ahead, rows = data.Prefetcher(batches, device=queue), []
    while now["epoch"] < options.until and now["waited"] < PATIENCE:
        now["net"], now["state"], now["average"], losses = train_epoch(
            now["net"], now["state"], now["average"], update, ahead, options
        )
        loss, accuracy = validate(now["average"], *held_out)
        now["waited"] = 0 if loss < now["best"] else now["waited"] + 1
        now["best"] = min(loss, now["best"])
        now["epoch"] += 1
        sycl_dnn.save_checkpoint(options.checkpoint, **now)
        rows += [(now["epoch"], v, loss, accuracy) for v in losses]
        print(f"epoch {now['epoch']}: loss {np.mean(losses):.4f}, "
              f"held-out {loss:.4f}, accuracy {accuracy:.3f}")  # fmt: skip
    return rows


def main():
    """Read the command line, train, and log every loss."""
    parser = make_parser(__doc__)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--epochs", type=int, default=12, help="what the schedule is for")
    parser.add_argument("--until", type=int, help="stop after this epoch; --resume continues")
    parser.add_argument("--checkpoint", type=Path, default=Path("out/ported_training.safetensors"))
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    parser.add_argument("--init", type=Path, help="a state dict to begin with")
    parser.add_argument("--log", type=Path, help="a CSV file of all losses")
    options, queue = start(parser)
    options.until = options.epochs if options.until is None else options.until
    options.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    rows = run(options, queue)
    if options.log:
        with open(options.log, "a", newline="") as file:
            csv.writer(file).writerows(rows)
    if not options.no_check and rows and rows[-1][3] < 0.85:
        raise SystemExit("failed: the held-out accuracy must be at least 0.85")
    finish(options, "ported_training", [loss for _, loss, _, _ in rows])


if __name__ == "__main__":
    main()
