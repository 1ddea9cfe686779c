# SPDX-License-Identifier: Apache-2.0
"""Programs over few elements, beside PyTorch: what a call costs rather than what it computes.

    python benchmarks/small_programs.py [--path TORCH]

A difference scheme of 40 steps on 64 points with its gradient, a training step of a network of
three layers with Adam and its parts, and single functions of few numbers; medians in microseconds,
two threads.
TORCH is a folder with PyTorch, if it is not installed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
from user_programs import Names

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

N_STEPS, N_POINTS, N_CALLS = 40, 64, 60
WAVE = np.sin(np.linspace(0, 2 * np.pi, N_POINTS, endpoint=False)).astype("f4")
BATCH = np.random.default_rng(0).standard_normal((64, 5)).astype("f4")
ROWS, WEIGHTS, IMAGE, KERNEL = (
    np.random.default_rng(1).standard_normal(shape).astype("f4")
    for shape in ((32, 16), (24, 16), (1, 3, 8, 8), (4, 3, 3, 3))
)
LAYERS = ((4, 16), (16, 16), (16, 1))


def median(call: Callable[[], Any], wait: Callable[[], None] = lambda: None) -> float:
    """Return the median time of a call, in microseconds."""
    for _ in range(10):
        call()
    wait()
    time.sleep(0.5)  # kernels of compiled functions are built in the background
    times = []
    for _ in range(N_CALLS):
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def scheme(roll: Callable[..., Any], u: Any, viscosity: Any) -> Any:
    """Return the energy of a wave after explicit steps of Burgers' equation."""
    for _ in range(N_STEPS):
        before, after = roll(u, 1, 0), roll(u, -1, 0)
        slope, curvature = (after - before) * 5.0, (after - u * 2.0 + before) * 100.0
        u = u + (viscosity * curvature - u * slope) * 0.001
    return (u * u).sum()


def functions(L: Any, array: Callable[[np.ndarray], Any]) -> dict[str, Callable[[], Any]]:
    """Return calls of single functions of a library."""
    image, rows, w, kernel, wave = map(array, (IMAGE, ROWS, WEIGHTS, KERNEL, WAVE))
    return {
        "linear": lambda: L.linear(rows, w),
        "layer_norm": lambda: L.layer_norm(rows, (16,)),
        "conv2d": lambda: L.conv2d(image, kernel, padding=1),
        "max_pool2d": lambda: L.max_pool2d(image, 2),
        "mul": lambda: L.mul(wave, wave),
        "exp": lambda: L.exp(wave),
        "softmax": lambda: L.softmax(wave, 0),
        "sum": lambda: L.sum(wave),
    }


def ours() -> dict[str, float]:
    """Return the times of this package."""
    wave, batch = dpnp.asarray(WAVE), dpnp.asarray(BATCH)
    viscosity, x, y = dpnp.asarray(np.float32(0.1)), batch[:, :4] * 1, batch[:, 4:] * 1
    wait = wave.sycl_queue.wait

    def energy(viscosity: Any, u: Any) -> Any:
        return scheme(F.roll, u, viscosity)

    gradient = sycl_dnn.value_and_grad(energy)
    compiled = sycl_dnn.compile(gradient)
    parts = [m for sizes in LAYERS for m in (nn.Linear(*sizes), nn.Tanh())]
    net, adam = nn.Sequential(*parts[:-1]), optim.Adam(1e-3)

    def step(net: Any, state: Any) -> Any:
        loss, grads = sycl_dnn.value_and_grad(lambda net: F.mse_loss(net(x), y))(net)
        return loss, *adam.update(grads, state, net)

    train, trained = sycl_dnn.compile(step), [net, adam.init(net)]

    def training_step() -> None:
        _, *trained[:] = train(*trained)

    value_and_grad = sycl_dnn.value_and_grad(lambda net: F.mse_loss(net(x), y))
    return {
        "gradient of the scheme": median(lambda: gradient(viscosity, wave), wait),
        "the same, compiled": median(lambda: compiled(viscosity, wave), wait),
        "training step, compiled": median(training_step, wait),
        "value and gradient of its network": median(lambda: value_and_grad(net), wait),
        "its network": median(lambda: net(x), wait),
        **{name: median(call, wait) for name, call in functions(F, dpnp.asarray).items()},
    }


def torchs(path: str | None) -> dict[str, float]:
    """Return the times of PyTorch's eager mode; empty without it."""
    if path:
        sys.path.append(path)
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(2)
    wave, batch = torch.from_numpy(WAVE), torch.from_numpy(BATCH)
    viscosity, x, y = torch.tensor(0.1, requires_grad=True), batch[:, :4], batch[:, 4:]

    def gradient() -> None:
        viscosity.grad = None
        scheme(torch.roll, wave, viscosity).backward()

    parts = [m for sizes in LAYERS for m in (torch.nn.Linear(*sizes), torch.nn.Tanh())]
    net = torch.nn.Sequential(*parts[:-1])
    adam = torch.optim.Adam(net.parameters(), 1e-3)

    def training_step() -> None:
        adam.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        adam.step()

    def value_and_grad() -> None:
        net.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()

    of_gradient, library = median(gradient), Names(torch.nn.functional, torch)
    return {
        "gradient of the scheme": of_gradient,
        "the same, compiled": of_gradient,
        "training step, compiled": median(training_step),
        "value and gradient of its network": median(value_and_grad),
        "its network": median(lambda: net(x)),
        **{name: median(call) for name, call in functions(library, torch.from_numpy).items()},
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--path", help="a folder with PyTorch")
    times = ours()
    rivals = torchs(parser.parse_args().path)
    print("| us | sycl_dnn | PyTorch, eager |\n|---|---|---|")
    for name, value in times.items():
        print(f"| {name} | {value:.1f} | {rivals.get(name, float('nan')):.1f} |")


if __name__ == "__main__":
    main()
