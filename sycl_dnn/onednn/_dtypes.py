# SPDX-License-Identifier: Apache-2.0
"""oneDNN's data types and the dtypes of the arrays that carry them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn._dpnp import array_maker, view
from sycl_dnn.errors import InvalidArguments

_T = _core.data_type

#: What an array has for each data type. Types below the line have no dtype of their own in dpnp:
#: their bits ride in unsigned integers; 4-bit types lie two in a byte, low half first.
ARRAY_DTYPES: dict[Any, np.dtype] = {
    _T.f64: np.dtype("f8"),
    _T.f32: np.dtype("f4"),
    _T.f16: np.dtype("f2"),
    _T.s64: np.dtype("i8"),
    _T.s32: np.dtype("i4"),
    _T.s8: np.dtype("i1"),
    _T.u8: np.dtype("u1"),
    # ---
    _T.bf16: np.dtype("u2"),
    _T.f8_e5m2: np.dtype("u1"),
    _T.f8_e4m3: np.dtype("u1"),
    _T.e8m0: np.dtype("u1"),
    _T.s4: np.dtype("u1"),
    _T.u4: np.dtype("u1"),
    _T.f4_e2m1: np.dtype("u1"),
    _T.f4_e3m0: np.dtype("u1"),
}
_OWN = (_T.f64, _T.f32, _T.f16, _T.s64, _T.s32, _T.s8, _T.u8)
_DATA_TYPES = {ARRAY_DTYPES[t]: t for t in _OWN}
FOUR_BIT = (_T.s4, _T.u4, _T.f4_e2m1, _T.f4_e3m0)


def array_dtype(data_type: Any) -> np.dtype:
    """Return the dtype of arrays that hold ``data_type``."""
    found = ARRAY_DTYPES.get(data_type)
    if found is None:
        raise InvalidArguments(f"data_type must be one that arrays can hold, got {data_type!r}")
    return found


def data_type_of(dtype: Any) -> Any:
    """Return the data type that a dtype stands for by itself."""
    found = _DATA_TYPES.get(np.dtype(dtype))
    if found is None:
        known = ", ".join(map(str, _DATA_TYPES))
        raise InvalidArguments(f"array must have a dtype that oneDNN knows ({known}), got {dtype}")
    return found


def to_bf16_bits(values: Any) -> np.ndarray:
    """Return float32 values as the uint16 bits of bfloat16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits >> 16) & 1) + np.uint32(0x7FFF) + bits
    # Rounding could carry a NaN's bits into an infinity.
    quiet = (bits >> 16) | np.uint32(0x40)
    return np.where(np.isnan(bits.view(np.float32)), quiet, rounded >> 16).astype(np.uint16)


def _as_integer(number: np.ndarray, data_type: Any) -> np.ndarray:
    limits = np.iinfo(ARRAY_DTYPES[data_type])
    if not (limits.min <= number <= limits.max) or number != np.trunc(number):
        rule = f"be an integer in [{limits.min}, {limits.max}]"
        raise InvalidArguments(
            f"Memory: a host scalar of {data_type.name} must {rule}, got {number}"
        )
    return number.astype(limits.dtype)


def scalar_bytes(value: Any, data_type: Any) -> bytes:
    """Return a number in the bytes of ``data_type``, for a host scalar."""
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "biuf":
        raise TypeError(f"Memory: a host scalar must be a number, got {value!r}")
    if data_type is _T.bf16:
        return to_bf16_bits(number).tobytes()
    if data_type not in _OWN:
        raise InvalidArguments(f"Memory: a host scalar must not have data type {data_type.name}")
    if ARRAY_DTYPES[data_type].kind in "iu":
        return _as_integer(number, data_type).tobytes()
    return number.astype(ARRAY_DTYPES[data_type]).tobytes()


def _flat_length(desc: _core.MemoryDesc, index: int) -> int:
    return desc.get_size(index) // ARRAY_DTYPES[desc.get_data_type(index)].itemsize


def array_over(memory: Any, index: int) -> Any:
    """Return a dpnp array over one buffer of a memory, without a copy."""
    desc = memory.desc
    if desc.format_kind is _core.format_kind.host_scalar:
        raise InvalidArguments(f"to_array: memory must not be a host scalar, got {desc}")
    owner = memory.owner[index]
    data = getattr(owner, "get_array", lambda: owner)()
    dtype = ARRAY_DTYPES[desc.get_data_type(index)]
    offset = 0
    if desc.num_handles > 1 or desc.data_type in FOUR_BIT:
        shape, strides = (_flat_length(desc, index),), (1,)
    elif desc.is_plain:
        shape, strides = desc.dims, desc.strides
        offset = desc.submemory_offset
    else:
        raise InvalidArguments(f"to_array: the layout must be plain, got {desc}; reorder it first")
    array = view(data, shape, dtype, strides, offset)
    if not memory.writable:
        array.flags["W"] = False
    return array_maker()(array)
