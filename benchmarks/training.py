# SPDX-License-Identifier: Apache-2.0
"""Training steps, compiled by ``sycl_dnn.compile``, against torch.

One source of each network runs in both libraries. All variants start from the same weights, and the
losses of the first steps are compared before anything is timed. A step is loss, gradients and
AdamW. Each variant has a process with two threads; blocks of steps alternate between them. Prints
medians in ms, ours over theirs, the first step, the peak memory and, at the end, geometric means.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from layers import Worker, span
from models import training_batches
from timing import describe_machine

PROGRAM = Path(__file__).with_name("training_workers.py")
#: Library and variant of each process; torch is first and writes the weights.
SIDES = {
    "torch": ("torch", "eager"),
    "torch.compile": ("torch", "compile"),
    "ours": ("ours", "compiled"),
    "ours, eager": ("ours", "eager"),
}
DEFAULT = ("torch", "torch.compile", "ours")
#: Largest relative difference of a loss from torch's; by then all weights have changed.
TOLERANCE = {"float32": 2e-3, "bfloat16": 3e-2}


class Side(Worker):
    """A process that runs training steps in one variant."""

    def __init__(self, name: str, kind: str) -> None:
        library, self._way = SIDES[name]
        self._kind = kind
        super().__init__(library, {"OMP_NUM_THREADS": "2", "LIBRARY": library}, PROGRAM)

    def command(self, library: str, program: Path) -> list[str]:
        """Return the command line."""
        return [*super().command(library, program), self._way, self._kind]


def wrong(losses: dict[str, list[float]], title: str, dtype: str) -> list[str]:
    """Return the sides whose losses differ; they are not timed."""
    expected = losses.get("torch") or next(iter(losses.values()), [])
    found = []
    for side, values in losses.items():
        error = float(np.max(np.abs(np.subtract(values, expected)) / np.abs(expected)))
        print(f"{title} {side:14s} losses {' '.join(f'{v:.5f}' for v in values)}", flush=True)
        if not error < TOLERANCE[dtype]:
            print(f"{title} {side:14s} NOT TIMED: losses off by {error:.1e}", flush=True)
            found.append(side)
    return found


def answers(sides: dict[str, Side], title: str, *request: Any) -> dict[str, Any]:
    """Query the sides in order; one whose process has stopped is named and left out."""
    found: dict[str, Any] = {}
    for side, worker in sides.items():
        try:
            found[side] = worker.ask(*request)
        except (SystemExit, OSError):
            print(f"{title} {side:14s} NOT TIMED: its process stopped", flush=True)
    return found


def measure(options: Any, name: str, dtype: str, folder: str) -> tuple[dict[str, Any], bool]:
    """Measure one network in one dtype; return the times, and whether any side failed."""
    kind = "tiny" if options.tiny else "full"
    workers = {side: Side(side, kind) for side in options.sides}
    title = f"{name:12s} {dtype:9s}"
    begun = answers(workers, title, "start", name, dtype, folder)
    off = wrong({side: answer["losses"] for side, answer in begun.items()}, title, dtype)
    sides = {side: workers[side] for side in begun if side not in off}
    times: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(options.rounds):
        order = sides if turn % 2 == 0 else dict(reversed(sides.items()))
        found = answers(order, title, "block")
        sides = {side: worker for side, worker in sides.items() if side in found}
        for side, answer in found.items():
            times[side] += answer["times"]
            begun[side]["peak_mb"] = answer["peak_mb"]
    for worker in workers.values():
        worker.close()
    row = {s: {**begun[s], "times": times[s], "ms": statistics.median(times[s])} for s in sides}
    return row, len(sides) < len(workers)


def show(found: dict[str, Any], title: str) -> None:
    """Print medians, ratios, first steps and memory."""
    ours = found["ours"]["ms"] if "ours" in found else None
    for side, row in found.items():
        ratio = f"{ours / row['ms']:.3f}" if ours else "-"
        print(f"{title} {side:14s} {span(row['ms'], row['times'])}   ours / this "
              f"{ratio}   first step {row['first_ms']:.0f} ms   "
              f"peak {row['peak_mb']:.0f} MB, {row['before_mb']:.0f} before",
              flush=True)  # fmt: skip


def summed_up(found: dict[str, Any]) -> None:
    """Print the geometric means over all rows."""
    for side in SIDES:
        rows = [row for row in found.values() if {side, "ours"} <= set(row)]
        if side == "ours":
            continue
        for what, key in (("step", "ms"), ("first step", "first_ms"), ("peak memory", "peak_mb")):
            ratios = [row["ours"][key] / row[side][key] for row in rows]
            if ratios:
                mean = statistics.geometric_mean(ratios)
                print(f"{what}: ours / {side}: geometric mean {mean:.3f} of {len(ratios)} rows, "
                      f"{min(ratios):.3f} to {max(ratios):.3f}")  # fmt: skip


def parse_arguments() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="blocks per side")
    parser.add_argument("--only", nargs="+", default=[], help="names of networks")
    parser.add_argument("--dtypes", nargs="+", default=list(TOLERANCE), choices=list(TOLERANCE))
    parser.add_argument("--sides", nargs="+", default=list(DEFAULT), choices=list(SIDES))
    parser.add_argument("--tiny", action="store_true", help="sizes that only try the program")
    parser.add_argument("--json", type=Path, help="write all times, after each row")
    return parser.parse_args()


def main() -> None:
    """Measure all networks, or the requested ones."""
    options = parse_arguments()
    print(describe_machine())
    found: dict[str, Any] = {}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only or training_batches.FULL:
            for dtype in options.dtypes:
                row, incomplete = measure(options, name, dtype, folder)
                found[f"{name} {dtype}"] = row
                failed += [f"{name} {dtype}"] * incomplete
                show(row, f"{name:12s} {dtype:9s}")
                if options.json:
                    options.json.write_text(json.dumps(found))
    summed_up(found)
    if failed:
        raise SystemExit(f"a side failed or its losses differ: {', '.join(failed)}")


if __name__ == "__main__":
    main()
