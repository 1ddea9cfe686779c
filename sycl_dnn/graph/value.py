# SPDX-License-Identifier: Apache-2.0
"""Value: a tensor of a graph under construction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn import _core

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph
    from sycl_dnn.graph.node import Node

__all__ = ["Value"]


class Value:
    """A tensor of a graph: an input, a constant, or a result of an operation.

    Attributes
    ----------
    graph : Graph
    id : int
        oneDNN's number of the tensor in the graph.
    dtype : str
        oneDNN's name, such as ``"f32"``.
    shape : tuple of int, or None
        None until sizes of the inputs are known; then the call knows them.
    name : str
    """

    __slots__ = ("_data", "dtype", "graph", "id", "name", "node", "number", "property", "shape")

    def __init__(
        self,
        graph: Graph,
        id: int,
        dtype: str,
        shape: tuple[int | None, ...] | None,
        *,
        name: str = "",
        node: Node | None = None,
        number: int = 0,
        property: str = "undef",
        data: Any = None,
    ) -> None:
        self.graph, self.id, self.dtype, self.shape = graph, id, dtype, shape
        self.name = name or f"t{id}"
        #: The operation that makes it, and which of its outputs it is.
        self.node, self.number = node, number
        self.property = property
        self._data = data

    @property
    def has_known_shape(self) -> bool:
        """Whether all sizes are known."""
        return self.shape is not None and None not in self.shape

    @property
    def logical_tensor(self) -> _core.LogicalTensor:
        """The tensor as oneDNN's graph gets it; its layout is decided when the graph runs."""
        layout = "strided" if self.property == "host_scalar" else "undef"
        return _core.LogicalTensor(
            self.id, self.dtype, self.shape, layout_type=layout, property_type=self.property
        )

    def __repr__(self) -> str:
        return f"<Value {self.name}: {self.dtype} {self.shape}>"
