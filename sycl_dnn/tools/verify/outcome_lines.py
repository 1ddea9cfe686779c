# SPDX-License-Identifier: Apache-2.0
"""Lines, tables and files that a run leaves."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from sycl_dnn.tools.verify.case_files import replay
from sycl_dnn.tools.verify.driver import FAILURES, STATUSES

_COLUMNS = ("driver", "status", "line", "place", "impl", "error", "reason", "seconds")


def why(result: dict[str, Any]) -> str:
    """Return the reason on one line, with what the last implementation said."""
    reasons = result.get("reasons") or []
    return f"{result['reason']} ({reasons[-1]})" if reasons else result["reason"]


def line(result: dict[str, Any]) -> str:
    """Return the line of one case."""
    text = f"{result['status']:<10} {result['line']}"
    if result["status"] == "SUBMITTED":
        return f"{text}  [{result['impl']}]"
    if result["status"] == "PASSED":
        return f"{text}  [{result['impl']}, error {result['error']:.2g}]"
    impl = f"[{result['impl']}] " if result["impl"] else ""
    return f"{text}\n           {impl}{why(result)}"


class Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int | None, out: TextIO) -> None:
        self.total, self.out, self.done = total, out, 0
        self.shown = out.isatty()
        self.bad = 0

    def clear(self) -> None:
        """Wipe the bar, before something else is printed."""
        if self.shown:
            self.out.write("\r\x1b[K")

    def step(self, result: dict[str, Any]) -> None:
        """Count a case and draw the bar."""
        self.done += 1
        self.bad += result["status"] in FAILURES
        if not self.shown:
            return
        width = max(min(shutil.get_terminal_size().columns - 40, 50), 10)
        share = self.done / max(self.total or 1, 1)
        bar = "#" * int(share * width)
        self.out.write(f"\r[{bar:<{width}}] {self.done}/{self.total} failed {self.bad}\x1b[K")
        self.out.flush()


def summary(counts: dict[str, Counter], skipped: Counter[str]) -> str:
    """Return the table of drivers and statuses."""
    shown = [s for s in STATUSES if any(c[s] for c in counts.values()) or s in ("PASSED", "FAILED")]
    header = f"{'driver':<11}{'cases':>8}" + "".join(f"{s.lower():>12}" for s in shown)
    rows = [header, "-" * len(header)]
    total = sum(counts.values(), Counter())
    for name, count in [*sorted(counts.items()), ("all", total)]:
        cells = "".join(f"{count[s]:>12}" for s in shown)
        rows.append(f"{name:<11}{sum(count.values()):>8}{cells}")
    for reason, number in skipped.most_common():
        rows.append(f"{number} combinations of options make no case: {reason}")
    return "\n".join(rows)


class Report:
    """Takes results as they come; prints, counts, keeps.

    verbose : print a line for each case, not only for those that need attention
    settings : device and limits as the user gave them, for lines that repeat a case
    """

    def __init__(self, total: int | None, verbose: bool, settings: Sequence[str] = ()) -> None:
        self.out, self.verbose, self.settings = sys.stdout, verbose, settings
        self.progress = Progress(total, sys.stderr)
        self.results: list[dict[str, Any]] = []
        self.counts: dict[str, Counter] = {}

    def add(self, result: dict[str, Any]) -> None:
        """Take one result."""
        self.results.append(result)
        self.counts.setdefault(result["driver"], Counter())[result["status"]] += 1
        bad = result["status"] in FAILURES
        if self.verbose or bad:
            self.progress.clear()
            print(line(result), file=self.out)
            if bad:
                print(f"           replay: {replay(result['line'], self.settings)}", file=self.out)
            self.out.flush()
        self.progress.step(result)

    def finish(self, skipped: Counter[str]) -> bool:
        """Print the table and what was left out, by reason; return whether nothing failed."""
        self.progress.clear()
        known = [r for r in self.results if r["status"] == "KNOWN"]
        if known and not self.verbose:
            print("known faults of oneDNN that were met:", file=self.out)
            for result in known:
                print(line(result), file=self.out)
        print(summary(self.counts, skipped), file=self.out)
        return not any(c[s] for c in self.counts.values() for s in FAILURES)


def write_json(path: Path, results: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    """Write everything as JSON: ``{"facts": ..., "results": [...]}``."""
    path.write_text(json.dumps({"facts": facts, "results": results}, indent=1) + "\n")


def write_csv(path: Path, results: list[dict[str, Any]]) -> None:
    """Write one row for each case."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(results)
