# SPDX-License-Identifier: Apache-2.0
"""Functions of large arrays, each waited for and 20 in a row, beside PyTorch.

    python benchmarks/calls_in_a_row.py [--path TORCH]

Results are dropped at once, as on the way of a program. Medians of a call in microseconds, two
threads. TORCH is a folder with PyTorch, if it is not installed.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import sycl_dnn
from sycl_dnn import functional as F

SIZES = (1 << 17, 1 << 20, 2_457_600)
N_IN_A_ROW, N_CALLS = 20, 200


def median(call: Callable[[], Any], wait: Callable[[], None], n_in_a_row: int) -> float:
    """Return the median time of a call, in microseconds, with a wait after some of them."""
    times = []
    for _ in range(N_CALLS // n_in_a_row):
        start = time.perf_counter()
        for _ in range(n_in_a_row):
            call()
        wait()
        times.append((time.perf_counter() - start) / n_in_a_row)
    return statistics.median(times) * 1e6


def functions(library: Any) -> dict[str, Callable[[Any], Any]]:
    """Return functions of an array of rows of 64 numbers, over the names of a library."""
    return {
        "relu": library.relu,
        "exp": library.exp,
        "softmax": lambda x: library.softmax(x, -1),
        "sum(tanh(2 x + x))": lambda x: library.sum(
            library.tanh(library.add(library.mul(x, 2.0), x))
        ),
    }


def rows(torch: Any, size: int) -> Iterator[str]:
    """Measure arrays of this size, and return the rows of the table."""
    values = np.random.default_rng(0).standard_normal((size // 64, 64), dtype=np.float32)
    x, of_torch = sycl_dnn.asarray(values), torch.from_numpy(values)
    theirs = functions(torch)
    for name, function in functions(F).items():
        call, wait = functools.partial(function, x), x.sycl_queue.wait
        median(call, wait, N_IN_A_ROW)  # kernels are compiled
        times = [median(call, wait, n) for n in (1, N_IN_A_ROW)]
        times.append(median(functools.partial(theirs[name], of_torch), lambda: None, 1))
        yield f"| {size} | {name} | {' | '.join(f'{t:.0f}' for t in times)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--path", help="a folder with PyTorch")
    path = parser.parse_args().path
    if path:
        sys.path.append(path)
    import torch

    torch.set_num_threads(2)
    print("| elements | function | with a wait | in a row | PyTorch |\n|---|---|---|---|---|")
    for size in SIZES:
        for row in rows(torch, size):
            print(row, flush=True)


if __name__ == "__main__":
    main()
