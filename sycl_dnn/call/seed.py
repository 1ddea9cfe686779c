# SPDX-License-Identifier: Apache-2.0
"""Numbers that differ from call to call and that no plan depends on."""

from __future__ import annotations

import numpy as np


class Seed:
    """A number that each call gives anew and that no plan depends on."""

    __slots__ = ("dtype", "value")

    def __init__(self, value: int, dtype: str = "int64") -> None:
        self.value = value
        self.dtype = dtype

    def bytes(self) -> bytes:
        """Return the value as the device reads it."""
        return np.array(self.value, dtype=self.dtype).tobytes()
