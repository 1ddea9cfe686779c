# SPDX-License-Identifier: Apache-2.0
"""Command lines with cases: common options, and the cases in the remaining words."""

from __future__ import annotations

import argparse
from pathlib import Path

from sycl_dnn.tools.cases.case_files import COMMAND_LINE, Case, Reader, Word


def parser_of(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the device options.

    ``program``: the command, without options; ``description``: printed verbatim.
    """
    result = argparse.ArgumentParser(
        prog=program,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    result.add_argument("--device", default="", metavar="D", help="cpu, gpu or a dpctl filter")
    result.add_argument("--engine", dest="device", metavar="D", help="the same, as in benchdnn")
    return result


def byte_count(text: str) -> int:
    """Parse a number of bytes such as ``2G``."""
    units = {"k": 10, "m": 20, "g": 30}
    shift = units.get(text[-1:].lower(), 0)
    return int(text[:-1] if shift else text) << shift


def _is_problem(word: str) -> bool:
    return not word.startswith("-")


def _in_front(words: list[str]) -> list[str]:
    """Move options that follow the last problem before the first one."""
    last = max((i for i, w in enumerate(words) if _is_problem(w)), default=-1)
    if last < 0:
        return words
    first = last
    while first > 0 and _is_problem(words[first - 1]):
        first -= 1
    behind = [w for w in words[last + 1 :] if not w.startswith("--batch=")]
    rest = [w for w in words[last + 1 :] if w.startswith("--batch=")]
    return [*words[:first], *behind, *words[first : last + 1], *rest]


def read_cases(arguments: list[str]) -> tuple[list[Case], Reader]:
    """Return the cases of a command line, and the reader, which knows the ignored options."""
    reader = Reader()
    words = [Word(text, COMMAND_LINE) for text in _in_front(arguments)]
    return list(reader.cases(words, Path.cwd())), reader
