# SPDX-License-Identifier: Apache-2.0
"""Data types of graphs: oneDNN's names, those of ``sycl_dnn``, and the dtypes of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn.dispatch import dtypes as names

#: oneDNN's name -> the name that arrays of ``sycl_dnn`` have.
LONG = {kind.name: name for name, kind in names.DATA_TYPES.items() if name != "bool"}
LONG = {short: long for short, long in LONG.items() if short != "f64"} | {"boolean": "bool"}
SHORT = {long: short for short, long in LONG.items()}
#: Types whose elements lie two in a byte.
PACKED = ("s4", "u4")


def short_name(dtype: Any, what: str) -> str:
    """Return oneDNN's name of a data type given by any name, NumPy dtype or scalar type."""
    if isinstance(dtype, str):
        name = dtype
    elif isinstance(getattr(dtype, "name", None), str):
        name = dtype.name
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = repr(dtype)
    if name in LONG:
        return name
    if name in SHORT:
        return SHORT[name]
    raise TypeError(f"{what}: dtype must be one of {', '.join(LONG)}, got {name}")


def of_array(array: Any, what: str) -> str:
    """Return oneDNN's name of an array's elements."""
    return short_name(array.dtype, what)


def storage(dtype: str) -> np.dtype:
    """Return the dtype of the USM array that holds the elements."""
    return names.array_dtype(LONG[dtype])


def itemsize(dtype: str) -> int:
    """Return the bytes of an element; of a pair of those that share a byte."""
    return storage(dtype).itemsize
