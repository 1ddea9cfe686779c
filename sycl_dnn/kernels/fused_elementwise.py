# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of element-wise expressions, for broadcast operands in any layout."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.kernels import indexed_elements
from sycl_dnn.kernels.expression import (
    IN_MEMORY,
    REGISTERS,
    Expression,
    from_memory,
    to_memory,
    write,
)
from sycl_dnn.kernels.spirv import Kernel, Value


class Schedule(NamedTuple):
    """The work distribution of a kernel.

    Attributes
    ----------
    width : int
        Elements per vector of a work-item.
    n_items : int
        Work-items per group.
    span : int
        Elements along the innermost axis that a group processes at a time.
    n_rows : int
        Rows that a group processes at a time, one vector of all of them before the next.
    """

    width: int
    n_items: int
    span: int
    n_rows: int = 1

    @property
    def cut(self) -> tuple[int, int]:
        """The axis that units divide, and the length of a unit along it."""
        return (-2, self.n_rows) if self.n_rows > 1 else (-1, self.span)


ON_CPU = Schedule(width=16, n_items=1, span=4096)
ON_GPU = Schedule(width=4, n_items=64, span=1024)
#: Length of short rows -> vectors that may suit them, and rows at a time, which stay in the cache.
_SHORT_ROWS = {32: ((16, 8, 4), 64), 128: ((16, 8), 16)}


def on_cpu(sizes: Sequence[int], *, overlaps: bool) -> Schedule:
    """Return the schedule for axes of these sizes on a CPU.

    Short rows have the vectors that leave the fewest single elements, and the loop over vectors
    is outside that over rows, which would otherwise start and end loops all the time.
    ``overlaps``: the last vector of a row overlaps the one before it.
    """
    row = sizes[-1]

    def n_steps(width: int) -> int:
        n_vectors, rest = divmod(row, width)
        return n_vectors + (1 if rest and n_vectors and overlaps else rest)

    for longest, (widths, n_rows) in _SHORT_ROWS.items():
        if len(sizes) > 1 and row <= longest:
            return ON_CPU._replace(width=min(widths, key=n_steps), n_rows=n_rows)
    return ON_CPU


class Grid(NamedTuple):
    """The iteration space of a kernel, with as few axes as possible.

    Attributes
    ----------
    sizes : tuple of int
        Outermost first; at least one.
    strides : tuple of tuple of int
        Of each array along each axis, in elements.
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
        """Raise NotImplementedError for arrays of 2**31 elements: kernels use 32-bit indices."""
        for along in self.strides:
            span = 1 + sum((n - 1) * s for n, s in zip(self.sizes, along, strict=True))
            if span >= 1 << 31:
                raise NotImplementedError(
                    f"{name}: arrays must span fewer than 2**31 elements, got {span}"
                )


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


class Form(NamedTuple):
    """Compile-time properties of a kernel; sizes and strides are passed at launch."""

    expression: Expression
    classes: tuple[str, ...]
    schedule: Schedule


@functools.lru_cache(maxsize=1024)
def name_of(form: Form) -> str:
    """Return a unique kernel name that contains its last operations."""
    digest = hashlib.sha256(repr(form).encode()).hexdigest()[:12]
    operations = "_".join(t.operation for t in form.expression.terms[-3:])
    return f"{operations or 'copy'}_{digest}"


def numbers_of(grid: Grid, n_groups: int, n_units: int, indexed: Sequence[int] = ()) -> list[int]:
    """Return the scalar arguments of a launch, in the order of the kernel's parameters.

    ``indexed`` has the numbers of the expression, then size and stride of each gathered axis.
    """
    share = -(-n_units // n_groups)
    return [share, n_units, *grid.sizes, *grid.passed_strides, *indexed]


def units_of(grid: Grid, schedule: Schedule) -> int:
    """Return the number of work units, each a span along the innermost axis, or some rows."""
    axis, length = schedule.cut
    return math.prod(grid.sizes[:axis]) * -(-grid.sizes[axis] // length)


def divided(k: Kernel, number: Value, sizes: Sequence[Value]) -> list[Value]:
    """Generate the decomposition of an index into coordinates, outermost first."""
    coordinates = []
    for size in reversed(sizes):
        coordinates.append(k.call("rem", number, size))
        number = k.call("div", number, size)
    return coordinates[::-1]


def count_on(k: Kernel, coordinates: Sequence[Value], sizes: Sequence[Value]) -> None:
    """Generate the increment of coordinate variables to the next index."""
    zero, carry = k.constant(0, "i32"), k.constant(1, "i32")
    for variable, size in zip(reversed(coordinates), reversed(sizes), strict=True):
        incremented = k.call("add", k.current(variable), carry)
        is_over = k.call("eq", incremented, size)
        k.assign(variable, k.select(is_over, zero, incremented))
        carry = k.select(is_over, k.constant(1, "i32"), zero)


def parameters_of(form: Form) -> list[tuple[str, str]]:
    """Return the parameters of a kernel.

    Inputs, sources, results; units per group and number of units; sizes of the axes; strides of
    class n; numbers of the expression; size and stride of each gathered axis.
    """
    expression = form.expression
    dtypes = [*expression.inputs, *[source.dtype for source in expression.sources]]
    dtypes += map(expression.dtype_of, expression.results)
    n_strides = sum(kinds.count("n") for kinds in form.classes)
    n_numbers = 2 + len(form.classes[0]) + n_strides + 2 * expression.n_indices
    n_numbers += expression.n_passed
    pointers = [("pointer", IN_MEMORY.get(d, REGISTERS[d])) for d in dtypes]
    return [*pointers, *[("value", "i32")] * n_numbers]


@functools.lru_cache(maxsize=1024)
def module_of(form: Form) -> bytes:
    """Return the SPIR-V module of a kernel."""
    kernel = Kernel(name_of(form), parameters_of(form), form.schedule.n_items)
    ElementwiseWriter(form, kernel, kernel.parameters).write()
    return kernel.module()


class ElementwiseWriter:
    """The code generator of a kernel, or of a part of one, with the parameters of a form."""

    def __init__(self, form: Form, kernel: Kernel, parameters: Sequence[Value]) -> None:
        expression, self._schedule = form.expression, form.schedule
        self._expression, self._kernel = expression, kernel
        self._n_read = len(expression.inputs) + len(expression.sources)
        n_arrays, n_axes = self._n_read + len(expression.results), len(form.classes[0])
        self._pointers = parameters[:n_arrays]
        supply = iter(parameters[n_arrays:])
        self._each, self._n_units = next(supply), next(supply)
        self._sizes = [next(supply) for _ in range(n_axes)]
        self._classes = form.classes
        self._strides = [
            [next(supply) if kind == "n" else None for kind in kinds] for kinds in form.classes
        ]
        self._passed = [next(supply) for _ in range(expression.n_passed)]
        #: Size and stride of each gathered axis, by source.
        self._indexed = [
            [(next(supply), next(supply)) for _ in range(source.n_indices)]
            for source in expression.sources
        ]
        self._item = kernel.number_of("item")

    def _constant(self, value: int) -> Value:
        return self._kernel.constant(value, "i32")

    def write(self) -> None:
        """Generate the loop over the units of a group, which are parts of an axis in sequence."""
        k, one = self._kernel, self._constant(1)
        axis, length = self._schedule.cut
        outer, size, span = self._sizes[:axis], self._sizes[axis], self._constant(length)
        n_parts = k.call("div", k.call("add", size, k.call("sub", span, one)), span)
        first = k.call("mul", k.number_of("group"), self._each)
        last = k.call("min", k.call("add", first, self._each), self._n_units)
        # Coordinates are incremented, since divisions would cost as much as a short row.
        sizes = [*outer, n_parts] if outer else []
        coordinates = [k.variable(c) for c in divided(k, first, sizes)]
        with k.loop(first, last, one) as unit:
            *places, part = [k.current(c) for c in coordinates] or [unit]
            start = k.call("mul", part, span)
            stop = k.call("min", k.call("add", start, span), size)
            starts = self._starts(places)
            if axis == -1:
                self._along(starts, start, stop)
            else:
                self._along(starts, self._constant(0), self._sizes[-1], (start, stop))
            count_on(k, coordinates, sizes)

    def _starts(self, coordinates: list[Value]) -> list[Value]:
        """Return each array's offset at the outer coordinates."""
        return [
            self._sum([self._scaled(c, s) for c, s in zip(coordinates, of, strict=False) if s])
            for of in self._strides
        ]

    def _scaled(self, coordinate: Value, stride: Value) -> Value:
        k = self._kernel
        return k.call("mul", k.converted(coordinate, "i64"), k.converted(stride, "i64"))

    def _sum(self, offsets: list[Value]) -> Value:
        total = self._kernel.constant(0, "i64")
        for offset in offsets:
            total = self._kernel.call("add", total, offset)
        return total

    def _along(
        self, starts: list[Value], start: Value, stop: Value,
        rows: tuple[Value, Value] | None = None,
    ) -> None:  # fmt: skip
        """Generate the loops along the innermost axis: over vectors, then single elements."""
        k, schedule = self._kernel, self._schedule
        width, n_items = schedule.width, schedule.n_items
        stride = self._constant(width * n_items)
        length = k.call("sub", stop, start)
        vector_end = k.call("sub", stop, k.call("rem", length, stride))
        mine = k.call("mul", self._item, self._constant(width))
        with k.loop(k.call("add", start, mine), vector_end, stride) as place:
            self._in_rows(rows, starts, place, width)
        if self._expression.n_places and n_items == 1:
            # One overlapping vector instead of single elements, since rows of images are short.
            enough = k.call("ge", length, self._constant(width))
            with k.when(k.call("and", enough, k.call("lt", vector_end, stop))):
                self._in_rows(rows, starts, k.call("sub", stop, self._constant(width)), width)
            vector_end = k.select(enough, stop, vector_end)
        with k.loop(k.call("add", vector_end, self._item), stop, self._constant(n_items)) as place:
            self._in_rows(rows, starts, place, 1)

    def _in_rows(
        self, rows: tuple[Value, Value] | None, starts: list[Value], place: Value, width: int
    ) -> None:
        """Generate the elements at a place of one row, or a loop over several."""
        if rows is None:
            self._elements(starts, place, width)
            return
        with self._kernel.loop(*rows, self._constant(1)) as row:
            steps = [of[-2] for of in self._strides]
            pairs = zip(starts, steps, strict=True)
            of_row = [
                self._sum([start, self._scaled(row, s)]) if s else start for start, s in pairs
            ]
            self._elements(of_row, place, width)

    def _elements(self, starts: list[Value], place: Value, width: int) -> None:
        k, expression = self._kernel, self._expression
        n_inputs = len(expression.inputs)
        values = [
            from_memory(k, self._loaded(n, starts[n], place, width), dtype)
            for n, dtype in enumerate(expression.inputs)
        ]
        for term in expression.terms:
            operands = [values[n] for n in term.operands]
            attributes = dict(term.attributes)
            if term.operation == "gather":
                number = attributes["source"]
                start = starts[n_inputs + number]
                values.append(self._gathered(number, start, place, width, operands))
            elif term.operation == "iota":
                number = len(starts) - expression.n_places + attributes["place"]
                coordinate = self._along_axis(number, place, width, starts[number])
                values.append(k.converted(coordinate, REGISTERS[term.dtype]))
            else:
                values.append(write(k, term, operands, self._passed))
        for n, result in enumerate(expression.results, self._n_read):
            value = to_memory(k, k.repeated(values[result], width), expression.dtype_of(result))
            index = k.call("add", starts[n], k.converted(place, "i64"))
            k.store(self._pointers[n], index, value)

    def _loaded(self, number: int, start: Value, place: Value, width: int) -> Value:
        """Load elements of an array; a single one if it is constant along the innermost axis."""
        k, pointer = self._kernel, self._pointers[number]
        kind, stride = self._classes[number][-1], self._strides[number][-1]
        if kind == "0":
            return k.load(pointer, start)
        if kind == "1":
            return k.load(pointer, k.call("add", start, k.converted(place, "i64")), width)
        lanes = []
        for lane in range(width):
            column = k.call("add", place, self._constant(lane))
            index = k.call("add", start, self._scaled(column, stride))  # type: ignore[arg-type]
            lanes.append(k.load(pointer, index))
        return k.joined(lanes)

    def _along_axis(self, number: int, place: Value, width: int, start: Value) -> Value:
        kind, stride = self._classes[number][-1], self._strides[number][-1]
        return indexed_elements.coordinates(self._kernel, kind, stride, start, place, width)

    def _gathered(
        self, source: int, start: Value, place: Value, width: int, indices: Sequence[Value]
    ) -> Value:
        """Return the elements of a source that indices name."""
        k, number = self._kernel, len(self._expression.inputs) + source
        dtype = self._expression.sources[source].dtype
        total = indexed_elements.offset_of(k, indices, self._indexed[source])
        if total.width == 1:
            start = k.call("add", start, k.converted(total, "i64"))
            return from_memory(k, self._loaded(number, start, place, width), dtype)
        along = self._along_axis(number, place, width, k.constant(0, "i64"))
        elements = indexed_elements.loaded_lanes(
            k, self._pointers[number], start, k.call("add", total, along),
            in_one=self._schedule.n_items == 1,
        )  # fmt: skip
        return from_memory(k, elements, dtype)
