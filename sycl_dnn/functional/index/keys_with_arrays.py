# SPDX-License-Identifier: Apache-2.0
"""Items of arrays with values whose keys have arrays: ``x[index]``, ``x[mask]``, ``x[i, :, j]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import array_in, host_view, is_readable
from sycl_dnn.functional.index.gathering import index_select
from sycl_dnn.trace.indexing import check_numbers, full_key

#: Bytes that NumPy copies in less time than a kernel needs to begin.
_FEW = 1 << 16
_EVERY = slice(None)


def items_of(x: dpnp.ndarray, key: Any) -> dpnp.ndarray:
    """Return ``x[key]``.

    On CPUs the host reads the arrays of the key: it finds the elements faster than dpnp's kernels,
    and refuses indices that are out of range, for which dpnp takes the nearest ones.

    Raises
    ------
    IndexError
        An index is out of range, or a mask has other sizes than its axes.
    """
    items = key if isinstance(key, tuple) else (key,)
    arrays = [i for i in items if isinstance(i, (dpnp.ndarray, np.ndarray))]
    if not any(i.ndim for i in arrays) or not _is_on_host(x, arrays):
        return x[key]
    items = tuple([host_view(i.get_array()) if isinstance(i, dpnp.ndarray) else i for i in items])
    if len(items) == 1 and items[0].dtype == bool and items[0].shape == x.shape:
        # Faster than NumPy's own reading of masks.
        values = np.take(host_view(x.get_array()), np.flatnonzero(items[0]))
    else:
        values = _found(x, full_key(x, items))
    is_here = isinstance(values, dpnp.ndarray)
    return values if is_here else array_in(values, None, sycl_queue=x.sycl_queue)


def _is_on_host(x: dpnp.ndarray, arrays: Sequence[Any]) -> bool:
    """Whether NumPy can read all arrays, which are on one queue."""
    used = [x, *(i for i in arrays if isinstance(i, dpnp.ndarray))]
    is_shared = all(i.sycl_queue == x.sycl_queue for i in used)
    is_near = all(is_readable(i.get_array()) for i in used)
    return is_shared and is_near and x.sycl_queue.sycl_device.is_cpu


def _found(x: dpnp.ndarray, items: Sequence[Any]) -> Any:
    """Return ``x`` by a key with an item for each axis: of NumPy, or of dpnp if it is large."""
    check_numbers(x.shape, items)
    # First by numbers and slices: to NumPy, numbers beside arrays are arrays.
    plain = tuple([_EVERY if isinstance(i, np.ndarray) else i for i in items])
    kept: list[Any] = [
        i if isinstance(i, np.ndarray) else _EVERY for i in items if not isinstance(i, int)
    ]
    chosen = [axis for axis, item in enumerate(kept) if item is not _EVERY]
    values = host_view(x.get_array())[plain]
    axis, index = chosen[0], kept[chosen[0]]
    n_bytes = values.nbytes // max(values.shape[axis], 1) * index.size
    if len(chosen) > 1 or n_bytes <= _FEW:
        return np.ascontiguousarray(values[tuple(kept)])
    places = array_in(index.reshape(-1), None, sycl_queue=x.sycl_queue)
    found = index_select(x[plain], axis, places)
    return found.reshape(*values.shape[:axis], *index.shape, *values.shape[axis + 1 :])
