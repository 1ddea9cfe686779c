# SPDX-License-Identifier: Apache-2.0
"""Copies of batches to a queue that do not wait for other work on it."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.foreign_arrays import bits_of

#: Kinds of NumPy dtypes that no device supports: objects, strings, times.
_OF_HOST = "OSUmM"


def to_queue(batch: Any, queue: Any) -> Any:
    """Copy the arrays of a tree to a queue; other leaves are returned unchanged.

    ``batch``: with NumPy arrays, torch tensors, dpnp arrays or ``Array``. Raises TypeError if the
    device lacks a dtype; the message names the leaf.
    """
    leaves, structure = tree.flatten(batch)
    moved = []
    for index, leaf in enumerate(leaves):
        try:
            moved.append(_moved(leaf, queue))
        except (TypeError, ValueError, RuntimeError) as error:
            name = tree.names(batch)[index] or "batch"
            raise TypeError(
                f"to_queue: {name} cannot go to {queue.sycl_device}: {error}"
            ) from error
    return tree.unflatten(structure, moved)


def _moved(value: Any, queue: Any) -> Any:
    if nested_arguments.is_array(value):
        if value.sycl_queue == queue:
            return value
        if isinstance(value, Array):
            return Array(dpnp.asarray(value.bits, sycl_queue=queue), value.dtype)
        return dpnp.asarray(value, sycl_queue=queue)
    if isinstance(value, np.generic) or _is_of_host(value):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu().contiguous()
    carried = bits_of(value) if hasattr(value, "dtype") else None
    if carried is not None:
        bits, kind = carried
        if kind in dtypes.PACKED:
            return F.asarray(value, sycl_queue=queue)
        return Array(_copied(np.asarray(bits), queue), kind)
    if not isinstance(value, np.ndarray):
        if not hasattr(value, "__array__") or isinstance(value, type):
            return value
        value = np.asarray(value)
    return value if _is_of_host(value) else _copied(value, queue)


def _is_of_host(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in _OF_HOST


def _copied(values: np.ndarray, queue: Any) -> Any:
    """Copy to the device and wait for the copy.

    dpnp's own copies are ordered after all work on the queue; this one waits only for itself.
    """
    result = dpnp.empty(values.shape, dtype=values.dtype, sycl_queue=queue)
    if values.size:
        flat = np.ascontiguousarray(values).reshape(-1).view("u1")
        result.get_array().usm_data.copy_from_host(flat)
    return result
