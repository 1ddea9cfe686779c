# SPDX-License-Identifier: Apache-2.0
"""The tensors of one call: numbers, memory that it allocated, arrays made elsewhere, results."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn import _core
from sycl_dnn.dispatch import allocation
from sycl_dnn.graph.tensor import Tensor, array_over, element_strides
from sycl_dnn.onednn import dtypes


class Number(Tensor):
    """A host scalar that remembers its value."""

    __slots__ = ("value",)

    def __init__(self, layout: _core.LogicalTensor, value: Any) -> None:
        super().__init__(layout, value)
        self.value = value


class Data(_core.GraphTensor):
    """Memory that a call allocated."""

    __slots__ = ()

    def to_array(self) -> Any:
        """Return the array over it."""
        return result_of(self)


def result_of(tensor: Any) -> Any:
    """Return the array that a call gives for a tensor."""
    from sycl_dnn.dispatch.array import wrapped

    owner = tensor.owner
    dtype = dtypes.LONG[tensor.logical_tensor.data_type.name]
    if isinstance(owner, allocation.usm_ndarray):
        return wrapped(owner, dtype)
    return array_over(tensor.logical_tensor, owner)


def in_layout(array: Any, wanted: Any, queue: Any) -> Any:
    """Return an array as a result of the graph: right dtype, shape and strides, or an error."""
    dtype = wanted.data_type.name
    if not hasattr(array, "get_array"):
        array = dpnp.asarray(array, sycl_queue=queue)
    if dtypes.graph_name(array.dtype, "graph") != dtype:
        from sycl_dnn import functional

        array = functional.astype(array, dtypes.LONG[dtype])
    if tuple(array.shape) != wanted.dims:
        raise ValueError(f"graph: a result must have shape {wanted.dims}, got {array.shape}")
    strides = element_strides(array)
    if any(n > 1 and a != b for n, a, b in zip(wanted.dims, strides, wanted.strides, strict=True)):
        array = array.copy() if isinstance(array, dpnp.ndarray) else _dense(array)
        if element_strides(array) != wanted.strides and isinstance(array, dpnp.ndarray):
            array = dpnp.ascontiguousarray(array)
    return array


def _dense(array: Any) -> Any:
    return type(array)(dpnp.ascontiguousarray(array.data), array.dtype)
