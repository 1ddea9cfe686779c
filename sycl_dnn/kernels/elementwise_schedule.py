# SPDX-License-Identifier: Apache-2.0
"""Iteration spaces and schedules of element-wise kernels, chosen by sizes and strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.kernels.expression import COSTLY, INDEXED, Expression, Term
from sycl_dnn.kernels.index_range import check_span
from sycl_dnn.onednn import dtypes


class Schedule(NamedTuple):
    """The work distribution of a kernel.

    width : elements per vector of a work-item
    n_items : work-items per group
    span : elements along the innermost axis that a group processes at a time
    n_rows : rows that a group processes at a time
    pieces : widths of the vectors of such a row, which are unrolled; empty for a loop over vectors
    in_columns : whether the loop over vectors is outside that over rows
    kept_row : maximum length of a row of ``kept_terms``, which a group computes once; 0 for none
    has_run : whether vectors begin anew where a run of gathered neighbors begins, and where it ends
    """

    width: int
    n_items: int
    span: int
    n_rows: int = 1
    pieces: tuple[int, ...] = ()
    in_columns: bool = False
    kept_row: int = 0
    has_run: bool = False

    def along(self, run: tuple[int, ...]) -> Schedule:
        """Return the schedule of rows with a run of gathered neighbors; () for none."""
        if not run:
            return self
        length = run[1] - run[0]
        return self._replace(width=min(self.width, 1 << length.bit_length() - 1), has_run=True)

    @property
    def lanes(self) -> int:
        """The vectorized axis: the innermost one."""
        return -1

    @property
    def has_span(self) -> bool:
        """Whether launches pass a span of columns: never."""
        return False

    @property
    def part(self) -> int:
        """The axis that counts parts of another one: none."""
        return -1

    @property
    def cut(self) -> tuple[int, int]:
        """The axis that units divide, and the length of a unit along it."""
        return (-2, self.n_rows) if self.n_rows > 1 else (-1, self.span)


ON_CPU = Schedule(width=16, n_items=1, span=4096)
ON_GPU = Schedule(width=4, n_items=64, span=1024)
#: Maximum length of short rows, and how many are processed at a time unless they are unrolled; of
#: those whose terms depend on coordinates, a column of as many vectors stays in the cache.
_SHORT_ROW, _N_ROWS, _COLUMN = 128, 64, 16
#: Distance in bytes of rows that caches keep in the same places, and how many of them stay there.
_CONFLICT, _MOST_CONFLICTING = 4096, 4
#: Length of rows that gather elements, and bytes of a result, up to which columns are as fast.
_WIDE_ROW, _CACHED = 1024, 10 << 20
#: Maximum number of terms of a row's code that are repeated for each of its vectors.
_FEW_TERMS = 16
#: Maximum length and number of rows of values that are equal in all rows; minimum number of these.
_KEPT_ROW, _MOST_KEPT, _MANY_ROWS = 4096, 4, 64


class Grid(NamedTuple):
    """The iteration space of a kernel, with as few axes as possible.

    ``sizes``: outermost first; at least one. ``strides``: of each array along each axis, in
    elements.
    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Stride classes known at compile time: 0, 1 (innermost axis), or n (any)."""
        last = len(self.sizes) - 1
        return tuple(
            "".join("0" if s == 0 else "1" if s == 1 and k == last else "n" for k, s in axes)
            for axes in map(enumerate, self.strides)
        )

    @property
    def passed_strides(self) -> list[int]:
        """Strides passed to the kernel at launch: those of class n, in order."""
        pairs = zip(self.classes, self.strides, strict=True)
        return [s for kinds, of in pairs for kind, s in zip(kinds, of, strict=True) if kind == "n"]

    def check(self, name: str) -> None:
        """Raise NotImplementedError if an array spans too many elements."""
        for along in self.strides:
            check_span(name, 1 + sum((n - 1) * s for n, s in zip(self.sizes, along, strict=True)))


def grid_of(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> Grid:
    """Return the grid for arrays with these strides; drop axes of size 1 and merge others."""
    merged: list[int] = []
    of_arrays: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        along = [array[axis] for array in strides]
        if merged and all(steps[-1] == s * size for steps, s in zip(of_arrays, along, strict=True)):
            merged[-1] *= size
            for steps, s in zip(of_arrays, along, strict=True):
                steps[-1] = s
        else:
            merged.append(size)
            for steps, s in zip(of_arrays, along, strict=True):
                steps.append(s)
    if not merged:
        return Grid((1,), tuple((0,) for _ in strides))
    return Grid(tuple(merged), tuple(map(tuple, of_arrays)))


def units_of(grid: Grid, schedule: Schedule) -> int:
    """Return the number of work units, each a span along the innermost axis, or some rows."""
    axis, length = schedule.cut
    return math.prod(grid.sizes[:axis]) * -(-grid.sizes[axis] // length)


def on_cpu(expression: Expression, grid: Grid) -> Schedule:
    """Return the schedule of an expression over a grid on a CPU.

    Rows are read in the order of memory, which is several times faster beyond the caches than
    columns of vectors. Vectors of short rows are unrolled, since a loop would start and end all the
    time: those of multiples of 8, such as channels, and of less than a vector. A kernel for each
    other length would take too long to compile; these have vectors that leave few single elements.
    Coordinates, and what is equal in neighboring rows, are computed once for a column of vectors.
    """
    row, schedule = grid.sizes[-1], ON_CPU
    if len(grid.sizes) == 1:
        return schedule
    has_steady_work = bool(steady_work(expression, grid.classes))
    by_element = _is_by_element(expression, grid)
    if row <= _SHORT_ROW:
        if (row % 8 == 0 or row < schedule.width) and _is_plain(expression, grid):
            return schedule._replace(n_rows=schedule.span // row, pieces=_pieces(row))
        n_rows = _column(expression, grid) if row > 32 and by_element else _N_ROWS
        width = _width(row, overlaps=bool(expression.n_places))
        in_columns = by_element or has_steady_work
        return schedule._replace(width=width, n_rows=n_rows, in_columns=in_columns)
    n_bits = math.prod(grid.sizes) * dtypes.bits_of(expression.dtype_of(expression.results[0]))
    is_cached = bool(expression.sources) and n_bits <= 8 * _CACHED
    in_column = schedule._replace(n_rows=_column(expression, grid), in_columns=True)
    if by_element and is_cached and row <= _WIDE_ROW:
        return in_column
    if not has_steady_work or row > _KEPT_ROW or grid.sizes[-2] < _MANY_ROWS:
        return schedule
    if len(grid.sizes) == 2 and 0 < len(kept_terms(expression, grid.classes)) <= _MOST_KEPT:
        return schedule._replace(kept_row=_KEPT_ROW)
    return in_column


def _column(expression: Expression, grid: Grid) -> int:
    """Return how many vectors below each other, in all arrays, the nearest cache holds."""
    results = map(expression.dtype_of, expression.results)
    strides = (*grid.strides[: len(expression.inputs)], *grid.strides[expression.first_result :])
    steps = [
        along[-2] * dtypes.bits_of(dtype) // 8
        for along, dtype in zip(strides, (*expression.inputs, *results), strict=True)
    ]
    conflict = any(step and step % _CONFLICT == 0 for step in steps)
    return _MOST_CONFLICTING if conflict else _COLUMN


def _is_by_element(expression: Expression, grid: Grid) -> bool:
    """Whether terms depend on the position in a row; else gathers name whole rows."""
    uniform = steady_along(-1, expression, grid.classes)
    return any(
        term.operation == "gather" and not uniform.issuperset(term.operands)
        or term.operation == "iota" and n not in uniform
        for n, term in enumerate(expression.terms, len(expression.inputs))
    )  # fmt: skip


def _is_plain(expression: Expression, grid: Grid) -> bool:
    """Whether the code for a vector is short."""
    if _is_by_element(expression, grid) or any(kinds[-1] == "n" for kinds in grid.classes):
        return False
    is_costly = any(term.operation in COSTLY for term in expression.terms)
    n_inputs, uniform = len(expression.inputs), steady_along(-1, expression, grid.classes)
    n_repeated = len(expression.terms) - sum(n >= n_inputs for n in uniform)
    return not is_costly and n_repeated <= _FEW_TERMS


def _pieces(row: int) -> tuple[int, ...]:
    """Return widths of vectors, descending, that cover a row."""
    n_vectors, rest = divmod(row, ON_CPU.width)
    widths = [1 << bit for bit in reversed(range(rest.bit_length())) if rest >> bit & 1]
    return (*[ON_CPU.width] * n_vectors, *widths)


def _width(row: int, *, overlaps: bool) -> int:
    """Return the width of vectors that leave the fewest single elements.

    ``overlaps``: the last vector of a row overlaps the one before it.
    """

    def n_steps(width: int) -> int:
        n_vectors, rest = divmod(row, width)
        return n_vectors + (1 if rest and n_vectors and overlaps else rest)

    return min((16, 8, 4), key=n_steps)


def steady_along(axis: int, expression: Expression, classes: Sequence[str]) -> set[int]:
    """Return the inputs and terms that are constant along an axis.

    Coordinates along other axes are, in a row; they are cheap to compute in neighboring rows.
    """
    steady = {n for n in range(len(expression.inputs)) if classes[n][axis] == "0"}
    for n, term in enumerate(expression.terms, len(expression.inputs)):
        if term.operation in INDEXED:
            is_steady = axis == -1 and _is_of_row(term, expression, classes)
        else:
            is_steady = steady.issuperset(term.operands)
        if is_steady:
            steady.add(n)
    return steady


def _is_of_row(term: Term, expression: Expression, classes: Sequence[str]) -> bool:
    """Whether a term is a coordinate that is the same all along the innermost axis."""
    return term.operation == "iota" and classes[expression.array_of(term)][-1] == "0"


def steady_work(expression: Expression, classes: Sequence[str]) -> list[int]:
    """Return computed terms that are equal in all rows, but not along them."""
    n_inputs = len(expression.inputs)
    steady = steady_along(-2, expression, classes) - steady_along(-1, expression, classes)
    computed = [n for n in sorted(steady) if n >= n_inputs]
    return [n for n in computed if expression.terms[n - n_inputs].operation != "cast"]


def kept_terms(expression: Expression, classes: Sequence[str]) -> list[int]:
    """Return computed float32 terms that are equal in all rows and that other terms read."""
    steady, n_inputs = steady_along(-2, expression, classes), len(expression.inputs)
    others = [n for n in range(n_inputs, n_inputs + len(expression.terms)) if n not in steady]
    read = {operand for n in others for operand in expression.operands_of(n)}
    return [
        n
        for n in steady_work(expression, classes)
        if n in read and expression.dtype_of(n) == "float32"
    ]
