# SPDX-License-Identifier: Apache-2.0
"""Steps that dpnp does, for what oneDNN lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.dispatch import dtypes, noted
from sycl_dnn.dispatch.allocation import usm_ndarray, wrap
from sycl_dnn.dispatch.record import ArrayStep


class ArrayCall:
    """A function over dpnp arrays as a stage of an executable."""

    def __init__(self, step: ArrayStep, registers: Mapping[int, int]) -> None:
        self.function = step.function
        self._takes_queue = getattr(step.function, "takes_queue", False)
        self._name = noted.name_of(step.function)
        self._stays = False
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
        self._stays = True
        for register, shape, dtype in self._writes:
            if registers[register] is None:
                registers[register] = dpnp.empty(shape, dtype=dtype, sycl_queue=queue).get_array()

    def run(self, registers: list[Any], queue: Any, stream: Any) -> None:
        """Call the function and put its results into their registers."""
        given = [_view(registers[r], *rest) for r, *rest in self._reads]
        named = {"queue": queue} if self._takes_queue else {}
        made = noted.array_call(self._name, lambda: self.function(*given, **named), given, queue)
        made = made if isinstance(made, (tuple, list)) else [made]
        for (register, shape, dtype), array in zip(self._writes, made, strict=True):
            whole = dpnp.ascontiguousarray(array, dtype=dtype).reshape(shape)
            if self._stays:
                wrap(registers[register])[...] = whole
            else:
                registers[register] = whole.get_array()


def _view(array: Any, shape: Any, strides: Any, offset: int, dtype: Any) -> Any:
    if array.__class__ is bytes:
        return np.frombuffer(array, dtype)[0].item()
    start = offset // dtype.itemsize
    start += (array._pointer - array.usm_data._pointer) // dtype.itemsize
    return wrap(
        usm_ndarray(shape, dtype=dtype, buffer=array.usm_data, strides=strides, offset=start)
    )
