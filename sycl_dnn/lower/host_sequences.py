# SPDX-License-Identifier: Apache-2.0
"""Consecutive small primitives, such as the branch of squeeze-and-excitation, as one host task.

On a CPU, oneDNN submits a host task for each primitive and divides it among threads, which takes
longer than a product of a few thousand elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sycl_dnn._core import cpu_isa, engine_kind, get_effective_cpu_isa
from sycl_dnn.kernels.launching import host_sequence
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.host_operations import operation_of
from sycl_dnn.lower.host_post_ops import Operation
from sycl_dnn.lower.host_products import with_packed_weights, work_of
from sycl_dnn.lower.host_recurrence import with_packed_matrices
from sycl_dnn.lower.step_graph import Graph, Node

#: Factors of the limits, for programs that have no other steps and for runs of several operations:
#: two threads compute them from the first to the last one, with one submission or none.
_FACTOR_OF_WHOLE, _FACTOR_OF_RUN, _OPERATIONS_OF_RUN = 10, 2, 6
#: Most multiplications of such programs, and of each step of them if there are more processors, on
#: which oneDNN is faster.
_MAX_WHOLE, _MAX_STEP_ON_SEVERAL = 20_000_000, 1_500_000


def run_on_host(graph: Graph) -> None:
    """Replace consecutive small primitives on a CPU by one host task."""
    if graph.trace.engine.kind is not engine_kind.cpu or graph.trace.policy.kernels == "never":
        return
    # Before changes, after each of which constants would have to be found again.
    runs = [_packed(graph, run) for run in _whole(graph) or list(_runs(graph))]
    for run, copies in runs:
        _replace(graph, run, copies)
    if runs:
        graph.drop_dead()  # weights in oneDNN's layout


def _whole(graph: Graph) -> list[dict[Node, Operation]]:
    """Return all nodes of a program as one sequence; none if it is large or has other nodes."""
    if not _has_fast_loops():
        return []
    run: dict[Node, Operation] = {}
    for node in _variable(graph):
        operation = _operation_of(graph, node, _FACTOR_OF_WHOLE)
        if operation is None:
            return []
        run[node] = operation
    n_processors = graph.trace.engine.sycl_device.max_compute_units
    most = _MAX_WHOLE if n_processors <= 2 else min(_MAX_WHOLE, _MAX_STEP_ON_SEVERAL * len(run))
    return [run] if _is_worthwhile(run) and sum(map(work_of, run)) <= most else []


def _has_fast_loops() -> bool:
    """Whether the loops of the host are about as fast as oneDNN's."""
    bits = cpu_isa.avx512_core.value
    return get_effective_cpu_isa().value & bits == bits


def _operation_of(graph: Graph, node: Node, factor: int) -> Operation | None:
    return operation_of(graph, node, factor) if _is_movable(graph, node) else None


def _variable(graph: Graph) -> Iterator[Node]:
    """Yield the nodes that do not compute constants."""
    constant = constant_ids(graph)
    for node in graph.nodes:
        if not all(id(t.storage) in constant for t in node.outputs.values()):
            yield node


def _runs(graph: Graph) -> Iterator[dict[Node, Operation]]:
    """Yield sequences of nodes that the host can compute; constants between them do not count."""
    n_processors = graph.trace.engine.sycl_device.max_compute_units
    factor = _FACTOR_OF_RUN if _has_fast_loops() and n_processors <= 2 else 1
    for run in _consecutive(graph, _variable(graph), factor):
        n_operations = sum(o.kind not in ("copy", "kernel") for o in run.values())
        if factor == 1 or n_operations >= _OPERATIONS_OF_RUN:
            yield run
        else:
            yield from _consecutive(graph, run, 1)


def _consecutive(
    graph: Graph, nodes: Iterable[Node], factor: int
) -> Iterator[dict[Node, Operation]]:
    """Yield sequences of nodes that the host can compute within limits times a factor."""
    run: dict[Node, Operation] = {}
    for node in nodes:
        operation = _operation_of(graph, node, factor)
        if operation is not None:
            run[node] = operation
            continue
        if _is_worthwhile(run):
            yield run
        run = {}
    if _is_worthwhile(run):
        yield run


def _is_worthwhile(run: Mapping[Node, Operation]) -> bool:
    """Whether a run has several operations, or a recurrent network."""
    return len(run) > 1 or any(o.kind == "recurrence" for o in run.values())


def _is_movable(graph: Graph, node: Node) -> bool:
    """Whether a node writes no argument, may run with others, and was not chosen by its time."""
    if node.function is not None or node.part != (0, 1) or node.is_repeated or node.times:
        return False
    is_own = all(t.storage.argument is None for t in node.outputs.values())
    return is_own and not graph.is_locked(node)


def _packed(
    graph: Graph, run: Mapping[Node, Operation]
) -> tuple[dict[Node, Operation], list[Node]]:
    """Return a run whose constant weights are packed, and the nodes for that."""
    operations: dict[Node, Operation] = {}
    copies: list[Node] = []
    for node, operation in run.items():
        if operation.kind == "recurrence":
            operations[node], new = with_packed_matrices(graph, operation)
        else:
            operations[node], new = with_packed_weights(graph, node, operation)
        copies += new
    return operations, copies


def _replace(graph: Graph, run: Mapping[Node, Operation], copies: Sequence[Node]) -> None:
    *_, last = run
    graph.insert(copies, before=last)
    joined = _joined(graph, run)
    joined.fused = [text for n in run for text in (n.row, *n.fused)]
    joined.refused = [text for n in run for text in n.refused]
    graph.insert([joined], before=last)
    graph.drop(run)


def _joined(graph: Graph, run: Mapping[Node, Operation]) -> Node:
    """Return a node that performs the operations of a run in order."""
    numbered = list(enumerate(run.values()))
    outputs = {f"{i}:dst_{j}": t for i, o in numbered for j, t in enumerate(o.outputs)}
    written = {t.storage: (name, t.offset) for name, t in outputs.items()}
    read = {f"{i}:src_{j}": t for i, o in numbered for j, t in enumerate(o.inputs) if t is not None}
    inputs = {name: read[name] for name in _read_from_outside(graph, run)}
    places = {name: place for place, name in enumerate([*inputs, *outputs])}

    def place_of(name: str) -> tuple[int, int]:
        if name in places:
            return places[name], 0
        if name not in read:
            return -1, 0
        writer, offset = written[read[name].storage]
        return places[writer], read[name].offset - offset

    rows = []
    for i, operation in numbered:
        names = [f"{i}:src_{j}" for j in range(len(operation.inputs))]
        names += [f"{i}:dst_{j}" for j in range(len(operation.outputs))]
        rows.append((operation.kind, tuple(map(place_of, names)), *operation.data))
    return Node(None, inputs, outputs, primitive=host_sequence(rows))


def _read_from_outside(graph: Graph, run: Mapping[Node, Operation]) -> Iterator[str]:
    """Yield the names of operands that nodes outside a run write, or a part of their storages."""
    for i, (node, operation) in enumerate(run.items()):
        for j, tensor in enumerate(operation.inputs):
            if tensor is None:
                continue
            writers = graph.writers(tensor.storage)
            earlier = {w for w in writers if graph.place(w) < graph.place(node)}
            if not earlier or earlier - run.keys():
                yield f"{i}:src_{j}"
