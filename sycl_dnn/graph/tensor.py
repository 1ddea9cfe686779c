# SPDX-License-Identifier: Apache-2.0
"""``Tensor``: the data of a logical tensor, over dpnp arrays, dpctl memory or a number."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core
from sycl_dnn._dpnp import array_maker, is_memory, place
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.memory import KINDS, allocated, array_of, scalar_bytes
from sycl_dnn.trace.array import wrapped
from sycl_dnn.trace.layout import canonical_strides

__all__ = ["Tensor", "logical_tensor_of"]


def element_strides(array: Any) -> tuple[int, ...]:
    """Return an array's strides in elements; irrelevant ones as in a dense array."""
    strides = getattr(array, "element_strides", None)
    strides = array.get_array().strides if strides is None else strides
    return canonical_strides(tuple(array.shape), tuple(strides))


def logical_tensor_of(array: Any, id: int, *, property_type: str = "undef") -> _core.LogicalTensor:
    """Describe an array in its layout as a logical tensor.

    Parameters
    ----------
    array : dpnp.ndarray or Array
    id : int
        The tensor's id in its graph.
    property_type : {"undef", "variable", "constant"}

    Returns
    -------
    LogicalTensor
        With the array's data type, shape and strides.

    Examples
    --------
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn import graph
    >>> graph.logical_tensor_of(F.ones(2, 3), 0).dims
    (2, 3)
    """
    dtype = dtypes.graph_name(array.dtype, "logical_tensor_of")
    return _core.LogicalTensor(
        id, dtype, array.shape, strides=element_strides(array), property_type=property_type
    )


def _place(array: Any) -> tuple[Any, int, bool]:
    """Return the memory, the byte offset, and whether it is writable."""
    if hasattr(array, "get_array"):
        array = array.get_array()
    if hasattr(array, "usm_data"):
        return *place(array), bool(array.flags["W"])
    return array, 0, True


def _check_array(tensor: _core.LogicalTensor, array: Any) -> None:
    expected = tensor.data_type.name
    if dtypes.graph_name(array.dtype, "Tensor") != expected:
        raise InvalidArguments(f"Tensor: array must have dtype {expected}, got {array.dtype}")
    if tensor.layout_type is not _core.layout_type.strided:
        return
    if tuple(array.shape) != tensor.dims:
        raise InvalidArguments(f"Tensor: array must have shape {tensor.dims}, got {array.shape}")
    provided, strides = element_strides(array), tensor.strides
    if array.size and any(
        n > 1 and a != b for n, a, b in zip(tensor.dims, provided, strides, strict=True)
    ):
        raise InvalidArguments(f"Tensor: array must have strides {strides}, got {provided}")


class Tensor(_core.GraphTensor):
    """The data of a logical tensor: a shared array, new memory, or a number.

    Parameters
    ----------
    logical_tensor : LogicalTensor
        With known shape and layout, as in a compiled partition.
    engine : Engine, or the value of a host scalar
    array : dpnp.ndarray, Array or dpctl.memory object, optional
        Or any object with ``__sycl_usm_array_interface__``. Shared, not copied, and kept alive
        during executions. Without it, memory of the logical tensor's size is allocated.
    usm_type : {"device", "shared", "host"}
        Kind of the allocation.

    Raises
    ------
    InvalidArguments
        dtype, shape, strides or size of the array do not match.
    dpnp.exceptions.ExecutionPlacementError
        The array belongs to another SYCL context.

    Notes
    -----
    Source: oneDNN ``dnnl::graph::tensor``.

    Examples
    --------
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn import graph, onednn
    >>> x = F.ones(2, 3)
    >>> tensor = graph.Tensor(graph.logical_tensor_of(x, 0), onednn.Engine(x.sycl_queue), x)
    >>> tensor.logical_tensor.dims
    (2, 3)
    """

    __slots__ = ()

    def __init__(
        self,
        logical_tensor: _core.LogicalTensor,
        engine: Any = None,
        array: Any = None,
        *,
        usm_type: str = "device",
    ) -> None:
        if logical_tensor.property_type is _core.property_type.host_scalar:
            data_type = _core.data_type[logical_tensor.data_type.name]
            super().__init__(logical_tensor, scalar_bytes(engine, data_type, "Tensor"))
            return
        if not isinstance(engine, _core.Engine):
            raise TypeError(f"Tensor: engine must be an Engine, got {type(engine).__name__}")
        if array is None:
            size = max(logical_tensor.mem_size, 1)
            array = allocated(KINDS[usm_type], size, engine.sycl_queue, "Tensor")
        super().__init__(logical_tensor, engine, *_checked(logical_tensor, array))

    def set_data_handle(self, array: Any) -> None:
        """Rebind the tensor to another array; nothing is copied.

        Executions already submitted use the old array and keep it alive.

        Parameters
        ----------
        array : as for ``Tensor``

        Raises
        ------
        InvalidArguments
            dtype, shape, strides or size of the array do not match, or the tensor is a host scalar.
        dpnp.exceptions.ExecutionPlacementError
            The array belongs to another SYCL context.

        Notes
        -----
        Source: oneDNN ``dnnl::graph::tensor::set_data_handle``.
        """
        self._set_data_handle(*_checked(self.logical_tensor, array))

    def to_array(self) -> Any:
        """Return an array over the same memory: dpnp's, or an Array for a dtype that dpnp lacks.

        Raises
        ------
        InvalidArguments
            The layout is opaque, or the tensor is a host scalar.
        """
        return array_over(self.logical_tensor, self.owner)


def _checked(tensor: _core.LogicalTensor, array: Any) -> tuple[Any, int, Any, bool]:
    """Return the memory, the byte offset, its owner, and whether it is writable."""
    if not is_memory(array) and not hasattr(array, "get_array"):
        usm_array = array_of(array)
        if usm_array is None:
            raise TypeError(
                "Tensor: array must be a dpnp.ndarray, Array, dpctl.memory object or have "
                f"__sycl_usm_array_interface__, got {type(array).__name__}"
            )
        array = array_maker()(usm_array)
    if not is_memory(array):
        _check_array(tensor, array)
    memory, offset, writable = _place(array)
    return memory, offset, array, writable


def array_over(tensor: _core.LogicalTensor, owner: Any) -> Any:
    """Return an array over memory that the logical tensor describes."""
    from dpnp.tensor import usm_ndarray

    if not is_memory(owner):
        if hasattr(owner, "get_array"):
            return owner
        raise InvalidArguments(f"to_array: the tensor must not be a host scalar, got {tensor}")
    if tensor.layout_type is not _core.layout_type.strided:
        raise InvalidArguments(f"to_array: the layout must be strided, got {tensor}")
    dtype = tensor.data_type.name
    shape, strides = tensor.dims, tensor.strides
    if dtypes.SHORT[dtype].bits == 4:
        shape, strides = (*shape[:-1], shape[-1] // 2), (*(s // 2 for s in strides[:-1]), 1)
    result = usm_ndarray(shape, dtype=dtypes.SHORT[dtype].dtype, buffer=owner, strides=strides)
    return wrapped(result, dtypes.LONG[dtype])
