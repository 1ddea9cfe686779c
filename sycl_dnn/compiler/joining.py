# SPDX-License-Identifier: Apache-2.0
"""Products of one source with several constant weights become one: queries, keys and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn.compiler.constants import constant_ids
from sycl_dnn.compiler.frames import same_span
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.packing import origin, with_weights
from sycl_dnn.compiler.parts import Place, place, with_places
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.views import reshape

_OPERANDS = {"src", "weights", "bias"}


def join_products(graph: Graph) -> None:
    """Replace products of one source by one, where all who read the results can read parts."""
    constants = constant_ids(graph)
    groups: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if _is_candidate(graph, node, constants):
            src = node.inputs["src"]
            looks = id(src.storage), src.offset, src.desc
            key = (*looks, repr(node.attr), node.dst.dtype, node.dst.storage.repeat)
            groups.setdefault(key, []).append(node)
    for group in groups.values():
        while len(group) > 1:
            group = _joined(graph, group)


def _is_candidate(graph: Graph, node: Node, constants: set[int]) -> bool:
    if node.row != "matmul" or not node.has_dst or node.is_rounded:
        return False
    given = [t for n, t in node.inputs.items() if n != "src"]
    if set(node.inputs) - _OPERANDS or any(id(t.storage) not in constants for t in given):
        return False
    dst = node.dst
    whole = layout.row_major(dst.desc.dims, dst.dtype)
    is_whole = not dst.offset and dst.desc == whole and same_span(whole, dst.storage.desc)
    is_matrix = dst.desc.ndims == 2 and dst.is_float and dst.desc.size
    return bool(is_matrix) and is_whole and graph.is_inner(dst.storage)


def _joined(graph: Graph, group: list[Node]) -> list[Node]:
    """Join a group; return the part of it that may still be joined, nothing once it is done."""
    first, last = graph.place(group[0]), graph.place(group[-1])
    writers = graph.writers(group[0].inputs["src"].storage)
    if any(first < graph.place(w) < last for w in writers):
        return []
    wide = _wide_result(group)
    places = _places(group, wide)
    readers: dict[Node, Node] = {}
    for node in group:
        made = _read_as_parts(graph, node, places)
        if isinstance(made, Refusal):
            node.refused.append(f"one product for several: {made}")
            return [n for n in group if n is not node]
        readers |= made
    found = _product(graph, group, wide)
    if isinstance(found, Refusal):
        group[0].refused.append(f"one product for several: {found}")
        return []
    product, nodes = found
    for old in sorted(readers, key=graph.place):
        graph.replace([], readers[old], at=old)
    graph.replace(group[1:], product, at=group[0])
    graph.insert(nodes, before=product)
    return []


def _wide_result(group: list[Node]) -> Tensor:
    dst = group[0].dst
    shape = (dst.desc.dims[0], sum(n.dst.desc.dims[1] for n in group))
    return Tensor(dst.trace, Storage(d := layout.row_major(shape, dst.dtype)), d, dst.dtype, shape)


def _places(group: list[Node], wide: Tensor) -> dict[int, Place]:
    """Return by id of each result's storage where it lies in the wide one."""
    places, start = {}, 0
    for node in group:
        desc = node.dst.desc
        places[id(node.dst.storage)] = place(desc, wide.storage, wide.strides, start)
        start += desc.dims[1]
    return places


def _read_as_parts(
    graph: Graph, node: Node, places: dict[int, Place]
) -> dict[Node, Node] | Refusal:
    """Return the readers of a result and what stands for each, or why one of them cannot be."""
    found: dict[Node, Node] = {}
    for reader in graph.readers(node.dst.storage):
        made = with_places(reader, places)
        if isinstance(made, Refusal):
            return made
        found[reader] = made
    return found


def _product(graph: Graph, group: list[Node], wide: Tensor) -> tuple[Node, list[Node]] | Refusal:
    """Return the one product and the nodes that make its operands, or why there is none."""
    first = group[0]
    (weights, bias), new = graph.recorded(lambda: _operands(graph, group))
    node = Node(
        first.pd, {n: t for n, t in first.inputs.items() if n != "bias"}, {"dst": wide},
        first.params | {"dst": wide.desc, "bias": None}, refused=list(first.refused),
    )  # fmt: skip
    changed = with_weights(graph, node, weights, bias)
    if isinstance(changed, Refusal):
        return changed
    made, packing = changed
    sizes = ", ".join(str(n.dst.desc.dims[1]) for n in group)
    made.fused = [*first.fused, f"{len(group)} products of one source ({sizes} outputs)"]
    return made, [*new, *packing]


def _operands(graph: Graph, group: list[Node]) -> tuple[Tensor, Tensor | None]:
    """Return weights (K, sum of N) and bias (sum of N,) in float32."""
    from sycl_dnn.functional.joining import join

    trace = graph.trace

    def wide(tensor: Tensor) -> Tensor:
        return trace.convert(origin(graph, tensor), "float32")

    weights = join([wide(n.inputs["weights"]) for n in group], 1)
    if not any("bias" in n.inputs for n in group):
        return weights, None
    parts = []
    for node in group:
        n = node.dst.desc.dims[1]
        is_given = "bias" in node.inputs
        bias = wide(node.inputs["bias"]) if is_given else trace.literal(np.zeros(n))
        parts.append(reshape(bias, (n,)))
    return weights, join(parts, 0)
