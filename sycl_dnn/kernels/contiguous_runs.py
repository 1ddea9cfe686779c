# SPDX-License-Identifier: Apache-2.0
"""Runs of gathered elements that are contiguous in memory, as inside a padded border."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sycl_dnn.kernels.elementwise_schedule import Grid
from sycl_dnn.kernels.expression import Expression, number_of

#: Minimum length of a run, for which vectors begin anew.
_LEAST = 8
#: Operations of indices that depend on coordinates and numbers alone.
_INDICES: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "abs": np.abs, "neg": np.negative,
    "maximum": np.maximum, "minimum": np.minimum, "where": np.where, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
}  # fmt: skip


def contiguous_run(expression: Expression, grid: Grid, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the ends of the longest run of neighbors that a row gathers; () if it is no part.

    ``sizes`` are those of each axis that indices name, in the order of the gathers.
    """
    n, supply = grid.sizes[-1], iter(sizes)
    breaks = np.zeros(n + 1, bool)
    breaks[0] = breaks[n] = True
    for index in _indices(expression, grid):
        size = next(supply)
        if index is None:
            return ()
        steps = np.diff(np.clip(index, 0, size - 1))
        if steps.any():
            breaks[1:-1] |= steps != 1
    ends = np.flatnonzero(breaks)
    longest = int(np.argmax(np.diff(ends)))
    first, last = map(int, ends[longest : longest + 2])
    return (first, last) if _LEAST <= last - first < n else ()


def _indices(expression: Expression, grid: Grid) -> list[np.ndarray | None]:
    """Return the indices of all gathers at the elements of the innermost axis; None if unknown."""
    n = grid.sizes[-1]
    values: list[np.ndarray | None] = [None] * len(expression.inputs)
    indices: list[np.ndarray | None] = []
    for term in expression.terms:
        attributes, operands = dict(term.attributes), [values[k] for k in term.operands]
        value = None
        if term.operation == "gather":
            indices += operands
        elif term.operation == "iota":
            value = np.arange(n) * grid.strides[expression.array_of(term)][-1]
        elif term.operation == "number":
            value = np.full(n, number_of(attributes["value"]))
        elif term.operation in _INDICES and all(v is not None for v in operands):
            value = _INDICES[term.operation](*operands)
        values.append(value)
    return indices
