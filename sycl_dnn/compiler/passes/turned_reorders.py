# SPDX-License-Identifier: Apache-2.0
"""Transposing copies with a kernel that is faster than oneDNN's reorder."""

from __future__ import annotations

from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.lower.turned_copies import turned_copy
from sycl_dnn.trace.capabilities import has_avx512


def turn_copies(graph: Graph) -> None:
    """Replace reorders between layouts whose innermost axes differ."""
    for node in graph.walk():
        if node.row == "reorder" and not graph.is_locked(node):
            _replace_by_kernel(graph, node)


def _replace_by_kernel(graph: Graph, node: Node) -> None:
    if set(node.inputs) != {"src"} or len(node.post_ops) or node.part != (0, 1):
        return
    src, dst = node.inputs["src"], node.dst
    if src.shape != dst.shape:
        return
    # After a launch, a primitive would wait for its second thread, longer than oneDNN copies.
    is_fast = src.dtype == dst.dtype == "float32" and has_avx512(graph.trace.engine)
    if is_fast and any(reader.pd is not None for reader in graph.readers(dst.storage)):
        return
    result, nodes = graph.recorded(lambda: turned_copy(src, dst.desc))
    if result is None:
        return
    (copy,) = nodes
    copy.is_repeated, copy.fused, copy.refused = node.is_repeated, node.fused, node.refused
    graph.insert([copy], before=node)
    graph.drop([node])
    graph.rewire(copy, outputs={"dst": dst})
