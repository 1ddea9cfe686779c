# SPDX-License-Identifier: Apache-2.0
"""Which values between quantised products stay integers, from their maker to all readers."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.compiler.frames import same_span
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node, has_only_post_ops
from sycl_dnn.compiler.ranges import Ranges, Scale, scale_of
from sycl_dnn.dispatch.tensor import Storage, Tensor

#: By id of the node: its key among the ranges, and itself.
Products = dict[int, tuple[Any, Node]]
Found = dict[int, Storage]


def staying_scales(
    graph: Graph, products: Products, ranges: Ranges, may_be_signed: bool
) -> dict[int, Scale]:
    """Return the scales of the values that stay integers, by the ids of their storages."""
    keys = {id(node.dst.storage): key for key, node in products.values()}
    found: Found = {}
    for _, node in products.values():
        storage = node.dst.storage
        if _is_whole(node.dst) and graph.is_inner(storage):
            found[id(storage)] = storage
    _add_passed_on(graph, found)
    while True:
        kept = {k: s for k, s in found.items() if _can_stay(graph, products, s, found)}
        if len(kept) == len(found):
            break
        found = kept
    scales: dict[int, Scale] = {}
    for group in _groups(graph, found):
        covered = [ranges.range(keys[i], "dst") for i in group if i in keys]
        low, high = min(low for low, _ in covered), max(high for _, high in covered)
        scale = scale_of(low, high, may_be_signed)
        scales |= dict.fromkeys(group, scale)
    return scales


def _is_whole(tensor: Tensor) -> bool:
    return not tensor.offset and same_span(tensor.desc, tensor.storage.desc)


def passes_on(node: Node) -> bool:
    """Whether a node gives on integers as they are: pools and concatenations."""
    is_known = node.row in ("pooling_forward", "concat")
    return is_known and node.has_dst and has_only_post_ops(node.attr) and not len(node.post_ops)


def _sources(node: Node) -> list[Tensor]:
    return list(node.inputs.values())


def _add_passed_on(graph: Graph, found: Found) -> None:
    """Add what is made of values that may be integers; in order, so chains are followed."""
    for node in graph.nodes:
        if not passes_on(node):
            continue
        dst = node.dst.storage
        are_known = all(id(t.storage) in found and _is_whole(t) for t in _sources(node))
        if are_known and _is_whole(node.dst) and graph.is_inner(dst):
            found[id(dst)] = dst


def _groups(graph: Graph, found: Found) -> list[list[int]]:
    """Return the ids of the values in groups that must have one scale."""
    group_of = {key: [key] for key in found}
    for node in graph.nodes:
        if not passes_on(node) or id(node.dst.storage) not in found:
            continue
        joined = group_of[id(node.dst.storage)]
        for tensor in _sources(node):
            other = group_of[id(tensor.storage)]
            if other is not joined:
                joined += other
                for key in other:
                    group_of[key] = joined
    return list({id(group): group for group in group_of.values()}.values())


def _can_stay(graph: Graph, products: Products, storage: Storage, found: Found) -> bool:
    writer = graph.writers(storage)[0]
    if passes_on(writer) and any(id(t.storage) not in found for t in _sources(writer)):
        return False
    readers = graph.readers(storage)
    return bool(readers) and all(_takes(graph, products, n, storage, found) for n in readers)


def _takes(graph: Graph, products: Products, node: Node, storage: Storage, found: Found) -> bool:
    """Whether a node can read integers from a storage."""
    names = [n for n, t in node.inputs.items() if t.storage is storage]
    if len(names) != 1 or not _is_whole(node.inputs[names[0]]):
        return False
    if passes_on(node):
        return id(node.dst.storage) in found
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
