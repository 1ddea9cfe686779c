# SPDX-License-Identifier: Apache-2.0
"""The only place that uses private parts of dpnp and dpctl.

Neither has a public name for these: the address of an array's first element without a wait for its
queue, and a dpnp array over existing memory. ``NEEDED`` lists every private name, including those
that ``csrc/`` uses; ``tests/test_dpnp_adapter.py`` looks each of them up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import dpctl.memory
import numpy as np
from dpctl.utils import SequentialOrderManager

__all__ = [
    "NEEDED", "address", "array_maker", "array_of_class", "host_view", "is_memory", "is_readable",
    "place", "usm_array", "view",
]  # fmt: skip

#: Private name -> what breaks without it.
NEEDED: dict[str, str] = {
    "dpnp.ndarray._create_from_usm_ndarray": "no result can become a dpnp array",
    "dpnp.ndarray._array_obj": "the call table finds no memory behind a dpnp array",
    # Fields of dpnp/tensor/_usmarray.h, as csrc/usm_array.hpp declares them.
    "dpnp.tensor.usm_ndarray:struct": "no call is repeated without Python",
    "dpnp.tensor.usm_ndarray._pointer": "an array has no address without a wait for its queue",
    "dpctl.memory._memory._Memory": "dpctl.memory objects are not distinguished from arrays",
    "dpctl.memory._memory._Memory._pointer": "the offset of an array in its allocation is unknown",
    "dpctl.utils._order_manager.f.detach": "a forked child waits at exit for its parent's events",
    "dpctl.utils._seq_order_keeper._OrderManager.add_to_both_events": (
        "two threads that use the order manager first may hang"
    ),
    # The C-API, as Cython exports it. dpctl keeps it only within a minor release.
    "dpctl._sycl_queue.__pyx_capi__.SyclQueue_GetQueueRef": "a queue does not reach oneDNN",
    "dpctl._sycl_event.__pyx_capi__.SyclEvent_GetEventRef": "depends= cannot be read",
    "dpctl._sycl_event.__pyx_capi__.SyclEvent_Make": "no call can return its event",
    "dpctl._sycl_device.__pyx_capi__.SyclDevice_Make": "engines have no kind and index",
    "dpctl.memory._memory.__pyx_capi__.Memory_GetUsmPointer": "memory has no address in C++",
    "dpctl.memory._memory.__pyx_capi__.Memory_GetNumBytes": "memory has no size in C++",
    "dpctl.memory._memory.__pyx_capi__.Memory_GetQueueRef": "the queue of memory is unknown",
}


@functools.cache
def array_maker() -> Callable[[Any], Any]:
    """Return the function that makes a dpnp array of a usm_ndarray, without a copy.

    dpnp is imported at the first call. Hot code binds the result once.
    """
    import dpnp

    return dpnp.ndarray._create_from_usm_ndarray


def array_of_class(kind: type, array: Any) -> Any:
    """Return an instance of a subclass of dpnp.ndarray over a usm_ndarray."""
    made: Any = object.__new__(kind)
    made._array_obj = array
    return made


def address(array: Any) -> int:
    """Return the address of a usm_ndarray's first element, or of a dpctl.memory object.

    The documented way, ``__sycl_usm_array_interface__``, waits for the queue.
    """
    return array._pointer


def is_memory(value: Any) -> bool:
    """Whether a value is a dpctl.memory object."""
    return isinstance(value, dpctl.memory._memory._Memory)


def usm_array(value: Any) -> Any | None:
    """Return the usm_ndarray behind a dpnp array, ``Array`` or ``Frozen``; None for none."""
    if hasattr(value, "get_array"):
        value = value.get_array()
    return value if hasattr(value, "usm_data") and hasattr(value, "_pointer") else None


def place(value: Any) -> tuple[Any, int]:
    """Return the dpctl.memory object of a usm_ndarray and the bytes before the first element.

    A dpctl.memory object is its own, from its start.
    """
    if not hasattr(value, "usm_data"):
        return value, 0
    buffer = value.usm_data
    return buffer, value._pointer - buffer._pointer


def view(array: Any, shape: Any, dtype: Any, strides: Any, offset: int = 0) -> Any:
    """Return a usm_ndarray over the memory of another, ``offset`` elements after its first."""
    from dpnp.tensor import usm_ndarray

    buffer, start = place(array)
    offset += start // dtype.itemsize
    return usm_ndarray(shape, dtype=dtype, buffer=buffer, strides=strides, offset=offset)


class _OnHost:
    """The memory of a usm_ndarray as NumPy accepts it; NumPy's array keeps this object."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.__array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (address(array), not array.flags.writable),
            "strides": tuple(s * array.itemsize for s in array.strides),
            "version": 3,
        }


def is_readable(array: Any) -> bool:
    """Whether the CPU reads the memory of a usm_ndarray."""
    return array.sycl_queue.sycl_device.is_cpu or array.usm_type != "device"


def host_view(array: Any) -> np.ndarray:
    """Return a NumPy array over the memory of a usm_ndarray, after the work on its queue.

    Only for what ``is_readable``.
    """
    queue = array.sycl_queue
    SequentialOrderManager[queue].wait()
    queue.wait()
    return np.asarray(_OnHost(array))
