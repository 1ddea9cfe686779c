# SPDX-License-Identifier: Apache-2.0
"""Words of case files: white space, comments, glued lines, nested files.

Source: benchdnn's documentation of batch files. Line ends mean no more than blanks, ``#`` at the
start of a word hides the rest of its line, a word that ends in a backslash goes on in the next, and
a backslash alone joins its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sycl_dnn.verify.errors import CaseError

MAX_FILE_BYTES = 16 << 20
MAX_WORD = 1 << 16
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
    held, glue = None, False
    for number, line in enumerate(text.splitlines(), start=1):
        for part in _words_of_line(line):
            body = part.removesuffix("\\")
            if held is not None and (glue or not body):
                held = Word(held.text + body, held.place)
            else:
                if held is not None:
                    yield held
                held = Word(body, f"{name}:{number}")
            if len(held.text) > MAX_WORD:
                raise held.fail(f"a word must have at most {MAX_WORD} characters")
            glue = part != body
    if held is not None and held.text:
        yield held


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
