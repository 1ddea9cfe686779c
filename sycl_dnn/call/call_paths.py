# SPDX-License-Identifier: Apache-2.0
"""Paths of calls that user functions made in earlier runs, and their plans."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sycl_dnn import tree
from sycl_dnn._core import CallPoint
from sycl_dnn.trace.torch_methods import alias

_MAX_PLANS = 64
_MAX_VALUES = 64


class Point(CallPoint):
    """A position on the paths of a function: the calls that followed in earlier runs, and plans.

    The base finds calls over values and constants alone without Python.

    next : by key of a call: its results, and the point after it
    plans : by key of a result that was returned here
    floats : values of the floats of a call, by its key without them
    """

    __slots__ = ("floats", "next", "plans")

    def __init__(self) -> None:
        super().__init__()
        self.floats: dict[Any, list[tuple[float, ...]]] = {}
        self.next: dict[Any, tuple[Results, Point]] = {}
        self.plans: dict[Any, Any] = {}

    def points(self) -> list[Point]:
        """Return this point and all points after it."""
        reachable = [self]
        for point in reachable:
            reachable += [after for _, after in list(point.next.values())]
        return reachable

    def __iter__(self) -> Iterator[Any]:
        for point in self.points():
            yield from list(point.plans.values())


class Paths:
    """The recorded paths of a function for arguments of one kind.

    ``static``: numbers of the call whose values the function needs; ``is_checked``: whether the
    kinds of the arguments have been validated.
    """

    def __init__(self) -> None:
        self.is_checked = False
        self.static: frozenset[int] = frozenset()
        self._starts: OrderedDict[Any, Point] = OrderedDict()

    def __iter__(self) -> Iterator[Any]:
        for start in list(self._starts.values()):
            yield from start

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def start(self, static: frozenset[int], numbers: Sequence[float]) -> Point:
        """Return the start of the paths for these values of the static numbers."""
        if static != self.static:
            self._clear()
            self.static = static
        values = tuple([numbers[i].hex() for i in sorted(static)])
        point = self._starts.get(values)
        if point is None:
            while len(self._starts) >= _MAX_VALUES:
                _forget([self._starts.popitem(last=False)[1]])
            point = self._starts[values] = Point()
        return point

    def shrink(self) -> None:
        """Forget all paths if there are too many."""
        if len(self) > _MAX_PLANS:
            self._clear()

    def _clear(self) -> None:
        starts, self._starts = self._starts, OrderedDict()
        _forget(starts.values())

    def __del__(self) -> None:
        self._clear()


def _forget(starts: Iterable[Point]) -> None:
    """Release paths point by point: releasing a long one recursively would overflow the stack."""
    for start in starts:
        for point in start.points():
            point.next.clear()
            point.forget()


class Results:
    """The results of a call: existing values by number, new ones by their description.

    ``structure``: None: a single leaf. ``leaves``: by leaf: the number of an existing value; the
    description of a new one, a tuple, which is empty if it is not a tensor; or a constant as the
    only item of a list.
    """

    __slots__ = ("_leaves", "_structure", "single")

    def __init__(self, structure: Any, leaves: list[Any]) -> None:
        self._structure, self._leaves = structure, leaves
        is_single = structure is None and type(leaves[0]) is tuple
        #: Description of a single new value; None for other results.
        self.single = leaves[0] if is_single else None

    def build(self, recording: Any) -> Any:
        """Return the result in another run."""
        if self.single is not None:
            return recording.shown_as(self.single)
        leaves = [self._leaf(recording, leaf) for leaf in self._leaves]
        return leaves[0] if self._structure is None else tree.unflatten(self._structure, leaves)

    @staticmethod
    def _leaf(recording: Any, leaf: Any) -> Any:
        if type(leaf) is tuple:
            return recording.shown_as(leaf)
        return recording.seen[leaf] if type(leaf) is int else leaf[0]

    def build_views(self, recording: Any, source: Any) -> Any:
        """Return the result in another run: views of ``source``."""
        result = self.build(recording)
        for leaf in tree.leaves(result):
            alias(source, leaf)
        return result
