# SPDX-License-Identifier: Apache-2.0
"""All uses of private APIs of dpnp and dpctl, and workarounds for their faults.

There is no public API for the address of an array's first element without waiting for its queue, or
for a dpnp array over existing memory. ``NEEDED`` lists every private name, including those used in
``csrc/``; ``tests/test_dpnp_adapter.py`` checks that they exist. ``FAULTS`` lists what dpnp 0.20
computes incorrectly, with the function to use instead; that test also finds direct uses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import dpctl.memory
import numpy as np
from dpctl.utils import SequentialOrderManager

from sycl_dnn import _core
from sycl_dnn.errors import OutOfMemory

__all__ = [
    "FAULTS", "LARGE", "NEEDED", "address", "array_in", "array_maker", "array_of_class", "asnumpy",
    "bits_as",    "host_view", "in_dtype", "is_memory", "is_readable", "place", "usm_array", "view",
]  # fmt: skip

#: Bytes below which memory does not move to huge pages.
LARGE = 4 << 20
#: Private name: what breaks without it.
NEEDED: dict[str, str] = {
    "dpnp.ndarray._create_from_usm_ndarray": "no result can become a dpnp array",
    "dpnp.ndarray._array_obj": "the call table finds no memory behind a dpnp array",
    # Fields of dpnp/tensor/_usmarray.h, as csrc/memory/usm_array.hpp declares them.
    "dpnp.tensor.usm_ndarray:struct": "no call is repeated without Python",
    "dpnp.tensor.usm_ndarray._pointer": "an array has no address without a wait for its queue",
    "dpctl.memory._memory._Memory": "dpctl.memory objects are not distinguished from arrays",
    "dpctl.memory._memory._Memory._pointer": "the offset of an array in its allocation is unknown",
    "dpctl.utils._order_manager.f.detach": "a forked child waits at exit for its parent's events",
    "dpctl.utils._seq_order_keeper._OrderManager.add_to_both_events": (
        "two threads that use the order manager first may hang"
    ),
    # The C API exported by Cython. dpctl keeps it stable only within a minor release.
    "dpctl._sycl_queue.__pyx_capi__.SyclQueue_GetQueueRef": "a queue does not reach oneDNN",
    "dpctl._sycl_event.__pyx_capi__.SyclEvent_GetEventRef": "depends= cannot be read",
    "dpctl._sycl_event.__pyx_capi__.SyclEvent_Make": "no call can return its event",
    "dpctl._sycl_device.__pyx_capi__.SyclDevice_Make": "engines have no kind and index",
    "dpctl.memory._memory.__pyx_capi__.Memory_GetUsmPointer": "memory has no address in C++",
    "dpctl.memory._memory.__pyx_capi__.Memory_GetNumBytes": "memory has no size in C++",
    "dpctl.memory._memory.__pyx_capi__.Memory_GetQueueRef": "the queue of memory is unknown",
}

#: dpnp's faults, and replacements.
FAULTS: dict[str, str] = {
    "dpnp.ndarray.view(dtype) of a part of an array reads from the start of its memory": "bits_as",
    "dpnp.ndarray.astype, dpnp.asarray and assignments saturate floats at the limits of signed "
    "integers when they write 8 and 16 bits, unsigned ones too: 200.0 becomes 127": "in_dtype",
    "dpnp.matmul and ``@`` of floats give oneMKL the stride 0 of expanded arrays: wrong values, or "
    "an error of gemv": "functional.matmul",
    "dpnp.floor_divide and ``//`` of infinities give infinities, where NumPy and torch have NaN": (
        "functional.floor_divide"
    ),
}


@functools.cache
def array_maker() -> Callable[[Any], Any]:
    """Return a function that wraps a usm_ndarray as a dpnp array without copying.

    dpnp is imported in the first call. Hot code should bind the result once.
    """
    import dpnp

    return dpnp.ndarray._create_from_usm_ndarray


def array_of_class(kind: type, array: Any) -> Any:
    """Return an instance of a subclass of dpnp.ndarray over a usm_ndarray."""
    instance: Any = object.__new__(kind)
    replace_array(instance, array)
    return instance


def replace_array(instance: Any, array: Any) -> None:
    """Let an instance of a subclass of dpnp.ndarray be over another usm_ndarray."""
    instance._array_obj = array


_FACTS = (
    "__len__", "dtype", "itemsize", "nbytes", "ndim", "shape", "size", "sycl_queue", "usm_type",
)  # fmt: skip


class Lacking:
    """Replaces the usm_ndarray of an instance that represents an array of a dtype dpnp lacks."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getattr__(self, name: str) -> Any:
        if name in _FACTS:
            return getattr(self._array, name)
        return self.refuse()

    def refuse(self) -> Any:
        """Raise TypeError: dpnp cannot compute with the array."""
        raise TypeError(
            f"dpnp lacks {self._array.dtype}, to which this attribute of a module was converted: "
            "use functions of sycl_dnn.functional, or its values: w.astype('float32')"
        )


def address(array: Any) -> int:
    """Return the address of a usm_ndarray's first element, or of a dpctl.memory object.

    The documented way, ``__sycl_usm_array_interface__``, waits for the queue.
    """
    return array._pointer


def span(array: Any) -> tuple[int, int]:
    """Return the first address of the memory of a usm_ndarray, and the one after it.

    That of a dpctl.memory object is all of it.
    """
    if is_memory(array):
        return address(array), address(array) + array.nbytes
    if array.flags.forc:
        start = address(array)
        return start, start + array.size * array.itemsize
    start = address(array.usm_data)
    return start, start + array.usm_data.nbytes


def is_memory(value: Any) -> bool:
    """Whether a value is a dpctl.memory object."""
    return isinstance(value, dpctl.memory._memory._Memory)


def usm_array(value: Any) -> Any | None:
    """Return the usm_ndarray of a dpnp array, ``Array`` or ``Frozen``; None for other values."""
    if hasattr(value, "get_array"):
        value = value.get_array()
    return value if hasattr(value, "usm_data") and hasattr(value, "_pointer") else None


def place(value: Any) -> tuple[Any, int]:
    """Return the dpctl.memory object of a usm_ndarray, and the byte offset of its first element.

    A dpctl.memory object is returned with offset 0.
    """
    if not hasattr(value, "usm_data"):
        return value, 0
    buffer = value.usm_data
    return buffer, value._pointer - buffer._pointer


def view(array: Any, shape: Any, dtype: Any, strides: Any, offset: int = 0) -> Any:
    """Return a usm_ndarray over another's memory, ``offset`` elements after its first."""
    from dpnp.tensor import usm_ndarray

    buffer, start = place(array)
    offset += start // dtype.itemsize
    return usm_ndarray(shape, dtype=dtype, buffer=buffer, strides=strides, offset=offset)


def bits_as(array: Any, dtype: Any) -> Any:
    """Reinterpret the bits of a dpnp array as another dtype, like NumPy's ``view``.

    Raises TypeError if the last axis must be dense but is not, or if sizes do not match.
    """
    dtype, usm = np.dtype(dtype), array.get_array()
    shape, strides, old, new = usm.shape, usm.strides, usm.itemsize, dtype.itemsize
    if old != new:
        steps = [old * s for s in strides[:-1]]
        is_dense = bool(shape) and (strides[-1] == 1 or shape[-1] == 1)
        if not is_dense or any(n % new for n in (*steps, old * shape[-1], place(usm)[1])):
            raise TypeError(
                f"view(): dtype must be of {old} bytes for an array of shape {shape} with strides "
                f"{strides} (in elements), got {dtype}"
            )
        shape = (*shape[:-1], old * shape[-1] // new)
        strides = (*(s // new for s in steps), 1)
    return array_maker()(view(usm, shape, dtype, strides))


def in_dtype(array: Any, dtype: Any) -> Any:
    """Convert a dpnp array; floats are truncated to integers, as in torch.

    Integers below 64 bits wrap: 200.0 becomes -56 as int8.
    """
    if _is_narrow(dtype) and array.dtype.kind == "f":
        array = array.astype(np.int64)
    return array.astype(dtype, copy=False)


def _is_narrow(dtype: Any) -> bool:
    dtype = np.dtype(dtype)
    return (dtype.kind in "iu" and dtype.itemsize < 4) or dtype == np.uint32


def array_in(values: Any, dtype: Any, **kwargs: Any) -> Any:
    """Return ``dpnp.asarray(values, dtype, **kwargs)``, with floats as for ``in_dtype``.

    Bytes of a NumPy array go straight into memory that the CPU can access, without a submission;
    a large copy on a CPU is in huge pages, as that array is. Raises OutOfMemory.
    """
    try:
        return _array_in(values, dtype, **kwargs)
    except dpctl.memory.USMAllocationError as error:
        raise OutOfMemory("asarray: no device memory for the array") from error


def _array_in(values: Any, dtype: Any, **kwargs: Any) -> Any:
    import dpnp

    if dtype is not None and _is_narrow(dtype):
        array = dpnp.asarray(values, **kwargs)
        if array.dtype.kind == "f":
            return in_dtype(array, dtype)
    if _is_copied_whole(values, dtype) and kwargs.keys() <= {"sycl_queue", "device", "usm_type"}:
        array = dpnp.empty(values.shape, dtype=values.dtype, **kwargs)
        usm = array.get_array()
        if values.nbytes >= LARGE:
            _core.use_huge_pages(usm.sycl_queue, usm.usm_data, is_fresh=True)
        if is_readable(usm):
            np.copyto(np.asarray(_OnHost(usm)), values)  # new memory: no work to wait for
        else:
            array[...] = values
        return array
    return dpnp.asarray(values, dtype=dtype, **kwargs)


def _is_copied_whole(values: Any, dtype: Any) -> bool:
    """Whether ``dpnp.asarray`` copies the bytes of a NumPy array, on any device."""
    if type(values) is not np.ndarray or not values.size or not values.flags.c_contiguous:
        return False
    if dtype is not None and np.dtype(dtype) != values.dtype:
        return False
    is_everywhere = values.dtype.kind in "biu" or values.dtype == np.float32
    return is_everywhere and values.dtype.isnative


class _OnHost:
    """The memory of a usm_ndarray as NumPy accepts it; NumPy's array keeps this object alive."""

    def __init__(self, array: Any) -> None:
        self._array = array
        strides = tuple(s * array.itemsize for s in array.strides)
        data = (address(array), not array.flags.writable)
        self.__array_interface__ = _interface(data, array.shape, array.dtype.str, strides)


class _Address:
    """Memory as NumPy accepts it."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def _interface(data: tuple[int, bool], shape: Any, dtype: str, strides: Any) -> dict[str, Any]:
    return {"data": data, "shape": shape, "typestr": dtype, "strides": strides, "version": 3}


def host_array(address: int, shape: Any, dtype: str, strides: Any) -> np.ndarray:
    """Return a NumPy array over memory that the caller keeps alive; strides are in bytes."""
    return np.asarray(_Address(_interface((address, False), shape, dtype, strides)))


def is_readable(array: Any) -> bool:
    """Whether the CPU can access the memory of a usm_ndarray."""
    return array.sycl_queue.sycl_device.is_cpu or array.usm_type != "device"


def host_view(array: Any) -> np.ndarray:
    """Wait for the queue of a usm_ndarray; return a NumPy array over its memory.

    Requires ``is_readable``.
    """
    queue = array.sycl_queue
    SequentialOrderManager[queue].wait()
    queue.wait()
    return np.asarray(_OnHost(array))


def asnumpy(array: Any) -> np.ndarray:
    """Wait for the queue of a dpnp array; return a copy of its values.

    dpnp's copies the whole allocation that a view is a part of.
    """
    usm = array.get_array()
    if is_readable(usm):
        return np.array(host_view(usm))
    is_whole = usm.size * usm.itemsize == usm.usm_data.nbytes
    return (array if is_whole else array.copy()).asnumpy()
