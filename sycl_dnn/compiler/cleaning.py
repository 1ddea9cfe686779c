# SPDX-License-Identifier: Apache-2.0
"""Work that is done twice or for nothing: equal nodes, copies of copies, copies into themselves."""

from __future__ import annotations

from typing import Any

from sycl_dnn.compiler.frames import same_places
from sycl_dnn.compiler.graph import Graph, moved
from sycl_dnn.compiler.node import Node
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Storage
from sycl_dnn.onednn import dtypes


def clean(graph: Graph) -> None:
    """Drop what is dead, what is there already, and copies that change nothing."""
    graph.drop_dead()
    changed = True
    while changed:
        changed = _merge_equal(graph) | _skip_copies(graph)
        graph.drop_dead()


def _key(node: Node) -> Any:
    looks = [(n, id(t.storage), t.offset, t.desc) for n, t in sorted(node.inputs.items())]
    # What is computed again later, to save memory, is not equal.
    outs = [
        (n, t.offset, t.desc, t.storage.desc, t.storage.repeat)
        for n, t in sorted(node.outputs.items())
    ]
    return (*node.work, tuple(looks), tuple(outs))


def _merge_equal(graph: Graph) -> bool:
    """Let nodes that do the same on the same values be one; whether there were any."""
    seen: dict[Any, Node] = {}
    unsteady, has_merged = graph.unsteady(), False
    for node in graph.nodes:
        if node.pd is None or not _is_pure(node, unsteady):
            continue
        first = seen.setdefault(_key(node), node)
        if first is not node and all(graph.is_inner(t.storage) for t in node.outputs.values()):
            made = [(t.storage, first.outputs[n].storage) for n, t in node.outputs.items()]
            graph.drop([node])
            for old, new in made:
                graph.redirect(old, new)
            has_merged = True
    return has_merged


def _is_pure(node: Node, unsteady: set[Storage]) -> bool:
    if not unsteady:
        return True
    tensors = (*node.inputs.values(), *node.outputs.values())
    return unsteady.isdisjoint(t.storage for t in tensors)


def _skip_copies(graph: Graph) -> bool:
    """Read what was copied in place of a copy that is no different; whether there was one."""
    unsteady, changed = graph.unsteady(), False
    for node in list(graph.nodes):
        is_copy = node.row == "reorder" and len(node.inputs) == 1 and not len(node.post_ops)
        if not is_copy or not _is_pure(node, unsteady):
            continue
        src, dst = node.inputs["src"], node.outputs["dst"]
        if not graph.is_inner(dst.storage) or dst.offset:
            continue
        if _is_same(src.desc, dst.desc) and dst.desc == dst.storage.desc:
            graph.drop([node])
            graph.redirect(dst.storage, src.storage, src.offset)
            changed = True
        else:
            changed |= _from_further(graph, node, unsteady)
    return changed


def _is_same(a: Any, b: Any) -> bool:
    return a.data_type == b.data_type and same_places(a, b) and layout.is_dense(b)


def _from_further(graph: Graph, node: Node, unsteady: set[Storage]) -> bool:
    """Copy from what a copy was made of, if that lost nothing; whether that was possible."""
    src, dst = node.inputs["src"], node.outputs["dst"]
    before = graph.writer(src)
    if before is None or before.row != "reorder" or len(before.inputs) > 1 or before.attr.calls:
        return False
    first, middle = before.inputs["src"], before.outputs["dst"]
    if middle.desc != src.desc or middle.offset != src.offset or first.storage in unsteady:
        return False
    wide = dtypes.promote(first.dtype, src.dtype) == src.dtype or dst.dtype == src.dtype
    if not wide or not first.is_float or first.desc.dims != src.desc.dims:
        return False
    if first.dtype != src.dtype and dst.dtype not in (src.dtype, first.dtype):
        return False
    made, nodes = graph.recorded(lambda: graph.trace.reorder(first, dst.desc))
    if len(nodes) != 1:
        return False
    nodes[0].outputs = {"dst": moved(made, dst.storage, dst.offset)}
    graph.replace([], nodes[0], at=node)
    return True
