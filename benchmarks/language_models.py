# SPDX-License-Identifier: Apache-2.0
"""Tokens a second of a language model, and the time of a prompt, beside other engines.

Each engine has a process, and the processes take turns, so that load and clock are the same for
all. The rate of generation is that of the tokens after the first: from the difference between
generating many and generating one. Of each time the minimum counts, and beside it that of CPU time,
which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

_WORKER = str(Path(__file__).with_name("language_sides.py"))
#: Prompts and tokens of each; new tokens of the long run, whose short one has 1.
_GENERATIONS = {"batch 1": (1, 32), "batch 8": (8, 32)}
_COUNT = 33
_PROMPT = (1, 512, 1)


class Side:
    """The process of one engine."""

    def __init__(self, name: str, model: str, path: str) -> None:
        self.name = name
        folders = os.pathsep.join(filter(None, (path, os.environ.get("PYTHONPATH", ""))))
        # Waiting threads of one engine would take the time of the next.
        settings = {"PYTHONPATH": folders, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2"}
        self._process = subprocess.Popen(
            [sys.executable, _WORKER, name, model], env=os.environ | settings, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        while (line := self._line()) != "ready":  # libraries print, too
            print(f"{name}: {line}", file=sys.stderr)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: the process ended, code {self._process.wait()}")
        return line.strip()

    def seconds(self, n: int, length: int, count: int) -> tuple[float, ...]:
        """Return how long generating takes, and its CPU time."""
        assert self._process.stdin is not None
        print(n, length, count, file=self._process.stdin, flush=True)
        return tuple(map(float, self._line().split()))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Print a table with a row for each engine: by wall time, and by CPU time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--path", default="", help="folders with the other libraries, by colons")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("sides", nargs="+", help="sycl_dnn=DTYPE, openvino[=PRECISION], llama")
    options = parser.parse_args()
    sides = [Side(name, options.model, options.path) for name in options.sides]
    works = [(*size, count) for size in _GENERATIONS.values() for count in (_COUNT, 1)]
    times: dict[tuple[str, tuple[int, ...]], list[tuple[float, ...]]] = {}
    for turn in range(options.rounds + 1):
        for work in (*works, _PROMPT):
            for side in sides if turn % 2 else reversed(sides):
                seconds = side.seconds(*work)
                wall, of_cpu = seconds
                print(f"{turn} {side.name} {work}: {wall:.3f} s, {of_cpu:.3f}", file=sys.stderr)
                if turn:  # the first one compiles
                    times.setdefault((side.name, work), []).append(seconds)
    heads = [f"tokens/s, {name}" for name in _GENERATIONS] + [f"ms of {_PROMPT[1]} tokens"]
    print(f"| engine | {' | '.join(heads)} |\n|" + "---|" * (len(heads) + 1))
    for side in sides:
        least = {work: [min(t) for t in zip(*times[side.name, work], strict=True)]
                 for work in (*works, _PROMPT)}  # fmt: skip
        cells = []
        for size in _GENERATIONS.values():
            keys = [(*size, count) for count in (_COUNT, 1)]
            long, short = (least[key] for key in keys)
            steps = [b - a for a, b in zip(short, long, strict=True)]
            cells.append(" / ".join(f"{size[0] * (_COUNT - 1) / step:.1f}" for step in steps))
        cells.append(" / ".join(f"{1e3 * t:.0f}" for t in least[_PROMPT]))
        print(f"| {side.name} | {' | '.join(cells)} |")
        side.close()


if __name__ == "__main__":
    main()
