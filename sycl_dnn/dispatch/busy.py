# SPDX-License-Identifier: Apache-2.0
"""Which bytes of a buffer are taken at which steps, and the first gap for another value."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


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
    stretches : iterable of (int, int)
        First and last step of everything that will be placed.
    """

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        known = set(stretches)
        n_steps = max((last for _, last in known), default=0) + 1
        self._size = 1
        while self._size < n_steps:
            self._size *= 2
        self._nodes = {stretch: self._nodes_of(*stretch) for stretch in known}
        #: By number of the tree's node: what is taken during any of its steps. Nodes that make up
        #: no stretch are never asked.
        self._any = {n: Spans() for inner, _ in self._nodes.values() for n in inner}
        #: The same: what is taken during all of its steps.
        self._whole = {n: Spans() for _, outer in self._nodes.values() for n in outer}

    def take(self, nbytes: int, first: int, last: int) -> int:
        """Return the lowest offset that is free from step ``first`` to ``last``, now taken."""
        inner, outer = self._nodes[first, last]
        taken = [self._any[n] for n in inner]
        taken += [self._whole[n] for n in outer if self._whole[n].starts]
        offset = _first_gap(taken, nbytes)
        if nbytes:
            end = offset + nbytes
            for node in inner:
                self._any[node].add(offset, end)
                if node in self._whole:
                    self._whole[node].add(offset, end)
            for node in outer:
                if node in self._any:
                    self._any[node].add(offset, end)
        return offset

    def _nodes_of(self, first: int, last: int) -> tuple[list[int], set[int]]:
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
