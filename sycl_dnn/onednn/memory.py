# SPDX-License-Identifier: Apache-2.0
"""``Memory``: a tensor in USM, over arrays or its own allocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpctl.memory
import numpy as np

from sycl_dnn import _core
from sycl_dnn._dpnp import array_maker, is_memory, place, usm_array, view
from sycl_dnn.errors import InvalidArguments, OutOfMemory
from sycl_dnn.onednn import dtypes, mapping

#: Format kinds that no memory can have.
_VAGUE = (_core.format_kind.any, _core.format_kind.undef)


class Memory(_core.Memory):
    """A tensor in USM: descriptor, engine and data.

    Parameters
    ----------
    desc : MemoryDesc
        A concrete layout. For a host scalar, the second argument is its value.
    engine : Engine
        Engine of the primitives that use it.
    array : dpnp.ndarray, usm_ndarray, dpctl.memory object, or a list of them, optional
        Or any object with ``__sycl_usm_array_interface__``. Shared, not copied, and kept alive. An
        array with the shape of ``desc`` must have its strides; a contiguous array of any other
        shape is used as raw storage. Sparse descriptors require a list (CSR: values, indices,
        pointers). By default memory is allocated.
    usm_type : {"device", "shared", "host"}
        Kind of the allocation.

    Raises
    ------
    InvalidArguments
        dtype, layout or size of ``array`` do not match, or ``desc`` is ``any`` or has runtime dims.
    dpnp.exceptions.ExecutionPlacementError
        ``array`` belongs to another SYCL context than ``engine``.

    Notes
    -----
    Source: oneDNN ``dnnl::memory`` and its SYCL interoperability, USM memory kind.
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
            super().__init__(desc, scalar_bytes(engine, desc.data_type))
            return
        if not isinstance(engine, _core.Engine):
            raise TypeError(f"Memory: engine must be an Engine, got {type(engine).__name__}")
        if desc.is_zero and array is None:
            super().__init__(desc, engine)
            return
        if kind in _VAGUE:
            raise InvalidArguments(
                f"Memory: desc must say the layout (as a primitive descriptor does), got {desc}"
            )
        allocated = array is None
        if allocated:
            array = [allocate(desc, i, engine, usm_type) for i in range(desc.num_handles)]
        arrays = array if isinstance(array, (list, tuple)) else [array]
        spans = [span(desc, i, a) for i, a in enumerate(arrays)]
        buffers = [(buffer, offset) for buffer, offset, _ in spans]
        writable = all(w for *_, w in spans)
        super().__init__(desc, engine, buffers, arrays, writable, allocated)

    @classmethod
    def from_array(cls, array: Any, engine: _core.Engine, data_type: Any = None) -> Memory:
        """Wrap an array in its own layout; see ``desc_of_array``."""
        return cls(desc_of_array(array, data_type), engine, array)

    def to_array(self, index: int = 0) -> Any:
        """Return a dpnp array over buffer ``index``: same memory, no copy, no wait.

        Types that dpnp lacks are returned as raw integers (bf16 as uint16, float8 as uint8); 4-bit
        types and buffers of sparse tensors as flat arrays.

        Raises
        ------
        InvalidArguments
            The layout is blocked or opaque (reorder to a plain one first), or it is a host scalar.
        """
        return array_over(self, index)

    # --- C++ member functions

    @staticmethod
    def data_type_size(data_type: Any) -> int:
        """Return the bytes per element of a data type; see ``data_type_size``."""
        return _core.data_type_size(data_type)

    def set_data_handle(self, array: Any, index: int = 0) -> None:
        """Rebind the memory to another array; nothing is copied.

        Executions already submitted use the old array and keep it alive. Programs, and memories
        made by ``submemory``, keep theirs.

        Parameters
        ----------
        array : as for ``Memory``
            Must match the descriptor, as in the constructor.
        index : int
            Buffer index, for sparse tensors.

        Raises
        ------
        InvalidArguments
            dtype, layout or size of ``array`` do not match, or the memory is a host scalar.
        dpnp.exceptions.ExecutionPlacementError
            ``array`` belongs to another SYCL context than the engine.

        Notes
        -----
        Source: oneDNN ``dnnl::memory::set_data_handle``.
        """
        desc = self.desc
        if self.engine is None:
            raise InvalidArguments(
                f"Memory.set_data_handle: memory must not be a host scalar, got {desc}"
            )
        if not 0 <= index < desc.num_handles:
            raise InvalidArguments(
                f"Memory.set_data_handle: index must be below {desc.num_handles}, got {index}"
            )
        if desc.num_handles == 1:
            buffer, offset, writable = span(desc, 0, array)
            self._set_data_handle([(buffer, offset)], [array], writable)
            return
        arrays = [*self.owner]
        arrays[index] = array
        spans = [span(desc, i, a) for i, a in enumerate(arrays)]
        buffers = [(buffer, offset) for buffer, offset, _ in spans]
        self._set_data_handle(buffers, arrays, all(w for *_, w in spans))

    def map_data(self, index: int = 0) -> Any:
        """Return buffer ``index`` as a NumPy array for reading and writing on the host.

        Work that uses the memory must be complete. Shared and host memory is not copied. Device
        memory is copied, and written back by ``unmap_data``, which every mapping requires.

        Parameters
        ----------
        index : int
            Buffer index, for sparse tensors.

        Returns
        -------
        numpy.ndarray
            In the shape of a plain descriptor, else flat bytes. Types that NumPy lacks are raw
            integers, as in ``to_array``.

        Raises
        ------
        InvalidArguments
            The memory is a host scalar or already mapped.

        Notes
        -----
        Source: oneDNN ``dnnl::memory::map_data``.
        """
        return mapping.mapped(self, index)

    def unmap_data(self, mapped: Any, index: int = 0) -> None:
        """End a mapping; if ``mapped`` is a copy, write it back.

        Raises
        ------
        InvalidArguments
            ``mapped`` was not returned by ``map_data`` for this memory and buffer.
        """
        mapping.unmap(self, mapped, index)

    def get_host_scalar_value(self) -> Any:
        """Return the value of a host scalar.

        Raises
        ------
        InvalidArguments
            The memory is not a host scalar.
        """
        return scalar_value(self)

    def set_host_scalar_value(self, value: Any) -> None:
        """Set the value of a host scalar; executions already submitted use the old value.

        Raises
        ------
        InvalidArguments
            The memory is not a host scalar, or the data type cannot hold ``value``.
        """
        scalar_value(self)
        self._set_host_scalar(scalar_bytes(value, self.desc.data_type))

    # --- Interoperability

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return self.to_array().__sycl_usm_array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Copy to NumPy after the work on the queue; supports the layouts of ``to_array``."""
        return mapping.to_numpy(self, dtype, copy)

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """Return a DLPack capsule over the memory; supports the layouts of ``to_array``.

        Data for the CPU is complete on return.
        """
        return mapping.capsule(self.to_array().get_array(), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Return DLPack's device type and index; SYCL's CPU device is DLPack's CPU."""
        return mapping.dlpack_device(self.to_array().get_array())

    def submemory(self, dims: Sequence[int], offsets: Sequence[int]) -> Memory:
        """Return a view of shape ``dims`` at ``offsets`` in the same allocation.

        It keeps the data alive. Source: oneDNN ``memory::desc::submemory_desc``.

        Raises
        ------
        InvalidArguments, Unimplemented
            The view exceeds the tensor, or the layout has no such view: blocked layouts can be cut
            only between blocks, sparse tensors and host scalars not at all.
        """
        part = Memory.__new__(Memory)
        _core.Memory.__init__(part, self, dims, offsets)
        return part

    def zero(self, stream: _core.Stream, depends: Sequence[Any] = ()) -> Any:
        """Fill the memory with zero bytes, including padding; asynchronous.

        Parameters
        ----------
        stream : Stream
            Of the memory's engine; ordered streams keep their order.
        depends : sequence of dpctl.SyclEvent
            Events that must be complete before.

        Returns
        -------
        dpctl.SyclEvent
            Complete once the memory is zero. Until then the memory is kept alive.

        Raises
        ------
        InvalidArguments
            The memory is read-only, or a view with gaps, which may contain data of another array.
        """
        return super().zero(stream, depends)

    def __repr__(self) -> str:
        return f"<Memory {self.desc} at {self.pointer:#x}>"


# --- USM allocations


#: By name; dpnp prefers kinds in this order for results.
KINDS = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}


def allocated(kind: Any, nbytes: int, queue: Any, purpose: str) -> Any:
    """Allocate ``nbytes`` bytes (at least one) as a dpctl.memory object of class ``kind``.

    Raises OutOfMemory if the device has no such memory left; the message begins with ``purpose``.
    """
    try:
        return kind(max(nbytes, 1), queue=queue)
    except (MemoryError, OverflowError, dpctl.memory.USMAllocationError) as error:
        name = next(n for n, allocation in KINDS.items() if allocation is kind)
        raise OutOfMemory(f"{purpose}: no {nbytes} bytes of {name} memory") from error


# --- Arrays as memory


def _check_dtype(name: str, array: Any, data_type: Any) -> None:
    expected = dtypes.row_of(data_type).dtype
    if array.dtype != expected:
        raise InvalidArguments(
            f"{name}: array must have dtype {expected} to hold {data_type.name}, got {array.dtype}"
        )


def array_of(value: Any) -> Any | None:
    """Return a value's usm_ndarray, or one over the memory that its interface describes.

    The interface is ``__sycl_usm_array_interface__``, the protocol for exchanging USM.
    """
    result = usm_array(value)
    if result is None and hasattr(value, "__sycl_usm_array_interface__"):
        from dpnp import tensor

        result = tensor.asarray(value, copy=False)
    return result


def desc_of_array(array: Any, data_type: Any = None) -> _core.MemoryDesc:
    """Describe an array by its shape, strides and data type.

    Parameters
    ----------
    array : dpnp.ndarray or usm_ndarray
        Without negative strides. A 0-d array is described with shape (1,).
    data_type : member of ``data_type``, optional
        Required if dpnp lacks the dtype: ``bf16`` in uint16; ``f8_*``, ``e8m0`` in uint8.

    Raises
    ------
    InvalidArguments
        The dtype does not match ``data_type`` or has no oneDNN type, a stride is negative, or
        ``data_type`` is 4-bit.
    """
    u = array_of(array)
    if u is None:
        raise TypeError(f"array must be a dpnp.ndarray or usm_ndarray, got {type(array).__name__}")
    if data_type is None:
        data_type = dtypes.data_type_of(u.dtype)
    elif isinstance(data_type, str):
        data_type = dtypes.member_of(data_type)
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
    """Whether every element of an array with the descriptor's shape is where it says."""
    dims, strides = desc.dims, desc.strides
    return (
        desc.is_plain
        and not desc.submemory_offset
        and all(n == 1 or a == b for n, a, b in zip(dims, strides, u.strides, strict=True))
    )


def _bytes_needed(desc: _core.MemoryDesc, index: int) -> int:
    """Return the number of bytes from the start of buffer ``index`` through its last element."""
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
    # Memory beyond a view belongs to another array.
    if u.nbytes < _bytes_needed(desc, index):
        raise InvalidArguments(
            f"Memory: array must hold {_bytes_needed(desc, index)} bytes, got {u.nbytes}"
        )


def _is_writable(u: Any) -> bool:
    repeats = any(s == 0 and n > 1 for s, n in zip(u.strides, u.shape, strict=True))
    return bool(u.flags.writable) and (u.size == 0 or not repeats)


def span(desc: _core.MemoryDesc, index: int, array: Any) -> tuple[Any, int, bool]:
    """Return the dpctl.memory object, the byte offset in it, and whether it is writable."""
    if is_memory(array):
        return array, 0, True
    u = array_of(array)
    if u is None:
        raise TypeError(
            "array must be a dpnp.ndarray, usm_ndarray, dpctl.memory object or have "
            f"__sycl_usm_array_interface__, got {type(array).__name__}"
        )
    _check_dtype("Memory", u, desc.get_data_type(index))
    _check_layout(desc, index, u)
    return *place(u), _is_writable(u)


def allocate(desc: _core.MemoryDesc, index: int, engine: _core.Engine, usm_type: str) -> Any:
    """Allocate buffer ``index`` in a kind of memory."""
    nbytes = max(_bytes_needed(desc, index), desc.get_size(index))
    if usm_type not in KINDS:
        raise InvalidArguments(
            f"Memory: usm_type must be one of {', '.join(KINDS)}, got {usm_type!r}"
        )
    return allocated(KINDS[usm_type], nbytes, engine.sycl_queue, "Memory")


def _as_integer(number: np.ndarray, data_type: Any, owner: str) -> np.ndarray:
    limits = np.iinfo(dtypes.row_of(data_type).dtype)
    if not (limits.min <= number <= limits.max) or number != np.trunc(number):
        rule = f"be an integer in [{limits.min}, {limits.max}]"
        raise InvalidArguments(
            f"{owner}: a host scalar of {data_type.name} must {rule}, got {number}"
        )
    return number.astype(limits.dtype)


def scalar_bytes(value: Any, data_type: Any, owner: str = "Memory") -> bytes:
    """Convert a number to the bytes of ``data_type``, for a host scalar; errors name its owner."""
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "biuf":
        raise TypeError(f"{owner}: a host scalar must be a number, got {value!r}")
    if data_type is _core.data_type.bf16:
        return dtypes.to_bf16_bits(number).tobytes()
    row = dtypes.row_of(data_type)
    if row.carried:
        raise InvalidArguments(f"{owner}: a host scalar must not have data type {data_type.name}")
    if not row.is_float:
        return _as_integer(number, data_type, owner).tobytes()
    return number.astype(row.dtype).tobytes()


def scalar_value(memory: Any) -> Any:
    """Return the value of a host scalar."""
    desc = memory.desc
    if desc.format_kind is not _core.format_kind.host_scalar:
        raise InvalidArguments(f"Memory: memory must be a host scalar, got {desc}")
    data: bytes = memory.owner
    if desc.data_type is _core.data_type.bf16:
        return np.frombuffer(b"\0\0" + data, np.float32)[0].item()
    return np.frombuffer(data, dtypes.row_of(desc.data_type).dtype)[0].item()


def _flat_length(desc: _core.MemoryDesc, index: int) -> int:
    return desc.get_size(index) // dtypes.row_of(desc.get_data_type(index)).dtype.itemsize


def array_over(memory: Any, index: int) -> Any:
    """Return a dpnp array over one buffer of a memory, without copying."""
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
