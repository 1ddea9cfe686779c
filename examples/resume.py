# SPDX-License-Identifier: Apache-2.0
"""Training that is interrupted and resumed from a file, bit for bit as without interruption.

``--steps`` is the total over all parts. With ``--checkpoint FILE`` the program is one job of
several (batch/README.md): it resumes from the file if there is one, and stops with status 75 when
the scheduler announces the end of the job. With ``--distributed`` rank 0 writes; another number of
ranks may resume from the file.
"""

from __future__ import annotations

import argparse
import itertools
import signal
from pathlib import Path

import dpnp
from _training import (
    add_dropout,
    begin,
    check,
    digit_images,
    finish,
    out_path,
    ranks_of,
    shuffled,
    synchronized,
    train,
    write_once,
)

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def make_net(options, queue):
    """Return a network with dropout, which draws numbers, and running statistics."""
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(options.dropout),
        nn.Linear(64, 10),
    )  # fmt: skip
    return synchronized(net, options).to(queue)


def loss(net, images, labels):
    """Return the mean cross-entropy."""
    return F.cross_entropy(net(images), labels)


def make_optimizer(options):
    """Return an optimizer with the schedule of the whole training."""
    return optim.AdamW(optim.schedules.cosine(options.rate, options.steps), max_norm=1.0)


def warnings_of_scheduler():
    """Return a list that collects the signals by which schedulers announce the end of a job."""
    seen = []
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda got, _: seen.append(signal.Signals(got).name))
    return seen


def is_over(warned, options, queue):
    """Whether the scheduler has warned any rank, so that all stop after the same step."""
    ranks_of(options)
    return bool(dist.all_reduce(dpnp.asarray(len(warned), sycl_queue=queue), "max"))


def one_job(options, queue) -> list[float]:
    """Resume from the checkpoint; return losses, or raise SystemExit(75) if steps remain."""
    warned, whole, path = warnings_of_scheduler(), options.steps, options.checkpoint
    data, opt, net = digit_images(queue), make_optimizer(options), make_net(options, queue)
    now, seen = {"net": net, "state": opt.init(net), "step": 0}, []
    if path.exists():
        now = sycl_dnn.load_checkpoint(path, **now)
    print(f"from step {now['step']} of {whole}", flush=True)
    batches = itertools.islice(shuffled(data, 64, options.seed), now["step"], None)
    while now["step"] < whole and not is_over(warned, options, queue):
        steps = min(options.every, whole - now["step"])
        part = argparse.Namespace(**{**vars(options), "steps": steps})
        net, state, losses = train(now["net"], opt, loss, batches, part, now["state"])
        now = {"net": net, "state": state, "step": now["step"] + steps}
        write_once(options, sycl_dnn.save_checkpoint, path, **now)
        print(f"step {now['step']}: loss {losses[-1]:.6f}", flush=True)
        seen += losses
    if now["step"] < whole:
        reason = [*warned, "another rank"][0]
        print(f"{reason}: {whole - now['step']} steps are left for the next job", flush=True)
        raise SystemExit(75)
    return seen


def more(parser) -> None:
    """Add the options of a training that consists of several jobs."""
    add_dropout(parser)
    parser.add_argument("--checkpoint", type=Path, help="continue from this file, and write it")
    parser.add_argument("--every", type=int, default=50, help="steps from checkpoint to checkpoint")


def main() -> None:
    """Train without interruption and in two parts; fail if the weights differ in one bit."""
    options, queue = begin(__doc__, steps=200, rate=0.01, more=more)
    if options.checkpoint:
        return finish(options, "resume", one_job(options, queue))
    data, path = digit_images(queue), out_path("resume.safetensors")
    opt = make_optimizer(options)
    batches = shuffled(data, 64, options.seed)
    half = options.steps // 2
    begun, rest_of = (
        argparse.Namespace(**{**vars(options), "steps": n}) for n in (half, options.steps - half)
    )
    net, state, first = train(make_net(options, queue), opt, loss, batches, begun)
    parts = {"net": net, "state": state, "step": half}
    write_once(options, sycl_dnn.save_checkpoint, path, **parts)
    net, state, rest = train(net, opt, loss, batches, rest_of, state)

    # As in another process: the whole state is read from the file.
    fresh = make_net(options, queue)
    found = sycl_dnn.load_checkpoint(path, net=fresh, state=opt.init(fresh), step=0)
    batches = itertools.islice(shuffled(data, 64, options.seed), found["step"], None)
    again, _, repeated = train(found["net"], opt, loss, batches, rest_of, found["state"])
    pairs = zip(sycl_dnn.tree.leaves(net), sycl_dnn.tree.leaves(again), strict=True)
    is_same = all(bool(dpnp.array_equal(a, b)) for a, b in pairs) and rest == repeated
    print(f"loss {first[0]:.3f} to {first[-1]:.3f}, then to {rest[-1]:.4f} and {repeated[-1]:.4f}")
    check(options, "the weights must be the same", is_same)
    return finish(options, "resume", first + rest)


if __name__ == "__main__":
    main()
