# SPDX-License-Identifier: Apache-2.0
"""What ``set_nan("propagate")`` costs where it changes a function, on a CPU.

Blocks of calls alternate between the two settings in one process. Prints medians and minima in ms,
and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F

MODES = ("fast", "propagate")


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return functions with arrays of about 12 MB."""
    numbers = np.random.default_rng(0)
    queue = sycl_dnn.default_queue("cpu")

    def normal(*shape: int) -> dpnp.ndarray:
        return dpnp.asarray(numbers.standard_normal(shape, "f4"), sycl_queue=queue)

    images = normal(16, 56, 56, 64).transpose((0, 3, 1, 2))
    return {
        "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (images,)),
    }


def measured(
    function: Callable[..., Any], arrays: tuple[Any, ...], rounds: int
) -> dict[str, list[float]]:
    """Return the times of calls in ms by setting."""
    times: dict[str, list[float]] = {mode: [] for mode in MODES}
    for turn in range(rounds):
        for mode in MODES[:: 1 if turn % 2 else -1]:
            sycl_dnn.set_nan(mode)
            for call in range(5):
                start = time.perf_counter()
                function(*arrays)
                sycl_dnn.synchronize(arrays[0].sycl_queue)
                if call:  # the first one may plan
                    times[mode].append(1e3 * (time.perf_counter() - start))
    return times


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=24, help="blocks of four calls each")
    rounds = parser.parse_args().rounds
    for name, (function, arrays) in cases().items():
        times = measured(function, arrays, rounds)
        fast, kept = (statistics.median(times[mode]) for mode in MODES)
        least = [min(times[mode]) for mode in MODES]
        print(f"{name:26s} fast {fast:7.3f} [{least[0]:.3f}]   "
              f"propagate {kept:7.3f} [{least[1]:.3f}]   ratio {kept / fast:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
