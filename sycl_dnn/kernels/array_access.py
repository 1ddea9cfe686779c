# SPDX-License-Identifier: Apache-2.0
"""Array accesses and term values while a kernel is being generated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sycl_dnn.kernels import indexed_elements, transposed_tiles
from sycl_dnn.kernels.expression import INDEXED, REGISTERS, Term, from_memory, to_memory, write
from sycl_dnn.kernels.forms import AnyForm
from sycl_dnn.kernels.reduced_axes import ReducedAxes
from sycl_dnn.kernels.spirv import Kernel, Value

Strides = Sequence[Sequence[Value | None]]


class ArrayAccess:
    """Accesses of a kernel to its arrays: inputs, sources, coordinates, results, any others.

    pointers : sequence of (Value or None), None for coordinates, which no array holds
    strides : sequence of sequence of (Value or None), of each array along each axis; None where the
        stride class determines it
    indexed : sequence of sequence of (Value, Value), of each source, size and stride of each axis
        that an index names
    passed : numbers of the expression
    width : elements of a vector; by default, those of the form
    """

    def __init__(
        self,
        kernel: Kernel,
        form: AnyForm,
        pointers: Sequence[Value | None],
        strides: Strides,
        indexed: Sequence[Sequence[tuple[Value, Value]]],
        passed: Sequence[Value] = (),
        width: int = 0,
    ) -> None:
        self.kernel, self.expression = kernel, form.expression
        self.width = width or form.schedule.width
        self._lanes, self._form = form.schedule.lanes, form
        self._classes, self._pointers, self._strides = form.classes, pointers, strides
        self._indexed, self.passed = indexed, passed

    def of_width(self, width: int) -> ArrayAccess:
        """Return the access to vectors of another length, such as single elements."""
        args = self._pointers, self._strides, self._indexed, self.passed, width
        return ArrayAccess(self.kernel, self._form, *args)

    def __len__(self) -> int:
        return len(self._pointers)

    def _address(self, number: int) -> Value:
        pointer = self._pointers[number]
        assert pointer is not None
        return pointer

    def _scaled(self, coordinate: Value, stride: Value) -> Value:
        k = self.kernel
        return k.call("mul", k.converted(coordinate, "i64"), k.converted(stride, "i64"))

    def moved(self, starts: Sequence[Value], coordinates: Mapping[int, Value]) -> list[Value]:
        """Return the array offsets advanced by coordinates."""
        moved = list(starts)
        for n, strides in enumerate(self._strides):
            for axis, coordinate in coordinates.items():
                stride = strides[axis]
                if stride is not None:
                    moved[n] = self.kernel.call("add", moved[n], self._scaled(coordinate, stride))
        return moved

    def _indices(self, number: int, start: Value, at: Value | None) -> list[Value]:
        """Return the index of the vector, or of each lane if they are not contiguous."""
        k, kind = self.kernel, self._classes[number][self._lanes]
        if kind == "0" or at is None:
            return [start]
        if kind == "1":
            return [k.call("add", start, k.converted(at, "i64"))]
        stride = self._strides[number][self._lanes]
        assert stride is not None
        first = k.call("add", start, self._scaled(at, stride))
        # Values that do not depend on the vector are computed before the loops.
        shifts = [self._scaled(k.constant(n, "i32"), stride) for n in range(self.width)]
        return [k.call("add", first, shift) for shift in shifts]

    def bits(self, number: int, start: Value, at: Value | None) -> Value:
        """Load elements in their memory type; a single one if they are equal along the vector."""
        k, pointer = self.kernel, self._address(number)
        indices = self._indices(number, start, at)
        is_vector = self._classes[number][self._lanes] == "1" and at is not None
        if is_vector:
            return k.load(pointer, indices[0], self.width)
        return k.joined([k.load(pointer, index) for index in indices])

    def is_tiled(self, number: int) -> bool:
        """Whether an array has tiles: vectors cross rows that are contiguous in memory."""
        kinds = self._classes[number]
        return kinds[self._lanes] == "n" and "t" in kinds

    def columns(self, number: int, start: Value, at: Value, n: int) -> list[Value]:
        """Load ``n`` neighbors of each element of a vector; return the vectors of all, as bits."""
        k, pointer = self.kernel, self._address(number)
        rows = [k.load(pointer, index, n) for index in self._indices(number, start, at)]
        return transposed_tiles.columns_of(k, rows)

    def put_columns(self, number: int, start: Value, at: Value, columns: Sequence[Value]) -> None:
        """Store the elements of a vector with their neighbors, as bits."""
        k, pointer = self.kernel, self._address(number)
        rows = transposed_tiles.rows_of(k, [k.repeated(v, self.width) for v in columns])
        for index, row in zip(self._indices(number, start, at), rows, strict=True):
            k.store(pointer, index, row)

    def put(self, number: int, start: Value, at: Value | None, bits: Value) -> None:
        """Store elements in their memory type; a single one if the stride class is 0."""
        k, pointer = self.kernel, self._address(number)
        indices = self._indices(number, start, at)
        if self._classes[number][self._lanes] != "0" and at is not None:
            bits = k.repeated(bits, self.width)
        if len(indices) == 1:
            k.store(pointer, indices[0], bits)
            return
        for lane, index in enumerate(indices):
            k.store(pointer, index, k.lane(bits, lane))

    def loaded(self, number: int, start: Value, at: Value | None) -> Value:
        """Return elements of an input."""
        bits = self.bits(number, start, at)
        return from_memory(self.kernel, bits, self.expression.inputs[number])

    def stored(self, number: int, start: Value, at: Value | None, v: Value) -> None:
        """Write elements of a result."""
        result = self.expression.results[number - self.expression.first_result]
        self.put(number, start, at, to_memory(self.kernel, v, self.expression.dtype_of(result)))

    def coordinate(self, number: int, start: Value, at: Value | None) -> Value:
        """Return coordinates of elements, as i32."""
        kind, stride = self._classes[number][self._lanes], self._strides[number][self._lanes]
        return indexed_elements.coordinates(self.kernel, kind, stride, start, at, self.width)

    def gathered(
        self, number: int, start: Value, at: Value | None, indices: Sequence[Value]
    ) -> Value:
        """Return the elements of a source that indices name."""
        k, source = self.kernel, number - len(self.expression.inputs)
        dtype = self.expression.sources[source].dtype
        of_all, rest = indexed_elements.offsets_of(k, indices, self._indexed[source])
        start = k.call("add", start, k.converted(of_all, "i64"))
        if rest.width == 1:
            return from_memory(k, self.bits(number, start, at), dtype)
        along = self.coordinate(number, k.constant(0, "i64"), at)
        elements = indexed_elements.loaded_lanes(
            k, self._address(number), start, k.call("add", rest, along),
            in_one=self._form.schedule.n_items == 1,
        )  # fmt: skip
        return from_memory(k, elements, dtype)


class Scope:
    """Values of terms at one point of the kernel.

    values : values computed so far, by index of the input or term
    row : local memory of a term of all elements along the reduced axes, or of vectors of it
    held : indices of results that are not stored, but kept for ``store_tiles``
    """

    def __init__(
        self,
        arrays: ArrayAccess,
        axes: ReducedAxes,
        starts: Sequence[Value] | None = None,
        counted: Value | None = None,
        at: Value | None = None,
        values: Mapping[int, Value] | None = None,
        row: Value | None = None,
    ) -> None:
        zero = arrays.kernel.constant(0, "i64")
        self.arrays, self._axes, self._at = arrays, axes, at
        self._starts = [zero] * len(arrays) if starts is None else starts
        self._counted = counted
        self.values, self.row = dict(values or {}), row
        self.held: set[int] = set()

    def moved(self, coordinates: Mapping[int, Value]) -> Scope:
        """Return the scope further along axes without vectors."""
        starts, counted = self.arrays.moved(self._starts, coordinates), self._counted
        for axis, coordinate in coordinates.items():
            if axis in self._axes.looped:
                counted = self._axes.counted(counted, axis, coordinate)
        return Scope(self.arrays, self._axes, starts, counted, self._at, self.values, self.row)

    def at(self, at: Value) -> Scope:
        """Return the scope of a vector, by its first coordinate."""
        places = self._starts, self._counted, at
        return Scope(self.arrays, self._axes, *places, self.values, self.row)

    def of_width(self, width: int) -> Scope:
        """Return the scope of vectors of another length, such as single elements."""
        places = self._starts, self._counted, self._at
        return Scope(self.arrays.of_width(width), self._axes, *places, self.values)

    def counted(self) -> Value:
        """Return the indices of the elements among the reduced ones, as i32."""
        k, axis = self.arrays.kernel, self._axes.lanes
        if axis not in self._axes.looped:
            assert self._counted is not None
            return self._counted
        assert self._at is not None
        width = self.arrays.width
        lanes = k.call("add", k.repeated(self._at, width), k.counting("i32", width))
        return self._axes.counted(self._counted, axis, lanes)

    def compute(self, numbers: Iterable[int]) -> None:
        """Generate inputs and terms in order, each after its operands."""
        n_inputs = len(self.arrays.expression.inputs)
        for n in numbers:
            if n in self.values:
                continue
            if n < n_inputs:
                self.values[n] = self.arrays.loaded(n, self._starts[n], self._at)
            else:
                self.values[n] = self._term(self.arrays.expression.terms[n - n_inputs])

    def _term(self, term: Term) -> Value:
        arrays, expression = self.arrays, self.arrays.expression
        operands = [self.values[operand] for operand in term.operands]
        if term.operation in INDEXED:
            number = expression.array_of(term)
            start = self._starts[number]
            if term.operation == "gather":
                return arrays.gathered(number, start, self._at, operands)
            coordinate = arrays.coordinate(number, start, self._at)
            return arrays.kernel.converted(coordinate, REGISTERS[term.dtype])
        return write(arrays.kernel, term, operands, arrays.passed)

    def store(self, results: Iterable[int]) -> None:
        """Store results, given by their indices."""
        expression = self.arrays.expression
        for place in results:
            if place in self.held:
                continue
            number = expression.first_result + place
            value = self.values[expression.results[place]]
            self.arrays.stored(number, self._starts[number], self._at, value)

    def load_tiles(self, numbers: Iterable[int], scopes: Sequence[Scope]) -> None:
        """Load tiled inputs of this scope and the neighbors after it; ``scopes`` are all."""
        arrays = self.arrays
        for n in numbers:
            if n < len(arrays.expression.inputs) and arrays.is_tiled(n) and self._at is not None:
                columns = arrays.columns(n, self._starts[n], self._at, len(scopes))
                for scope, bits in zip(scopes, columns, strict=True):
                    value = from_memory(arrays.kernel, bits, arrays.expression.inputs[n])
                    scope.values[n] = value

    def tiled(self, results: Iterable[int]) -> set[int]:
        """Return those of some results that are stored as tiles."""
        first = self.arrays.expression.first_result
        return {place for place in results if self.arrays.is_tiled(first + place)}

    def store_tiles(self, scopes: Sequence[Scope]) -> None:
        """Store the held results of this scope and the neighbors after it."""
        arrays, expression = self.arrays, self.arrays.expression
        for place in sorted(self.held):
            number, result = expression.first_result + place, expression.results[place]
            dtype = expression.dtype_of(result)
            bits = [to_memory(arrays.kernel, s.values[result], dtype) for s in scopes]
            if self._at is not None:
                arrays.put_columns(number, self._starts[number], self._at, bits)

    def keep(self, term: int, place: int | None) -> None:
        """Store a term in the memory of a result, or in local memory."""
        arrays = self.arrays
        if place is not None:
            number = arrays.expression.first_result + place
            arrays.stored(number, self._starts[number], self._at, self.values[term])
        elif self.row is not None:
            vector = arrays.kernel.repeated(self.values[term], arrays.width)
            arrays.kernel.share(self.row, self._place_in_row(), vector)

    def read_back(self, term: int, place: int | None) -> None:
        """Load a term that ``keep`` stored."""
        arrays = self.arrays
        if place is not None:
            number = arrays.expression.first_result + place
            dtype = arrays.expression.dtype_of(term)
            self.values[term] = from_memory(arrays.kernel, self.bits(number), dtype)
        elif self.row is not None:
            place_in_row = self._place_in_row()
            self.values[term] = arrays.kernel.shared(self.row, place_in_row, arrays.width)

    def read(self, term: int, memory: Value) -> None:
        """Load a term from local memory, which has it for all elements along the vectors."""
        assert self._at is not None
        self.values[term] = self.arrays.kernel.shared(memory, self._at, self.arrays.width)

    def _place_in_row(self) -> Value:
        k = self.arrays.kernel
        if self._axes.lanes in self._axes.looped:
            assert self._at is not None
            return self._at
        return k.call("mul", self.counted(), k.constant(self.arrays.width, "i32"))

    def bits(self, number: int) -> Value:
        """Load elements of an array in their memory type."""
        return self.arrays.bits(number, self._starts[number], self._at)

    def put(self, number: int, bits: Value) -> None:
        """Store elements of an array in their memory type."""
        self.arrays.put(number, self._starts[number], self._at, bits)
