# SPDX-License-Identifier: Apache-2.0
"""Which bytes of a buffer are taken at which steps, and the first gap for another value."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Spans:
    """Bytes that are taken: disjoint spans in order, neighbours merged."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Take the bytes from ``start`` to before ``end``."""
        low, high = bisect_left(self.ends, start), bisect_right(self.starts, end)
        if low < high:
            start, end = min(start, self.starts[low]), max(end, self.ends[high - 1])
        self.starts[low:high], self.ends[low:high] = [start], [end]

    def end_of_overlap(self, start: int, end: int) -> int | None:
        """Return where the first span ends that meets these bytes; None if they are free."""
        at = bisect_right(self.ends, start)
        return self.ends[at] if at < len(self.ends) and self.starts[at] < end else None


class Busy:
    """What is taken during stretches of steps: a tree over the steps, halved at each level.

    Taking a place costs in proportion to the number of levels and of gaps that are too small.

    Parameters
    ----------
    n_steps : int
    """

    def __init__(self, n_steps: int) -> None:
        self._size = 1
        while self._size < n_steps:
            self._size *= 2
        #: By number of the tree's node: taken during all of its steps, and during any of them.
        self._whole: dict[int, Spans] = {}
        self._any: dict[int, Spans] = {}

    def take(self, nbytes: int, first: int, last: int) -> int:
        """Return the lowest offset that is free from step ``first`` to ``last``, now taken."""
        inner, outer = self._nodes(first, last)
        taken = [self._any[n] for n in inner if n in self._any]
        taken += [self._whole[n] for n in outer if n in self._whole]
        offset = _first_gap(taken, nbytes)
        if nbytes:
            for node in inner:
                self._whole.setdefault(node, Spans()).add(offset, offset + nbytes)
            for node in (*inner, *outer):
                self._any.setdefault(node, Spans()).add(offset, offset + nbytes)
        return offset

    def _nodes(self, first: int, last: int) -> tuple[list[int], set[int]]:
        """Return the nodes that make up a stretch, and those above them."""
        inner: list[int] = []
        low, high = first + self._size, last + self._size + 1
        while low < high:
            if low & 1:
                inner.append(low)
                low += 1
            if high & 1:
                high -= 1
                inner.append(high)
            low, high = low // 2, high // 2
        outer: set[int] = set()
        for node in inner:
            node //= 2
            while node and node not in outer:
                outer.add(node)
                node //= 2
        return inner, outer


def _first_gap(taken: list[Spans], nbytes: int) -> int:
    offset, is_free = 0, False
    while not is_free:
        is_free = True
        for spans in taken:
            end = spans.end_of_overlap(offset, offset + nbytes)
            if end is not None:
                offset, is_free = end, False
    return offset
