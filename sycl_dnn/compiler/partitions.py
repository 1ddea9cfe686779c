# SPDX-License-Identifier: Apache-2.0
"""Attention and products with post-ops as partitions of oneDNN's Graph API, where wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sycl_dnn._core import PostOps
from sycl_dnn.compiler.attaching import with_post_ops
from sycl_dnn.compiler.fusing import is_overwritten
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.measuring import milliseconds
from sycl_dnn.compiler.node import Node, has_only_post_ops
from sycl_dnn.compiler.operations import NoPartition
from sycl_dnn.compiler.packing import origin
from sycl_dnn.compiler.partition_graph import CompiledNodes, PartitionGraph
from sycl_dnn.compiler.rebuilding import rebuilt
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Storage, Tensor

#: Ways to run what both a partition and primitives can: the default first.
LOWERINGS = ("primitives", "partitions", "measured")
#: A partition is taken if it needs less than this part of the primitives' time.
CLEARLY = 0.95


def lower(graph: Graph, lowering: str, queue: Any, stream: Any) -> None:
    """Let partitions take the place of groups of nodes: of all, or where that measures faster."""
    if lowering == "primitives":
        return
    for group in list(_groups(graph)):
        try:
            made, packing, behind = _made(graph, group)
        except NoPartition as reason:
            group[0].refused.append(f"partition: {reason}")
            continue
        if lowering == "measured":
            times = milliseconds(graph, group, [*packing, made, *behind], queue, stream)
            made.times = group[0].times = dict(zip(("primitives", "partition"), times, strict=True))
            if times[1] >= CLEARLY * times[0]:
                continue
        nodes = [*packing, made, *behind]
        graph.insert(nodes[:-1], before=group[-1])
        graph.replace(group[:-1], nodes[-1], at=group[-1])


def _groups(graph: Graph) -> Iterator[list[Node]]:
    """Yield nodes that a partition may stand for: attention, and products with post-ops."""
    taken: set[int] = set()
    for node in graph.nodes:
        group = _attention(graph, node)
        if group:
            taken |= {id(n) for n in group}
            yield group
    for node in graph.nodes:
        if id(node) not in taken and _is_product(node) and len(node.post_ops):
            yield [node]


def _is_product(node: Node) -> bool:
    return node.row == "matmul" and node.has_dst and has_only_post_ops(node.attr)


def _attention(graph: Graph, node: Node) -> list[Node]:
    """Return product, softmax and product that end with a node; nothing if there are none."""
    if not _is_product(node):
        return []
    group = [node]
    for row in ("softmax_forward", "matmul"):
        src = group[0].inputs["src"]
        before = graph.writer(src)
        if before is None or before.row != row or len(graph.readers(src.storage)) > 1:
            return []
        dst = before.outputs["dst"]
        if dst.desc != src.desc or dst.offset != src.offset or not has_only_post_ops(before.attr):
            return []
        group.insert(0, before)
    return [] if any(is_overwritten(graph, n, node) for n in group[:-1]) else group


def _made(graph: Graph, group: list[Node]) -> tuple[Node, list[Node], list[Node]]:
    """Return the node of a partition, those before it, and those behind it.

    Raises
    ------
    NoPartition
    """
    try:
        return (*_partition(graph, group), [])
    except NoPartition:
        found = _without_last_operand(graph, group[-1]) if len(group) > 1 else None
        if found is None:
            raise
    bare, behind = found
    return (*_partition(graph, [*group[:-1], bare]), behind)


def _without_last_operand(graph: Graph, node: Node) -> tuple[Node, list[Node]] | None:
    """Return a product without its one binary post-op, and the node for that."""
    if len(node.post_ops) != 1 or node.post_ops[0][0] != "append_binary":
        return None
    operand, dst = node.inputs["attr_post_op_0_src_1"], node.dst
    pd = rebuilt(graph.trace.engine, node, with_post_ops(node.attr, PostOps()))
    if isinstance(pd, Refusal) or pd.desc_of("dst") != dst.desc:
        return None
    inner = Tensor(graph.trace, Storage(dst.desc), dst.desc, dst.dtype, dst.desc.dims)
    inputs = {n: t for n, t in node.inputs.items() if t is not operand}
    _, nodes = graph.recorded(
        lambda: graph.trace.primitive(
            "binary",
            {"src_0": inner, "src_1": operand},
            {"dst": Out(inner.shape, inner.dtype, dst.desc)},
            algorithm=node.post_ops[0][1][0],
        )
    )
    nodes[-1].outputs = {"dst": dst}
    return node.with_pd(pd, inputs=inputs, outputs={"dst": inner}), nodes


def _partition(graph: Graph, group: Sequence[Node]) -> tuple[Node, list[Node]]:
    """Return the node that does what a group does, and those that prepare its operands.

    Raises
    ------
    NoPartition
    """
    made = PartitionGraph(graph.trace.engine)
    packing: list[Node] = []
    for node in group:
        plain, nodes = _with_plain_weights(graph, node)
        packing += nodes
        made.add(plain)
    result = group[-1].dst
    if not result.desc.is_plain:
        raise NoPartition("the result is in a layout of oneDNN's own")
    function: CompiledNodes = made.compiled(result)
    inputs = {str(i): t for i, t in function.inputs.items()}
    found = Node(None, inputs, {"dst": result}, function=function)
    found.fused = [text for n in group for text in n.fused]
    found.refused = [text for n in group for text in n.refused]
    return found, packing


def _with_plain_weights(graph: Graph, node: Node) -> tuple[Node, list[Node]]:
    """Return the node with weights in a layout that arrays have, and what makes them."""
    weights = node.inputs.get("weights")
    if weights is None or weights.desc.is_plain:
        return node, []
    source = origin(graph, weights)
    if source is weights or source.desc is None or source.desc.dims != weights.desc.dims:
        raise NoPartition("the weights are in a layout of oneDNN's own")
    plain, nodes = graph.recorded(lambda: _as(graph, source, weights.dtype))
    return node.with_pd(node.pd, inputs={**node.inputs, "weights": plain}), nodes


def _as(graph: Graph, source: Tensor, dtype: str) -> Tensor:
    if source.dtype == dtype and source.desc.is_plain:
        return source
    return graph.trace.reorder(source, layout.row_major(source.shape, dtype))
