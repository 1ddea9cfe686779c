# SPDX-License-Identifier: Apache-2.0
"""Keys of traced tensors: numbers, slices, None, ``...`` and rows by number."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from sycl_dnn.dispatch import functions


def taken(x: Any, key: Any) -> Any:
    """Return ``x[key]``."""
    from sycl_dnn.dispatch import views

    made = x
    axis, kept = 0, []
    items = _full_key(key, len(x.shape))
    if any(_numbers(item) is not None for item in items):
        return _rows(x, items)
    for item in items:
        if item is None:
            kept.append(1)
            continue
        n = x.shape[axis]
        start, length, step = _range(item, n, axis)
        if (start, length, step) != (0, n, 1):
            made = views.narrow(made, axis, start, length, step)
        if isinstance(item, slice):
            kept.append(length)
        axis += 1
    return made if tuple(kept) == made.shape else views.reshape(made, kept)


#: Rows that are copied one by one where numbers are the index.
_MOST_ROWS = 64


def _full_key(key: Any, ndim: int) -> list[Any]:
    """Return a key with one item for each axis, besides None."""
    items = list(key) if isinstance(key, tuple) else [key]
    n_axes = sum(i is not None and i is not Ellipsis for i in items)
    if n_axes > ndim or sum(i is Ellipsis for i in items) > 1:
        raise IndexError(f"index: there must be at most {ndim} items and one ..., got {key!r}")
    rest = [slice(None)] * (ndim - n_axes)
    at = next((p for p, i in enumerate(items) if i is Ellipsis), None)
    return items + rest if at is None else items[:at] + rest + items[at + 1 :]


def _numbers(item: Any) -> list[int] | None:
    """Return the numbers that a list or a NumPy array of integers as an index holds."""
    if isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "iu":
        return [int(i) for i in item]
    return None


def _rows(x: Any, items: list[Any]) -> Any:
    """Return ``x`` where one index is an array of numbers that are known, the others slices."""
    wide = [i for i, item in enumerate(items) if not isinstance(item, slice)]
    numbers = _numbers(items[wide[0]])
    if len(wide) > 1 or numbers is None or not 0 < len(numbers) <= _MOST_ROWS:
        raise TypeError(
            f"index: one array of 1 to {_MOST_ROWS} numbers is taken in a traced function, beside "
            f"slices, got {items}"
        )
    axis = wide[0]
    before, after = items[:axis], items[axis + 1 :]
    for number in numbers:
        _range(number, x.shape[axis], axis)
    n = x.shape[axis]
    keys = [(*before, slice(i % n, i % n + 1), *after) for i in numbers]
    return functions.cat([x[key] for key in keys], axis)


def _range(item: Any, n: int, axis: int) -> tuple[int, int, int]:
    """Return start, length and step of one item of a key."""
    if isinstance(item, slice):
        start, stop, step = item.indices(n)
        if step < 0:
            raise IndexError(f"index: the step must be positive in a traced function, got {step}")
        return start, len(range(start, stop, step)), step
    if hasattr(item, "shape") and item.shape != ():
        raise TypeError(
            "index: arrays as indices are not taken in a traced function; for rows of a table use "
            "sycl_dnn.functional.embedding, for a choice sycl_dnn.functional.where"
        )
    number = operator.index(item)
    if not -n <= number < n:
        raise IndexError(f"index: {number} is out of range for axis {axis} of size {n}")
    return number % n, 1, 1
