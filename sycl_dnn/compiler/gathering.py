# SPDX-License-Identifier: Apache-2.0
"""What is concatenated is written into its part of the result at once, where oneDNN can."""

from __future__ import annotations

from sycl_dnn.compiler.frames import same_span
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node, has_only_post_ops
from sycl_dnn.compiler.parts import place, with_places
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch.tensor import Tensor


def write_into_parts(graph: Graph) -> None:
    """Let nodes write into results of concatenations; the rest of the inputs is copied there."""
    for node in list(graph.nodes):
        if node.row == "concat" and _is_free(graph, node):
            _gather(graph, node)


def _is_free(graph: Graph, node: Node) -> bool:
    """Whether the result of a concatenation may be written early, part by part."""
    dst = node.dst
    is_whole = not dst.offset and same_span(dst.desc, dst.storage.desc)
    is_own = dst.storage.argument is None and graph.n_writers(dst.storage) == 1
    is_plain = has_only_post_ops(node.attr) and not len(node.post_ops)
    return is_whole and is_own and is_plain and not graph.is_locked(node)


def _gather(graph: Graph, node: Node) -> None:
    axis, start = node.params["concat_dimension"], 0
    left: list[tuple[Tensor, int]] = []
    moved = 0
    for name, src in list(node.inputs.items()):
        offset = start * node.dst.desc.strides[axis]
        start += src.desc.dims[axis]
        refusal = _moved(graph, node, name, offset)
        if refusal is None:
            moved += 1
            continue
        left.append((src, offset))
        node.refused.append(f"{name}: {refusal}")
    if moved:
        copies = [_copy(graph, node, src, offset) for src, offset in left]
        graph.insert(copies, before=node)
        graph.drop([node])


def _moved(graph: Graph, node: Node, name: str, offset: int) -> Refusal | None:
    """Let the maker and the readers of an input use its part of the result, or say why not."""
    src, dst = node.inputs[name], node.dst
    writer = graph.writer(src)
    if writer is None:
        return Refusal("no step of its own makes it")
    if src.offset or not same_span(src.desc, src.storage.desc) or src.dtype != dst.dtype:
        return Refusal("it is a part of another value")
    if sum(t.storage is src.storage for t in node.inputs.values()) > 1:
        return Refusal("it is an input twice")
    found = place(src.desc, dst.storage, dst.desc.strides, offset)
    users = [writer, *(n for n in graph.readers(src.storage) if n is not node)]
    made: list[Node] = []
    for user in users:
        one = with_places(user, {id(src.storage): found})
        if isinstance(one, Refusal):
            return one
        made.append(one)
    for old, new in zip(users, made, strict=True):
        graph.replace([], new, at=old)
    made[0].fused.append("writes its part of a concatenation")
    return None


def _copy(graph: Graph, node: Node, src: Tensor, offset: int) -> Node:
    """Return the node that copies an input into its part of the result."""
    dst = node.dst
    part = dst.view(src.desc.dims, dst.desc.strides, offset)
    _, nodes = graph.recorded(lambda: graph.trace.written_into(dst, part, src))
    nodes[0].fused = ["a part of a concatenation"]
    nodes[0].refused = list(node.refused)
    return nodes[0]
