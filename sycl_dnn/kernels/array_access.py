# SPDX-License-Identifier: Apache-2.0
"""Array accesses and term values while a kernel is being generated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sycl_dnn.kernels.expression import from_memory, to_memory, write
from sycl_dnn.kernels.reduced_axes import ReducedAxes
from sycl_dnn.kernels.reduction_form import ReductionForm
from sycl_dnn.kernels.spirv import Kernel, Value


class ArrayAccess:
    """Reads and writes of a kernel's arrays.

    Parameters
    ----------
    kernel : Kernel
    form : ReductionForm
    pointers : sequence of Value
    strides : sequence of sequence of (Value or None)
        Of each array along each axis; None if the class determines it.
    """

    def __init__(
        self,
        kernel: Kernel,
        form: ReductionForm,
        pointers: Sequence[Value],
        strides: Sequence[Sequence[Value | None]],
    ) -> None:
        self.kernel, self.expression = kernel, form.expression
        self.width, self._lanes = form.schedule.width, form.schedule.lanes
        self._classes, self._pointers, self._strides = form.classes, pointers, strides

    def __len__(self) -> int:
        return len(self._pointers)

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
        lanes = [k.call("add", at, k.constant(n, "i32")) for n in range(self.width)]
        return [k.call("add", start, self._scaled(lane, stride)) for lane in lanes]  # type: ignore[arg-type]

    def loaded(self, number: int, start: Value, at: Value | None) -> Value:
        """Load elements of an input; a single one if it is constant along the vector."""
        k, pointer = self.kernel, self._pointers[number]
        indices = self._indices(number, start, at)
        if len(indices) > 1 or self._classes[number][self._lanes] == "0" or at is None:
            got = k.joined([k.load(pointer, index) for index in indices])
        else:
            is_vector = self._classes[number][self._lanes] == "1"
            got = k.load(pointer, indices[0], self.width if is_vector else 1)
        return from_memory(k, got, self.expression.inputs[number])

    def stored(self, number: int, start: Value, at: Value | None, v: Value) -> None:
        """Store a result, which differs between lanes unless its class is 0."""
        k, pointer = self.kernel, self._pointers[number]
        indices = self._indices(number, start, at)
        result = self.expression.results[number - len(self.expression.inputs)]
        is_single = self._classes[number][self._lanes] == "0" or at is None
        v = to_memory(
            k, v if is_single else k.repeated(v, self.width), self.expression.dtype_of(result)
        )
        if len(indices) == 1:
            k.store(pointer, indices[0], v)
            return
        for lane, index in enumerate(indices):
            k.store(pointer, index, k.lane(v, lane))


class Scope:
    """Values of terms at one point of the kernel.

    Attributes
    ----------
    values : dict
        Values computed so far, by index of the input or term.
    """

    def __init__(
        self,
        arrays: ArrayAccess,
        axes: ReducedAxes,
        starts: Sequence[Value] | None = None,
        counted: Value | None = None,
        at: Value | None = None,
        values: Mapping[int, Value] | None = None,
    ) -> None:
        zero = arrays.kernel.constant(0, "i64")
        self._arrays, self._axes, self._at = arrays, axes, at
        self._starts = [zero] * len(arrays) if starts is None else starts
        self._counted = counted
        self.values = dict(values or {})

    def moved(self, coordinates: Mapping[int, Value]) -> Scope:
        """Return the scope advanced along axes without vectors."""
        starts, counted = self._arrays.moved(self._starts, coordinates), self._counted
        for axis, coordinate in coordinates.items():
            if axis in self._axes.looped:
                counted = self._axes.counted(counted, axis, coordinate)
        return Scope(self._arrays, self._axes, starts, counted, self._at, self.values)

    def at(self, at: Value) -> Scope:
        """Return the scope of a vector, by its first coordinate."""
        return Scope(self._arrays, self._axes, self._starts, self._counted, at, self.values)

    def counted(self) -> Value:
        """Return the i32 indices of the elements in the reduced axes."""
        k, axis = self._arrays.kernel, self._axes.lanes
        if axis not in self._axes.looped:
            assert self._counted is not None
            return self._counted
        assert self._at is not None
        width = self._arrays.width
        lanes = k.call("add", k.repeated(self._at, width), k.counting("i32", width))
        return self._axes.counted(self._counted, axis, lanes)

    def compute(self, numbers: Iterable[int]) -> None:
        """Generate inputs and terms in order, computing their operands first."""
        arrays, expression = self._arrays, self._arrays.expression
        n_inputs = len(expression.inputs)
        for n in numbers:
            if n in self.values:
                continue
            if n < n_inputs:
                self.values[n] = arrays.loaded(n, self._starts[n], self._at)
            else:
                term = expression.terms[n - n_inputs]
                operands = [self.values[given] for given in term.operands]
                self.values[n] = write(arrays.kernel, term, operands)

    def store(self, results: Iterable[int]) -> None:
        """Store results, by index among the results."""
        expression = self._arrays.expression
        for place in results:
            number = len(expression.inputs) + place
            value = self.values[expression.results[place]]
            self._arrays.stored(number, self._starts[number], self._at, value)
