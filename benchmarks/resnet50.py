# SPDX-License-Identifier: Apache-2.0
"""ResNet-50's forward pass by functions, by the same calls in a C++ loop, and by torch eager.

All use two threads, in alternating blocks of one run. Their logits are compared first.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from layers import Worker, span

WORKER = Path(__file__).with_name("resnet_worker.py")
TOLERANCE = {"float32": 1e-3, "bfloat16": 1e-1}


def measure(workers: dict[str, Worker], batch: int, dtype: str, rounds: int) -> None:
    """Print the medians of every variant and their ratios."""
    times: dict[str, list[float]] = {}
    logits: dict[str, Any] = {}
    for _ in range(rounds):
        for library, worker in workers.items():
            answer = worker.ask(str(batch), dtype)
            for variant, found in answer["times"].items():
                times.setdefault(f"{library}, {variant}", []).extend(found)
                logits[f"{library}, {variant}"] = np.array(answer["logits"][variant])
    check(logits, dtype)
    base = statistics.median(times["ours, functions"])
    for name, found in times.items():
        median = statistics.median(found)
        rate = f"{1e3 * batch / median:7.2f} img/s"
        print(f"batch {batch:2d} {dtype:9s} {name:22s} {span(median, found)} {rate}   "
              f"functions / this {base / median:.3f}", flush=True)  # fmt: skip


def check(logits: dict[str, Any], dtype: str) -> None:
    """Stop if the variants do not compute the same results."""
    first = next(iter(logits.values()))
    for name, found in logits.items():
        error = np.abs(found - first).max() / np.abs(first).max()
        if not error < TOLERANCE[dtype]:
            raise SystemExit(f"{name}: logits off by {error:.1e}")


def main() -> None:
    """Measure both batch sizes and dtypes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="blocks per variant")
    parser.add_argument("--torch-path", help="folder with torch, if it is not in this environment")
    options = parser.parse_args()
    extra = {"PYTHONPATH": options.torch_path} if options.torch_path else {}
    workers = {"ours": Worker("ours", {}, WORKER), "torch": Worker("torch", extra, WORKER)}
    print(" against ".join(w.version for w in workers.values()))
    for batch in (1, 16):
        for dtype in TOLERANCE:
            measure(workers, batch, dtype, options.rounds)
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    main()
