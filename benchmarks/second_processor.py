# SPDX-License-Identifier: Apache-2.0
"""What a second processor gains in calls of 1 and 4 MB, here and in torch.

Each library runs on one processor, then on two. Prints the least time of a call in us, the one that
a tenth of the calls do not exceed, and how often the calling thread and the busiest other thread
were last on different processors. The least times of few blocks are those of threads that other
programs did not disturb.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Name of a function, axes, and what replaces the leading axis by size.
CASES: dict[str, tuple[str, Any, tuple[int, ...]]] = {
    "relu": ("relu", None, (1024,)),
    "sum of rows": ("sum", 1, (1024,)),
    "sum of columns": ("sum", 0, (1024,)),
    "sum of all": ("sum", (0, 1), (1024,)),
    "maximum of rows": ("amax", 1, (1024,)),
    "global average": ("mean", (2, 3), (64, 14, 14)),
}
MEGABYTES = (1, 4)


def main() -> None:
    """Print one line for each case, library and number of processors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=20, help="of 50 calls, of a case in a round")
    parser.add_argument("--side", choices=["ours", "torch"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        for row in measured(options.side, options.blocks):
            print(json.dumps(row), flush=True)
        return
    found: dict[tuple[str, str, int], list[list[float]]] = {}
    for _ in range(options.rounds):
        for n in (1, 2):
            for side in ("ours", "torch"):
                for case, *figures in _from_process(side, n, options.blocks):
                    found.setdefault((case, side, n), []).append(figures)
    for (case, side, n), rows in sorted(found.items()):
        least, tenth, apart = (min(row[k] for row in rows) for k in range(3))
        apart = sum(row[2] for row in rows) / len(rows)
        print(
            f"{case:24s} {side:6s} {n} processors {least:6.0f} {tenth:6.0f} us {apart:5.0%} apart"
        )


def _from_process(side: str, n: int, n_blocks: int) -> list[list[Any]]:
    chosen = set(sorted(os.sched_getaffinity(0))[:n])
    command = [sys.executable, __file__, "--side", side, "--blocks", str(n_blocks)]
    result = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, chosen),
    )  # fmt: skip
    return [json.loads(line) for line in result.stdout.splitlines()]


def measured(side: str, n_blocks: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield the name, two times in us and the share of blocks on two processors of each case."""
    for megabytes in MEGABYTES:
        for name, (function, axes, shape) in CASES.items():
            first = megabytes * 2**18 // int(np.prod(shape))
            x = np.random.default_rng(0).standard_normal((first, *shape), dtype="f4")
            times, n_apart = _timed(_call(side, function, x, axes), n_blocks)
            least, tenth = times[0], times[len(times) // 10]
            yield f"{megabytes} MB {name}", 1e6 * least, 1e6 * tenth, n_apart / n_blocks


def _call(side: str, function: str, x: np.ndarray, axes: Any) -> Callable[[], Any]:
    args = () if axes is None else (axes,)
    if side == "torch":
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        array = torch.from_numpy(x)
        return lambda: getattr(torch, function)(array, *args)
    import sycl_dnn
    from sycl_dnn import functional as F

    array, body = sycl_dnn.asarray(x, device=sycl_dnn.default_queue("cpu")), getattr(F, function)

    def call() -> None:
        body(array, *args)
        array.sycl_queue.wait()

    return call


def _timed(call: Callable[[], Any], n_blocks: int) -> tuple[list[float], int]:
    times, n_apart = [], 0
    for _ in range(20):
        call()
    for _ in range(n_blocks):
        before = _threads()
        for _ in range(50):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        after = _threads()
        own = str(os.getpid())
        others = {t: after[t][0] - before.get(t, (0, 0))[0] for t in after if t != own}
        busiest = max(others, key=lambda t: others[t], default=own)
        n_apart += after[busiest][1] != after[own][1]
    return sorted(times), n_apart


def _threads() -> dict[str, tuple[int, int]]:
    """Return the ns and the last processor of each thread of the process."""
    result = {}
    for folder in Path("/proc/self/task").iterdir():
        processor = (folder / "stat").read_text().rpartition(")")[2].split()[36]
        time_ns = (folder / "schedstat").read_text().split()[0]
        result[folder.name] = int(time_ns), int(processor)
    return result


if __name__ == "__main__":
    main()
