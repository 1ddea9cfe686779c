# SPDX-License-Identifier: Apache-2.0
"""``Sampling``: selection of the next token on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters: greedy at temperature 0, else random within the limits.

    Parameters
    ----------
    temperature : float
        Divides the logits; 0 selects the most likely token.
    top_k : int
        Sample from this many of the most likely tokens; 0 for all.
    top_p : float
        Sample from the most likely tokens with at least this total probability.
    min_p : float
        Sample from tokens with at least this fraction of the largest probability.
    repetition_penalty : float
        Divides positive logits of tokens that occurred, and multiplies negative ones.
    seed : int, optional
        Makes the text reproducible.

    Raises
    ------
    ValueError
        A parameter is out of range.

    Notes
    -----
    Applied in the order penalty, temperature, top-k, top-p, min-p. Source:
    ``transformers.GenerationConfig``.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        rules = (
            ("temperature", self.temperature >= 0, "at least 0"),
            ("top_k", self.top_k >= 0, "at least 0"),
            ("top_p", 0 < self.top_p <= 1, "in (0, 1]"),
            ("min_p", 0 <= self.min_p <= 1, "in [0, 1]"),
            ("repetition_penalty", self.repetition_penalty > 0, "positive"),
        )
        for name, is_right, rule in rules:
            if not is_right:
                raise ValueError(f"generate: {name} must be {rule}, got {getattr(self, name)}")

    @property
    def is_greedy(self) -> bool:
        """Whether the device can select the token itself, by the largest logit."""
        return self.temperature == 0 and self.repetition_penalty == 1

    def choose(self, logits: Any, seen: Sequence[int], rng: np.random.Generator) -> int:
        """Select the next token.

        Parameters
        ----------
        logits : numpy.ndarray (vocabulary,)
        seen : sequence of int
            The previous tokens.
        rng : numpy.random.Generator
        """
        x = np.asarray(logits, np.float64)
        if self.repetition_penalty != 1:
            some = np.unique(np.asarray(seen, np.int64))
            factor = self.repetition_penalty
            x = x.copy()
            x[some] = np.where(x[some] > 0, x[some] / factor, x[some] * factor)
        if self.temperature == 0:
            return int(x.argmax())
        order, p = self._left(x / self.temperature)
        return int(order[rng.choice(len(p), p=p)])

    def _left(self, x: Any) -> tuple[Any, Any]:
        """Return the tokens within the limits, most likely first, and their probabilities."""
        if self.top_k and self.top_k < len(x):
            order = np.argpartition(-x, self.top_k - 1)[: self.top_k]
            order = order[np.argsort(-x[order], kind="stable")]
        else:
            order = np.argsort(-x, kind="stable")
        p = np.exp(x[order] - x[order[0]])
        p /= p.sum()
        if self.top_p < 1:
            p = p[: int(np.searchsorted(np.cumsum(p), self.top_p)) + 1]
            p /= p.sum()
        if self.min_p > 0:
            p = p[p >= self.min_p * p[0]]
        return order[: len(p)], p / p.sum()
