# SPDX-License-Identifier: Apache-2.0
"""From words to cases: options that stay, drivers, nested files, products of lists."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sycl_dnn.verify.common import Common
from sycl_dnn.verify.driver import Driver
from sycl_dnn.verify.drivers import ALL_DRIVERS
from sycl_dnn.verify.errors import CaseError, Skip
from sycl_dnn.verify.grammar import MAX_DEPTH, Word, words_of_file
from sycl_dnn.verify.graph import driver as graph
from sycl_dnn.verify.state import State

COMMAND_LINE = "command line"
MAX_PRODUCT = 200_000


def replay(line: str, settings: Iterable[str] = ()) -> str:
    """Return the command that repeats a case, quoted for a shell."""
    words = map(shlex.quote, (*settings, *line.split(" ")))
    return " ".join(("python -m sycl_dnn.verify", *words))


@dataclass(frozen=True)
class Case:
    """One case as text: enough to run it anywhere.

    driver : benchdnn's name
    problem : the problem descriptor
    texts : options that are not the default
    place : where it stands
    """

    driver: str
    problem: str
    texts: dict[str, str] = field(default_factory=dict)
    place: str = COMMAND_LINE

    @property
    def line(self) -> str:
        """Options and problem on one line, as in a case file."""
        given = [f"--{name}={text}" for name, text in self.texts.items()]
        return " ".join([f"--{self.driver}", *given, self.problem])

    @property
    def replay(self) -> str:
        """The command that runs this case alone, on the default device."""
        return replay(self.line)

    @property
    def key(self) -> str:
        """What the data depends on: the line, without the folder of a graph's file."""
        name = self.problem.rpartition("/")[2].removeprefix(graph.PREFIX)
        return self.line.replace(self.problem, name)

    def call(self) -> Any:
        """Return the call; see `Driver.call` for the exceptions."""
        driver = ALL_DRIVERS[self.driver]
        state = state_of(driver)
        for name, text in self.texts.items():
            state.set(name, text)
        values = next(state.combinations())[0]
        return driver.call(driver.read(self.problem), values)


def state_of(driver: Driver) -> State:
    """Return the options of a driver as they stand before any is given."""
    return State((*driver.options, *driver.attributes))


def _located(word: Word, folder: Path) -> Word:
    """Return ``--case=FILE`` with the file as the present folder sees it.

    The file is looked for beside the case file, in its folders above, and here.
    """
    given = Path(word.text.removeprefix(graph.PREFIX))
    places = [folder, *list(folder.resolve().parents)[:4], Path()]
    found = next((place / given for place in places if (place / given).is_file()), None)
    if found is None:
        raise word.fail(f"--case must name a file, got {str(given)!r}")
    path = os.path.relpath(found)
    path = str(found.resolve()) if path.startswith("..") else path
    if len(path.split()) != 1:
        raise word.fail(f"--case must have no blanks in its path, got {path!r}")
    return Word(graph.PREFIX + path, word.place)


class Reader:
    """Reads words and gives cases; options stay until they are set again."""

    def __init__(self, driver: str = "", drivers: Mapping[str, Driver] = ALL_DRIVERS) -> None:
        self.driver, self.drivers = driver, drivers
        self.states: dict[str, State] = {}
        self.common = Common()
        self.skipped: Counter[str] = Counter()

    def state(self, word: Word) -> State:
        """Return the options of the current driver."""
        if not self.driver:
            raise word.fail(f"a driver such as --conv must come first, got {word.text!r}")
        driver = self.drivers[self.driver]
        return self.states.setdefault(self.driver, state_of(driver))

    def cases(self, words: Iterable[Word], folder: Path, depth: int = 0) -> Iterator[Case]:
        """Iterate over the cases of these words.

        Raises
        ------
        CaseError
            A word cannot be read; the text begins with its place.
        """
        for word in words:
            if word.text.startswith("--batch="):
                yield from self._nested(word, folder, depth)
            elif self.driver == "graph" and word.text.startswith(graph.PREFIX):
                yield from self._problem(_located(word, folder))
            elif word.text.startswith("-"):
                self._option(word)
            else:
                yield from self._problem(word)

    def _nested(self, word: Word, folder: Path, depth: int) -> Iterator[Case]:
        if depth >= MAX_DEPTH:
            raise word.fail(f"case files must be nested at most {MAX_DEPTH} deep")
        given = Path(word.text.partition("=")[2])
        above = folder.resolve().parent
        tried = [folder / given, given, above / self.driver / given, above / given]
        found = next((path for path in tried if path.is_file()), None)
        if found is None:
            raise word.fail(f"--batch must name a file, got {str(given)!r}")
        yield from self.cases(words_of_file(found), found.parent, depth + 1)

    def _option(self, word: Word) -> None:
        name, has_value, value = word.text.lstrip("-").partition("=")
        if not has_value and name in self.drivers:
            self.driver = name
            return
        if name == "reset" and not has_value:
            self.state(word).reset()
            self.common.reset()
            return
        try:
            if self.common.take(name, value, in_file=word.place != COMMAND_LINE):
                return
            self._set(word, name, value)
        except CaseError:
            raise
        except ValueError as error:
            raise word.fail(f"--{name}: {error}") from None

    def _set(self, word: Word, name: str, value: str) -> None:
        state = self.state(word)
        # A few names are written both ways.
        spellings = (name, name.replace("_", "-"), name.replace("-", "_"))
        known = next((n for n in spellings if state.knows(n)), None)
        if known is None:
            raise word.fail(f"--{self.driver} must have a known option, got {word.text!r}")
        state.set(known, value)

    def _problem(self, word: Word) -> Iterator[Case]:
        state, driver = self.state(word), self.drivers[self.driver]
        if state.count() > MAX_PRODUCT:
            raise word.fail(f"lists must make at most {MAX_PRODUCT} cases, got {state.count()}")
        try:
            problem = driver.read(word.text)
        except ValueError as error:
            raise word.fail(str(error)) from None
        for values, texts in state.combinations():
            if self._makes_a_case(word, driver, problem, values):
                case = Case(self.driver, word.text, self.common.texts(texts), word.place)
                if self.common.keeps(case.line):
                    yield case

    def _makes_a_case(self, word: Word, driver: Any, problem: Any, values: dict) -> bool:
        try:
            driver.call(problem, values)
        except Skip as reason:
            self.skipped[str(reason)] += 1
            return False
        except ValueError as error:
            raise word.fail(str(error)) from None
        return True


def read_file(path: Path) -> Iterator[Case]:
    """Iterate over the cases of a file; it names its driver itself."""
    yield from Reader().cases(words_of_file(path), path.parent)
