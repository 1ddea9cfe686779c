# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn verify``: run cases written in benchdnn's language."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sycl_dnn.tools.verify.driver import CaseError

if TYPE_CHECKING:
    from sycl_dnn.tools.verify.case_files import Reader


def parser_of(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the choice of the device.

    Parameters
    ----------
    command : str
        As it is typed behind ``python -m``.
    description : str
        Printed as it is.
    """
    found = argparse.ArgumentParser(
        prog=f"python -m {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    found.add_argument("--device", default="", metavar="D", help="cpu, gpu or a dpctl filter")
    found.add_argument("--engine", dest="device", metavar="D", help="the same, benchdnn's name")
    return found


# --- ``python -m sycl_dnn verify``: run cases written in benchdnn's language

_DESCRIPTION = """\
Run cases in benchdnn's language through sycl_dnn.onednn and compare with NumPy:

  python -m sycl_dnn verify --conv "mb1ic3ih8oc4kh3" --dir=BWD_W --dt=bf16
  python -m sycl_dnn verify --batch=tests/conformance/conv.in --jobs=2

Options of drivers, --reset and --batch=FILE are read in order and stay; those behind the last
problem of the command line count for that line as a whole. docs/verify.md has the grammar.
The exit status is 0 if nothing failed, 1 if something did, 2 for lines that cannot be read.
"""


def byte_count(text: str) -> int:
    """Read a number of bytes such as ``2G``."""
    units = {"k": 10, "m": 20, "g": 30}
    shift = units.get(text[-1:].lower(), 0)
    return int(text[:-1] if shift else text) << shift


def parser() -> argparse.ArgumentParser:
    """Return the parser of what is no option of a driver."""
    found = parser_of("sycl_dnn verify", _DESCRIPTION)
    add = found.add_argument
    add("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    add("--json", type=Path, metavar="FILE", help="write all results")
    add("--csv", type=Path, metavar="FILE", help="write one row a case")
    add("--list", action="store_true", help="print the cases and run nothing")
    add("--quiet", action="store_true", help="print failures and the table only")
    add("--sample", type=int, metavar="N", help="run N of the cases, drawn by --seed")
    add("--seed", type=int, default=0, metavar="S", help="for --sample (0)")
    add("--no-check", action="store_true", help="submit, do not compare")
    add("--timeout", type=float, default=300.0, metavar="S", help="seconds for one case (300)")
    add("--max-memory", type=byte_count, default=2 << 30, metavar="B", help="bytes for a case (2G)")
    add("--max-operations", type=byte_count, default=4 << 30, metavar="N", help="products (4G)")
    return found


def _is_problem(word: str) -> bool:
    return not word.startswith("-") or word.startswith("--case=")


def _in_front(words: list[str]) -> list[str]:
    """Move options behind the last problem in front of the problems before them."""
    last = max((i for i, w in enumerate(words) if _is_problem(w)), default=-1)
    if last < 0:
        return words
    first = last
    while first > 0 and _is_problem(words[first - 1]):
        first -= 1
    behind = [w for w in words[last + 1 :] if not w.startswith("--batch=")]
    rest = [w for w in words[last + 1 :] if w.startswith("--batch=")]
    return [*words[:first], *behind, *words[first : last + 1], *rest]


def read_cases(arguments: list[str], graphs: bool = False) -> tuple[list, Reader]:
    """Return the cases of a command line, and what read them, with what it left out."""
    from sycl_dnn.tools.verify.case_files import COMMAND_LINE, Reader, Word
    from sycl_dnn.tools.verify.drivers import ALL_DRIVERS, DRIVERS

    reader = Reader(drivers=ALL_DRIVERS if graphs else DRIVERS)
    words = [Word(text, COMMAND_LINE) for text in _in_front(arguments)]
    return list(reader.cases(words, Path.cwd())), reader


def _settings(options: argparse.Namespace) -> list[str]:
    """Return what a line that repeats a case must say of this run."""
    usual, names = parser().parse_args([]), ("device", "max_memory", "max_operations")
    given = {n: getattr(options, n) for n in names if getattr(options, n) != getattr(usual, n)}
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]


def _obstacle(options: argparse.Namespace) -> str:
    """Return what would make the whole run worthless; "" for nothing."""
    import sycl_dnn

    for name, path in (("json", options.json), ("csv", options.csv)):
        if path and not path.resolve().parent.is_dir():
            return f"--{name} must name a file in a folder that exists, got {str(path)!r}"
    try:
        sycl_dnn.default_queue(options.device or None)
    except sycl_dnn.errors.NoDeviceError as error:
        return f"--device: {error}"
    return ""


def _run(options: argparse.Namespace, cases: list, reader: Reader) -> int:
    from sycl_dnn.tools.verify import outcome_lines
    from sycl_dnn.tools.verify.driver import Limits
    from sycl_dnn.tools.verify.workers import Pool

    output, start = (
        outcome_lines.Report(len(cases), not options.quiet, _settings(options)),
        time.monotonic(),
    )
    limits = Limits(options.max_memory, options.max_operations, not options.no_check)
    pool = Pool(options.device, limits, options.timeout)
    try:
        for result in pool.run(cases, max(options.jobs, 1)):
            output.add(result)
    finally:
        pool.close()
    good, seconds = output.finish(reader.skipped), time.monotonic() - start
    print(f"{len(output.results)} cases in {seconds:.1f} s with {options.jobs} processes")
    if reader.common.ignored:
        print(f"read without effect: {' '.join(f'--{name}' for name in reader.common.ignored)}")
    facts = {"device": options.device or "default", "jobs": options.jobs, "seconds": seconds}
    if options.json:
        outcome_lines.write_json(options.json, output.results, facts)
    if options.csv:
        outcome_lines.write_csv(options.csv, output.results)
    return 0 if good and output.results else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the cases that the arguments name."""
    options, words = parser().parse_known_args(arguments)
    if not words:
        parser().print_usage()
        return 2
    try:
        cases, reader = read_cases(words, graphs=True)
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


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(1)
