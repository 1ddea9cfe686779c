# SPDX-License-Identifier: Apache-2.0
"""Generated scatter kernels: values written at, or combined with, elements at indices of an axis.

A work-item owns the columns, or rows, of the result that it writes. It processes all indices in
order, so sums and products are deterministic, and the last of several values for one element wins.
If the program may overwrite the base array, the result shares its memory and nothing is copied.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sycl_dnn.kernels.elementwise_schedule import ON_CPU, ON_GPU, Grid, Schedule
from sycl_dnn.kernels.expression import (
    IN_MEMORY,
    REGISTERS,
    WRITERS,
    from_memory,
    rounded,
    to_memory,
)
from sycl_dnn.kernels.spirv import Kernel, Value
from sycl_dnn.kernels.unit_loops import unit_loop

#: Minimum number of columns to distribute over items or groups; fewer are processed by each.
_MIN_COLUMNS = 64
#: Columns of a unit on CPUs if the elements of each are contiguous: cache lines are read once.
_N_STRIDED = 16
#: Elements of a unit of columns that follow each other in memory.
_N_JOINED = 2048


class ScatterForm(NamedTuple):
    """Compile-time properties of a kernel.

    combined : the operation of values and elements: add, mul, maximum, minimum; "" if values
        overwrite
    has_base : whether there is a base array, rather than zeros
    by_rows : whether the items of a group share rows rather than columns
    is_dense : whether each column of the result, and of the base, is contiguous, on a CPU
    is_joined : whether such columns also follow each other in memory, and a unit has whole ones
    classes : stride classes of indices, values, the base if there is one, and the result
    """

    dtype: str
    index_dtype: str
    combined: str
    has_base: bool
    by_rows: bool
    is_dense: bool
    is_joined: bool
    classes: tuple[str, ...]
    schedule: Schedule

    @property
    def name(self) -> str:
        """Name of the kernel."""
        kind = f"scatter_{self.combined}" if self.combined else "scatter"
        return f"{kind}_{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"


class ScatterPlan(NamedTuple):
    """A launch: the form, its scalar arguments, the number of groups."""

    form: ScatterForm
    numbers: list[int]
    n_groups: int


def scatter_plan(
    grid: Grid,
    along: Sequence[int],
    sizes: tuple[int, int],
    dtypes: tuple[str, str],
    *,
    combined: str,
    is_cpu: bool,
    n_processors: int,
) -> ScatterPlan:
    """Return the launch of a scatter.

    ``grid``: over all axes except the indexed one; ``along``: strides of the arrays along the
    indexed axis; ``sizes``: sizes of result and indices along that axis; ``combined``: as in the
    form.
    """
    (n, m), (*outer, inner) = sizes, grid.sizes
    schedule = ON_CPU if is_cpu else ON_GPU
    classes = grid.classes
    by_rows = not is_cpu and inner < _MIN_COLUMNS
    n_outer = 1
    for size in outer:
        n_outer *= size
    n_wanted = -(-(4 if is_cpu else 16) * n_processors // n_outer)
    n_blocks = max(1, min(n_wanted, inner // _MIN_COLUMNS))
    block = -(-inner // n_blocks)
    block += -block % 16
    is_dense = is_cpu and all(step == 1 for step in along[2:])
    if is_dense:
        block = 1
    elif is_cpu and along[1] == 1 and classes[1][-1] == "n":
        block = _N_STRIDED
    n_blocks = -(-inner // block)
    n_parts = 1
    if classes[0][-1] == "0" and (by_rows or inner >= _MIN_COLUMNS // 4):
        # Each part reads all indices.
        n_wanted = -(-n_processors // n_outer) if is_cpu else n_wanted
        n_parts = max(1, min(-(-n_wanted // n_blocks), n))
    rows = -(-n // n_parts)
    n_parts = -(-n // rows)
    follow = all(steps[-1] == n for steps in grid.strides[2:])
    is_joined = is_dense and follow and n_parts == 1
    if is_joined:
        most = -(-inner * n_outer // (4 * n_processors))
        block = max(1, min(_N_JOINED // n, most, inner))
    n_blocks = -(-inner // block)
    n_units = n_outer * n_blocks * n_parts
    n_groups = min(n_units, (4 if is_cpu else 16) * n_processors)
    form = ScatterForm(
        *dtypes, combined, len(along) == 4, by_rows, is_dense, is_joined, classes, schedule
    )
    share = -(-n_units // n_groups)
    numbers = [share, n_units, n, m, block, rows, *grid.sizes, *grid.passed_strides, *along]
    return ScatterPlan(form, numbers, n_groups)


@functools.lru_cache(maxsize=256)
def scatter_module(form: ScatterForm) -> bytes:
    """Return the SPIR-V module of a kernel.

    Parameters of the kernel: indices, values, the base if there is one, the result; units per group
    and number of units; rows of the result and of the indices; columns and rows per unit; sizes of
    the axes; strides of class n; strides along the indexed axis.
    """
    return _Writing(form).module()


class _Writing:
    """The code generator of a kernel."""

    def __init__(self, form: ScatterForm) -> None:
        self._form, self._width = form, form.schedule.width
        n_arrays, n_axes = len(form.classes), len(form.classes[0])
        element = IN_MEMORY.get(form.dtype, REGISTERS[form.dtype])
        types = [REGISTERS[form.index_dtype], *[element] * (n_arrays - 1)]
        n_numbers = 6 + n_axes + sum(kinds.count("n") for kinds in form.classes) + n_arrays
        parameters = [("pointer", t) for t in types] + [("value", "i32")] * n_numbers
        self._kernel = k = Kernel(form.name, parameters, form.schedule.n_items)
        self._pointers = k.parameters[:n_arrays]
        supply = iter(k.parameters[n_arrays:])
        self._each, self._n_units, self._n, self._m, self._block, self._rows = (
            next(supply) for _ in range(6)
        )
        self._sizes = [next(supply) for _ in range(n_axes)]
        self._strides = [
            [next(supply) if kind == "n" else None for kind in kinds] for kinds in form.classes
        ]
        self._along = [next(supply) for _ in range(n_arrays)]
        self._item = k.number_of("item")

    def _constant(self, value: int) -> Value:
        return self._kernel.constant(value, "i32")

    def module(self) -> bytes:
        """Generate the loop over the units of a group."""
        k = self._kernel
        *outer, inner = self._sizes
        sizes = [*outer, self._parts(inner, self._block), self._parts(self._n, self._rows)]
        first = k.call("mul", k.number_of("group"), self._each)
        last = k.call("min", k.call("add", first, self._each), self._n_units)
        with unit_loop(k, first, last, sizes) as (*places, block, part):
            columns = self._span(block, self._block, inner)
            rows = self._span(part, self._rows, self._n)
            if self._form.by_rows:
                share = self._parts(self._rows, self._constant(self._form.schedule.n_items))
                low = k.call("add", rows[0], k.call("mul", self._item, share))
                rows = (low, k.call("min", k.call("add", low, share), rows[1]))
            self._unit([self._start(n, places) for n in range(len(self._pointers))], columns, rows)
        return k.module()

    def _parts(self, size: Value, each: Value) -> Value:
        k = self._kernel
        return k.call("div", k.call("add", size, k.call("sub", each, self._constant(1))), each)

    def _span(self, number: Value, share: Value, size: Value) -> tuple[Value, Value]:
        k = self._kernel
        start = k.call("mul", number, share)
        return start, k.call("min", k.call("add", start, share), size)

    def _scaled(self, coordinate: Value, stride: Value) -> Value:
        k = self._kernel
        return k.call("mul", k.converted(coordinate, "i64"), k.converted(stride, "i64"))

    def _start(self, number: int, places: Sequence[Value]) -> Value:
        k, start = self._kernel, self._kernel.constant(0, "i64")
        for place, stride in zip(places, self._strides[number], strict=False):
            if stride is not None:
                start = k.call("add", start, self._scaled(place, stride))
        return start

    def _row(self, number: int, start: Value, row: Value) -> Value:
        return self._kernel.call("add", start, self._scaled(row, self._along[number]))

    def _unit(
        self, starts: Sequence[Value], columns: tuple[Value, Value], rows: tuple[Value, Value]
    ) -> None:
        k, zero, one = self._kernel, self._constant(0), self._constant(1)
        if self._form.has_base:
            base, result = (k.number_of_address(p) for p in self._pointers[2:])
            with k.when(k.call("ne", base, result)):
                self._begun(starts, rows, columns)
        else:
            self._begun(starts, rows, columns)
        if self._form.is_dense:
            for column, _ in self._columns(columns, 1):
                with k.loop(zero, self._m, one) as number:
                    self._update_one(number, rows, starts, column)
            return
        with k.loop(zero, self._m, one) as number:
            if self._form.classes[0][-1] == "0":
                index = k.load(self._pointers[0], self._row(0, starts[0], number))
                values = self._row(1, starts[1], number)
                self._if_own(index, rows, starts, values, columns)
            else:
                for column, _ in self._columns(columns, 1):
                    self._update_one(number, rows, starts, column)

    def _update_one(
        self, number: Value, rows: tuple[Value, Value], starts: Sequence[Value], column: Value
    ) -> None:
        """Generate the update of one element for the index of a number."""
        at, values = (self._row(n, starts[n], number) for n in range(2))
        index = self._kernel.load(self._pointers[0], self._moved(0, at, column))
        self._if_own(index, rows, starts, values, (column, 1))

    def _if_own(
        self,
        index: Value,
        rows: tuple[Value, Value],
        starts: Sequence[Value],
        values: Value,
        columns: tuple[Value, Value | int],
    ) -> None:
        """Generate the update for an index if its row belongs to this item."""
        k = self._kernel
        low, high = (k.converted(row, index.type) for row in rows)
        is_own = k.call("and", k.call("ge", index, low), k.call("lt", index, high))
        with k.when(is_own):
            target = self._row(len(starts) - 1, starts[-1], k.converted(index, "i32"))
            if isinstance(columns[1], int):
                self._put(values, target, columns[0], columns[1])
                return
            for column, width in self._columns((columns[0], columns[1]), self._widest):
                self._put(values, target, column, width)

    @property
    def _widest(self) -> int:
        """Elements per vector: more than one if all value arrays are contiguous."""
        is_dense = all(kinds[-1] == "1" for kinds in self._form.classes[1:])
        return self._width if is_dense else 1

    def _columns(self, columns: tuple[Value, Value], width: int) -> Iterator[tuple[Value, int]]:
        """Generate loops over this item's columns; yield each with its number of elements."""
        k = self._kernel
        low, high = columns
        n_items = 1 if self._form.by_rows else self._form.schedule.n_items
        mine = self._constant(0) if self._form.by_rows else self._item
        if width > 1:
            step = self._constant(width * n_items)
            length = k.call("sub", high, low)
            vector_end = k.call("sub", high, k.call("rem", length, step))
            first = k.call("add", low, k.call("mul", mine, self._constant(width)))
            with k.loop(first, vector_end, step) as column:
                yield column, width
            low = vector_end
        with k.loop(k.call("add", low, mine), high, self._constant(n_items)) as column:
            yield column, 1

    def _moved(self, number: int, start: Value, column: Value) -> Value:
        k, kind = self._kernel, self._form.classes[number][-1]
        if kind == "0":
            return start
        if kind == "1":
            return k.call("add", start, k.converted(column, "i64"))
        stride = self._strides[number][-1]
        return k.call("add", start, self._scaled(column, stride))  # type: ignore[arg-type]

    def _begun(
        self, starts: Sequence[Value], rows: tuple[Value, Value], columns: tuple[Value, Value]
    ) -> None:
        """Generate the initialization of rows of the result, by rows unless columns are dense."""
        k, one = self._kernel, self._constant(1)
        numbers = range(2, len(starts))
        if self._form.is_joined:
            tops = [self._moved(n, starts[n], columns[0]) for n in numbers]
            length = k.call("mul", k.call("sub", columns[1], columns[0]), self._n)
            for at, width in self._columns((self._constant(0), length), self._width):
                self._begin([k.call("add", top, k.converted(at, "i64")) for top in tops], width)
            return
        if self._form.is_dense:
            for column, _ in self._columns(columns, 1):
                tops = [self._moved(n, starts[n], column) for n in numbers]
                for row, width in self._columns(rows, self._width):
                    step = k.converted(row, "i64")
                    self._begin([k.call("add", top, step) for top in tops], width)
            return
        with k.loop(*rows, one) as row:
            lefts = [self._row(n, starts[n], row) for n in numbers]
            for column, width in self._columns(columns, self._widest):
                lines = zip(numbers, lefts, strict=True)
                self._begin([self._moved(n, left, column) for n, left in lines], width)

    def _begin(self, places: Sequence[Value], width: int) -> None:
        """Generate the initialization of elements at places of the base and the result."""
        k = self._kernel
        if self._form.has_base:
            v = k.load(self._pointers[2], places[0], width)
        else:
            v = k.constant(0, self._pointers[-1].type, width)
        k.store(self._pointers[-1], places[-1], v)

    def _put(self, values: Value, target: Value, column: Value, width: int) -> None:
        k, dtype, result = self._kernel, self._form.dtype, len(self._pointers) - 1
        v = k.load(self._pointers[1], self._moved(1, values, column), width)
        at = self._moved(result, target, column)
        write = WRITERS[self._form.combined] if self._form.combined else None
        if write:
            old = from_memory(k, k.load(self._pointers[result], at, width), dtype)
            total = write(k, old, from_memory(k, v, dtype))
            v = to_memory(k, rounded(k, total, dtype), dtype)
        k.store(self._pointers[result], at, v)
