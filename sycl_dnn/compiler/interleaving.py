# SPDX-License-Identifier: Apache-2.0
"""Products read heads of attention where they lie, without the copies that eager calls make."""

from __future__ import annotations

from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.rebuilding import misfit, rebuilt
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch.tensor import Tensor

#: Part of the names of the implementations that read any batch of rows rightly.
_KNOWN = "brg_matmul"


def read_in_place(graph: Graph) -> None:
    """Let products read the source of a copy that only brings matrices together."""
    for node in list(graph.nodes):
        for name in ("src", "weights"):
            if node.row == "matmul" and _KNOWN in node.pd.impl_info:
                made = _without_copy(graph, node, name)
                if made is not None:
                    graph.replace([], made, at=node)
                    node = made


def _without_copy(graph: Graph, node: Node, name: str) -> Node | None:
    copy = graph.writer(node.inputs[name])
    if copy is None or copy.row != "reorder" or len(copy.inputs) > 1 or copy.attr.calls:
        return None
    source, made, seen = copy.inputs["src"], copy.outputs["dst"], node.inputs[name]
    if made.desc != seen.desc or made.offset != seen.offset or not _is_by_rows(source):
        return None
    if source.dtype != made.dtype:
        return None
    if graph.is_written_between(source.storage, copy, node):
        return None
    pd = rebuilt(graph.trace.engine, node, node.attr, **{name: source.desc})
    inputs = {**node.inputs, name: source}
    if isinstance(pd, Refusal) or _KNOWN not in pd.impl_info or misfit(pd, node, inputs):
        return None
    if pd.desc_of(name) != source.desc or pd.desc_of("dst") != node.dst.desc:
        return None
    writer = graph.writer(source)
    if writer is not None:
        writer.refused = [r for r in writer.refused if not r.startswith("reorder:")]
    return node.with_pd(pd, inputs=inputs, fused=[*node.fused, f"{name} read in place"])


def _is_by_rows(tensor: Tensor) -> bool:
    """Whether one of the last two axes is dense and no element is shown twice."""
    if tensor.desc is None or not tensor.desc.is_plain or tensor.ndim < 3:
        return False
    steps = [(s, n) for n, s in zip(tensor.desc.dims, tensor.desc.strides, strict=True) if n > 1]
    steps.sort()
    nested = all(s * n <= t for (s, n), (t, _) in zip(steps, steps[1:], strict=False))
    return nested and 1 in tensor.desc.strides[-2:]
