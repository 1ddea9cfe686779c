# SPDX-License-Identifier: Apache-2.0
"""The largest elements of windows, and where they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sycl_dnn.ir.node import Node, Operation, Shape, number
from sycl_dnn.ops.arithmetic import (
    EQ,
    GT,
    LOGICAL_AND,
    LOGICAL_OR,
    MAXIMUM,
    MINIMUM,
    NE,
    REMAINDER,
    TRUNC_DIVIDE,
    where,
)
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.selection import gather, inside, scatter_add
from sycl_dnn.ops.shape import broadcast_to

#: Elements that one kernel compares for a maximum, and windows that it reads for a gradient: more
#: take long to compile.
_MOST, _MOST_WINDOWS = 16, 25


def _whole(value: int) -> Node:
    return number(value, "int32")


def _divided(a: Node, b: int) -> Node:
    return a if b == 1 else TRUNC_DIVIDE(a, _whole(b))


def _rest(a: Node, b: int) -> Node:
    return REMAINDER(a, _whole(b))


class Windows(NamedTuple):
    """Equal windows on an axis.

    Attributes
    ----------
    size, count : int
        Number of elements and of windows.
    kernel, stride, left, dilation : int
        Window o has ``kernel`` elements o * stride - left + k * dilation; those that exist count.
    """

    size: int
    count: int
    kernel: int
    stride: int
    left: int = 0
    dilation: int = 1

    @property
    def overlap(self) -> int:
        """Number of windows that may have an element."""
        return min(-(-((self.kernel - 1) * self.dilation + 1) // self.stride), self.count)

    @property
    def has_empty(self) -> bool:
        """Whether a window has no element that exists."""
        first = range(min(-(-self.left // self.stride), self.count))
        return any((o * self.stride - self.left) % self.dilation >= self.size for o in first)

    def element(self, window: Node, k: Node | int) -> Node:
        """Return the place of an element, of the nearest in the window if it does not exist."""
        start, end = window * self.stride - self.left, self.size - 1
        at = start + k * self.dilation
        first, last = _whole(0), _whole(end)
        if self.dilation > 1:
            first = _rest(start, self.dilation)
            last = last - _rest(_whole(end) - start, self.dilation)
        reach = (self.count - 1) * self.stride - self.left + (self.kernel - 1) * self.dilation
        at = MAXIMUM(at, first) if self.left else at
        return MINIMUM(at, last) if reach > end else at

    def last_over(self, at: Node) -> Node:
        """Return the last window that may have an element; those before it follow."""
        return MINIMUM(_divided(at + self.left, self.stride), _whole(self.count - 1))


class EvenWindows(NamedTuple):
    """Windows that cover an axis evenly: from floor(o * size / count) to the next, rounded up."""

    size: int
    count: int

    @property
    def kernel(self) -> int:
        """Number of elements of the largest window."""
        n, t = self
        return max((-(-(o + 1) * n // t) - o * n // t) for o in range(t // math.gcd(n, t)))

    @property
    def overlap(self) -> int:
        """Number of windows that may have an element."""
        n, t = self
        return max((-(-(a + 1) * t // n) - a * t // n) for a in range(n // math.gcd(n, t)))

    def element(self, window: Node, k: Node | int) -> Node:
        """Return the place of an element, of the last in the window if it is shorter."""
        at = _divided(window * self.size, self.count) + k
        if self.size % self.count == 0:
            return at
        return MINIMUM(at, _divided((window + 1) * self.size - 1, self.count))

    def last_over(self, at: Node) -> Node:
        """Return the last window that may have an element; those before it follow."""
        return _divided((at + 1) * self.count - 1, self.size)


#: The windows of each axis but the first and the last ones.
AllWindows = tuple[Windows | EvenWindows, ...]


class _Largest(NamedTuple):
    """Values (N, *S, C) and flat places of the largest so far; None: of the elements themselves."""

    value: Node
    place: Node | None = None

    def at(self, indices: Sequence[Node], axes: Sequence[int]) -> _Largest:
        """Return those at indices along axes."""
        value = gather(self.value, indices, axes)
        if self.place is not None:
            return _Largest(value, gather(self.place, indices, axes))
        along, place = dict(zip(axes, indices, strict=True)), _whole(0)
        for axis, n in enumerate(self.value.shape[1:-1], start=1):
            place = place * n + along.get(axis, iota(n, axis, value.ndim))
        return _Largest(value, broadcast_to(place, value.shape))

    def or_larger(self, other: _Largest) -> _Largest:
        """Return the larger ones; as torch, the first of equal ones, and the last NaN."""
        is_larger = GT(other.value, self.value)
        if other.value.is_float:
            is_larger = LOGICAL_OR(is_larger, NE(other.value, other.value))
        value = where(is_larger, other.value, self.value)
        assert self.place is not None
        assert other.place is not None
        return _Largest(value, where(is_larger, other.place, self.place))


def _largest_of(every: Iterator[_Largest]) -> _Largest:
    found = next(every)
    for other in every:
        found = found.or_larger(other)
    return found


def _found(x: Node, windows: AllWindows) -> _Largest:
    """Return the largest elements of (N, *S, C), and their flat places in S."""
    rank, made = x.ndim, _Largest(x)
    if math.prod(w.kernel for w in windows) <= _MOST:
        axes = range(1, rank - 1)
        at = [iota(w.count, a, rank) for a, w in zip(axes, windows, strict=True)]
        taps = itertools.product(*(range(w.kernel) for w in windows))
        return _largest_of(
            made.at([w.element(o, k) for w, o, k in zip(windows, at, tap, strict=True)], axes)
            for tap in taps
        )
    # One axis after the other: the innermost first, so that of equal ones the first is found.
    for axis in range(rank - 2, 0, -1):
        made = _along(made, axis, windows[axis - 1])
    return made


def _along(given: _Largest, axis: int, windows: Windows | EvenWindows) -> _Largest:
    """Return the largest along one axis, those of parts of long windows first."""
    rank, parts = given.value.ndim, -(-windows.kernel // _MOST)
    at = iota(windows.count * parts, axis, rank)
    window, first = _divided(at, parts), _rest(at, parts) * _MOST if parts > 1 else 0
    most = _whole(windows.kernel - 1)
    taps = [MINIMUM(first + k, most) if parts > 1 else k for k in range(min(windows.kernel, _MOST))]
    made = _largest_of(given.at([windows.element(window, k)], [axis]) for k in taps)
    if parts == 1:
        return made
    return _along(made, axis, Windows(windows.count * parts, windows.count, parts, parts))


def _shape(inputs: tuple[Node, ...], windows: AllWindows) -> Shape:
    x = inputs[0]
    return x.shape[0], *[w.count for w in windows], x.shape[-1]


def _indices(place: Node, windows: AllWindows) -> list[Node]:
    """Return the indices along each axis of flat places."""
    made = []
    for n in reversed([w.size for w in windows[1:]]):
        made.append(_rest(place, n))
        place = _divided(place, n)
    return [place, *reversed(made)]


def _at_places(x: Node, place: Node, *, windows: AllWindows) -> Node:
    return gather(x, _indices(place, windows), range(1, x.ndim - 1))


def _to_places(g: Node, place: Node, *, windows: AllWindows) -> Node:
    """Return (N, *S, C): the sum of what comes from the windows whose maximum an element is."""
    rank, sizes = g.ndim, [w.size for w in windows]
    axes, shape = range(1, rank - 1), (g.shape[0], *sizes, g.shape[-1])
    if math.prod(w.overlap for w in windows) > _MOST_WINDOWS:
        return scatter_add(g, _indices(place, windows), axes, shape)
    own, last, total = _whole(0), [], None
    for axis, w in zip(axes, windows, strict=True):
        at = iota(w.size, axis, rank)
        own = own * w.size + at
        last.append(w.last_over(at))
    for before in itertools.product(*(range(w.overlap) for w in windows)):
        at = [end - n for end, n in zip(last, before, strict=True)]
        is_own = EQ(gather(place, at, axes), broadcast_to(own, shape))
        for index, w in zip(at, windows, strict=True):
            is_own = LOGICAL_AND(is_own, inside(index, w.count))
        part = where(is_own, gather(g, at, axes), number(0, g.dtype))
        total = part if total is None else total + part
    assert total is not None
    return total


#: Flat places of the largest elements of windows over (N, *S, C).
MAX_PLACES: Operation = Operation(
    "max_places",
    lambda inputs, *, windows: (_shape(inputs, windows), "int32"),
    definition=lambda x, *, windows: _found(x, windows)[1],
    is_flat=True,
)
#: The largest elements.
MAX_POOL: Operation = Operation(
    "max_pool",
    lambda inputs, *, windows: (_shape(inputs, windows), inputs[0].dtype),
    lambda node, g: [_gradient(node.inputs[0], g, **node.attributes)],
    definition=lambda x, *, windows: _found(x, windows).value,
)
#: Elements at such places, and the opposite: linear in the first operand.
AT_PLACES: Operation = Operation(
    "at_places",
    lambda inputs, *, windows: (_shape(inputs, windows), inputs[0].dtype),
    lambda node, g: [TO_PLACES(g, node.inputs[1], **node.attributes), None],
    definition=_at_places,
)
TO_PLACES: Operation = Operation(
    "to_places",
    lambda inputs, *, windows: (
        (inputs[0].shape[0], *[w.size for w in windows], inputs[0].shape[-1]),
        inputs[0].dtype,
    ),
    lambda node, g: [AT_PLACES(g, node.inputs[1], **node.attributes), None],
    definition=_to_places,
)


def _gradient(x: Node, g: Node, **attributes: Any) -> Node:
    return TO_PLACES(g, MAX_PLACES(x, **attributes), **attributes)
