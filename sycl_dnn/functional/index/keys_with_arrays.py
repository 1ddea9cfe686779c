# SPDX-License-Identifier: Apache-2.0
"""Items of arrays with values whose keys have arrays: ``x[index]``, ``x[mask]``, ``x[i, :, j]``.

On CPUs the host reads the arrays of the key: it finds the elements faster than dpnp's kernels, and
refuses indices that are out of range, for which dpnp takes the nearest ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import array_in, host_view, is_readable
from sycl_dnn.functional.index.gathering import index_select
from sycl_dnn.trace import array_writes
from sycl_dnn.trace.indexing import check_numbers, full_key

#: Bytes that NumPy copies in less time than a kernel takes.
_FEW = 1 << 16
_EVERY = slice(None)


def items_of(x: dpnp.ndarray, key: Any) -> dpnp.ndarray:
    """Return ``x[key]``.

    Raises IndexError if an index is out of range, or a mask has other sizes than its axes.
    """
    items = key if isinstance(key, tuple) else (key,)
    if not (any(map(_is_array, items)) and _is_on_host(x, items)):
        return x[key]
    items = tuple(map(_host, items))
    if _is_mask_of(x, items):
        # Faster than NumPy's own reading of masks.
        found = np.take(host_view(x.get_array()), np.flatnonzero(items[0]))
        return array_in(found, None, sycl_queue=x.sycl_queue)
    plain, kept = _split(x, items)
    values = host_view(x.get_array())[plain]
    chosen = [axis for axis, item in enumerate(kept) if item is not _EVERY]
    axis, index = chosen[0], kept[chosen[0]]
    n_bytes = values.nbytes // max(values.shape[axis], 1) * index.size
    if len(chosen) > 1 or n_bytes <= _FEW:
        found = np.ascontiguousarray(values[kept])
        return array_in(found, None, sycl_queue=x.sycl_queue)
    places = array_in(index.reshape(-1), None, sycl_queue=x.sycl_queue)
    rows = index_select(x[plain], axis, places)
    return rows.reshape(*values.shape[:axis], *index.shape, *values.shape[axis + 1 :])


def put_items(x: dpnp.ndarray, values: Any, key: Any) -> None:
    """Write values to ``x[key]``.

    Raises IndexError if an index is out of range, or a mask has other sizes than its axes.
    """
    items = key if isinstance(key, tuple) else (key,)
    is_known = isinstance(values, (bool, int, float, np.ndarray, dpnp.ndarray))
    if not (is_known and _is_on_host(x, (*items, values)) and _is_written(x, values, items)):
        array_writes.assign(x, values, key)


def _is_written(x: dpnp.ndarray, values: Any, items: Sequence[Any]) -> bool:
    """Let NumPy write, unless dpnp converts the values in its own way, or is faster."""
    view, numbers = host_view(x.get_array()), np.asarray(_host(values))
    if not np.can_cast(numbers.dtype, view.dtype, "same_kind"):
        return False
    items = tuple(map(_host, items))
    if _is_mask_of(x, items) and not numbers.ndim:
        np.copyto(view, numbers, "same_kind", items[0])
    elif any(map(_is_array, items)):
        plain, kept = _split(x, items)
        view[plain][kept] = numbers
    elif view[items].nbytes <= _FEW:
        view[items] = numbers
    else:
        return False
    array_writes.note(x)
    return True


def _is_array(item: Any) -> bool:
    return isinstance(item, (dpnp.ndarray, np.ndarray)) and item.ndim > 0


def _host(item: Any) -> Any:
    return host_view(item.get_array()) if isinstance(item, dpnp.ndarray) else item


def _is_mask_of(x: dpnp.ndarray, items: Sequence[Any]) -> bool:
    is_mask = len(items) == 1 and _is_array(items[0]) and items[0].dtype == bool
    return is_mask and items[0].shape == x.shape


def _is_on_host(x: dpnp.ndarray, others: Sequence[Any]) -> bool:
    """Whether NumPy can read all arrays, which are on one queue."""
    arrays = [x, *(i for i in others if isinstance(i, dpnp.ndarray))]
    is_shared = all(i.sycl_queue == x.sycl_queue for i in arrays)
    is_near = all(is_readable(i.get_array()) for i in arrays)
    return is_shared and is_near and x.sycl_queue.sycl_device.is_cpu


def _split(x: dpnp.ndarray, items: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return a key as one of numbers and slices, and one of arrays and whole axes after it.

    To NumPy, numbers beside arrays are arrays.
    """
    full = full_key(x, tuple(items))
    check_numbers(x.shape, full)
    plain = tuple([_EVERY if isinstance(i, np.ndarray) else i for i in full])
    kept = [i if isinstance(i, np.ndarray) else _EVERY for i in full if not isinstance(i, int)]
    return plain, tuple(kept)
