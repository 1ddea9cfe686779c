# SPDX-License-Identifier: Apache-2.0
"""Tensors of one value, known while tracing; their buffers are shared."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.onednn import dtypes

#: By engine, dtype and value; values other than 1 are single numbers mostly.
_buffers: dict[tuple[Any, str, float], Any] = {}
_MOST = 256


def _pattern(value: float, dtype: str) -> Any:
    """Return a NumPy scalar with the bits of ``value``, rounded to nearest even."""
    if dtype == "bfloat16":
        bits = int(np.float32(value).view(np.uint32))
        return np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if value == value else 0x7FC0)
    return dtypes.array_dtype(dtype).type(value)


def _buffer(engine: Any, value: float, dtype: str, size: int) -> Any:
    key = (engine, dtype, value)
    found = _buffers.get(key)
    if found is None or found.size < size:
        if len(_buffers) >= _MOST:
            _buffers.clear()
        size = 1 << (size - 1).bit_length()
        values = np.full(size, _pattern(value, dtype))
        found = _buffers[key] = dpnp.asarray(values, sycl_queue=engine.sycl_queue)
    return found


def filled(trace: Trace, value: float, shape: tuple[int, ...], dtype: str = "float32") -> Tensor:
    """Return a tensor that holds ``value`` everywhere."""
    from sycl_dnn.onednn._memory import Memory

    desc = layout.row_major(shape, dtype)
    memory = Memory(desc, trace.engine, _buffer(trace.engine, value, dtype, math.prod(shape)))
    storage = Storage(desc, memory=memory)
    storage.constant = False  # what is packed once is kept by a frozen array
    return Tensor(trace, storage, desc, dtype, shape)
