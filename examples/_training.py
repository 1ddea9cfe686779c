# SPDX-License-Identifier: Apache-2.0
"""What the training examples share: options, one loop over compiled steps, data, pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
from _common import finish as say_passed
from _common import make_parser, open_queue
from sklearn.datasets import load_digits
from tqdm import tqdm

import sycl_dnn
from sycl_dnn import distributed as dist


def begin(
    doc: str | None, *, steps: int, rate: float, more: Callable[[Any], Any] | None = None,
    own_steps: bool = True,
) -> tuple[argparse.Namespace, Any]:  # fmt: skip
    """Parse the command line; return options and queue. ``more(parser)`` adds options.

    The program's own steps can be compiled, and divided among ranks: see `own_rows`.
    """
    parser = make_parser(doc)
    parser.add_argument("--steps", type=int, default=steps, help="steps of training")
    parser.add_argument("--rate", type=float, default=rate, help="the largest learning rate")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and noise")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32",
                        help="of the products")  # fmt: skip
    if own_steps:
        add_compile(parser)
        add_ranks(parser)
    if more is not None:
        more(parser)
    options = parser.parse_args()
    queue = open_ranks(options) if own_steps else open_queue(options.device)
    sycl_dnn.manual_seed(options.seed)
    return options, queue


def add_compile(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses how steps run."""
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True,
                        help="a step is one program, or runs operation by operation")  # fmt: skip


def add_ranks(parser: argparse.ArgumentParser) -> None:
    """Add the option that makes a program one of several ranks."""
    parser.add_argument("--distributed", action="store_true", help="join a launcher's ranks")


def open_ranks(options: argparse.Namespace) -> Any:
    """Return the queue of the device that the options name, or of this rank's own device."""
    queue = open_queue(options.device)
    return dist.init().queue if options.distributed else queue


def train(
    net: Any, opt: Any, loss: Callable[..., Any], batches: Iterator[Any], options: Any,
    state: Any = None,
) -> tuple[Any, Any, list[float]]:  # fmt: skip
    """Run the steps that ``options`` request; return module, state and the loss of each step.

    Ranks average gradients and losses, so these are those of all batches together.
    """

    def step(net: Any, state: Any, *batch: Any) -> Any:
        value, grads = averaged(*sycl_dnn.value_and_grad(loss)(net, *batch))
        return value, *opt.update(grads, state, net)

    run = sycl_dnn.compile(step) if options.compile else step
    state, values = opt.init(net) if state is None else state, []
    with sycl_dnn.autocast(options.dtype):  # "float32" casts nothing
        for _ in progress(range(options.steps), options):
            value, net, state = run(net, state, *next(batches))
            values.append(value)  # converted to a number later: nothing waits here
    return net, state, [float(v) for v in values]


def ranks_of(options: argparse.Namespace) -> dist.Group:
    """Return the ranks that train together: only this process unless the options say otherwise."""
    return dist.init(device=None if getattr(options, "distributed", False) else options.device)


def progress(steps: Any, options: argparse.Namespace) -> Any:
    """Return steps whose iteration draws a progress bar, only on rank 0."""
    return tqdm(steps, desc="training", unit="step", disable=not ranks_of(options).is_main)


def averaged(value: Any, grads: Any) -> tuple[Any, Any]:
    """Return loss and gradients of all ranks' rows together; unchanged for a single process."""
    if dist.init().size == 1:
        return value, grads
    return dist.all_reduce(value, "mean"), dist.average_gradients(grads)


def own_rows(rows: Any) -> Any:
    """Return this rank's rows of a batch, the same number on every rank; all for one process."""
    group = dist.init()
    n = len(rows) - len(rows) % group.size
    return rows if group.size == 1 else rows[group.rank : n : group.size]


def synchronized(net: Any, options: argparse.Namespace) -> Any:
    """Return a network that normalizes over all ranks' rows; unchanged for a single process."""
    return dist.SyncBatchNorm.convert(net) if ranks_of(options).size > 1 else net


def write_once(
    options: argparse.Namespace, write: Callable[..., Any], *args: Any, **kw: Any
) -> None:
    """Let rank 0 write a file that all ranks can read afterwards."""
    group = ranks_of(options)
    if group.is_main:
        write(*args, **kw)
    group.barrier()


def saved(net: Any, options: argparse.Namespace, name: str) -> Path:
    """Write the weights into ``out``; return the path."""
    path = out_path(f"{name}.safetensors")
    write_once(options, sycl_dnn.save, path, net)
    return path


def add_dropout(parser: argparse.ArgumentParser) -> None:
    """Add an option: 0 gives the losses of a single process, as ranks draw masks for their rows."""
    parser.add_argument("--dropout", type=float, default=0.2, help="part of the numbers dropped")


def digit_images(queue: Any, size: int = 8) -> tuple[Any, Any]:
    """Return scikit-learn's digits as images (1797, 1, size, size) from -1 to 1, and labels."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 1, 8, 8).repeat(size // 8, 2).repeat(size // 8, 3) / 8 - 1
    return dpnp.asarray(images, dtype="f4", sycl_queue=queue), dpnp.asarray(
        labels, sycl_queue=queue
    )


def shuffled(arrays: tuple[Any, ...], size: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Yield batches of rows without end, in a new order each time; each rank gets its own rows."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(arrays[0]))
        for start in range(0, len(order) - size + 1, size):
            chosen = own_rows(order[start : start + size])
            rows = dpnp.asarray(chosen, sycl_queue=arrays[0].sycl_queue)
            yield tuple(a[rows] for a in arrays)


def out_path(name: str) -> Path:
    """Return the path of a file in ``out``, which exists then."""
    path = Path("out") / name
    path.parent.mkdir(exist_ok=True)
    return path


def save_picture(images: Any, name: str, columns: int = 8) -> Path:
    """Write gray images (N, 1, H, W) from -1 to 1, framed, into ``out``; return the path."""
    from matplotlib import image

    path = out_path(f"{name}.png")
    values = np.clip(dpnp.asnumpy(images)[:, 0] / 2 + 0.5, 0, 1)
    values = np.pad(values, ((0, 0), (1, 1), (1, 1)), constant_values=0.4)
    rows = [
        np.concatenate(list(values[i : i + columns]), 1) for i in range(0, len(values), columns)
    ]
    if dist.init().is_main:
        image.imsave(path, np.concatenate(rows).repeat(4, 0).repeat(4, 1), cmap="gray")
    return path


def check(options: argparse.Namespace, rule: str, is_met: bool) -> None:
    """End the program if its trained network is not good enough."""
    if not options.no_check and not is_met:
        raise SystemExit(f"failed: {rule}")


def save_curve(losses: Sequence[Any], path: Path) -> None:
    """Write a picture of the loss of each step, and of its mean over the last steps."""
    from matplotlib.figure import Figure

    values = np.array([float(v) for v in losses])
    over = max(1, min(20, len(values) // 5))
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(np.arange(1, len(values) + 1), values, color="0.75", label="each step")
    means = np.convolve(values, np.full(over, 1 / over), "valid")
    axes.plot(np.arange(over, len(values) + 1), means, label=f"mean of {over}")
    axes.set(xlabel="step", ylabel="loss")
    axes.legend()
    figure.savefig(path, dpi=100)


def finish(options: argparse.Namespace, program: str, losses: Sequence[Any]) -> None:
    """Write the curve of the losses into ``out``, on rank 0; print the last line."""
    if len(losses) and ranks_of(options).is_main:
        path = out_path(f"{program}_loss.png")
        save_curve(losses, path)
        print(f"curve of the loss: {path}")
    say_passed(options, program)
