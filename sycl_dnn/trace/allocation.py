# SPDX-License-Identifier: Apache-2.0
"""Memory of results: allocated more cheaply than with dpnp.empty, and reused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import dpnp.tensor
import numpy as np

from sycl_dnn import _core
from sycl_dnn._core import ResultPool
from sycl_dnn._dpnp import LARGE, array_maker, view
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.memory import KINDS, allocated
from sycl_dnn.trace.layout import row_major_strides
from sycl_dnn.trace.values import Tensor

#: Maximum bytes of a queue's pool, in use or not.
MOST = 1 << 30


class _Queues(dict):  # type: ignore[type-arg]
    """Objects by queue, which ``make(queue)`` creates; all are dropped if they become many."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, queue: Any) -> Any:
        if len(self) >= _MAX_QUEUES:
            self.clear()
        return self.setdefault(queue, self._make(queue))


_MAX_QUEUES = 64
_pools = _Queues(lambda queue: ResultPool(queue, MOST))
#: By queue: an array for functions that take nothing else; its value is not read.
_placing = _Queues(lambda queue: dpnp.empty(2, dtype="f4", sycl_queue=queue))
pool_of = _pools.__getitem__
place_on = _placing.__getitem__


def drop_all() -> None:
    """Free all unused blocks."""
    for pool in list(_pools.values()):
        pool.drop_unused()


def total_bytes() -> int:
    """Return the total bytes of all pools."""
    return sum(pool.nbytes for pool in list(_pools.values()))


# --- New USM memory for results, cheaper than with dpnp.empty

wrap = array_maker()
usm_ndarray = dpnp.tensor.usm_ndarray
_DEVICE = KINDS["device"]
_RANK = {kind: rank for rank, kind in enumerate(KINDS.values())}


class Blank(NamedTuple):
    """The allocation for a value: an array, or bytes if the layout is oneDNN's own."""

    nbytes: int
    shape: tuple[int, ...] | None
    #: None for a row-major array, which is cheaper to create.
    strides: tuple[int, ...] | None
    dtype: np.dtype

    def new(self, queue: Any, kind: Any = _DEVICE, pooled: bool = True) -> Any:
        """Return a usm_ndarray, or a dpctl.memory object if there is no shape.

        Long-lived results should not be ``pooled``.
        """
        if pooled:
            memory = pool_of(queue).take(kind, self.nbytes)
        else:
            memory = allocated(kind, self.nbytes, queue, "result")
        shape = self.shape
        if shape is None:
            return memory
        return usm_ndarray(shape, dtype=self.dtype, buffer=memory, strides=self.strides)


def scalar(value: float, dtype: np.dtype, queue: Any) -> Any:
    """Return a new usm_ndarray without axes containing a number; written without a submission."""
    return scalar_of_bytes(np.array(value, dtype).tobytes(), dtype, queue)


def scalar_of_bytes(value: bytes, dtype: np.dtype, queue: Any) -> Any:
    """Return a new usm_ndarray as ``scalar`` does, from the bytes of the number."""
    return _number_in(allocated(KINDS["shared"], len(value), queue, "a number"), value, dtype)


def seed_of_bytes(value: bytes, dtype: np.dtype, queue: Any) -> Any:
    """Return the same in reused memory, for an array that no user sees."""
    memory = pool_of(queue).numbers.take(KINDS["shared"], len(value))
    return _number_in(memory, value, dtype)


def _number_in(memory: Any, value: bytes, dtype: np.dtype) -> Any:
    memoryview(memory)[: len(value)] = value
    return usm_ndarray((), dtype=dtype, buffer=memory)


def reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a dense usm_ndarray of one element in another shape."""
    return view(array, shape, array.dtype, None)


#: Bytes between the starts of arrays that share an allocation: a page.
_APART = 4096


def together(blanks: Sequence[Blank], queue: Any) -> list[Any]:
    """Return arrays with one lifetime: on a CPU in one allocation, in huge pages."""
    if not queue.sycl_device.is_cpu:
        return [b.new(queue, pooled=False) for b in blanks]
    sizes = [-(-max(b.nbytes, 1) // _APART) * _APART for b in blanks]
    starts = [0, *itertools.accumulate(sizes)]
    memory = allocated(_DEVICE, starts[-1], queue, "packed constants")
    _core.use_huge_pages(queue, memory, is_fresh=True)
    return [_part(memory, *pair) for pair in zip(blanks, starts, strict=False)]


def move_to_huge_pages(arrays: Iterable[Any], queue: Any) -> None:
    """Move large usm_ndarrays on a CPU to huge pages, as NumPy has for its arrays.

    A small part of an allocation does not move the rest.
    """
    for array in arrays:
        is_large = isinstance(array, usm_ndarray) and array.nbytes >= LARGE
        if is_large and array.usm_data.nbytes < 2 * array.nbytes:
            _core.use_huge_pages(queue, array.usm_data, is_fresh=False)


def _part(memory: Any, blank: Blank, start: int) -> Any:
    shape, dtype = blank.shape, blank.dtype
    if shape is None:
        shape, dtype = (blank.nbytes,), np.dtype("u1")
    offset = start // dtype.itemsize
    strides = blank.strides
    return usm_ndarray(shape, dtype=dtype, buffer=memory, strides=strides, offset=offset)


def blank_of(tensor: Tensor) -> Blank:
    """Return the allocation for a tensor that fills its storage."""
    dtype = dtypes.array_dtype(tensor.dtype)
    desc = tensor.desc
    if tensor.dtype in dtypes.PACKED and tensor.strides == row_major_strides(tensor.shape):
        shape = (*tensor.shape[:-1], tensor.shape[-1] // 2)
        return Blank(desc.get_size(), shape, None, dtype)
    if not desc.is_plain or tensor.dtype in dtypes.PACKED:
        return Blank(desc.get_size(), None, None, dtype)
    strides = None if tensor.strides == row_major_strides(tensor.shape) else tensor.strides
    return Blank(desc.get_size(), tensor.shape, strides, dtype)


def coerced_kind(arrays: list[Any]) -> Any:
    """Return the allocator of the USM type that results of these arrays have; bytes are seeds."""
    kind = None
    for array in arrays:
        if array.__class__ is bytes:
            continue
        other = array.usm_data.__class__
        if kind is None or (other is not kind and _RANK.get(other, 0) < _RANK.get(kind, 0)):
            kind = other
    return kind if kind in _RANK else _DEVICE
