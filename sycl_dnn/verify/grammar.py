# SPDX-License-Identifier: Apache-2.0
"""Words of case files: white space, comments, glued lines, nested files.

Source: benchdnn's documentation of batch files. Line ends mean no more than blanks, ``#`` at the
start of a word hides the rest of its line, and a word that ends in a backslash goes on in the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sycl_dnn.verify.errors import CaseError

MAX_FILE_BYTES = 16 << 20
MAX_WORD = 4096
MAX_DEPTH = 8


class Word(NamedTuple):
    """A word and where it stands: ``file:line``, or ``command line``."""

    text: str
    place: str

    def fail(self, message: str) -> CaseError:
        """Return the error that says what is wrong with this word."""
        return CaseError(f"{self.place}: {message}")


def _words_of_line(line: str) -> Iterator[str]:
    for word in line.split():
        if word.startswith("#"):
            return
        yield word


def words_of_text(text: str, name: str) -> Iterator[Word]:
    """Iterate over the words of a case file's text; ``name`` is what places are called after."""
    glued: Word | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        for part in _words_of_line(line):
            word = Word(part, f"{name}:{number}")
            if glued is not None:
                word = Word(glued.text + part, glued.place)
            if len(word.text) > MAX_WORD:
                raise word.fail(f"a word must have at most {MAX_WORD} characters")
            glued = None
            if word.text.endswith("\\"):
                glued = Word(word.text[:-1], word.place)
                continue
            yield word
    if glued is not None and glued.text:
        yield glued


def words_of_file(path: Path) -> Iterator[Word]:
    """Iterate over the words of a case file.

    Raises
    ------
    CaseError
        The file cannot be read, is too large or is no text.
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
