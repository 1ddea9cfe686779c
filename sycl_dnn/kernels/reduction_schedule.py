# SPDX-License-Identifier: Apache-2.0
"""Iteration spaces and schedules of reductions, chosen by sizes and strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.kernels.combining import bytes_of_states
from sycl_dnn.kernels.expression import COSTLY, NARROW, Expression
from sycl_dnn.kernels.forms import ReductionForm, ReductionSchedule
from sycl_dnn.kernels.index_range import check_span
from sycl_dnn.kernels.passed_numbers import with_passed_numbers
from sycl_dnn.kernels.passes import Passes

#: Minimum elements per group, and for a second launch.
_MIN_PER_GROUP, _MIN_FOR_PARTS = 1 << 13, 1 << 15
#: Elements that a processor's cache holds.
_CACHED = 1 << 18
#: Rows that are shorter are not vectorized along themselves; on a CPU: those of several costly
#: reductions, of a single reduction over them, of several passes.
SHORT, _COSTLY_SHORT, _SINGLE_SHORT, _VECTOR = 32, 129, 65, 16
#: Maximum and minimum number of elements of a row of a tile.
_TILE, _LEAST_TILE = 8, 4
#: Maximum number of terms for unrolling, limited by registers.
_FEW_TERMS = 9
#: Columns whose states are in local memory, which fewer rows are not worth; rows, of all arrays,
#: that a processor fetches ahead.
_SPAN, _MANY_ROWS, _STREAMS, _FEWEST_ROWS = 1024, 128, 16, 4
#: Elements up to which processors share columns; beyond the caches, rows are faster to read.
_SHARED_COLUMNS = 1 << 22
#: Bytes of these states: five stages of a chain have them in 256 KB of local memory.
_MAX_STATES = 48 << 10
#: Elements that local memory keeps in float32: of a row; of columns of several vectors side by
#: side, of a single one.
_MAX_ROW, _MAX_COLUMN, _MAX_SINGLE_COLUMN = 4096, 64, 512


class ReductionGrid(NamedTuple):
    """The iteration space of a kernel, with as few axes as possible.

    sizes : outermost first
    kinds : of each axis: kept (k) or reduced (r), at least one of them
    strides : of each array along each axis, in elements
    """

    sizes: tuple[int, ...]
    kinds: str
    strides: tuple[tuple[int, ...], ...]

    def classes(self, lanes: int, *, has_tiles: bool = False) -> tuple[str, ...]:
        """Return the stride classes, given the vectorized axis, and whether there are tiles."""
        ones = {self.kinds.rindex("r"): "t"} if has_tiles else {}
        ones[lanes] = "1"
        return tuple(
            "".join("0" if s == 0 else ones.get(k, "n") if s == 1 else "n" for k, s in axes)
            for axes in map(enumerate, self.strides)
        )

    def count(self, kind: str) -> int:
        """Return the number of elements over the axes of a kind."""
        return math.prod(n for n, k in zip(self.sizes, self.kinds, strict=True) if k == kind)

    def check(self, name: str) -> None:
        """Raise NotImplementedError if an array spans too many elements."""
        spans = [
            1 + sum(abs(n - 1) * s for n, s in zip(self.sizes, along, strict=True))
            for along in self.strides
        ]
        check_span(name, max([*spans, math.prod(self.sizes)]))


def reduction_grid(
    sizes: Sequence[int], kinds: str, strides: Sequence[Sequence[int]]
) -> ReductionGrid:
    """Return the grid of axes, outermost first; drop axes of size 1 and merge others."""
    merged_sizes: list[int] = []
    merged_kinds = ""
    of_arrays: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        along = [array[axis] for array in strides]
        pairs = zip(of_arrays, along, strict=True)
        if merged_kinds.endswith(kinds[axis]) and all(steps[-1] == s * size for steps, s in pairs):
            merged_sizes[-1] *= size
            for steps, s in zip(of_arrays, along, strict=True):
                steps[-1] = s
            continue
        merged_sizes.append(size)
        merged_kinds += kinds[axis]
        for steps, s in zip(of_arrays, along, strict=True):
            steps.append(s)
    if "r" not in merged_kinds:
        merged_sizes.insert(0, 1)
        merged_kinds = f"r{merged_kinds}"
        for steps in of_arrays:
            steps.insert(0, 0)
    return ReductionGrid(tuple(merged_sizes), merged_kinds, tuple(map(tuple, of_arrays)))


def _lanes(grid: ReductionGrid, short: int) -> int:
    """Return the axis to vectorize: the innermost one, unless it is a row of fewer elements."""
    last = len(grid.sizes) - 1
    if grid.sizes[last] >= (short if grid.kinds[last] == "r" else 8):
        return last
    # Indices are counted in the order of the reduced axes, so among these only the last works.
    candidates = [a for a, kind in enumerate(grid.kinds) if kind == "k"]
    candidates.append(grid.kinds.rindex("r"))
    longest = max(candidates, key=lambda a: (min(grid.sizes[a], short), a))
    return longest if grid.sizes[longest] >= 2 * grid.sizes[last] else last


def _width(size: int, limit: int) -> int:
    """Return the largest power of two that is at most ``limit`` and ``size``."""
    return min(limit, 1 << max(size.bit_length() - 1, 0))


def longest_kept(grid: ReductionGrid) -> int | None:
    """Return the longest kept axis, of equal ones the innermost; None without one."""
    axes = [a for a, kind in enumerate(grid.kinds) if kind == "k"]
    return max(axes, key=lambda a: (grid.sizes[a], a)) if axes else None


def whole_schedule(
    grid: ReductionGrid, n_terms: int, *, is_cpu: bool, lanes: int | None = None, short: int = SHORT
) -> ReductionSchedule:
    """Return the schedule of a grid that is not split.

    ``lanes`` may require a vectorized axis; else it is not that of rows shorter than ``short``.
    """
    if lanes is None:
        lanes = _lanes(grid, short)
    size, is_rows = grid.sizes[lanes], grid.kinds[lanes] == "r"
    is_dense = any(along[lanes] == 1 for along in grid.strides)
    if is_cpu:
        # The second of two vectors of 16 would compute at most half of its lanes.
        width, n_items = _width(size, 8 if is_rows and 16 < size <= 24 else 16), 1
    else:
        n_items = 64
        width = _width(size, 4) if is_dense and size >= 4 * n_items else 1
    unroll = 1
    # Strided vectors take one load per element: compiling them unrolled takes 0.2 s.
    is_apart = any(along[lanes] > 1 for along in grid.strides)
    if n_terms <= _FEW_TERMS and not is_apart and (is_cpu or is_rows):
        n_vectors = size // (width * n_items)
        unroll = 4 if n_vectors >= 4 else 2 if n_vectors >= 2 and not is_rows else 1
    tile = _tile(grid, lanes, width) if is_cpu else 0
    # Code for single elements, one access for each lane, takes longest to compile.
    has_rest = not tile or grid.sizes[grid.kinds.rindex("r")] % tile > 0
    return ReductionSchedule(lanes, width, unroll, n_items, tile=tile, has_rest=has_rest)


def _tile(grid: ReductionGrid, lanes: int, width: int) -> int:
    """Return the size of tiles of arrays whose short rows vectors cross; 0 if there are none."""
    last = grid.kinds.rindex("r")
    crosses = any(along[last] == 1 and along[lanes] > 1 for along in grid.strides)
    tile = _width(grid.sizes[last], min(width, _TILE))
    return tile if grid.kinds[lanes] == "k" and crosses and tile >= _LEAST_TILE else 0


def n_units_of(grid: ReductionGrid, schedule: ReductionSchedule) -> int:
    """Return the number of work units."""
    n = grid.count("k")
    if grid.kinds[schedule.lanes] == "r":
        return n
    size = grid.sizes[schedule.lanes]
    return n // size * -(-size // schedule.unit)


def is_far_apart(grid: ReductionGrid, schedule: ReductionSchedule) -> bool:
    """Whether units read columns of an array that exceeds the caches.

    Vectors across short rows read neighbors.
    """
    is_columns = grid.kinds[schedule.lanes] == "k" == grid.kinds[-1]
    return is_columns and math.prod(grid.sizes) > _CACHED


def in_memory_order(
    grid: ReductionGrid, schedule: ReductionSchedule, expression: Expression, n_processors: int
) -> ReductionSchedule:
    """Return the schedule of one pass on a CPU: columns far apart are read some rows at a time.

    Columns of a few vectors, one after the other, would be read at a third of the speed: a
    processor fetches ahead only what is contiguous. Each processor has its own columns if there are
    few, which saves the launch that would add up parts.
    """
    size, lanes = grid.sizes[schedule.lanes], schedule.lanes
    reduced = [axis for axis, kind in enumerate(grid.kinds) if kind == "r"]
    is_dense = all(along[lanes] in (0, 1) for along in grid.strides)
    has_rows = grid.sizes[reduced[-1]] >= _MANY_ROWS and size > schedule.step
    span = _longest_span(expression, schedule)
    if not (is_far_apart(grid, schedule) and is_dense and has_rows and span):
        return schedule
    n_shares = -(-n_processors // (grid.count("k") // size))
    if n_shares > 1 and math.prod(grid.sizes) <= _SHARED_COLUMNS:
        span = min(span, -(-size // (n_shares * schedule.step)) * schedule.step)
    of_inputs = grid.strides[: len(expression.inputs)]
    n_streams = sum(any(along[axis] for axis in reduced) for along in of_inputs)
    return schedule._replace(span=span, n_rows=max(_STREAMS // max(n_streams, 1), _FEWEST_ROWS))


def _longest_span(expression: Expression, schedule: ReductionSchedule) -> int:
    return min(_SPAN, _MAX_STATES // bytes_of_states(expression) // schedule.step * schedule.step)


def n_parts_of(
    grid: ReductionGrid,
    schedule: ReductionSchedule,
    n_processors: int,
    *,
    is_apart: bool,
    is_cheap: bool = False,
) -> int:
    """Return the number of parts for the longest reduced axis; 1 if the device is busy anyway.

    ``is_apart`` is whether columns are far apart; ``is_cheap``, whether one processor finishes what
    its cache holds before others wake up.
    """
    n_units, n_elements = n_units_of(grid, schedule), math.prod(grid.sizes)
    has_shares = schedule.span and n_elements <= _SHARED_COLUMNS and n_units >= n_processors
    if is_apart and not has_shares:
        # Units along the vectors are no reason against parts, which read memory in its order.
        n_units = grid.count("k") // grid.sizes[schedule.lanes]
    is_small = n_elements < (_CACHED if is_cheap else _MIN_FOR_PARTS)
    if is_small or has_shares or n_units >= 2 * n_processors:
        return 1
    size = grid.sizes[_longest(grid)]
    step = schedule.step if grid.kinds[schedule.lanes] == "r" else 16
    return max(1, min(4 * n_processors // n_units, size // step))


def _longest(grid: ReductionGrid) -> int:
    """Return the reduced axis to split into parts."""
    looped = [a for a, kind in enumerate(grid.kinds) if kind == "r"]
    return max(looped, key=lambda a: (grid.sizes[a], -a))


class Plan(NamedTuple):
    """A kernel launch.

    ``numbers``: scalar arguments of the launch.
    """

    form: ReductionForm
    numbers: list[int]
    n_groups: int
    n_parts: int


def in_parts(
    grid: ReductionGrid, schedule: ReductionSchedule, n_parts: int, n_results: int
) -> tuple[ReductionGrid, ReductionSchedule]:
    """Return the grid with an axis for parts, which is outermost in the results."""
    axis = _longest(grid)
    step = schedule.step if axis == schedule.lanes else 1
    span = -(-grid.sizes[axis] // (n_parts * step)) * step
    n_parts = -(-grid.sizes[axis] // span)
    sizes = (*grid.sizes[:axis], n_parts, span, *grid.sizes[axis + 1 :])
    kinds = f"{grid.kinds[:axis]}k{grid.kinds[axis:]}"
    n_inputs, n_kept = len(grid.strides) - n_results, grid.count("k")
    strides = tuple(
        (*steps[:axis], steps[axis] * span if n < n_inputs else n_kept, *steps[axis:])
        for n, steps in enumerate(grid.strides)
    )
    lanes = schedule.lanes + (schedule.lanes >= axis)
    schedule = schedule._replace(lanes=lanes, part=axis, has_rest=True)
    return ReductionGrid(sizes, kinds, strides), schedule


def is_costly(expression: Expression) -> bool:
    """Whether some terms cost more than reading an element."""
    return any(term.operation in COSTLY for term in expression.terms)


def short_of(expression: Expression, grid: ReductionGrid, n_passes: int) -> int:
    """Return the minimum length of rows that a CPU vectorizes along themselves.

    Lanes must be combined for each reduction of a row; tiles of rows must be transposed.
    """
    n_reductions = len(expression.reductions)
    if n_passes > 1:
        return _COSTLY_SHORT if is_costly(expression) and n_reductions > 1 else _VECTOR
    return _SINGLE_SHORT if n_reductions == grid.kinds.count("r") == 1 else SHORT


def row_of(expression: Expression, grid: ReductionGrid, schedule: ReductionSchedule) -> int:
    """Return the maximum length of rows, or columns, whose costly terms a CPU keeps; 0 if none.

    Rows of float32 are kept in the memory of the results.
    """
    if not (expression.reductions and is_costly(expression)) or schedule.n_items > 1:
        return 0
    if grid.kinds[schedule.lanes] == "r":
        is_narrow = any(expression.dtype_of(n) in NARROW for n in expression.results)
        is_short = grid.kinds.count("r") == 1 and grid.sizes[schedule.lanes] <= _MAX_ROW
        return _MAX_ROW if is_narrow and is_short else 0
    classes = grid.classes(schedule.lanes)
    passes = Passes(expression, grid.kinds, classes, keeps=False, has_row=True)
    if not any(passes.read_back) or grid.count("r") > _MAX_SINGLE_COLUMN:
        return 0
    return _MAX_COLUMN if grid.count("r") <= _MAX_COLUMN else _MAX_SINGLE_COLUMN


def _is_block(grid: ReductionGrid, schedule: ReductionSchedule) -> bool:
    """Whether a row is a single block, whose sum is not compensated.

    A single row is too cheap to justify a different kernel than that of longer ones.
    """
    is_rows = grid.kinds[schedule.lanes] == "r" and "k" in grid.kinds
    return is_rows and grid.count("r") <= schedule.block * schedule.step


def _with_blocks_of_rows(grid: ReductionGrid, schedule: ReductionSchedule) -> ReductionSchedule:
    """Return the schedule with blocks of several rows if these are shorter than half a block.

    Their number is a power of two, which saves kernels for other lengths.
    """
    n_vectors = -(-grid.sizes[schedule.lanes] // schedule.width)
    has_rows = grid.kinds[schedule.lanes] == "r" and grid.kinds.count("r") > 1
    if not has_rows or 2 * n_vectors > schedule.block:
        return schedule
    return schedule._replace(n_rows=_width(schedule.block // n_vectors, schedule.block))


def planned(
    expression: Expression,
    grid: ReductionGrid,
    schedule: ReductionSchedule,
    n_processors: int,
    total: int = 0,
) -> Plan:
    """Return the launch for a grid; ``total`` is the full size of an axis split into parts."""
    row = row_of(expression, grid, schedule)
    schedule = schedule._replace(row=row)
    if row == _MAX_SINGLE_COLUMN:
        schedule = schedule._replace(unroll=1)
    n_units = n_units_of(grid, schedule)
    n_groups = min(n_units, 4 * n_processors, max(1, math.prod(grid.sizes) // _MIN_PER_GROUP))
    share = -(-n_units // n_groups)
    classes = grid.classes(schedule.lanes, has_tiles=schedule.tile > 0)
    if expression.reductions and _is_block(grid, schedule):
        schedule = schedule._replace(block=0)
    if expression.reductions and schedule.n_items == 1:
        schedule = _with_blocks_of_rows(grid, schedule)
    strides = [
        s
        for kinds, along in zip(classes, grid.strides, strict=True)
        for kind, s in zip(kinds, along, strict=True)
        if kind == "n"
    ]
    total_size = [total] if schedule.part >= 0 else []
    span = [schedule.span] if schedule.has_span else []
    if span:
        longest = max(schedule.span, _longest_span(expression, schedule))
        schedule = schedule._replace(span=longest)
    expression, passed = with_passed_numbers(expression)
    numbers = [share, n_units, *total_size, *span, *grid.sizes, *strides, *passed]
    n_parts = grid.sizes[schedule.part] if schedule.part >= 0 else 1
    form = ReductionForm(expression, grid.kinds, classes, schedule)
    return Plan(form, numbers, -(-n_units // share), n_parts)
