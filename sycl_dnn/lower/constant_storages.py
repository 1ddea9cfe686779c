# SPDX-License-Identifier: Apache-2.0
"""Which values of a graph of steps are the same in every call."""

from __future__ import annotations

from sycl_dnn.lower.step_graph import Graph, Node


def constant_ids(graph: Graph) -> frozenset[int]:
    """Return the ids of the storages whose contents are the same in every call."""
    return graph.fact(_constant_ids)


def _constant_ids(graph: Graph) -> frozenset[int]:
    # A node is computed once only if all of its outputs are constant: if one is a result, calls
    # run the node, so its other outputs are not known before.
    kept: set[Node] = set()
    while True:
        constants = _constants_without(graph, kept)
        mixed = {
            n for n in graph.nodes
            if n not in kept and len({id(t.storage) in constants for t in n.outputs.values()}) == 2
        }  # fmt: skip
        if not mixed:
            return constants
        kept |= mixed


def _constants_without(graph: Graph, kept: set[Node]) -> frozenset[int]:
    """Return the ids of constant storages, given nodes that calls run."""
    given = graph.trace.constant_storages()
    constants = {key for key, s in given.items() if not graph.n_writers(s)}
    constants |= {id(s) for s in graph.read() if s.memory}
    # A storage with several writers is constant only if all are, which the last one decides.
    counted: dict[int, int] = {}
    for node in graph.nodes:
        if node.is_repeated or node in kept:
            continue
        for tensor in node.inputs.values():
            if id(tensor.storage) not in constants:
                break
        else:
            outputs = {id(t.storage): t.storage for t in node.outputs.values()}
            if any(s.argument is not None for s in outputs.values()):
                continue
            for key, storage in outputs.items():
                counted[key] = counted.get(key, 0) + 1
                if counted[key] == graph.n_writers(storage) and not graph.is_final(storage):
                    constants.add(key)
    return frozenset(constants)
