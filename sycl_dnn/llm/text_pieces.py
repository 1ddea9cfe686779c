# SPDX-License-Identifier: Apache-2.0
"""Incremental detokenization: whole characters, up to a stop string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn.llm.tokenization import Tokenizer

#: Number of prompt tokens to decode as context.
_CONTEXT = 8


def joined(pieces: Sequence[Any]) -> Any:
    """Join pieces into one text, or one list of tokens."""
    if pieces and isinstance(pieces[0], str):
        return "".join(pieces)
    return [token for piece in pieces for token in piece]


class Pieces:
    """The text of one row of a batch, as its tokens arrive.

    tokenizer : without one, pieces are lists of tokens
    stops : strings before which the text ends
    before : the preceding tokens: they determine whether the text begins with a space
    """

    def __init__(
        self, tokenizer: Tokenizer | None, stops: Sequence[str], before: Sequence[int] = ()
    ) -> None:
        self._tokenizer, self._stops = tokenizer, [s for s in stops if s]
        #: Tokens whose text may still change: the last ones decoded, and new ones.
        self._ids = list(before[-_CONTEXT:])
        self._n_decoded = len(self._ids)
        self._held = ""
        self.is_done = False

    def add(self, token: int) -> Any:
        """Return the text that a token adds; empty once the text has ended."""
        if self._tokenizer is None:
            return [token]
        if self.is_done:
            return ""
        if token in self._tokenizer.ends:
            return self.rest()
        self._ids.append(token)
        context = self._tokenizer.decode(self._ids[: self._n_decoded])
        text = self._tokenizer.decode(self._ids)
        if text.endswith("\ufffd"):
            return ""  # an incomplete character
        # Earlier tokens cannot affect the following text.
        self._ids, self._n_decoded = self._ids[self._n_decoded :], len(self._ids) - self._n_decoded
        return self._cut(text[len(context) :])

    def _cut(self, new: str) -> str:
        """Return the text that is final, which ends before a stop string."""
        self._held += new
        stop = self._first_stop(self._held)
        if stop is not None:
            self.is_done = True
            return self._held[:stop]
        n_held = max((_overlap(self._held, s) for s in self._stops), default=0)
        cut = len(self._held) - n_held
        final, self._held = self._held[:cut], self._held[cut:]
        return final

    def rest(self) -> Any:
        """Return the text held back, and end the text."""
        if self._tokenizer is None:
            return []
        if self.is_done:
            return ""
        self.is_done = True
        context = self._tokenizer.decode(self._ids[: self._n_decoded])
        text = self._held + self._tokenizer.decode(self._ids)[len(context) :]
        return text[: self._first_stop(text)]

    def _first_stop(self, text: str) -> int | None:
        """Return the position of the first stop string; None if there is none."""
        return min((i for i in (text.find(s) for s in self._stops) if i >= 0), default=None)


def _overlap(text: str, word: str) -> int:
    """Return the length of the longest suffix of a text that is a prefix of a word."""
    for n in range(min(len(text), len(word) - 1), 0, -1):
        if text.endswith(word[:n]):
            return n
    return 0
