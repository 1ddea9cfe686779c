# SPDX-License-Identifier: Apache-2.0
"""Parsing of case files: words, persistent options, nested files, Cartesian products.

Source: benchdnn's documentation of batch files. Line ends are equivalent to blanks. ``#`` at the
start of a word comments out the rest of the line. A word that ends in a backslash continues in the
next one, and a single backslash joins its neighbors.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sycl_dnn.tools.cases.driver import CaseError, Driver, Skip
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.cases.options import ATTRIBUTES, Option

MAX_FILE_BYTES = 16 << 20
MAX_WORD = 1 << 16
MAX_DEPTH = 8


class Word(NamedTuple):
    """A word and its location: ``file:line``, or ``command line``."""

    text: str
    place: str

    def fail(self, message: str) -> CaseError:
        """Return an error about this word."""
        return CaseError(f"{self.place}: {message}")


def _words_of_line(line: str) -> Iterator[str]:
    for word in line.split():
        if word.startswith("#"):
            return
        yield word


def words_of_text(text: str, name: str) -> Iterator[Word]:
    """Yield the words of a case file's text; ``name`` is the file name in locations."""
    word, glue = None, False
    for number, line in enumerate(text.splitlines(), start=1):
        for part in _words_of_line(line):
            body = part.removesuffix("\\")
            if word is not None and (glue or not body):
                word = Word(word.text + body, word.place)
            else:
                if word is not None:
                    yield word
                word = Word(body, f"{name}:{number}")
            if len(word.text) > MAX_WORD:
                raise word.fail(f"a word must have at most {MAX_WORD} characters")
            glue = part != body
    if word is not None and word.text:
        yield word


def words_of_file(path: Path) -> Iterator[Word]:
    """Yield the words of a case file.

    Raises CaseError if the file cannot be read, is too large, or is not text.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CaseError(f"{path}: a case file must have at most {MAX_FILE_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CaseError(f"{path}: a case file must be UTF-8 text") from error
    yield from words_of_text(text, str(path))


# --- Current options


class State:
    """The current option values of a driver."""

    def __init__(self, options: Iterable[Option]) -> None:
        self.options = {o.name: o for o in options}
        self.reset()

    def reset(self) -> None:
        """Reset all options to their defaults."""
        self.values = {name: o.values(o.default) for name, o in self.options.items()}

    def knows(self, name: str) -> bool:
        """Whether the driver has this option."""
        return name in self.options

    def set(self, name: str, value: str) -> None:
        """Set an option from a string."""
        self.values[name] = self.options[name].values(value)

    def count(self) -> int:
        """Return the number of combinations."""
        number = 1
        for values in self.values.values():
            number *= len(values)
        return number

    def combinations(self) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """Yield pairs of option values, and strings of those that are not the default."""
        for chosen in itertools.product(*self.values.values()):
            named = dict(zip(self.values, chosen, strict=True))
            texts = {n: t for n, (t, _) in named.items() if t != self.options[n].default}
            yield {n: value for n, (_, value) in named.items()}, texts


# --- Driver-independent options: selection of cases and implementations

#: benchdnn options for measuring, printing and allocating, which are ignored.
WITHOUT_EFFECT = frozenset(
    [
        *("allow-enum-tags-only", "attr-same-pd-check", "buffer-prefix", "canonical"),
        *("check-ref-impl", "cold-cache", "cpu-isa-hints", "ctx-exe", "ctx-init"),
        *("debug-check-ws", "device", "engine", "execution-mode", "fast-ref", "fast-ref-gpu"),
        *("fix-times-per-prb", "max-ms-per-prb", "mem-check", "memory-kind", "mode"),
        *("mode-modifier", "num-streams", "parallel_sections", "perf-template"),
        *("repeats-per-prb", "stream-kind", "summary", "verbose"),
    ]
)


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ValueError(f"must be a regular expression, got {text!r}: {error}") from None


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"must be an integer from 0, got {text!r}")
    return int(text)


class Common:
    """The options ``--match``, ``--start``, ``--global-impl`` and ``--global-skip-impl``.

    match : pattern that a case's line must contain; ``--reset`` drops one set in a case file
    forced : option strings that override those of every case
    ignored : names of ignored options, in order
    """

    def __init__(self) -> None:
        self.match: re.Pattern[str] | None = None
        self.match_of_file = False
        self.start = self.seen = 0
        self.forced: dict[str, str] = {}
        self.ignored: dict[str, None] = {}

    def reset(self) -> None:
        """Reset what ``--reset`` resets."""
        if self.match_of_file:
            self.match, self.match_of_file = None, False

    def _match(self, text: str, in_file: bool) -> None:
        # A pattern in a file belongs to the file; the user's takes precedence.
        if self.match is None or self.match_of_file or not in_file:
            self.match, self.match_of_file = _pattern(text), in_file

    def take(self, name: str, value: str, in_file: bool) -> bool:
        """Parse an option from a case file or the command line; return whether it is one of these.

        Raises ValueError if the value is invalid.
        """
        readers: dict[str, Callable[[str], None]] = {
            "match": lambda text: self._match(text, in_file),
            "start": lambda text: setattr(self, "start", _index(text)),
            "global-impl": lambda text: self._force("impl", text),
            "global-skip-impl": lambda text: self._force("skip-impl", text),
        }
        if name in readers:
            readers[name](value)
            return True
        if name in WITHOUT_EFFECT or (name.startswith("v") and name[1:].isdigit()):
            self.ignored[name] = None
            return True
        return False

    def _force(self, name: str, text: str) -> None:
        self.forced = {name: text} if text else {}

    def texts(self, texts: dict[str, str]) -> dict[str, str]:
        """Return a case's options with forced ones overriding them."""
        if not self.forced:
            return texts
        own_texts = {n: t for n, t in texts.items() if n not in ("impl", "skip-impl")}
        return own_texts | self.forced

    def keeps(self, line: str) -> bool:
        """Whether to run this case; counts the matching cases."""
        if self.match is not None and not self.match.search(line):
            return False
        self.seen += 1
        return self.seen > self.start


# --- From words to cases

COMMAND_LINE = "command line"
MAX_PRODUCT = 200_000


@dataclass(frozen=True)
class Case:
    """One case as strings, which suffice to run it anywhere.

    driver : benchdnn's name
    problem : the problem descriptor
    texts : options that differ from the default
    place : ``file:line``, or ``command line``
    """

    driver: str
    problem: str
    texts: dict[str, str] = field(default_factory=dict)
    place: str = COMMAND_LINE

    @property
    def line(self) -> str:
        """Options and problem as one line of a case file."""
        args = [f"--{name}={text}" for name, text in self.texts.items()]
        return " ".join([f"--{self.driver}", *args, self.problem])

    def call(self) -> Any:
        """Return the call; see `Driver.call` for the exceptions."""
        driver = DRIVERS[self.driver]
        state = state_of(driver)
        for name, text in self.texts.items():
            state.set(name, text)
        values = next(state.combinations())[0]
        return driver.call(driver.read(self.problem), values)


def state_of(driver: Driver) -> State:
    """Return the default options of a driver."""
    return State((*driver.options, *ATTRIBUTES))


class Reader:
    """Yields cases from words; options persist until they are changed."""

    def __init__(self) -> None:
        self.driver = ""
        self.states: dict[str, State] = {}
        self.common = Common()
        self.skipped: Counter[str] = Counter()

    def state(self, word: Word) -> State:
        """Return the options of the current driver."""
        if not self.driver:
            raise word.fail(f"a driver such as --conv must come first, got {word.text!r}")
        return self.states.setdefault(self.driver, state_of(DRIVERS[self.driver]))

    def cases(self, words: Iterable[Word], folder: Path, depth: int = 0) -> Iterator[Case]:
        """Yield the cases in these words.

        Raises CaseError if a word cannot be parsed; the message begins with its location.
        """
        for word in words:
            if word.text.startswith("--batch="):
                yield from self._nested(word, folder, depth)
            elif word.text.startswith("-"):
                self._option(word)
            else:
                yield from self._problem(word)

    def _nested(self, word: Word, folder: Path, depth: int) -> Iterator[Case]:
        if depth >= MAX_DEPTH:
            raise word.fail(f"case files must be nested at most {MAX_DEPTH} deep")
        provided = Path(word.text.partition("=")[2])
        above = folder.resolve().parent
        tried = [folder / provided, provided, above / self.driver / provided, above / provided]
        match = next((path for path in tried if path.is_file()), None)
        if match is None:
            raise word.fail(f"--batch must name a file, got {str(provided)!r}")
        yield from self.cases(words_of_file(match), match.parent, depth + 1)

    def _option(self, word: Word) -> None:
        name, has_value, value = word.text.lstrip("-").partition("=")
        if not has_value and name in DRIVERS:
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
        # Some names are spelled both ways.
        spellings = (name, name.replace("_", "-"), name.replace("-", "_"))
        option = next((n for n in spellings if state.knows(n)), None)
        if option is None:
            raise word.fail(f"--{self.driver} must have a known option, got {word.text!r}")
        state.set(option, value)

    def _problem(self, word: Word) -> Iterator[Case]:
        state, driver = self.state(word), DRIVERS[self.driver]
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
    """Yield the cases of a file, which names its driver itself."""
    yield from Reader().cases(words_of_file(path), path.parent)


def case_of(line: str) -> Case | None:
    """Return the case of a line; None if its options are not a case.

    Raises CaseError if the line cannot be parsed.
    """
    return next(Reader().cases(words_of_text(line, COMMAND_LINE), Path()), None)
