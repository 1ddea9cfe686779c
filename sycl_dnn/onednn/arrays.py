# SPDX-License-Identifier: Apache-2.0
"""Arrays as memory: their descriptors, whether one can hold a tensor, allocations in USM."""

from __future__ import annotations

from typing import Any

import dpctl.memory
import numpy as np

from sycl_dnn import _core
from sycl_dnn._dpnp import array_maker, is_memory, place, usm_array, view
from sycl_dnn.errors import InvalidArguments, OutOfMemory
from sycl_dnn.onednn import dtypes

#: By name, device before shared before host: the order in which dpnp decides for a result.
KINDS = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}


def allocated(kind: Any, nbytes: int, queue: Any, purpose: str) -> Any:
    """Return a dpctl.memory object of the class ``kind`` with ``nbytes`` bytes, at least one.

    Raises
    ------
    OutOfMemory
        The device has no such memory; the text begins with ``purpose``.
    """
    try:
        return kind(max(nbytes, 1), queue=queue)
    except (MemoryError, OverflowError, dpctl.memory.USMAllocationError) as error:
        name = next(n for n, known in KINDS.items() if known is kind)
        raise OutOfMemory(f"{purpose}: no {nbytes} bytes of {name} memory") from error


# --- Arrays as memory: their descriptors, and whether one can hold a tensor


def _check_dtype(what: str, array: Any, data_type: Any) -> None:
    wanted = dtypes.row_of(data_type).dtype
    if array.dtype != wanted:
        raise InvalidArguments(
            f"{what}: array must have dtype {wanted} to hold {data_type.name}, got {array.dtype}"
        )


def desc_of_array(array: Any, data_type: Any = None) -> _core.MemoryDesc:
    """Return the descriptor of an array: its shape, strides and data type.

    Parameters
    ----------
    array : dpnp.ndarray or usm_ndarray
        No negative strides. A 0-d array counts as shape (1,).
    data_type : member of ``data_type``, optional
        Needed where dpnp has no dtype of its own: ``bf16`` in uint16; ``f8_*``, ``e8m0`` in uint8.

    Raises
    ------
    InvalidArguments
        The dtype does not fit ``data_type``, has no oneDNN type, or a stride is negative; a 4-bit
        ``data_type``.
    """
    u = usm_array(array)
    if u is None:
        raise TypeError(f"array must be a dpnp.ndarray or usm_ndarray, got {type(array).__name__}")
    if data_type is None:
        data_type = dtypes.data_type_of(u.dtype)
    if data_type in dtypes.FOUR_BIT:
        raise InvalidArguments(
            f"desc_of_array: {data_type.name} values lie two in a byte, so the shape of the array "
            "is not that of the tensor; make a MemoryDesc"
        )
    _check_dtype("desc_of_array", u, data_type)
    if u.ndim == 0:
        return _core.MemoryDesc((1,), data_type)
    return _core.MemoryDesc(u.shape, data_type, strides=u.strides)


def _same_layout(desc: _core.MemoryDesc, u: Any) -> bool:
    """Whether every element of an array of the desc's shape is where the desc says."""
    dims, strides = desc.dims, desc.strides
    return (
        desc.is_plain
        and not desc.submemory_offset
        and all(n == 1 or a == b for n, a, b in zip(dims, strides, u.strides, strict=True))
    )


def _bytes_needed(desc: _core.MemoryDesc, index: int) -> int:
    """Return the bytes from the start of buffer ``index`` to the last element."""
    size = desc.get_size(index)
    if size == _core.RUNTIME_SIZE_VAL:
        raise InvalidArguments(f"Memory: desc must say all dimensions and strides, got {desc}")
    return size if desc.num_handles > 1 else desc.extent


def _check_layout(desc: _core.MemoryDesc, index: int, u: Any) -> None:
    if u.shape == desc.dims and desc.num_handles == 1:
        if u.size == 0 or _same_layout(desc, u):
            return
        if u.ndim > 1 or not u.flags.c_contiguous:
            raise InvalidArguments(
                f"Memory: array must be laid out as desc says ({desc}), got strides {u.strides}; "
                "pass a flat array to hold another layout"
            )
    if not (u.flags.c_contiguous or u.size == 0):
        raise InvalidArguments(
            f"Memory: array must have the shape of desc {desc.dims} or be contiguous, got shape "
            f"{u.shape} with strides {u.strides}"
        )
    # What lies behind a view belongs to somebody else.
    if u.nbytes < _bytes_needed(desc, index):
        raise InvalidArguments(
            f"Memory: array must hold {_bytes_needed(desc, index)} bytes, got {u.nbytes}"
        )


def _is_writable(u: Any) -> bool:
    repeats = any(s == 0 and n > 1 for s, n in zip(u.strides, u.shape, strict=True))
    return bool(u.flags.writable) and (u.size == 0 or not repeats)


def span(desc: _core.MemoryDesc, index: int, array: Any) -> tuple[Any, int, bool]:
    """Return the dpctl.memory object, the byte offset in it, and whether it may be written."""
    if is_memory(array):
        return array, 0, True
    u = usm_array(array)
    if u is None:
        raise TypeError(
            "array must be a dpnp.ndarray, usm_ndarray or dpctl.memory object, got "
            f"{type(array).__name__}"
        )
    _check_dtype("Memory", u, desc.get_data_type(index))
    _check_layout(desc, index, u)
    return *place(u), _is_writable(u)


def allocate(desc: _core.MemoryDesc, index: int, engine: _core.Engine, usm_type: str) -> Any:
    """Return new memory of a kind for buffer ``index``."""
    nbytes = max(_bytes_needed(desc, index), desc.get_size(index))
    if usm_type not in KINDS:
        raise InvalidArguments(
            f"Memory: usm_type must be one of {', '.join(KINDS)}, got {usm_type!r}"
        )
    return allocated(KINDS[usm_type], nbytes, engine.sycl_queue, "Memory")


def _as_integer(number: np.ndarray, data_type: Any) -> np.ndarray:
    limits = np.iinfo(dtypes.row_of(data_type).dtype)
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
    if data_type is _core.data_type.bf16:
        return dtypes.to_bf16_bits(number).tobytes()
    row = dtypes.row_of(data_type)
    if row.carried:
        raise InvalidArguments(f"Memory: a host scalar must not have data type {data_type.name}")
    if not row.is_float:
        return _as_integer(number, data_type).tobytes()
    return number.astype(row.dtype).tobytes()


def _flat_length(desc: _core.MemoryDesc, index: int) -> int:
    return desc.get_size(index) // dtypes.row_of(desc.get_data_type(index)).dtype.itemsize


def array_over(memory: Any, index: int) -> Any:
    """Return a dpnp array over one buffer of a memory, without a copy."""
    desc = memory.desc
    if desc.format_kind is _core.format_kind.host_scalar:
        raise InvalidArguments(f"to_array: memory must not be a host scalar, got {desc}")
    owner = memory.owner[index]
    data = getattr(owner, "get_array", lambda: owner)()
    dtype = dtypes.row_of(desc.get_data_type(index)).dtype
    offset = 0
    if desc.num_handles > 1 or desc.data_type in dtypes.FOUR_BIT:
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
