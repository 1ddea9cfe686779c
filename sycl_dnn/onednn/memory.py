# SPDX-License-Identifier: Apache-2.0
"""Memory over arrays: dpnp arrays, usm_ndarray and dpctl.memory objects, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpctl.utils import SequentialOrderManager

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onednn.arrays import allocate, array_over, desc_of_array, scalar_bytes, span

#: Descriptors that no memory can have.
_VAGUE = (_core.format_kind.any, _core.format_kind.undef)


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
            super().__init__(desc, scalar_bytes(engine, desc.data_type))
            return
        if not isinstance(engine, _core.Engine):
            raise TypeError(f"Memory: engine must be an Engine, got {type(engine).__name__}")
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

        Types that dpnp lacks come as raw integers (bf16 in uint16, float8 in uint8); 4-bit types
        and the buffers of sparse tensors as flat arrays.

        Raises
        ------
        InvalidArguments
            The layout is blocked or opaque (reorder into a plain one first), or a host scalar.
        """
        return array_over(self, index)

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
