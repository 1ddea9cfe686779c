# SPDX-License-Identifier: Apache-2.0
"""Options of no driver: which cases, which implementations, and those without effect here."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Options of benchdnn that change how it measures, prints or allocates: read, without effect.
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
    """What ``--match``, ``--start``, ``--global-impl`` and ``--global-skip-impl`` say.

    match : what a case's line must contain; ``--reset`` forgets that of a case file
    forced : texts of options that replace those of every case
    ignored : names that were read without effect, in order
    """

    def __init__(self) -> None:
        self.match: re.Pattern[str] | None = None
        self.match_of_file = False
        self.start = self.seen = 0
        self.forced: dict[str, str] = {}
        self.ignored: dict[str, None] = {}

    def reset(self) -> None:
        """Forget what ``--reset`` ends."""
        if self.match_of_file:
            self.match, self.match_of_file = None, False

    def _match(self, text: str, in_file: bool) -> None:
        # A file's own choice of problems is a part of the file; the user's comes first.
        if self.match is None or self.match_of_file or not in_file:
            self.match, self.match_of_file = _pattern(text), in_file

    def take(self, name: str, value: str, in_file: bool) -> bool:
        """Read an option, from a case file or the command line; return whether it is one of these.

        Raises
        ------
        ValueError
            The value breaks the option's rule.
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
        """Return a case's options with those that are forced in place of its own."""
        if not self.forced:
            return texts
        own = {n: t for n, t in texts.items() if n not in ("impl", "skip-impl")}
        return own | self.forced

    def keeps(self, line: str) -> bool:
        """Whether this case is to run; counts those that match."""
        if self.match is not None and not self.match.search(line):
            return False
        self.seen += 1
        return self.seen > self.start
