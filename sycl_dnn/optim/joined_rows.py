# SPDX-License-Identifier: Apache-2.0
"""Small parameters concatenated into one array, so that a step needs few operations."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.trace.layout import row_major_strides
from sycl_dnn.trace.values import Tensor

#: Maximum number of elements of a parameter to join, and of a joined array: the intermediate
#: values of a step then fit in a core's cache.
MOST, MOST_TOGETHER = 1 << 16, 1 << 18
#: Parts of a joined array are aligned to this many elements, which suits kernels.
_APART = 16
_JOINED = ("float32", "bfloat16", "float16")


class Row(NamedTuple):
    """A parameter, its gradient and its state, or several of them joined."""

    #: Index of the parameter.
    number: int
    name: str
    p: Any
    g: Any
    #: Option group.
    which: Any
    slots: dict[str, Any]


def slots_of(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state entries of one parameter."""
    return {key: value[name] for key, value in state.items() if key != "step" and name in value}


def _key(row: Row) -> Any:
    """Return the properties that joined rows must share; None if a row cannot be joined."""
    arrays = (row.p, row.g, *row.slots.values())
    is_alike = all(tuple(a.shape) == tuple(row.p.shape) and str(a.dtype) in _JOINED for a in arrays)
    if not is_alike or not _APART <= row.p.size <= MOST or not _is_row_major(row.p):
        return None
    return row.which, tuple(str(a.dtype) for a in arrays), tuple(row.slots)


def _is_row_major(p: Any) -> bool:
    """Whether a slice of a joined array can have the parameter's layout."""
    if not isinstance(p, Tensor) or not p.desc.is_plain:
        return False
    return tuple(p.strides) == row_major_strides(tuple(p.shape))


def bunches(rows: Iterable[Row]) -> list[list[Row]]:
    """Group the rows that can be joined, ordered by the first of each group."""
    found: list[list[Row]] = []
    open_ones: dict[Any, tuple[list[Row], int]] = {}
    for row in rows:
        key = _key(row)
        if key is None:
            found.append([row])
            continue
        bunch, size = open_ones.get(key, (None, 0))
        if bunch is None or size + row.p.size > MOST_TOGETHER:
            bunch, size = [], 0
            found.append(bunch)
        bunch.append(row)
        open_ones[key] = bunch, size + row.p.size
    return found


def join_rows(bunch: Sequence[Row]) -> Row:
    """Join the rows of a group into one."""
    first = bunch[0]
    if len(bunch) == 1:
        return first
    slots = {key: _joined([r.slots[key] for r in bunch]) for key in first.slots}
    p, g = _joined([r.p for r in bunch]), _joined([r.g for r in bunch])
    return Row(first.number, first.name, p, g, first.which, slots)


def _padding(size: int) -> int:
    return -size % _APART


def _joined(arrays: Sequence[Any]) -> Any:
    """Concatenate arrays into one row; padding repeats the start of each array."""
    parts = []
    for array in arrays:
        flat = F.reshape(array, (-1,))
        parts.append(flat)
        if _padding(array.size):
            parts.append(F.narrow(flat, 0, 0, _padding(array.size)))
    return F.cat(parts)


def cut(joined: Any, bunch: Sequence[Row]) -> list[Any]:
    """Split a joined array into views with the shapes of the parameters."""
    if len(bunch) == 1:
        return [joined]
    sizes = [r.p.size + _padding(r.p.size) for r in bunch]
    starts = itertools.accumulate(sizes, initial=0)
    joined.storage.is_shared = True
    return [
        F.reshape(F.narrow(joined, 0, start, r.p.size), r.p.shape)
        for start, r in zip(starts, bunch, strict=False)
    ]
