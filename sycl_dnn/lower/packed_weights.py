# SPDX-License-Identifier: Apache-2.0
"""Weights of a graph of steps before and after copies to other layouts."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn._core import MemoryDesc, data_type
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.onednn.apart import is_row_major
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Tensor

#: The argument that may be repacked if constant.
PACKABLE = "weights"
#: Elements of the rows that `in_registers` writes, as of csrc/program/host_rows.hpp.
REGISTER = 16


def before_packing(graph: Graph, tensor: Tensor) -> Tensor:
    """Return the same values before copies to other layouts."""
    source = source_of_copy(graph, tensor)
    while source is not None and source.dtype == tensor.dtype:
        tensor, source = source, source_of_copy(graph, source)
    return tensor


def copy_before(graph: Graph, tensor: Tensor) -> Node | None:
    """Return the copy that alone wrote a tensor, in this view; None if another step did."""
    writers = graph.writers(tensor.storage)
    # Readers of an argument may precede a copy into it.
    if len(writers) != 1 or tensor.storage.argument is not None:
        return None
    (copy,) = writers
    if copy.row != "reorder" or copy.attr.calls:  # attributes alone have other inputs
        return None
    is_same = (copy.dst.desc, copy.dst.offset) == (tensor.desc, tensor.offset)
    return copy if is_same else None


def source_of_copy(graph: Graph, tensor: Tensor) -> Tensor | None:
    """Return the source of the copy that wrote a tensor; None if another step wrote it."""
    copy = copy_before(graph, tensor)
    return None if copy is None else copy.inputs["src"]


def in_order(graph: Graph, source: Tensor, axes: Sequence[int]) -> tuple[Tensor, list[Node]]:
    """Return a constant with its axes in this order of memory, and the nodes that copy it."""
    if _is_in_order(source, axes):
        return source, []
    trace = graph.trace

    def copy() -> Tensor:
        plain = trace.plain(source)
        shape = tuple(plain.shape[a] for a in axes)
        view = plain.view(shape, tuple(plain.strides[a] for a in axes))
        return trace.reorder(view, layout.row_major(shape, "float32"))

    return graph.recorded(copy)


def in_registers(graph: Graph, matrix: Tensor, n: int) -> tuple[Tensor, list[Node]]:
    """Return rows of ``n`` elements with 0 up to REGISTER, and the node that writes them."""

    def copy() -> Tensor:
        rows = matrix.view((matrix.size // n, n, 1), (n, 1, 1))
        return graph.trace.reorder(rows, MemoryDesc(rows.shape, data_type.f32, "aBc16b"))

    return graph.recorded(copy)


def _is_in_order(tensor: Tensor, axes: Sequence[int]) -> bool:
    """Whether a tensor is dense with its axes in this order."""
    desc = tensor.desc
    if not desc.is_plain:
        return False
    return is_row_major([desc.dims[a] for a in axes], [desc.strides[a] for a in axes])
