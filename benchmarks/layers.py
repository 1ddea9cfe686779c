# SPDX-License-Identifier: Apache-2.0
"""Layers through ``sycl_dnn.functional`` against torch eager on the CPU, forward and backward.

Both run with two threads, in alternating blocks of one run, each in its better memory format.
Prints medians in ms, their range and the ratio, and writes a plot.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drawn_layers import FAMILIES, drawn
from layer_cases import LAYERS, Layer
from other_layers import KINDS, others
from required import require

PROGRAM = Path(__file__).with_name("layer_workers.py")


class Worker:
    """A process that measures blocks in one library."""

    def __init__(self, library: str, environment: dict[str, str], program: Path = PROGRAM) -> None:
        self._process = subprocess.Popen(
            self.command(library, program),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.version = self._answer()

    def command(self, library: str, program: Path) -> list[str]:
        """Return the command line of the process."""
        return [sys.executable, str(program), library]

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker has stopped; see above")
        return json.loads(line)

    def ask(self, *request: Any) -> dict[str, list[float]]:
        """Return the times of one block by variant."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(BrokenPipeError):  # a process that has already ended
            self._process.stdin.close()
        self._process.wait()


def best(blocks: list[dict[str, list[float]]]) -> tuple[float, str, list[float]] | str:
    """Return the median, name and times of the fastest variant, or the error."""
    if "error" in blocks[0]:
        return str(blocks[0]["error"])
    joined = {v: [t for b in blocks for t in b[v]] for v in blocks[0]}
    name = min(joined, key=lambda v: statistics.median(joined[v]))
    return statistics.median(joined[name]), name, joined[name]


def compare(
    workers: dict[str, Worker], layer: Layer, dtype: str, direction: str, rounds: int, block: float
) -> float | None:
    """Measure one row; print and return its ratio to torch, None for what torch lacks."""
    blocks: dict[str, list[Any]] = {name: [] for name in workers}
    for _ in range(rounds):
        for name, worker in workers.items():
            blocks[name].append(worker.ask(asdict(layer), dtype, direction, block))
    found = {name: best(answers) for name, answers in blocks.items()}
    ours, theirs = found["ours"], found["torch"]
    request = f"{layer.name} {dtype} {direction}"
    if isinstance(ours, str):
        raise SystemExit(f"{request}: {ours}")
    text = f"{request:55s} {span(ours[0], ours[2])}"
    if isinstance(theirs, str):
        print(f"{text}   torch: {theirs[:40]}", flush=True)
        return None
    ratio = ours[0] / theirs[0]
    before = found.get("without")
    more = "" if before is None or isinstance(before, str) else f"  before {before[0]:8.3f}"
    if more:
        more += f" {before[0] / theirs[0]:5.2f}"
    print(f"{text}   {span(theirs[0], theirs[2])} {theirs[1]:13s} {ratio:5.2f}{more}", flush=True)
    return ratio


def span(median: float, times: list[float]) -> str:
    """Return a median and its range in ms."""
    return f"{median:8.3f} [{min(times):.3f}-{max(times):.3f}]".ljust(28)


def plot(ratios: dict[str, float], path: Path) -> None:
    """Draw the ratios as bars; below 1 is faster than torch."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.24 * len(ratios) + 1))
    axes.barh(list(ratios), list(ratios.values()), color="#3b6ea5")
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("time / time of torch eager in its best layout")
    axes.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def summed_up(ratios: dict[str, float], families: Iterable[str]) -> None:
    """Print geometric means of all rows and by family, and the rows above 1.05."""

    def mean(values: list[float]) -> str:
        return f"{math.exp(statistics.fmean(map(math.log, values))):.3f} of {len(values)} rows"

    for family in families:
        own = [r for name, r in ratios.items() if name.startswith(family + " ")]
        if own:
            print(f"geometric mean, {family}: {mean(own)}, largest {max(own):.2f}")
    print(f"geometric mean: {mean(list(ratios.values()))}; largest {max(ratios.values()):.2f}")
    slow = sorted(((r, name) for name, r in ratios.items() if r > 1.05), reverse=True)
    print(f"rows above 1.05: {len(slow)}")
    for ratio, name in slow:
        print(f"  {ratio:5.2f} {name}")


def options_of_call() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="blocks per row and library")
    parser.add_argument("--block", type=float, default=0.4, help="seconds of a block")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument(
        "--random",
        type=int,
        default=0,
        metavar="COUNT",
        help="this many random shapes of each family, in place of the fixed rows",
    )
    parser.add_argument(
        "--kinds",
        type=int,
        default=0,
        metavar="COUNT",
        help="this many random layers of each of many other kinds, in place of the fixed rows",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random shapes")
    parser.add_argument(
        "--before", action="store_true", help="measure set_kernels('never') beside, and its ratio"
    )
    parser.add_argument("--torch-path", help="folder with torch, if it is not in this environment")
    parser.add_argument("--plot", type=Path, help="write a figure")
    return parser.parse_args()  # fmt: skip


def main() -> None:
    """Measure all rows, or the requested ones."""
    options = options_of_call()
    if options.plot:
        require("matplotlib")
    extra = {"PYTHONPATH": options.torch_path} if options.torch_path else {}
    workers = {"ours": Worker("ours", {}), "torch": Worker("torch", extra)}
    if options.before:
        workers["without"] = Worker("without", {})
    print(" against ".join(w.version for w in workers.values()))
    print(f"{'':55s} {'ours, ms':28s}   {'torch, ms':28s} {'layout':13s} ratio")
    ratios = {}
    layers = drawn(options.random, options.seed) if options.random else LAYERS
    layers = others(options.kinds, options.seed) if options.kinds else layers
    for layer in layers:
        for dtype in layer.dtypes:
            for direction in layer.passes:
                request = f"{layer.name} {dtype} {direction}"
                if options.only in request:
                    ratio = compare(workers, layer, dtype, direction, options.rounds, options.block)
                    if ratio:
                        ratios[request] = ratio
    if ratios:
        summed_up(ratios, KINDS if options.kinds else FAMILIES if options.random else ())
    if options.plot and ratios:
        plot(ratios, options.plot)
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    main()
