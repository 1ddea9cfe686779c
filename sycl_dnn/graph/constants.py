# SPDX-License-Identifier: Apache-2.0
"""Constants of graphs on the device."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn import _core
from sycl_dnn.graph.nodes import HostData
from sycl_dnn.graph.tensor import Tensor, logical_tensor_of
from sycl_dnn.graph.value import Value
from sycl_dnn.onednn import dtypes

#: What dpnp has a dtype for.
_OWN = ("bool", "float32", "float16", "int64", "int32", "int8", "uint8")


def constant_tensor(value: Value, engine: _core.Engine, queue: Any) -> Tensor:
    """Return the tensor of a constant on a queue.

    Raises
    ------
    dpnp.exceptions.ExecutionPlacementError
        The array that the graph was given belongs to another queue.
    """
    array = _on_device(value, queue)
    return Tensor(logical_tensor_of(array, value.id, property_type="constant"), engine, array)


def _on_device(value: Value, queue: Any) -> Any:
    from sycl_dnn.functional import asarray

    data = value._data
    if isinstance(data, HostData):
        wanted = dtypes.LONG[data.dtype]
        if wanted in _OWN:
            return dpnp.asarray(data.values, dtype=wanted, sycl_queue=queue)
        return asarray(data.values.astype("f4"), wanted, sycl_queue=queue)
    if data.sycl_queue != queue:
        raise dpnp.exceptions.ExecutionPlacementError(
            f"Graph.constant: {value.name} must be on the queue that the graph is compiled for"
        )
    return data
