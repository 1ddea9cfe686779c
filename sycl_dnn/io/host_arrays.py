# SPDX-License-Identifier: Apache-2.0
"""Arrays on the host as files store them, with their dtype; raw bits if NumPy lacks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn._dpnp import array_in
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.array import Array, array_over

#: Types that a file may contain in addition to arrays.
PLAIN = (bool, int, float, str)


class Stored(NamedTuple):
    """An array on the host, as values or raw bits, with its dtype."""

    values: np.ndarray
    dtype: str


#: Contents of a file: arrays, and plain values.
Content = tuple[dict[str, Stored], dict[str, Any]]


def on_host(array: Any) -> Stored:
    """Copy an array to the host."""
    if isinstance(array, Array):
        if array.dtype in dtypes.PACKED:
            raise TypeError(f"save: arrays must not be of 4-bit numbers, got {array.dtype}")
        values, dtype = dpnp.asnumpy(array.bits), array.dtype
    else:
        values = dpnp.asnumpy(array)
        dtype = values.dtype.name
    return Stored(np.ascontiguousarray(values).reshape(values.shape), dtype)


def on_device(stored: Stored, queue: Any) -> Any:
    """Copy an array to a queue."""
    array = array_in(stored.values, None, sycl_queue=queue)
    return array_over(array, stored.dtype)


def check_content(stored: Mapping[str, Stored], plain: Any) -> None:
    """Refuse content that this package never writes, such as other types or wrong sizes."""
    if not isinstance(plain, dict) or not all(isinstance(v, PLAIN) for v in plain.values()):
        raise ValueError("its numbers and strings are damaged")
    for name, (values, dtype) in stored.items():
        carrier = dtypes.CARRIED.get(dtype)
        if values.dtype.hasobject or (carrier is not None and values.dtype != carrier):
            raise ValueError(f"{name} has the dtype {values.dtype}, not that of {dtype}")
