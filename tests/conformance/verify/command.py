# SPDX-License-Identifier: Apache-2.0
"""``python tests/conformance verify``: run cases written in benchdnn's language."""

from __future__ import annotations

import argparse
import csv
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sycl_dnn
from conformance.verify.case_reader import Reader, replay
from conformance.verify.outcomes import FAILURES, STATUSES, Limits
from conformance.verify.runner import Pool
from sycl_dnn.tools.cases import case_files
from sycl_dnn.tools.cases.case_files import Case
from sycl_dnn.tools.cases.command_line import byte_count, parser_of, read_cases
from sycl_dnn.tools.cases.driver import CaseError
from sycl_dnn.tools.check_gpu.progress_bar import Progress

_DESCRIPTION = """\
Run cases in benchdnn's language through sycl_dnn.onednn and compare with NumPy:

  python tests/conformance verify --conv "mb1ic3ih8oc4kh3" --dir=BWD_W --dt=bf16
  python tests/conformance verify --batch=tests/conformance/conv.in --jobs=2

Options of drivers, --reset and --batch=FILE are read in order and remain set. On the command
line, options after the last problem also apply to the problems directly before them.
docs/verify.md has the grammar.
The exit status is 0 if nothing failed, 1 if something did or a case broke a rule (INVALID), 2 for
lines that cannot be read, 130 and 143 after Ctrl-C and SIGTERM.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options that do not belong to a driver."""
    result = parser_of("python tests/conformance verify", _DESCRIPTION)
    add = result.add_argument
    add("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    add("--json", type=Path, metavar="FILE", help="write all results")
    add("--csv", type=Path, metavar="FILE", help="write one row for each case")
    add("--list", action="store_true", help="print the cases and run nothing")
    add("--quiet", action="store_true", help="print only failures and the table")
    add("--sample", type=int, metavar="N", help="run N of the cases, drawn by --seed")
    add("--seed", type=int, default=0, metavar="S", help="for --sample (0)")
    add("--expect-invalid", action="store_true", help="cases that break a rule are not failures")
    add("--no-check", action="store_true", help="submit, do not compare")
    add("--timeout", type=float, default=300.0, metavar="S", help="seconds for one case (300)")
    add("--max-memory", type=byte_count, default=2 << 30, metavar="B", help="bytes for a case (2G)")
    add("--max-operations", type=byte_count, default=4 << 30, metavar="N", help="products (4G)")
    return result


def _settings(options: argparse.Namespace) -> list[str]:
    """Return the settings of this run that a line to repeat a case must include."""
    usual, names = parser().parse_args([]), ("device", "max_memory", "max_operations")
    changed = {n: getattr(options, n) for n in names if getattr(options, n) != getattr(usual, n)}
    return [f"--{name.replace('_', '-')}={value}" for name, value in changed.items()]


def _obstacle(options: argparse.Namespace) -> str:
    """Return what would make the whole run pointless; "" if nothing does."""
    for name, path in (("json", options.json), ("csv", options.csv)):
        if path and not path.resolve().parent.is_dir():
            return f"--{name} must name a file in a folder that exists, got {str(path)!r}"
    try:
        sycl_dnn.default_queue(options.device or None)
    except sycl_dnn.errors.NoDeviceError as error:
        return f"--device: {error}"
    return ""


class _Terminated(BaseException):
    """A SIGTERM was received."""


def _terminate(number: int, frame: Any) -> None:
    raise _Terminated


#: What ends a run early -> its text in the table, and the exit status.
_ENDS: dict[type[BaseException], tuple[str, int]] = {
    KeyboardInterrupt: ("interrupted", 130),
    _Terminated: ("terminated", 143),
}


def _collect(output: Report, options: argparse.Namespace, limits: Limits, cases: list[Case]) -> int:
    """Run the cases; return the exit status of what ended the run early, 0 if nothing did."""
    pool = Pool(options.device, limits, options.timeout)
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        for result in pool.run(cases, max(options.jobs, 1)):
            output.add(result)
    except (KeyboardInterrupt, _Terminated) as end:
        text, status = _ENDS[type(end)]
        output.progress.clear()
        print(f"{text} after {len(output.results)} of {len(cases)} cases")
        return status
    finally:
        signal.signal(signal.SIGTERM, before)
        pool.close()
    return 0


def _run(options: argparse.Namespace, cases: list[Case], reader: case_files.Reader) -> int:
    output, start = (Report(len(cases), not options.quiet, _settings(options)), time.monotonic())
    limits = Limits(options.max_memory, options.max_operations, not options.no_check)
    ended = _collect(output, options, limits, cases)
    good, seconds = output.finish(reader.skipped), time.monotonic() - start
    print(f"{len(output.results)} cases in {seconds:.1f} s with {options.jobs} processes")
    if reader.common.ignored:
        print(f"ignored: {' '.join(f'--{name}' for name in reader.common.ignored)}")
    facts = {"device": options.device or "default", "jobs": options.jobs, "seconds": seconds}
    if options.json:
        write_json(options.json, output.results, facts)
    if options.csv:
        write_csv(options.csv, output.results)
    invalid = any(count["INVALID"] for count in output.counts.values())
    good = good and (options.expect_invalid or not invalid)
    return ended or (0 if good and output.results else 1)


def main(arguments: list[str] | None = None) -> int:
    """Run the cases that the arguments name."""
    options, words = parser().parse_known_args(arguments)
    if not words:
        parser().print_usage()
        return 2
    try:
        cases, reader = read_cases(words, Reader())
    except CaseError as error:
        print(error, file=sys.stderr)
        return 2
    if options.sample is not None and options.sample < len(cases):
        cases = random.Random(options.seed).sample(cases, options.sample)
    if options.list:
        print("\n".join(case.line for case in cases))
        return 0
    problem = _obstacle(options)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    return _run(options, cases, reader)


# --- Lines, tables and files that a run writes


_COLUMNS = ("driver", "status", "line", "place", "impl", "error", "reason", "seconds")


_INDENT = "\n" + " " * 14


def why(result: dict[str, Any]) -> str:
    """Return the reason, then that of each implementation on a separate line."""
    return _INDENT.join([result["reason"], *(result.get("reasons") or [])])


def line(result: dict[str, Any]) -> str:
    text = f"{result['status']:<13} {result['line']}"
    if result["status"] == "SUBMITTED":
        return f"{text}  [{result['impl']}]"
    if result["status"] == "PASSED":
        return f"{text}  [{result['impl']}, error {result['error']:.2g}]"
    impl = f"[{result['impl']}] " if result["impl"] else ""
    return f"{text}{_INDENT}{impl}{why(result)}"


def summary(counts: dict[str, Counter], skipped: Counter[str]) -> str:
    """Return the table of drivers and statuses."""
    shown = [s for s in STATUSES if any(c[s] for c in counts.values()) or s in ("PASSED", "FAILED")]
    header = f"{'driver':<11}{'cases':>8}" + "".join(f"{s.lower():>14}" for s in shown)
    rows = [header, "-" * len(header)]
    total = sum(counts.values(), Counter())
    for name, count in [*sorted(counts.items()), ("all", total)]:
        cells = "".join(f"{count[s]:>14}" for s in shown)
        rows.append(f"{name:<11}{sum(count.values()):>8}{cells}")
    for reason, number in skipped.most_common():
        rows.append(f"{number} combinations of options are not cases: {reason}")
    return "\n".join(rows)


class Report:
    """Accepts results as they arrive; prints, counts and keeps them.

    verbose : print a line for each case, not only for those that need attention
    settings : device and limits as the user passed them, for lines that repeat a case
    """

    def __init__(self, total: int | None, verbose: bool, settings: Sequence[str] = ()) -> None:
        self.out, self.verbose, self.settings = sys.stdout, verbose, settings
        self.progress = Progress(total, sys.stderr)
        self.results: list[dict[str, Any]] = []
        self.counts: dict[str, Counter] = {}

    def add(self, result: dict[str, Any]) -> None:
        self.results.append(result)
        self.counts.setdefault(result["driver"], Counter())[result["status"]] += 1
        bad = result["status"] in FAILURES
        if self.verbose or bad:
            self.progress.clear()
            print(line(result), file=self.out)
            if bad:
                again = replay(result["line"], self.settings)
                print(f"{_INDENT[1:]}replay: {again}", file=self.out)
            self.out.flush()
        self.progress.step(bad)

    def finish(self, skipped: Counter[str]) -> bool:
        """Print the table and, by reason, what was left out; return whether nothing failed."""
        self.progress.clear()
        explained = [r for r in self.results if r["status"] == "KNOWN"]
        if explained and not self.verbose:
            print("known faults of oneDNN that were met:", file=self.out)
            for result in explained:
                print(line(result), file=self.out)
        print(summary(self.counts, skipped), file=self.out)
        return not any(c[s] for c in self.counts.values() for s in FAILURES)


def write_json(path: Path, results: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    path.write_text(json.dumps({"facts": facts, "results": results}, indent=1) + "\n")


def write_csv(path: Path, results: list[dict[str, Any]]) -> None:
    """Write one row for each case."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(results)
