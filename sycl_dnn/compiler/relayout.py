# SPDX-License-Identifier: Apache-2.0
"""Translation of layouts between different views of the same memory."""

from __future__ import annotations

import functools
import math

from sycl_dnn._core import MemoryDesc
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout

#: (size, stride) pairs, outermost first.
Axes = list[tuple[int, int]]


def same_span(a: MemoryDesc, b: MemoryDesc) -> bool:
    """Whether two views at one address cover the same elements, without gaps."""
    return (
        layout.is_dense(a)
        and layout.is_dense(b)
        and a.data_type == b.data_type
        and math.prod(a.dims) == math.prod(b.dims)
    )


def same_places(a: MemoryDesc, b: MemoryDesc) -> bool:
    """Whether layouts of one shape, of any dtypes, place elements identically."""
    if a.dims != b.dims or not (a.is_plain and b.is_plain):
        return False
    triples = zip(a.dims, a.strides, b.strides, strict=True)
    return all(n == 1 or s == t for n, s, t in triples)


def _refined(outer: Axes, sizes: list[int]) -> list[Axes] | None:
    """Split (size, stride) axes so that each of ``sizes`` is a product of some; None if impossible.

    Stride 0 marks broadcast axes.
    """
    rest = list(outer)
    groups: list[Axes] = []
    for size in sizes:
        group: Axes = []
        while size > 1:
            if not rest:
                return None
            n, stride = rest.pop(0)
            if n <= size:
                if size % n:
                    return None
                group.append((n, stride))
                size //= n
            else:
                if n % size:
                    return None
                inner = n // size
                group.append((size, stride * inner))
                rest.insert(0, (inner, stride))
                size = 1
        groups.append(group)
    return None if rest else groups


def _merged(group: Axes) -> tuple[int, int] | None:
    """Merge axes into one (size, stride); broadcast axes become size 1."""
    if all(not stride for _, stride in group):
        return 1, 0
    pairs = zip(group, group[1:], strict=False)
    if any(outer[1] != inner[0] * inner[1] or not inner[1] for outer, inner in pairs):
        return None
    return math.prod(n for n, _ in group), group[-1][1]


@functools.lru_cache(4096)
def carried(operand: MemoryDesc, frame: MemoryDesc, target: MemoryDesc) -> MemoryDesc | None:
    """Translate an operand that broadcasts to ``frame`` into a layout over ``target``.

    ``frame`` and ``target`` are dense views of the same elements. None if no layout over the axes
    of ``target`` represents the operand.
    """
    if not operand.is_plain or len(operand.dims) != len(frame.dims):
        return None
    axes = []
    for axis in layout.axes_in_order(frame.dims, frame.strides):
        n, m = frame.dims[axis], operand.dims[axis]
        if n > 1:
            axes.append((n, operand.strides[axis] if m == n else 0))
    order = layout.axes_in_order(target.dims, target.strides)
    groups = _refined(axes, [target.dims[a] for a in order])
    if groups is None:
        return None
    dims, strides = [1] * len(order), [0] * len(order)
    for axis, group in zip(order, groups, strict=True):
        merged = _merged(group)
        if merged is None:
            return None
        dims[axis], strides[axis] = merged
    return layout.strided(dims, dtypes.NAMES[operand.data_type], strides)


def relaid(written: MemoryDesc, src: MemoryDesc, dst: MemoryDesc, dtype: str) -> MemoryDesc | None:
    """Return the layout that replaces ``written`` and its copy.

    The copy reads the elements as ``src`` and writes them as ``dst``. None if the axes do not
    correspond.
    """
    left = [(n, s, t) for n, s, t in zip(src.dims, src.strides, dst.strides, strict=True) if n > 1]
    strides = []
    for n, s in zip(written.dims, written.strides, strict=True):
        if n == 1:
            strides.append(0)
            continue
        match = next((a for a in left if a[:2] == (n, s)), None)
        if match is None:
            return None
        left.remove(match)
        strides.append(match[2])
    if left:
        return None
    return layout.strided(written.dims, dtype, strides)
