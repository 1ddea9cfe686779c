# SPDX-License-Identifier: Apache-2.0
"""Memory over arrays: dpnp arrays, usm_ndarray and dpctl.memory objects, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpctl.memory
from dpctl.utils import SequentialOrderManager

from sycl_dnn import _core
from sycl_dnn._usm import KINDS, allocated
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onednn import _dtypes

__all__ = ["Memory", "desc_of_array"]

#: Descriptors that no memory can have.
_VAGUE = (_core.format_kind.any, _core.format_kind.undef)


def as_usm_ndarray(array: Any) -> Any | None:
    """Return the usm_ndarray behind a dpnp array; None for what is no array at all."""
    if hasattr(array, "get_array"):
        array = array.get_array()
    return array if hasattr(array, "usm_data") and hasattr(array, "_pointer") else None


def _check_dtype(what: str, array: Any, data_type: Any) -> None:
    wanted = _dtypes.array_dtype(data_type)
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
    u = as_usm_ndarray(array)
    if u is None:
        raise TypeError(f"array must be a dpnp.ndarray or usm_ndarray, got {type(array).__name__}")
    if data_type is None:
        data_type = _dtypes.data_type_of(u.dtype)
    if data_type in _dtypes.FOUR_BIT:
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


def _span(desc: _core.MemoryDesc, index: int, array: Any) -> tuple[Any, int, bool]:
    """Return the dpctl.memory object, the byte offset in it, and whether it may be written."""
    if isinstance(array, dpctl.memory._memory._Memory):
        return array, 0, True
    u = as_usm_ndarray(array)
    if u is None:
        raise TypeError(
            "array must be a dpnp.ndarray, usm_ndarray or dpctl.memory object, got "
            f"{type(array).__name__}"
        )
    _check_dtype("Memory", u, desc.get_data_type(index))
    _check_layout(desc, index, u)
    return u.usm_data, u._pointer - u.usm_data._pointer, _is_writable(u)


def _allocate(desc: _core.MemoryDesc, index: int, engine: _core.Engine, usm_type: str) -> Any:
    nbytes = max(_bytes_needed(desc, index), desc.get_size(index))
    if usm_type not in KINDS:
        raise InvalidArguments(
            f"Memory: usm_type must be one of {', '.join(KINDS)}, got {usm_type!r}"
        )
    return allocated(KINDS[usm_type], nbytes, engine.sycl_queue, "Memory")


class Memory(_core.Memory):
    """A tensor in USM, immutable: descriptor, engine and what holds the data.

    Parameters
    ----------
    desc : MemoryDesc
        A concrete layout. For a host scalar the second argument is its value.
    engine : Engine
        Where the primitives run that use it.
    array : dpnp.ndarray, usm_ndarray, dpctl.memory object, or a list of them, optional
        Shared, not copied, and kept alive. An array of the desc's shape must have its strides;
        a contiguous array of any other shape is taken as raw storage in the desc's layout. Sparse
        descriptors take a list (CSR: values, indices, pointers). Without it, memory is allocated.
    usm_type : {"device", "shared", "host"}
        Kind of the allocation.

    Raises
    ------
    InvalidArguments
        dtype, layout or size of ``array`` do not fit; ``desc`` is ``any`` or has runtime dims.
    dpnp.exceptions.ExecutionPlacementError
        ``array`` belongs to another SYCL context than ``engine``.

    Notes
    -----
    Source: oneDNN ``dnnl::memory`` and its SYCL interoperability, memory kind USM.
    """

    __slots__ = ()

    def __init__(
        self,
        desc: _core.MemoryDesc,
        engine: Any = None,
        array: Any = None,
        *,
        usm_type: str = "device",
    ) -> None:
        if not isinstance(desc, _core.MemoryDesc):
            raise TypeError(f"Memory: desc must be a MemoryDesc, got {type(desc).__name__}")
        kind = desc.format_kind
        if kind is _core.format_kind.host_scalar:
            super().__init__(desc, _dtypes.scalar_bytes(engine, desc.data_type))
            return
        if not isinstance(engine, _core.Engine):
            raise TypeError(f"Memory: engine must be an Engine, got {type(engine).__name__}")
        if kind in _VAGUE:
            raise InvalidArguments(
                f"Memory: desc must say the layout (as a primitive descriptor does), got {desc}"
            )
        allocated = array is None
        if allocated:
            array = [_allocate(desc, i, engine, usm_type) for i in range(desc.num_handles)]
        arrays = array if isinstance(array, (list, tuple)) else [array]
        spans = [_span(desc, i, a) for i, a in enumerate(arrays)]
        buffers = [(buffer, offset) for buffer, offset, _ in spans]
        writable = all(w for *_, w in spans)
        super().__init__(desc, engine, buffers, arrays, writable, allocated)

    @classmethod
    def from_array(cls, array: Any, engine: _core.Engine, data_type: Any = None) -> Memory:
        """Wrap an array in its own layout; see ``desc_of_array``."""
        return cls(desc_of_array(array, data_type), engine, array)

    def to_array(self, index: int = 0) -> Any:
        """Return a dpnp array over buffer ``index``: same memory, no copy, no wait.

        Types that dpnp lacks come as raw integers (bf16 in uint16, float8 in uint8); 4-bit types
        and the buffers of sparse tensors as flat arrays.

        Raises
        ------
        InvalidArguments
            The layout is blocked or opaque (reorder into a plain one first), or a host scalar.
        """
        return _dtypes.array_over(self, index)

    def submemory(self, dims: Sequence[int], offsets: Sequence[int]) -> Memory:
        """Return the part of shape ``dims`` that starts at ``offsets``, in the same allocation.

        It keeps alive what holds the data. Source: oneDNN ``memory::desc::submemory_desc``.

        Raises
        ------
        InvalidArguments, Unimplemented
            The part does not lie within the tensor, or its layout has no such part: blocked ones
            can be cut between blocks only, sparse ones and host scalars not at all.
        """
        part = Memory.__new__(Memory)
        _core.Memory.__init__(part, self, dims, offsets)
        return part

    def zero(self, stream: _core.Stream, depends: Sequence[Any] = ()) -> Any:
        """Fill the memory with zero bytes, padding included; returns at once.

        Parameters
        ----------
        stream : Stream
            Of the memory's engine. An ordered one puts the work into its sequence.
        depends : sequence of dpctl.SyclEvent
            What must be complete before.

        Returns
        -------
        dpctl.SyclEvent
            Complete when the memory is 0. Until then the memory is kept alive.

        Raises
        ------
        InvalidArguments
            The memory is read-only, or a view with gaps, which may belong to somebody else.
        """
        if not stream.ordered:
            return super().zero(stream, depends)
        manager = SequentialOrderManager[stream.sycl_queue]
        event = super().zero(stream, [*depends, *manager.submitted_events])
        manager.add_event_pair(event, event)
        return event

    def __repr__(self) -> str:
        return f"<Memory {self.desc} at {self.pointer:#x}>"
