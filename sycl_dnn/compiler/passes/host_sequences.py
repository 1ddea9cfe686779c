# SPDX-License-Identifier: Apache-2.0
"""Consecutive small primitives as one host task, such as the branch of squeeze-and-excitation.

On a CPU, oneDNN submits a host task for each primitive and divides it among threads, which takes
longer than a product of a few thousand elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sycl_dnn._core import engine_kind
from sycl_dnn.compiler.constant_values import constant_ids
from sycl_dnn.compiler.host_operations import Operation, operation_of, packed
from sycl_dnn.compiler.rebuilding import PACKABLE
from sycl_dnn.compiler.step_graph import Graph, Node
from sycl_dnn.kernels.launching import host_sequence
from sycl_dnn.trace.values import Storage, Tensor

#: Shorter sequences are left to oneDNN.
_MIN_LENGTH = 2


def run_on_host(graph: Graph) -> None:
    """Replace consecutive small primitives on a CPU by one host task."""
    if graph.trace.engine.kind is not engine_kind.cpu or graph.trace.policy.kernels == "never":
        return
    for run in list(_runs(graph)):
        _replace(graph, run)


def _runs(graph: Graph) -> Iterator[dict[Node, Operation]]:
    """Yield sequences of nodes that the host can compute; constants between them do not count."""
    run: dict[Node, Operation] = {}
    #: Offsets of the run's outputs in each storage.
    offsets: dict[Storage, set[int]] = {}
    constant = constant_ids(graph)
    for node in graph.nodes:
        if all(id(t.storage) in constant for t in node.outputs.values()):
            continue
        operation = operation_of(node) if _is_movable(graph, node) else None
        is_whole = all(t.offset in offsets.get(t.storage, (t.offset,)) for t in node.inputs.values())
        if operation is None or not is_whole:
            if len(run) >= _MIN_LENGTH:
                yield run
            run, offsets = {}, {}
        if operation is not None:
            run[node] = operation
            offsets.setdefault(node.dst.storage, set()).add(node.dst.offset)
    if len(run) >= _MIN_LENGTH:
        yield run


def _is_movable(graph: Graph, node: Node) -> bool:
    """Whether a node has constant weights, if any, and writes no argument."""
    if node.pd is None or not node.has_dst or node.part != (0, 1) or node.is_repeated:
        return False
    storage, weights = node.dst.storage, node.inputs.get(PACKABLE)
    if weights is not None and id(weights.storage) not in constant_ids(graph):
        return False
    return storage.argument is None and not graph.is_locked(node)


def _replace(graph: Graph, run: dict[Node, Operation]) -> None:
    operations: list[Operation] = []
    *_, last = run
    for node, operation in run.items():
        if operation.kind == "product":
            src, _, *others = operation.tensors
            weights, copies = packed(graph, node, operation.sizes[2])
            graph.insert(copies, before=last)
            operation = operation._replace(tensors=(src, weights, *others))
        operations.append(operation)
    node = _joined(operations)
    node.fused = [text for n in run for text in (n.row, *n.fused)]
    graph.insert([node], before=last)
    graph.drop(run)


def _joined(operations: Sequence[Operation]) -> Node:
    """Return a node that performs the operations in order."""
    outputs = {f"{i}:dst": o.tensors[-1] for i, o in enumerate(operations)}
    written = {_place(t): name for name, t in outputs.items()}
    named: list[list[str | None]] = []
    inputs: dict[str, Tensor] = {}
    for i, operation in enumerate(operations):
        names: list[str | None] = []
        for j, tensor in enumerate(operation.tensors[:-1]):
            name = None if tensor is None else written.get(_place(tensor), f"{i}:{j}")
            names.append(name)
            if tensor is not None and name == f"{i}:{j}":
                inputs[name] = tensor
        named.append([*names, f"{i}:dst"])
    places = {name: place for place, name in enumerate([*inputs, *outputs])}
    rows = [
        (o.kind, tuple(-1 if name is None else places[name] for name in names), *o[2:])
        for o, names in zip(operations, named, strict=True)
    ]
    return Node(None, inputs, outputs, primitive=host_sequence(rows))


def _place(tensor: Tensor | None) -> tuple[Storage, int] | None:
    return None if tensor is None else (tensor.storage, tensor.offset)
