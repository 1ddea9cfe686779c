# SPDX-License-Identifier: Apache-2.0
"""``Sampling``: parameters of the selection of the next token."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters: greedy at temperature 0, else random within the limits.

    The device selects, in the program of a step; another value does not compile again.

    Parameters
    ----------
    temperature : float
        Divides the logits; 0 selects the most likely token.
    top_k : int
        Sample from this many of the most likely tokens, and from those as likely as the last of
        them; 0 for all.
    top_p : float
        Sample from the most likely tokens with at least this total probability, and from those as
        likely as the last of them.
    min_p : float
        Sample from tokens with at least this fraction of the largest probability.
    repetition_penalty : float
        Divides positive logits of tokens that occurred, and multiplies negative ones.
    seed : int, optional
        Makes the text reproducible: random numbers are functions of the seed, the number of the
        prompt in its batch, the number of the token in its text, and the candidate. By default,
        the next seed of ``manual_seed``'s sequence.

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
            ("seed", self.seed is None or 0 <= self.seed < 2**64, "in [0, 2**64)"),
        )
        for name, is_right, rule in rules:
            if not is_right:
                raise ValueError(f"generate: {name} must be {rule}, got {getattr(self, name)}")
