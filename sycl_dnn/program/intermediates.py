# SPDX-License-Identifier: Apache-2.0
"""Arrays between the stages of an executable, kept from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dpctl

from sycl_dnn.trace.allocation import Blank

#: Above this number of bytes the memory is left to others between calls.
_MOST_BYTES = 1 << 18
_COMPLETE = dpctl.event_status_type.complete


class _Kept(NamedTuple):
    queue: Any
    kind: Any
    arrays: list[Any]
    last: Any


class Intermediates:
    """Small arrays that only stages of one executable use; its next call takes them again.

    Creating an array takes 2 us, which programs with many small steps of NumPy spend hundreds of
    times. Calls that overlap have arrays of their own.

    ``blanks``: list of (int, Blank), registers and their allocations.
    """

    def __init__(self, blanks: Sequence[tuple[int, Blank]]) -> None:
        is_small = sum(b.nbytes for _, b in blanks) <= _MOST_BYTES
        self._blanks = list(blanks) if is_small else []
        self.registers = frozenset(r for r, _ in self._blanks)
        self._kept: list[_Kept] = []

    def fill(self, registers: list[Any], queue: Any, kind: Any) -> None:
        """Put arrays that no unfinished call uses into the registers."""
        if not self._blanks:
            return
        arrays = self._free(queue, kind) or [b.new(queue, kind) for _, b in self._blanks]
        for (register, _), array in zip(self._blanks, arrays, strict=True):
            registers[register] = array

    def _free(self, queue: Any, kind: Any) -> list[Any] | None:
        try:
            kept = self._kept.pop()
        except IndexError:
            return None
        is_complete = kept.last is None or kept.last.execution_status == _COMPLETE
        is_same = kept.queue == queue and kept.kind is kind
        return kept.arrays if is_same and is_complete else None

    def give_back(self, registers: Sequence[Any], queue: Any, kind: Any, last: Any) -> None:
        """Keep the arrays for a call after the event ``last``, before which all else is complete.

        Only one set is kept.
        """
        if self._blanks:
            self._kept[:] = [_Kept(queue, kind, [registers[r] for r, _ in self._blanks], last)]
