# SPDX-License-Identifier: Apache-2.0
"""Cases of primitives and of graphs: drivers, reader, and the command that repeats one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conformance.verify.graph import own_graphs
from conformance.verify.graph.graph_driver import GRAPH, PREFIX
from sycl_dnn.tools.cases import case_files
from sycl_dnn.tools.cases.case_files import Case, Word, words_of_file, words_of_text
from sycl_dnn.tools.cases.driver import Driver
from sycl_dnn.tools.cases.drivers import DRIVERS

ALL_DRIVERS: dict[str, Driver] = {**DRIVERS, "graph": GRAPH}


def replay(line: str, settings: Iterable[str] = ()) -> str:
    """Return the command that repeats a case, quoted for a shell."""
    words = map(shlex.quote, (*settings, *line.split(" ")))
    return " ".join(("python tests/conformance verify", *words))


def key_of(case: Case) -> str:
    """Return what the data depends on: the line, without the directory of a graph file."""
    name = case.problem.rpartition("/")[2].removeprefix(PREFIX)
    return case.line.replace(case.problem, name)


def _located(word: Word, folder: Path) -> Word:
    """Return ``--case=FILE`` with the path relative to the current directory.

    The file is searched for next to the case file, in its parent directories, and in the current
    directory.
    """
    own_graphs.written()
    provided = Path(word.text.removeprefix(PREFIX))
    places = [folder, *list(folder.resolve().parents)[:4], Path()]
    match = next((place / provided for place in places if (place / provided).is_file()), None)
    if match is None:
        raise word.fail(f"--case must name a file, got {str(provided)!r}")
    path = os.path.relpath(match)
    path = str(match.resolve()) if path.startswith("..") else path
    if len(path.split()) != 1:
        raise word.fail(f"--case must have no blanks in its path, got {path!r}")
    return Word(PREFIX + path, word.place)


class Reader(case_files.Reader):
    """Reads cases of graphs as well, whose problems are ``--case=FILE``."""

    def __init__(self, driver: str = "", drivers: Mapping[str, Driver] = ALL_DRIVERS) -> None:
        super().__init__(driver, drivers)

    def problem(self, word: Word, folder: Path) -> Word | None:
        """Return a problem as cases have it; None for an option."""
        if self.driver == "graph" and word.text.startswith(PREFIX):
            return _located(word, folder)
        return super().problem(word, folder)

    def texts(self, texts: dict[str, str]) -> dict[str, str]:
        """Return the options of a case; oneDNN chooses what a partition runs."""
        return texts if self.driver == "graph" else super().texts(texts)


def cases_of(line: str) -> list[Case]:
    """Return the cases of a line; paths are relative to the current folder."""
    return list(Reader().cases(words_of_text(line, "line"), Path()))


def read_file(path: Path) -> Iterator[Case]:
    """Iterate over the cases of a file, which names its driver itself."""
    yield from Reader().cases(words_of_file(path), path.parent)
