# SPDX-License-Identifier: Apache-2.0
"""Compare random programs with PyTorch, in worker processes.

    python tests/differential/differ.py --programs 5000 --seed 7 --jobs 2 --log found.jsonl

A worker that crashes or hangs is reported with its current seed, and another one continues.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]
#: Programs in one process, and seconds for one program.
BATCH, LONGEST = 100, 240


def work(seeds: list[int], is_layers: bool) -> None:
    """Run programs; write one line before and one after each."""
    import warnings

    warnings.simplefilter("ignore")
    import sycl_dnn
    from differential.layer_playing import play_stack
    from differential.playing import play_seed

    play = play_stack if is_layers else play_seed
    queue = sycl_dnn.default_queue()
    for seed in seeds:
        print(json.dumps({"begins": seed}), flush=True)
        try:
            program, caller, found = play(seed, queue)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            print(json.dumps({"seed": seed, "broken": text}), flush=True)
            continue
        refused = [f.text for f in caller.findings if f.kind == "refused"]
        row: dict[str, Any] = {"seed": seed, "passed": len(caller.passed), "refused": refused}
        if found:
            row["found"] = [[f.way, f.kind, f.text] for f in found]
            row["text"] = program.standing_alone()
        print(json.dumps(row), flush=True)


class Run:
    """Seeds distributed over processes, and their outcomes."""

    def __init__(self, seeds: list[int], log: Any, is_layers: bool) -> None:
        self.left, self.log, self.is_layers = seeds, log, is_layers
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def take(self) -> list[int]:
        with self.lock:
            taken, self.left = self.left[:BATCH], self.left[BATCH:]
            return taken

    def note(self, row: dict[str, Any]) -> None:
        with self.lock:
            self.counts["programs"] += 1
            self.counts["calls that passed"] += row.get("passed", 0)
            if self.counts["programs"] % 100 == 0:
                print(dict(self.counts), flush=True)
            for text in row.get("refused", ()):
                self.refusals[re.sub(r"[\d.]+", "N", text)[:110]] += 1
            for kind in {f[1] for f in row.get("found", ())}:
                self.counts[f"programs with {kind}"] += 1
            for kind in ("broken", "died"):
                self.counts[kind] += kind in row
            if "found" in row or "broken" in row or "died" in row:
                self.log.write(json.dumps(row) + "\n")
                self.log.flush()

    def worker(self) -> None:
        while taken := self.take():
            while taken:
                taken = self.process(taken)

    def process(self, seeds: list[int]) -> list[int]:
        command = [sys.executable, __file__, "--worker", *["--layers"] * self.is_layers]
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, bufsize=1,
        )  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(seeds) + "\n")
        child.stdin.close()
        done, state = 0, {"at": time.monotonic(), "over": False}

        def guard() -> None:
            while child.poll() is None:
                if time.monotonic() - state["at"] > LONGEST:
                    child.kill()
                time.sleep(1)

        errors: list[str] = []
        threading.Thread(target=guard, daemon=True).start()
        reader = threading.Thread(target=lambda: errors.append(child.stderr.read()), daemon=True)
        reader.start()
        for line in child.stdout:
            if not line.startswith("{"):
                continue
            state["at"] = time.monotonic()
            row = json.loads(line)
            if "begins" not in row:
                done += 1
                self.note(row)
        child.wait()
        reader.join(5)
        if done < len(seeds):
            last = "".join(errors)[-1500:]
            self.note({"seed": seeds[done], "died": f"status {child.returncode}: {last}"})
            done += 1
        return seeds[done:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", default="differential.jsonl")
    parser.add_argument("--layers", action="store_true", help="stacks of layers, with training")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(json.loads(sys.stdin.readline()), given.layers)
        sys.stdout.flush()
        return 0
    from differential.playing import seed_of

    seeds = [seed_of(given.seed, given.first + i) for i in range(given.programs)]
    begun = time.monotonic()
    with open(given.log, "a") as log:
        run = Run(seeds, log, given.layers)
        threads = [threading.Thread(target=run.worker) for _ in range(given.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{time.monotonic() - begun:.0f} s", dict(run.counts))
    for text, count in run.refusals.most_common(60):
        print(f"{count:5d} {text}")
    bad = ("wrong", "crash", "suspicious")
    return int(any(run.counts[f"programs with {k}"] for k in bad) or run.counts["died"] > 0)


if __name__ == "__main__":
    os.environ.setdefault("SYCL_CACHE_PERSISTENT", "1")
    sys.exit(main())
