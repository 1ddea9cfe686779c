# SPDX-License-Identifier: Apache-2.0
"""``Slots``: positions of a call in the key-value cache."""

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
