# SPDX-License-Identifier: Apache-2.0
"""Networks compiled by ``sycl_dnn.compile`` against eager calls and other inference engines.

Each library that is installed has a separate process with two threads; blocks of calls alternate
between them in one run. Results are compared first. Prints medians in ms, rates and the ratio to
the compiled function, and after each dtype the time to compile, the peak memory so far and how much
of the resident memory belongs to mapped files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from layers import Worker, span
from models import zoo
from timing import describe_machine

PROGRAM = Path(__file__).with_name("model_workers.py")
LIBRARIES = ("ours", "torch", "onnxruntime", "openvino")
#: Largest error of the first results, relative to the largest of them.
TOLERANCE = {"float32": 2e-3, "bfloat16": 0.15, "int8": 0.5, "w8": 0.5, "w4": 0.5}
DEFAULT = ("float32", "bfloat16", "int8")
BASE = "ours, compiled"


class ModelWorker(Worker):
    """A process that measures networks in one library."""

    def __init__(self, library: str, folder: str, kind: str, environment: dict[str, str]) -> None:
        self._arguments = (folder, kind)
        super().__init__(library, environment, PROGRAM)

    def command(self, library: str, program: Path) -> list[str]:
        """Return the command line."""
        return [*super().command(library, program), *self._arguments]


def started(options: Any, folder: str) -> dict[str, ModelWorker]:
    """Return the processes of the libraries that are installed."""
    kind = "tiny" if options.tiny else "full"
    found = {}
    for library in options.libraries:
        paths = options.path if library != "ours" else []
        given = {"OMP_NUM_THREADS": "2", "LEAN": "1" if options.lean else ""}
        if paths:
            given["PYTHONPATH"] = os.pathsep.join(paths)
        worker = ModelWorker(library, folder, kind, given)
        if worker.version is not None:
            found[library] = worker
    return found


def measure(
    workers: dict[str, ModelWorker], name: str, dtype: str, rounds: int, items: int
) -> dict[str, Any]:
    """Measure one network in one dtype; print and return the medians."""
    times: dict[str, list[float]] = {}
    results: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    for turn in range(rounds):
        order = list(workers.items()) if turn % 2 == 0 else list(workers.items())[::-1]
        for library, worker in order:
            answer = worker.ask(name, dtype)
            for variant, found in answer["times"].items():
                times.setdefault(f"{library}, {variant}", []).extend(found)
                results[f"{library}, {variant}"] = np.array(answer["results"][variant])
            if answer["compile_ms"] is not None:
                notes[library] = answer["compile_ms"]
            notes[f"{library} peak"] = answer["peak_mb"]
            notes[f"{library} files"] = answer["files_mb"]
    check(results, name, dtype)
    base = statistics.median(times[BASE])
    for variant, found in sorted(times.items(), key=lambda t: statistics.median(t[1])):
        median = statistics.median(found)
        rate = f"{1e3 * items / median:9.2f}/s"
        print(f"{name:15s} {dtype:9s} {variant:28s} {span(median, found)} {rate}   "
              f"compiled / this {base / median:.3f}", flush=True)  # fmt: skip
    units = {"peak": "MB", "files": "MB"}
    texts = [f"{n} {v:.0f} {units.get(n.split()[-1], 'ms to compile')}" for n, v in notes.items()]
    print(f"{name:15s} {dtype:9s} {'; '.join(texts)}", flush=True)
    return {"times": times, "notes": notes}


def of_network(options: Any, name: str, items: int) -> dict[str, Any]:
    """Measure one network in separate processes, so that their memory is that of the network."""
    with tempfile.TemporaryDirectory() as folder:
        workers = started(options, folder)
        print(" against ".join(str(w.version) for w in workers.values()), flush=True)
        if "torch" in workers and {"onnxruntime", "openvino"} & set(workers):
            workers["torch"].ask(name, "export")
        result = {
            f"{name} {dtype}": measure(workers, name, dtype, options.rounds, items)
            for dtype in options.dtypes
        }
        for worker in workers.values():
            worker.close()
    return result


def check(results: dict[str, np.ndarray], name: str, dtype: str) -> None:
    """Stop if variants do not compute the same results."""
    expected = results[BASE]
    for variant, actual in results.items():
        error = np.abs(actual - expected).max() / np.abs(expected).max()
        if not error < TOLERANCE[dtype]:
            raise SystemExit(f"{name} {dtype} {variant}: results off by {error:.1e}")


def parse_arguments() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="blocks per variant")
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--dtypes", nargs="+", default=list(DEFAULT), choices=list(TOLERANCE))
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--path", action="append", default=[], help="folder with other libraries")
    parser.add_argument("--lean", action="store_true", help="of ours only the compiled function")
    parser.add_argument("--tiny", action="store_true", help="sizes that only try the program")
    parser.add_argument("--json", type=Path, help="write all times")
    return parser.parse_args()


def main() -> None:
    """Measure all networks, or the requested ones."""
    options = parse_arguments()
    print(describe_machine())
    found: dict[str, Any] = {}
    for name, entry in (zoo.TINY if options.tiny else zoo.ENTRIES).items():
        if options.only in name:
            found |= of_network(options, name, entry.items)
    if options.json:
        options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
