# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of element-wise expressions, for broadcast operands in any layout."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from sycl_dnn.kernels import indexed_elements
from sycl_dnn.kernels.elementwise_schedule import Grid, Schedule, kept_terms, steady_along
from sycl_dnn.kernels.expression import (
    IN_MEMORY,
    REGISTERS,
    Expression,
    from_memory,
    to_memory,
    write,
)
from sycl_dnn.kernels.spirv import Kernel, Value
from sycl_dnn.kernels.unit_loops import unit_loop


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

    ``indexed`` has the numbers of the expression, then size and stride of each gathered axis, and
    the ends of a run.
    """
    share = -(-n_units // n_groups)
    return [share, n_units, *grid.sizes, *grid.passed_strides, *indexed]


def parameters_of(form: Form) -> list[tuple[str, str]]:
    """Return the parameters of a kernel.

    Inputs, sources, results; units per group and number of units; sizes of the axes; strides of
    class n; numbers of the expression; size and stride of each gathered axis; ends of a run.
    """
    expression = form.expression
    dtypes = [*expression.inputs, *[source.dtype for source in expression.sources]]
    dtypes += map(expression.dtype_of, expression.results)
    n_strides = sum(kinds.count("n") for kinds in form.classes)
    n_numbers = 2 + len(form.classes[0]) + n_strides + 2 * expression.n_indices
    n_numbers += expression.n_passed + 2 * form.schedule.has_run
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
        self._run = [next(supply) for _ in range(2 * form.schedule.has_run)]
        self._item = kernel.number_of("item")
        #: By term: the local memory of its values, which are equal in all rows.
        self._kept: dict[int, Value] = {}

    def _constant(self, value: int) -> Value:
        return self._kernel.constant(value, "i32")

    def write(self) -> None:
        """Generate the loop over the units of a group, which are parts of an axis in sequence."""
        k, one = self._kernel, self._constant(1)
        if self._schedule.kept_row:
            self._keep()
        axis, length = self._schedule.cut
        pieces = self._schedule.pieces
        offsets = [self._constant(n) for n in itertools.accumulate(pieces[:-1], initial=0)]
        outer, size, span = self._sizes[:axis], self._sizes[axis], self._constant(length)
        n_parts = k.call("div", k.call("add", size, k.call("sub", span, one)), span)
        first = k.call("mul", k.number_of("group"), self._each)
        last = k.call("min", k.call("add", first, self._each), self._n_units)
        with unit_loop(k, first, last, [*outer, n_parts]) as (*places, part):
            start = k.call("mul", part, span)
            stop = k.call("min", k.call("add", start, span), size)
            starts = self._starts(places)
            if axis == -1:
                self._along(starts, start, stop)
            elif pieces:
                self._rows((start, stop), starts, offsets, pieces)
            elif self._schedule.in_columns:
                with self._runs() as run:
                    self._along(starts, *run, (start, stop))
            else:
                with k.loop(start, stop, one) as row:
                    row_starts = self._row_starts(starts, row)
                    self._along(row_starts, self._constant(0), self._sizes[-1])

    @contextlib.contextmanager
    def _runs(self) -> Iterator[tuple[Value, Value]]:
        """Generate the loop over the parts of a row: before a run, the run, after it."""
        k, ends = self._kernel, [self._constant(0), *self._run, self._sizes[-1]]
        if not self._run:
            yield ends[0], ends[1]
            return
        with k.loop(self._constant(0), self._constant(3), self._constant(1)) as part:
            is_first, is_run = (k.call("eq", part, self._constant(n)) for n in (0, 1))
            start = k.select(is_first, ends[0], k.select(is_run, ends[1], ends[2]))
            yield start, k.select(is_first, ends[1], k.select(is_run, ends[2], ends[3]))

    def _keep(self) -> None:
        """Generate the values that are equal in all rows, in local memory."""
        k, width, size = self._kernel, self._schedule.width, self._sizes[-1]
        numbers = kept_terms(self._expression, self._classes)
        kept = {n: k.group_memory("f32", self._schedule.kept_row) for n in numbers}
        starts = self._starts([])
        n_single = k.call("rem", size, self._constant(width))
        end = k.call("sub", size, n_single)
        for first, last, length in ((self._constant(0), end, width), (end, size, 1)):
            with k.loop(first, last, self._constant(length)) as place:
                values = self._values(starts, place, length, numbers)
                for n, memory in kept.items():
                    k.share(memory, place, k.repeated(values[n], length))
        self._kept = kept

    def _reread(self, number: int, place: Value, width: int) -> Value:
        return self._kernel.shared(self._kept[number], place, width)

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
        steady = {} if rows else self._values(starts, start, 1, self._steady(-1))

        def at(place: Value, width: int) -> None:
            if rows:
                self._rows(rows, starts, [place], [width])
            else:
                self._elements(starts, place, width, steady)

        stride = self._constant(width * n_items)
        length = k.call("sub", stop, start)
        vector_end = k.call("sub", stop, k.call("rem", length, stride))
        mine = k.call("mul", self._item, self._constant(width))
        with k.loop(k.call("add", start, mine), vector_end, stride) as place:
            at(place, width)
        if self._expression.n_places and n_items == 1:
            # One overlapping vector instead of single elements, since rows of images are short.
            enough = k.call("ge", length, self._constant(width))
            with k.when(k.call("and", enough, k.call("lt", vector_end, stop))):
                at(k.call("sub", stop, self._constant(width)), width)
            vector_end = k.select(enough, stop, vector_end)
        with k.loop(k.call("add", vector_end, self._item), stop, self._constant(n_items)) as place:
            at(place, 1)

    def _rows(
        self,
        rows: tuple[Value, Value],
        starts: list[Value],
        places: Sequence[Value],
        widths: Sequence[int],
    ) -> None:
        """Generate a loop over rows; in each, the vectors at some places.

        What is equal in all rows, such as the numbers of a channel, is computed before.
        """
        of_all = self._steady(-2)
        of_row = [n for n in self._steady(-1) if n not in of_all]
        vectors = list(zip(places, widths, strict=True))
        steady = [self._values(starts, place, width, of_all) for place, width in vectors]
        with self._kernel.loop(*rows, self._constant(1)) as row:
            row_starts = self._row_starts(starts, row)
            values = self._values(row_starts, places[0], 1, of_row, steady[0])
            uniform = {n: values[n] for n in of_row}
            for (place, width), of_place in zip(vectors, steady, strict=True):
                self._elements(row_starts, place, width, uniform | of_place)

    def _row_starts(self, starts: list[Value], row: Value) -> list[Value]:
        """Return each array's offset at a row."""
        pairs = zip(starts, [of[-2] for of in self._strides], strict=True)
        return [self._sum([start, self._scaled(row, s)]) if s else start for start, s in pairs]

    def _steady(self, axis: int) -> list[int]:
        """Return the inputs and terms that are the same all along an axis, in order."""
        return sorted(steady_along(axis, self._expression, self._classes))

    def _elements(
        self, starts: list[Value], place: Value, width: int, existing: Mapping[int, Value]
    ) -> None:
        """Generate the elements of a vector, some of whose values exist."""
        k, expression = self._kernel, self._expression
        values = self._values(starts, place, width, expression.results, existing)
        for n, result in enumerate(expression.results, self._n_read):
            value = to_memory(k, k.repeated(values[result], width), expression.dtype_of(result))
            index = k.call("add", starts[n], k.converted(place, "i64"))
            k.store(self._pointers[n], index, value)

    def _values(
        self,
        starts: list[Value],
        place: Value,
        width: int,
        numbers: Sequence[int],
        existing: Mapping[int, Value] = MappingProxyType({}),
    ) -> dict[int, Value]:
        """Generate inputs and terms with what they depend on; return the values by number."""
        k, expression = self._kernel, self._expression
        n_inputs = len(expression.inputs)
        needed = expression.needed(numbers, {*existing, *self._kept})
        read = {*numbers, *[operand for n in needed for operand in expression.operands_of(n)]}
        values = {n: self._reread(n, place, width) for n in self._kept if n in read}
        values |= existing
        for n in needed:
            if n < n_inputs:
                loaded = self._loaded(n, starts[n], place, width)
                values[n] = from_memory(k, loaded, expression.inputs[n])
                continue
            term = expression.terms[n - n_inputs]
            operands = [values[operand] for operand in term.operands]
            attributes = dict(term.attributes)
            if term.operation == "gather":
                source = attributes["source"]
                start = starts[n_inputs + source]
                values[n] = self._gathered(source, start, place, width, operands)
            elif term.operation == "iota":
                number = len(starts) - expression.n_places + attributes["place"]
                coordinate = self._along_axis(number, place, width, starts[number])
                values[n] = k.converted(coordinate, REGISTERS[term.dtype])
            else:
                values[n] = write(k, term, operands, self._passed)
        return values

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
        of_all, rest = indexed_elements.offsets_of(k, indices, self._indexed[source])
        start = k.call("add", start, k.converted(of_all, "i64"))
        if rest.width == 1:
            return from_memory(k, self._loaded(number, start, place, width), dtype)
        along = self._along_axis(number, place, width, k.constant(0, "i64"))
        elements = indexed_elements.loaded_lanes(
            k, self._pointers[number], start, k.call("add", rest, along),
            in_one=self._schedule.n_items == 1,
        )  # fmt: skip
        return from_memory(k, elements, dtype)
