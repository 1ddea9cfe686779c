# SPDX-License-Identifier: Apache-2.0
"""Calls over arrays that write to existing memory, as stages of an executable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sycl_dnn._dpnp import address, host_array, place
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.place import synchronize
from sycl_dnn.program.segments import starts_early
from sycl_dnn.trace import layout, profile_notes
from sycl_dnn.trace.steps import ArrayStep, OnHost
from sycl_dnn.trace.values import Tensor


class WritingCall:
    """A stage that writes to existing arrays: a function with ``run_into``.

    ``function.run_into(stream, inputs, outputs)`` receives pairs of a USM object and the byte
    offset of the first element.
    """

    def __init__(self, step: ArrayStep, registers: Mapping[int, int]) -> None:
        self.function: Any = step.function
        self._reads = [(registers[id(t.storage)], t.offset) for t in step.inputs.values()]
        self._writes = [(registers[id(t.storage)], t.offset) for t in step.outputs.values()]

    def allocate(self, registers: list[Any], queue: Any) -> None:
        """Do nothing: the results are already allocated."""

    def writes_below(self, register: int) -> bool:
        """Whether it writes to a register before this one."""
        return any(r < register for r, _ in self._writes)

    def _places(self, registers: list[Any]) -> list[list[tuple[Any, int]]]:
        pairs = (self._reads, self._writes)
        return [[_place(registers[r], offset) for r, offset in rows] for rows in pairs]

    def run(self, registers: list[Any], queue: Any, stream: Any) -> Any:
        """Submit."""
        self.function.run_into(stream, *self._places(registers))


class StartingCall(WritingCall):
    """A stage that later ones may overlap: a function with ``start_into``.

    ``function.start_into(stream, inputs, outputs)`` returns an object with ``join(stream)``, which
    orders later submissions after its work, or None if there is nothing to wait for.
    """

    def run(self, registers: list[Any], queue: Any, stream: Any) -> Any:
        """Submit; return the object to join."""
        return self.function.start_into(stream, *self._places(registers))


def _place(array: Any, offset: int) -> tuple[Any, int]:
    memory, start = place(array)
    return memory, start + offset


class HostCall(WritingCall):
    """A stage that NumPy computes: ``OnHost``.

    The call waits for earlier work, as functions of dpnp do that raise errors about values.
    """

    def __init__(self, step: ArrayStep, registers: Mapping[int, int]) -> None:
        super().__init__(step, registers)
        self._name = profile_notes.name_of(step.function)
        self._forms = [
            [_form(t, t.strides) for t in step.inputs.values()],
            [_form(t, layout.row_major_strides(t.shape)) for t in step.outputs.values()],
        ]
        #: Registers whose arrays recur from call to call.
        self.kept: frozenset[int] = frozenset()
        #: By register, offset and form: the array of the last call and NumPy's array over it.
        self._seen: dict[tuple[int, int, Any], tuple[Any, np.ndarray]] = {}

    def run(self, registers: list[Any], queue: Any, stream: Any) -> None:
        """Compute."""
        reads, writes = (
            [self._host_array(registers[r], r, offset, form) for (r, offset), form in
             zip(rows, forms, strict=True)]
            for rows, forms in zip((self._reads, self._writes), self._forms, strict=True)
        )  # fmt: skip
        synchronize(queue)
        taken = [*reads, *writes] if self.function.writes else reads
        results = profile_notes.array_call(self._name, lambda: self.function(*taken), reads, queue)
        if self.function.writes:
            return
        results = results if isinstance(results, tuple) else (results,)
        for array, result in zip(writes, results, strict=True):
            array[...] = result

    def _host_array(self, array: Any, register: int, offset: int, form: Any) -> np.ndarray:
        seen = self._seen.get((register, offset, form))
        if seen is not None and seen[0] is array:
            return seen[1]
        memory, start = _place(array, offset)
        over = host_array(address(memory) + start, *form)
        if register in self.kept:
            self._seen[register, offset, form] = array, over
        return over


def _form(tensor: Tensor, strides: Any) -> tuple[Any, str, Any]:
    """Return shape, type and strides in bytes."""
    dtype = np.dtype(dtypes.array_dtype(tensor.dtype))
    return tensor.shape, dtype.str, tuple(s * dtype.itemsize for s in strides)


def writing_class(step: ArrayStep) -> type[WritingCall] | None:
    """Return the class of a call that writes to existing arrays; None if it returns new ones."""
    if starts_early(step):
        return StartingCall
    if hasattr(step.function, "run_into"):
        return WritingCall
    return HostCall if isinstance(step.function, OnHost) else None
