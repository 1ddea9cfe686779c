# SPDX-License-Identifier: Apache-2.0
"""Steps that dpnp does, for what oneDNN lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import place, view
from sycl_dnn.dispatch import noted
from sycl_dnn.dispatch.allocation import wrap
from sycl_dnn.dispatch.record import ArrayStep
from sycl_dnn.onednn import dtypes


class WritingCall:
    """A stage that writes to arrays which are there: a function with a ``run_into``.

    ``function.run_into(stream, inputs, outputs)`` gets pairs of a USM object and the bytes from its
    start to the first element.
    """

    def __init__(self, step: ArrayStep, registers: Mapping[int, int]) -> None:
        self.function: Any = step.function
        self._reads = [(registers[id(t.storage)], t.offset) for t in step.inputs.values()]
        self._writes = [(registers[id(t.storage)], t.offset) for t in step.outputs.values()]

    def allocate(self, registers: list[Any], queue: Any) -> None:
        """Do nothing: results have their places."""

    def run(self, registers: list[Any], queue: Any, stream: Any) -> None:
        """Submit."""
        inputs, outputs = (
            [_place(registers[r], offset) for r, offset in pairs]
            for pairs in (self._reads, self._writes)
        )
        self.function.run_into(stream, inputs, outputs)


def _place(array: Any, offset: int) -> tuple[Any, int]:
    memory, start = place(array)
    return memory, start + offset


class ArrayCall:
    """A function over dpnp arrays as a stage of an executable."""

    def __init__(self, step: ArrayStep, registers: Mapping[int, int]) -> None:
        self.function = step.function
        self._takes_queue = getattr(step.function, "takes_queue", False)
        self._name = noted.name_of(step.function)
        self._reads = [
            (registers[id(t.storage)], t.shape, t.strides, t.offset, dtypes.array_dtype(t.dtype))
            for t in step.inputs.values()
        ]
        self._writes = [
            (registers[id(t.storage)], t.shape, dtypes.array_dtype(t.dtype))
            for t in step.outputs.values()
        ]

    def allocate(self, registers: list[Any], queue: Any) -> None:
        """Give the results places of their own, which ``run`` then writes to."""
        for register, shape, dtype in self._writes:
            if registers[register] is None:
                registers[register] = dpnp.empty(shape, dtype=dtype, sycl_queue=queue).get_array()

    def run(self, registers: list[Any], queue: Any, stream: Any) -> None:
        """Call the function and put its results into their registers, or the arrays there."""
        given = [_view(registers[r], *rest) for r, *rest in self._reads]
        named = {"queue": queue} if self._takes_queue else {}
        made = noted.array_call(self._name, lambda: self.function(*given, **named), given, queue)
        made = made if isinstance(made, (tuple, list)) else [made]
        for (register, shape, dtype), array in zip(self._writes, made, strict=True):
            whole = dpnp.ascontiguousarray(array, dtype=dtype).reshape(shape)
            if registers[register] is None:
                registers[register] = whole.get_array()
            else:
                wrap(registers[register])[...] = whole


def _view(array: Any, shape: Any, strides: Any, offset: int, dtype: Any) -> Any:
    if array.__class__ is bytes:
        return np.frombuffer(array, dtype)[0].item()
    return wrap(view(array, shape, dtype, strides, offset // dtype.itemsize))
