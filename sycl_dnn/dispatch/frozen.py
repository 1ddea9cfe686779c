# SPDX-License-Identifier: Apache-2.0
"""Arrays that stand still, so that packed copies of them can be kept."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn._dpnp import view
from sycl_dnn.dispatch import allocation
from sycl_dnn.dispatch.array import Array

__all__ = ["Frozen", "freeze"]


class Frozen:
    """A read-only array together with the copies of it that primitives want in other layouts.

    Functions of ``sycl_dnn.functional`` take it wherever they take an array. Made by ``freeze``.
    """

    __slots__ = ("_array", "_token", "data", "packed")

    def __init__(self, array: Any) -> None:
        is_carried = isinstance(array, Array)
        usm = array.get_array()
        #: The frozen array, read-only.
        self.data = _read_only(usm, array.dtype if is_carried else None)
        self._array = self.data.get_array()
        u = self._array
        self._token = ("frozen", u.shape, u.strides, array.dtype if is_carried else u.dtype)
        #: Packed copies by what was done to get them.
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
        """Bytes that the packed copies hold."""
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

    oneDNN wants the weights of convolutions and of large products in layouts of its own. A plain
    array is repacked at every call, since somebody may have written into it; a frozen one once for
    each layout that is asked for. The copies go when the frozen object goes.

    Parameters
    ----------
    array : dpnp.ndarray or Array
        Shared, not copied. ``.data`` of the result is a read-only view; writing through another
        name of the same memory breaks the promise and leaves the copies stale.

    Returns
    -------
    Frozen
    """
    if isinstance(array, Frozen):
        return array
    if not isinstance(array, (dpnp.ndarray, Array)):
        raise TypeError(
            f"freeze: array must be a dpnp.ndarray or Array, got {type(array).__name__}"
        )
    return Frozen(array)
