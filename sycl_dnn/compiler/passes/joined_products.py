# SPDX-License-Identifier: Apache-2.0
"""Products of one source with constant weights, such as queries, keys and values, as one."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from sycl_dnn.compiler.rebuilding import origin, with_weights
from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.compiler.wider_storage import Place, place, with_places
from sycl_dnn.functional.shape.joining import join
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.step_graph import Graph, Node, Refusal
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import reshape

_OPERANDS = {"src", "weights", "bias"}


def join_products(graph: Graph) -> None:
    """Merge products with the same source if all readers can read slices."""
    constants = constant_ids(graph)
    groups: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if _is_candidate(graph, node, constants):
            src = node.inputs["src"]
            views = id(src.storage), src.offset, src.desc
            key = (*views, repr(node.attr), node.dst.dtype, node.dst.storage.repeat)
            groups.setdefault(key, []).append(node)
    for group in groups.values():
        while len(group) > 1:
            group = _merge_group(graph, group)


def _is_candidate(graph: Graph, node: Node, constants: AbstractSet[int]) -> bool:
    if node.row != "matmul" or not node.has_dst or node.is_rounded:
        return False
    coefficients = [t for n, t in node.inputs.items() if n != "src"]
    if set(node.inputs) - _OPERANDS or any(id(t.storage) not in constants for t in coefficients):
        return False
    dst = node.dst
    row_major = layout.row_major(dst.desc.dims, dst.dtype)
    is_whole = not dst.offset and dst.desc == row_major and same_span(row_major, dst.storage.desc)
    is_matrix = dst.desc.ndims == 2 and dst.is_float and dst.desc.size
    return bool(is_matrix) and is_whole and graph.is_inner(dst.storage)


def _merge_group(graph: Graph, group: list[Node]) -> list[Node]:
    """Merge a group; return the part that may still be merged, empty when done."""
    first, last = graph.place(group[0]), graph.place(group[-1])
    writers = graph.writers(group[0].inputs["src"].storage)
    if any(first < graph.place(w) < last for w in writers):
        return []
    wide = _wide_result(group)
    places = _places(group, wide)
    readers: dict[Node, Node] = {}
    for node in group:
        part_readers = _read_as_parts(graph, node, places)
        if isinstance(part_readers, Refusal):
            node.refused.append(f"one product for several: {part_readers}")
            return [n for n in group if n is not node]
        readers |= part_readers
    merged = _product(graph, group, wide)
    if isinstance(merged, Refusal):
        group[0].refused.append(f"one product for several: {merged}")
        return []
    product, nodes = merged
    for old in sorted(readers, key=graph.place):
        graph.replace([], readers[old], at=old)
    later = _dependencies_after(graph, group[0], nodes)
    graph.replace(group[1:], product, at=group[0])
    graph.drop(later)
    graph.insert([*later, *nodes], before=product)
    return []


def _dependencies_after(graph: Graph, first: Node, nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes after ``first`` that the given nodes depend on."""
    makers: set[Node] = set()
    stack = list(nodes)
    while stack:
        read = [t.storage for t in stack.pop().inputs.values()]
        writers = {w for s in read for w in graph.writers(s) if graph.place(w) > graph.place(first)}
        stack += writers - makers
        makers |= writers
    return sorted(makers, key=graph.place)


def _wide_result(group: list[Node]) -> Tensor:
    dst = group[0].dst
    shape = (dst.desc.dims[0], sum(n.dst.desc.dims[1] for n in group))
    return Tensor(dst.trace, Storage(d := layout.row_major(shape, dst.dtype)), d, dst.dtype, shape)


def _places(group: list[Node], wide: Tensor) -> dict[int, Place]:
    """Return the position of each result's storage in the wide one, by id."""
    places, start = {}, 0
    for node in group:
        desc = node.dst.desc
        places[id(node.dst.storage)] = place(desc, wide.storage, wide.strides, start)
        start += desc.dims[1]
    return places


def _read_as_parts(
    graph: Graph, node: Node, places: dict[int, Place]
) -> dict[Node, Node] | Refusal:
    """Return the readers of a result with their replacements, or why one cannot be replaced."""
    replacements: dict[Node, Node] = {}
    for reader in graph.readers(node.dst.storage):
        replacement = with_places(reader, places)
        if isinstance(replacement, Refusal):
            return replacement
        replacements[reader] = replacement
    return replacements


def _product(graph: Graph, group: list[Node], wide: Tensor) -> tuple[Node, list[Node]] | Refusal:
    """Return the merged product and the nodes for its operands, or why there is none."""
    first = group[0]
    (weights, bias), new = graph.recorded(lambda: _operands(graph, group))
    node = Node(
        first.pd, {n: t for n, t in first.inputs.items() if n != "bias"}, {"dst": wide},
        first.params | {"dst": wide.desc, "bias": None}, refused=list(first.refused),
    )  # fmt: skip
    changed = with_weights(graph, node, weights, bias)
    if isinstance(changed, Refusal):
        return changed
    product, packing = changed
    sizes = ", ".join(str(n.dst.desc.dims[1]) for n in group)
    product.fused = [*first.fused, f"{len(group)} products of one source ({sizes} outputs)"]
    return product, [*new, *packing]


def _operands(graph: Graph, group: list[Node]) -> tuple[Tensor, Tensor | None]:
    """Return weights (K, sum of N) and bias (sum of N,) in float32."""
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
