# SPDX-License-Identifier: Apache-2.0
"""Slots of a cache of keys and values."""

from __future__ import annotations

from typing import Any, NamedTuple


class Slots(NamedTuple):
    """Where in a cache the positions of a call are.

    Attributes
    ----------
    first : array ()
        int32; the slot of the first position of the call, in every row.
    starts : array (N,)
        int32; the slot of each row's first position: rows are padded on the left.
    """

    first: Any
    starts: Any
