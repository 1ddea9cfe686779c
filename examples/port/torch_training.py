# SPDX-License-Identifier: Apache-2.0
"""Train a network to recognize digits in PyTorch: the program that ``ported_training.py`` ports.

Functions have the same names in both. ``docs/pytorch.md`` shows them side by side.
"""

import argparse
import csv
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Sampler, TensorDataset

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
    images = torch.tensor(images.reshape(-1, 1, 8, 8)).float() / 16
    labels = torch.tensor(labels)
    training = TensorDataset(images[:1500], labels[:1500])
    return training, (images[1500:], labels[1500:])


class Order(Sampler):
    """Rows in an order determined by the epoch number."""

    def __init__(self, rows):
        self.rows, self.epoch = rows, 0

    def __len__(self):
        return self.rows

    def __iter__(self):
        rng = np.random.default_rng([0, self.epoch])
        self.epoch += 1
        return iter(rng.permutation(self.rows).tolist())


def make_batches(training):
    """Return shuffled batches of equal size."""
    order = Order(len(training))
    return DataLoader(
        training,
        BATCH,
        sampler=order,
        drop_last=True,
    )


def make_optimizer(net, epochs):
    """Return AdamW and its schedule."""
    plain = [p for p in net.parameters() if p.ndim == 1]
    decayed = [p for p in net.parameters() if p.ndim > 1]
    groups = [
        {"params": plain, "weight_decay": 0.0},
        {"params": decayed},
    ]
    opt = torch.optim.AdamW(groups, lr=0.01, weight_decay=0.05)

    rest = epochs * UPDATES_PER_EPOCH - WARMUP
    rise = LinearLR(opt, 1 / WARMUP, total_iters=WARMUP)
    fall = CosineAnnealingLR(opt, rest)
    return opt, SequentialLR(opt, [rise, fall], [WARMUP])


def make_average(net):
    """Return the moving average of the weights."""
    rule = get_ema_multi_avg_fn(0.95)
    return AveragedModel(net, multi_avg_fn=rule)


def train_epoch(net, opt, schedule, average, batches, options):
    """Train for an epoch; return the loss of each batch."""
    device, losses = options.device, []
    narrow = torch.autocast(
        device,
        torch.bfloat16,
        enabled=options.dtype == "bfloat16",
    )
    net.train()
    for number, (x, y) in enumerate(batches, 1):
        x, y = x.to(device), y.to(device)
        with narrow:
            loss = F.cross_entropy(net(x), y)
        (loss / PARTS).backward()
        losses.append(loss.detach())
        if number % PARTS == 0:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            schedule.step()
            opt.zero_grad()
            average.update_parameters(net)
    return [loss.item() for loss in losses]


@torch.no_grad()
def validate(average, images, labels):
    """Return the loss of the averaged network, and its accuracy."""
    average.eval()
    scores = average(images)
    loss = F.cross_entropy(scores, labels)
    accuracy = (scores.argmax(1) == labels).float().mean()
    return loss.item(), accuracy.item()


def save(path, parts, progress):
    """Write a checkpoint."""
    found = {n: part.state_dict() for n, part in parts.items()}
    random = torch.get_rng_state()
    torch.save({**found, "random": random, **progress}, path)


def restore(path, parts, progress):
    """Read a checkpoint; return the progress of the training."""
    found = torch.load(path)
    for name, part in parts.items():
        part.load_state_dict(found[name])
    torch.set_rng_state(found["random"])
    return {name: found[name] for name in progress}


def run(options):
    """Train until the held-out loss stops decreasing."""
    torch.manual_seed(0)
    training, held_out = load_data()
    batches, net = make_batches(training), Net()
    if options.init:
        net.load_state_dict(torch.load(options.init))
    net = net.to(options.device)
    opt, schedule = make_optimizer(net, options.epochs)
    average = make_average(net)
    held_out = [a.to(options.device) for a in held_out]

    parts = {
        "net": net,
        "opt": opt,
        "schedule": schedule,
        "average": average,
    }
    now = {"epoch": 0, "best": math.inf, "waited": 0}
    if options.resume:
        now = restore(options.checkpoint, parts, now)
    batches.sampler.epoch = now["epoch"]
    rows = []
    while now["epoch"] < options.until and now["waited"] < PATIENCE:
        losses = train_epoch(net, opt, schedule, average, batches, options)
        loss, accuracy = validate(average, *held_out)
        now["waited"] = 0 if loss < now["best"] else now["waited"] + 1
        now["best"] = min(loss, now["best"])
        now["epoch"] += 1
        save(options.checkpoint, parts, now)
        rows += [(now["epoch"], v, loss, accuracy) for v in losses]
        print(f"epoch {now['epoch']}: loss {np.mean(losses):.4f}, "
              f"held-out {loss:.4f}, accuracy {accuracy:.3f}")  # fmt: skip
    return rows


def main():
    """Read the command line, train, and log every loss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--epochs", type=int, default=12, help="what the schedule is for")
    parser.add_argument("--until", type=int, help="stop after this epoch; --resume continues")
    parser.add_argument("--checkpoint", type=Path, default=Path("out/torch_training.pt"))
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    parser.add_argument("--init", type=Path, help="a state dict to begin with")
    parser.add_argument("--log", type=Path, help="a CSV file of all losses")
    options = parser.parse_args()
    options.until = options.epochs if options.until is None else options.until
    options.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    rows = run(options)
    if options.log:
        with open(options.log, "a", newline="") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main()
