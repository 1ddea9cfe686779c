# SPDX-License-Identifier: Apache-2.0
"""Values while a function is traced: shape, dtype and layout, but no data."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, cast

from sycl_dnn._core import MemoryDesc
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.operators import Operators
from sycl_dnn.dispatch.tensor_methods import ArrayMethods
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.dispatch.trace import Trace
    from sycl_dnn.dispatch.trace_state import TraceState


class Storage:
    """Bytes that a step writes or the caller gives; several tensors may look into it."""

    __slots__ = ("argument", "constant", "desc", "memory", "scalar")

    def __init__(
        self,
        desc: MemoryDesc | None,
        *,
        argument: int | None = None,
        memory: Any = None,
        constant: bool = False,
        scalar: bool = False,
    ) -> None:
        #: The layout as it was made; its size is that of the storage.
        self.desc: Any = desc
        #: Number of the array in the call; None for what is made on the way.
        self.argument = argument
        #: A Memory that is there for good.
        self.memory = memory
        #: Whether the content stands still from call to call.
        self.constant = constant or memory is not None
        #: Whether the argument is a host scalar, which comes as bytes.
        self.scalar = scalar

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.desc.get_size()


class Tensor(ArrayMethods, Operators):
    """One value of a trace: a layout at an offset of a storage.

    ``shape`` and ``dtype`` read as on arrays; ``desc`` is None for a dtype that oneDNN lacks.
    """

    __slots__ = ("_trace", "desc", "dtype", "offset", "shape", "storage", "strides")

    def __init__(
        self,
        trace: TraceState,
        storage: Storage,
        desc: MemoryDesc | None,
        dtype: str,
        shape: tuple[int, ...],
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        # The trace holds its tensors; both ways round, plans would live until a garbage collection.
        self._trace = weakref.ref(trace)
        self.storage = storage
        # Nearly everywhere there is one: who cannot do without need not ask.
        self.desc: Any = desc
        self.dtype = dtypes.DtypeName(dtype)
        self.shape = shape
        self.offset = offset
        if strides is None and desc is not None and desc.is_plain:
            strides = desc.strides[: len(shape)]
        self.strides: Any = strides

    @property
    def trace(self) -> Trace:
        """The trace that records what is done with the tensor."""
        return cast("Trace", self._trace())

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether the tensor has a gradient."""
        return dtypes.is_float(self.dtype)

    def __repr__(self) -> str:
        return f"Tensor({self.shape}, {self.dtype}, {self.desc})"

    def view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Tensor:
        """Return another look at the same elements: strides and offset in elements."""
        step = offset * dtypes.bits_of(self.dtype) // 8
        desc = None if self.desc is None else layout.strided(shape, self.dtype, strides)
        return Tensor(
            self.trace, self.storage, desc, self.dtype, shape, self.offset + step, strides
        )

    def halves(self) -> Tensor:
        """Return 64-bit elements as pairs of int32 along one more axis."""
        shape = (*self.shape, 2)
        strides = (*(2 * s for s in self.strides), 1)
        desc = layout.strided(shape, "int32", strides)
        return Tensor(self.trace, self.storage, desc, "int32", shape, self.offset, strides)
