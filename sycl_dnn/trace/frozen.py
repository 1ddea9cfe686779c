# SPDX-License-Identifier: Apache-2.0
"""Arguments with a special meaning: arrays declared constant, and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import view
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import allocation, layout
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.trace_state import TraceState
from sycl_dnn.trace.values import Tensor


class Frozen:
    """A read-only array together with copies of it in the layouts that primitives require.

    Functions of ``sycl_dnn.functional`` accept it as an array. Created by ``freeze``.
    """

    __slots__ = ("_array", "_token", "data", "packed")

    def __init__(self, array: Any) -> None:
        is_carried = isinstance(array, Array)
        usm = array.get_array()
        if not layout.is_describable(usm.shape, usm.strides):
            usm = dpnp.ascontiguousarray(allocation.wrap(usm)).get_array()
        #: The frozen array, read-only.
        self.data = _read_only(usm, array.dtype if is_carried else None)
        self._array = self.data.get_array()
        u = self._array
        self._token = ("frozen", u.shape, u.strides, array.dtype if is_carried else u.dtype)
        #: Packed copies, keyed by how they were computed.
        self.packed: dict[Any, Any] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """Data type of the array."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.data.shape)

    @property
    def nbytes_packed(self) -> int:
        """Bytes of the packed copies."""
        return sum(p.nbytes for p in self.packed.values())

    def get_array(self) -> Any:
        """Return the usm_ndarray."""
        return self._array

    def __repr__(self) -> str:
        return f"Frozen({self.data!r}, {len(self.packed)} packed copies)"


def _read_only(usm: Any, dtype: str | None) -> Any:
    same = view(usm, usm.shape, usm.dtype, usm.strides)
    same.flags.writable = False
    array = allocation.wrap(same)
    return array if dtype is None else Array(array, dtype)


def freeze(array: dpnp.ndarray | Array) -> Frozen:
    """Promise that an array will not change, so that its packed copies can be kept.

    oneDNN prefers its own layouts for the weights of convolutions and of large products. A plain
    array is repacked on every call, since its values may have changed; a frozen one only once for
    each layout that is needed. The copies are freed with the frozen object.

    Parameters
    ----------
    array : dpnp.ndarray or Array
        Shared, not copied, unless strides are negative or elements overlap. ``.data`` of the
        result is a read-only view; writing through another name of the same memory breaks the
        promise and leaves the copies stale.

    Returns
    -------
    Frozen

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> w = sycl_dnn.freeze(F.ones(4, 3))
    >>> F.linear(F.ones(2, 3), w).shape
    (2, 4)
    """
    if isinstance(array, Frozen):
        return array
    if not isinstance(array, (dpnp.ndarray, Array)):
        raise TypeError(
            f"freeze: array must be a dpnp.ndarray or Array, got {type(array).__name__}"
        )
    return Frozen(array)


# --- What each call passes, and no plan depends on


class Passed:
    """Represents the value that a call passes in place of an array that its function captures."""

    __slots__ = ()


class Seed(Passed):
    """A number that is passed on each call and that no plan depends on.

    Parameters
    ----------
    value : int or float
    dtype : str
        Dtype of the scalar that the device reads.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> a, b = (F.dropout(F.ones(9), seed=sycl_dnn.Seed(7)) for _ in range(2))
    >>> bool((a == b).all())
    True
    """

    __slots__ = ("dtype", "value")

    def __init__(self, value: float, dtype: Any = "int64") -> None:
        self.value = value
        self.dtype = dtype

    def drawn(self, numbers: Sequence[float] = ()) -> Seed:
        """Return the seed whose value one call has, given the floats among its arguments."""
        return self

    def bytes(self, numbers: Sequence[float] = ()) -> bytes:
        """Return the value as the device reads it; ``numbers`` as for ``drawn``."""
        return np.array(self.drawn(numbers).value, dtype=self.dtype).tobytes()

    def array(self, queue: Any, numbers: Sequence[float] = (), is_kept: bool = False) -> Any:
        """Return the value for one call, as a usm_ndarray without axes.

        ``is_kept``: whether the user gets it, so that later calls must not write to its memory.
        """
        new = allocation.scalar_of_bytes if is_kept else allocation.seed_of_bytes
        return new(self.bytes(numbers), np.dtype(self.dtype), queue)


# --- The tensor of an argument


def argument_of(trace: TraceState, value: Any, constant: bool = False) -> Tensor:
    """Return the tensor of the next argument of a trace."""
    if isinstance(value, Seed):
        return trace.scalar(value.dtype)
    array = value.get_array() if hasattr(value, "get_array") else value
    if not trace.has_queue:
        trace.queue, trace.has_queue = array.sycl_queue, True
    carried = value.data if isinstance(value, Frozen) else value
    name = carried.dtype if isinstance(carried, Array) else dtypes.name_of(array.dtype)
    constant = constant or isinstance(value, Frozen)
    if name in dtypes.PACKED:
        return trace.argument(carried.shape, name, carried.element_strides, constant)
    return trace.argument(array.shape, name, array.strides, constant)
