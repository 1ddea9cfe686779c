# SPDX-License-Identifier: Apache-2.0
"""Host access to memory: ``map_data``, ``unmap_data``, NumPy and DLPack protocols.

oneDNN returns raw addresses. Here NumPy owns copies, so that a mapping used after ``unmap_data``
reads stale values rather than freed memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import dpctl.memory
import dpnp
import numpy as np

from sycl_dnn._dpnp import host_view, is_readable
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onednn import dtypes


class _Part:
    """A range of USM bytes, kept alive by ``owner``, in the form that dpctl accepts."""

    def __init__(self, owner: Any, address: int, nbytes: int, queue: Any) -> None:
        self.owner = owner
        self.__sycl_usm_array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "syclobj": queue,
        }


class _Mapping(NamedTuple):
    """A returned array, its bytes, and the memory to write it back to; None if it is no copy."""

    values: np.ndarray
    raw: np.ndarray
    device: Any


#: DLPack's device type for the CPU.
_CPU = 1
#: (memory, buffer index) -> mapping.
_MAPPED: dict[tuple[int, int], _Mapping] = {}


def _shaped(desc: Any, index: int, raw: np.ndarray) -> np.ndarray:
    dtype = np.dtype(dtypes.row_of(desc.get_data_type(index)).dtype)
    if desc.num_handles > 1 or desc.data_type in dtypes.FOUR_BIT:
        return raw[: raw.size // dtype.itemsize * dtype.itemsize].view(dtype)
    if not desc.is_plain:
        return raw
    strides = [s * dtype.itemsize for s in desc.strides]
    return np.ndarray(desc.dims, dtype, raw, desc.submemory_offset * dtype.itemsize, strides)


def _check(memory: Any, index: int, function: str) -> None:
    desc = memory.desc
    if memory.engine is None or desc.is_zero:
        raise InvalidArguments(f"{function}: memory must have a buffer, got {desc}")
    if not 0 <= index < desc.num_handles:
        raise InvalidArguments(f"{function}: index must be below {desc.num_handles}, got {index}")


def mapped(memory: Any, index: int) -> np.ndarray:
    """Map a buffer to the host; see ``Memory.map_data``."""
    _check(memory, index, "Memory.map_data")
    key = (id(memory), index)
    if key in _MAPPED:
        raise InvalidArguments("Memory.map_data: unmap_data must end the mapping before this one")
    desc = memory.desc
    nbytes = desc.get_size(index) if desc.num_handles > 1 else desc.extent
    address = memory.get_data_handle(index)
    if nbytes == 0:
        device, raw = None, np.empty(0, np.uint8)
    else:
        part = _Part(memory, address, nbytes, memory.engine.sycl_queue)
        usm = dpctl.memory.as_usm_memory(part)
        is_device = isinstance(usm, dpctl.memory.MemoryUSMDevice)
        device = usm if is_device else None
        raw = usm.copy_to_host() if is_device else np.asarray(usm).view(np.uint8)
    values = _shaped(desc, index, raw)
    if not memory.writable:
        values.flags.writeable = False
    _MAPPED[key] = _Mapping(values, raw, device)
    return values


def unmap(memory: Any, values: Any, index: int) -> None:
    """Write a mapping back if it is a copy; see ``Memory.unmap_data``."""
    _check(memory, index, "Memory.unmap_data")
    mapping = _MAPPED.get((id(memory), index))
    if mapping is None or mapping.values is not values:
        raise InvalidArguments(
            "Memory.unmap_data: mapped must be what map_data of this buffer returned, got "
            f"{type(values).__name__}"
        )
    del _MAPPED[id(memory), index]
    if mapping.device is not None and memory.writable:
        mapping.device.copy_from_host(mapping.raw)


# --- NumPy and DLPack protocols


def to_numpy(memory: Any, dtype: Any, copy: bool | None) -> np.ndarray:
    """Return the values of a plain memory as a NumPy array, after the work on its queue."""
    if copy is False:
        raise ValueError("np.asarray: a Memory is copied to NumPy; copy must not be False")
    array = memory.to_array()
    array.sycl_queue.wait()
    result = dpnp.asnumpy(array)
    return result if dtype is None else result.astype(dtype, copy=False)


def dlpack_device(array: Any) -> tuple[Any, int]:
    """Return DLPack's device type and index; SYCL's CPU device is DLPack's CPU."""
    return (_CPU, 0) if array.sycl_queue.sycl_device.is_cpu else array.__dlpack_device__()


def capsule(array: Any, stream: Any, version: Any, device: Any, copy: bool | None) -> Any:
    """Return a DLPack capsule of a usm_ndarray; parameters are those of ``__dlpack__``."""
    expected = device or dlpack_device(array)
    if expected[0] != _CPU or not is_readable(array):
        return array.__dlpack__(stream=stream, max_version=version, dl_device=device, copy=copy)
    host = host_view(array)
    host = np.array(host) if copy else host
    return host.__dlpack__(**({"max_version": version} if version else {}))
