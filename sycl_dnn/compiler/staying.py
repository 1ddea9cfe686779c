# SPDX-License-Identifier: Apache-2.0
"""Which values between quantised products stay integers, from their maker to all readers."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.compiler.frames import same_span
from sycl_dnn.compiler.graph import Graph, Node
from sycl_dnn.compiler.ranges import Ranges, Scale
from sycl_dnn.dispatch.tensor import Storage, Tensor

#: By id of the node: its key among the ranges, and itself.
Products = dict[int, tuple[Any, Node]]
Found = dict[int, Storage]


def staying_scales(graph: Graph, products: Products, ranges: Ranges) -> dict[int, Scale]:
    """Return the scales of the values that stay integers, by the ids of their storages."""
    found: Found = {}
    scales: dict[int, Scale] = {}
    for key, node in products.values():
        storage = node.dst.storage
        if _is_whole(node.dst) and graph.is_inner(storage):
            found[id(storage)] = storage
            scales[id(storage)] = ranges.scale(key, "dst")
    _add_pools(graph, found, scales)
    while True:
        kept = {k: s for k, s in found.items() if _can_stay(graph, products, s, found)}
        if len(kept) == len(found):
            return {key: scales[key] for key in found}
        found = kept


def _is_whole(tensor: Tensor) -> bool:
    return not tensor.offset and same_span(tensor.desc, tensor.storage.desc)


def _add_pools(graph: Graph, found: Found, scales: dict[int, Scale]) -> None:
    """Add what pools make of values that may be integers; in order, so chains are followed."""
    for node in graph.nodes:
        if node.row != "pooling_forward" or not node.has_dst or len(node.post_ops):
            continue
        src, dst = node.inputs["src"].storage, node.dst.storage
        if id(src) in found and _is_whole(node.dst) and graph.is_inner(dst):
            found[id(dst)] = dst
            scales[id(dst)] = scales[id(src)]


def _can_stay(graph: Graph, products: Products, storage: Storage, found: Found) -> bool:
    writer = graph.writers(storage)[0]
    is_pooled = writer.row == "pooling_forward"
    if is_pooled and id(writer.inputs["src"].storage) not in found:
        return False
    readers = graph.readers(storage)
    return bool(readers) and all(_takes(graph, products, n, storage, found) for n in readers)


def _takes(graph: Graph, products: Products, node: Node, storage: Storage, found: Found) -> bool:
    """Whether a node can read integers from a storage."""
    names = [n for n, t in node.inputs.items() if t.storage is storage]
    if len(names) != 1 or not _is_whole(node.inputs[names[0]]):
        return False
    if node.row == "pooling_forward":
        return node.has_dst and id(node.dst.storage) in found
    if id(node) not in products:
        return False
    return names == ["src"] or _adds_in_place(graph, node, storage, found)


def _adds_in_place(graph: Graph, node: Node, storage: Storage, found: Found) -> bool:
    """Whether a node can add to a residual of integers that nobody reads afterwards."""
    if id(node.dst.storage) not in found:
        return False
    last = graph.place(node)
    if any(graph.place(n) > last for n in graph.readers(storage)):
        return False
    for index in range(len(node.post_ops)):
        name, args = node.post_ops[index]
        operand = node.inputs.get(f"attr_post_op_{index}_src_1")
        is_sum = name == "append_binary" and args[0] is algorithm.binary_add
        if not is_sum or operand is None or operand.storage is not storage:
            continue
        if operand.desc == node.dst.desc:
            return True
    return False
