# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn trace script.py``: run a program under ``profile``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from collections.abc import Sequence

from sycl_dnn.tools.profile.recorder import Profile, profile


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sycl_dnn trace",
        description="Run a Python program and print what it executed, how often and how long.",
    )
    add = parser.add_argument
    add("--wait", action="store_true", help="run each primitive to its end: times on any queue")
    add(
        "--limit",
        type=int,
        default=100_000,
        metavar="N",
        help="maximum number of records (default 100000)",
    )
    add("--group-by", default="shape", metavar="NAME", help="shape, name, implementation, ...")
    add("--top", type=int, metavar="N", help="maximum number of lines in the table")
    add("--chrome", metavar="FILE", help="write a trace for chrome://tracing or Perfetto")
    add("--plot", metavar="FILE", help="draw time by primitive, needs matplotlib")
    add("--json", metavar="FILE", help="write all records")
    add("-m", dest="is_module", action="store_true", help="the program is a module's name")
    add("script", help="the program")
    add("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    return parser


def _run(options: argparse.Namespace) -> int:
    """Run the program as ``python`` would; return its exit status."""
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.getcwd() if options.is_module else os.path.dirname(options.script) or "."
    try:
        if options.is_module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _write(result: Profile, options: argparse.Namespace) -> None:
    print(result.table(options.group_by, options.top))
    writers = {"chrome": result.to_chrome_trace, "plot": result.plot, "json": result.to_json}
    for name, write in writers.items():
        path = getattr(options, name)
        if path is not None:
            write(path)
            print(f"written: {path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program under ``profile``; print the table and write the requested files.

    ``arguments``: options, the program and its arguments; by default those of the command line. The
    program's exit status; 1 if it ended with an exception, which is printed.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.is_module and not os.path.exists(options.script):
        parser.error(f"script must be a file, got {options.script!r}")
    if options.limit <= 0:
        parser.error(f"--limit must be positive, got {options.limit}")
    before = sys.argv, sys.path[:]
    result = profile(wait=options.wait, limit=options.limit)
    try:
        with result:
            status = _run(options)
    finally:
        sys.argv, sys.path[:] = before
    print()
    _write(result, options)
    return status
