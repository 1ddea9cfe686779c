# SPDX-License-Identifier: Apache-2.0
"""Slices of arrays and the gradients of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.trace.values import Tensor

#: Start, step and length of a slice along an axis, or the whole axis.
Cut = tuple[int, int, int] | None
WHOLE: Cut = None


class Part(NamedTuple):
    """The gradient of an array that was read through a slice; 0 for the rest."""

    gradient: Tensor
    cuts: tuple[Cut, ...]


class Slice(NamedTuple):
    """The rule of a view of a slice."""

    cuts: tuple[Cut, ...]

    def parts(self, gradients: Sequence[Part]) -> list[Part]:
        """Return gradients of parts of the slice as gradients of parts of the array."""
        pairs = [(g, zip(self.cuts, cuts, strict=True)) for g, cuts in gradients]
        return [Part(g, tuple([_composed(*pair) for pair in cuts])) for g, cuts in pairs]


def _composed(outer: Cut, inner: Cut) -> Cut:
    """Return a slice of a slice."""
    if outer is None or inner is None:
        return outer or inner
    return outer[0] + inner[0] * outer[1], outer[1] * inner[1], inner[2]
