# SPDX-License-Identifier: Apache-2.0
"""Concatenations whose inputs are written in place, and those of short rows."""

from __future__ import annotations

import math

from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.compiler.wider_storage import place, with_places
from sycl_dnn.functional.shape.joining import has_short_rows, interleave
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, has_only_post_ops
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order


def write_into_parts(graph: Graph) -> None:
    """Let primitives and kernels write into concatenation results; other inputs are copied there.

    Runs after kernels are fused, since they write parts without gaps like whole arrays.
    """
    seen: set[Node] = set()
    # Concatenations of one value: moving it replaces those that come later.
    while new := [n for n in graph.nodes if n.row == "concat" and n not in seen]:
        seen.update(new)
        for node in graph.walk(new):
            if _is_free(graph, node):
                _write_inputs(graph, node)


def _is_free(graph: Graph, node: Node) -> bool:
    """Whether the result of a concatenation may be written early, piece by piece."""
    dst = node.dst
    is_whole = not dst.offset and same_span(dst.desc, dst.storage.desc)
    is_own = dst.storage.argument is None and graph.n_writers(dst.storage) == 1
    is_plain = has_only_post_ops(node.attr) and not len(node.post_ops)
    return is_whole and is_own and is_plain and not graph.is_locked(node)


def _write_inputs(graph: Graph, node: Node) -> None:
    axis, start = node.params["concat_dimension"], 0
    left: list[tuple[Tensor, int]] = []
    moved = 0
    for name, src in list(node.inputs.items()):
        offset = start * node.dst.desc.strides[axis]
        start += src.desc.dims[axis]
        refusal = _move_input(graph, node, name, offset)
        if refusal is None:
            moved += 1
            continue
        left.append((src, offset))
        node.refused.append(f"{name}: {refusal}")
    if moved:
        copies = [_part_copy(graph, node, src, offset) for src, offset in left]
        graph.insert(copies, before=node)
        graph.drop([node])


def _move_input(graph: Graph, node: Node, name: str, offset: int) -> Refusal | None:
    """Redirect the writer and readers of an input to its slice of the result, or say why not."""
    src, dst = node.inputs[name], node.dst
    writers = graph.writers(src.storage)
    is_own = src.storage.argument is None and src.storage.memory is None
    if not writers or not is_own or graph.is_final(src.storage):
        return Refusal("no separate step makes it")
    if src.offset or not same_span(src.desc, src.storage.desc) or src.dtype != dst.dtype:
        return Refusal("it is a part of another value")
    if any(graph.place(writer) > graph.place(node) for writer in writers):
        return Refusal("a later step accumulates into it")
    if sum(t.storage is src.storage for t in node.inputs.values()) > 1:
        return Refusal("it is an input twice")
    target = place(src.desc, dst.storage, dst.desc.strides, offset)
    users = [*writers, *(n for n in graph.readers(src.storage) if n not in (node, *writers))]
    moved_users: list[Node] = []
    for user in users:
        moved_user = with_places(user, {id(src.storage): target})
        if isinstance(moved_user, Refusal):
            return moved_user
        if moved_user.row == "concat" and _has_gaps(moved_user):
            return Refusal("oneDNN's concatenation on GPUs assumes that separated rows are dense")
        moved_users.append(moved_user)
    for old, new in zip(users, moved_users, strict=True):
        graph.replace([], new, at=old)
    moved_users[0].fused.append("writes its part of a concatenation")
    return None


def _has_gaps(node: Node) -> bool:
    """Whether a concatenation on a GPU reads or writes tensors with gaps.

    Fault concat-gaps-gpu: gaps of a result are overwritten. Gaps in a source only force the
    reference implementation.
    """
    tensors = [*node.inputs.values(), *node.outputs.values()]
    if tensors[0].trace.is_on_cpu:
        return False
    # A dense tensor spans exactly its elements.
    return any(
        t.desc.size != math.prod(t.desc.dims) * dtypes.bits_of(t.dtype) // 8 for t in tensors
    )


def _part_copy(graph: Graph, node: Node, src: Tensor, offset: int) -> Node:
    """Return a node that copies an input into its slice of the result."""
    dst = node.dst
    part = dst.view(src.desc.dims, dst.desc.strides, offset)
    _, nodes = graph.recorded(lambda: graph.trace.written_into(dst, part, src))
    nodes[0].fused = ["a part of a concatenation"]
    nodes[0].refused = list(node.refused)
    return nodes[0]


# --- Concatenations of short rows


def interleave_short_rows(graph: Graph) -> None:
    """Replace concatenations of short rows, each of which oneDNN would copy separately."""
    for node in graph.walk():
        if node.row == "concat" and not graph.is_locked(node) and node.part == (0, 1):
            _interleave(graph, node)


def _interleave(graph: Graph, node: Node) -> None:
    parts, axis, dst = [*node.inputs.values()], node.params["concat_dimension"], node.dst
    is_plain = has_only_post_ops(node.attr) and not len(node.post_ops)
    if not is_plain or not has_short_rows(parts, axis) or not _has_dense_rows(dst, parts[0], axis):
        return
    _, nodes = graph.recorded(lambda: interleave(parts, axis, dst))
    nodes[-1].fused, nodes[-1].refused = node.fused, node.refused
    for new in nodes:
        new.is_repeated = node.is_repeated
    graph.insert(nodes, before=node)
    graph.drop([node])


def _has_dense_rows(dst: Tensor, part: Tensor, axis: int) -> bool:
    """Whether the rows of a concatenation are dense, in the axis order of its parts."""
    if dst.strides is None or axis_order(dst, dst.ndim) != axis_order(part, part.ndim):
        return False
    dense = layout.like(dst.desc, dst.dtype).strides
    return all(s == d for s, d in zip(dst.strides, dense, strict=True) if d <= dense[axis])
