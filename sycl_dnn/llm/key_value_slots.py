# SPDX-License-Identifier: Apache-2.0
"""Positions of a call in the key-value cache."""

from __future__ import annotations

from typing import Any, NamedTuple


class Slots(NamedTuple):
    """Positions of a call in the cache.

    Attributes
    ----------
    first : array ()
        int32; slot of the first new position, the same in every row.
    starts : array (N,)
        int32; slot of each row's first position: rows are padded on the left.
    """

    first: Any
    starts: Any


class Places(NamedTuple):
    """``Slots``, and those of the new positions.

    Attributes
    ----------
    first, starts : array
        Of ``Slots``.
    new : array (1, 1, T, 1)
        int32; from ``slots_from``.
    """

    first: Any
    starts: Any
    new: Any
