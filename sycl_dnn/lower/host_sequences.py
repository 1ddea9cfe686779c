# SPDX-License-Identifier: Apache-2.0
"""Small steps of any program as work of the host: in the caller's thread, or as one host task.

On a CPU, oneDNN submits a host task for each primitive and divides it among threads, which takes
longer than a product of a few thousand elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sycl_dnn._core import engine_kind
from sycl_dnn.kernels.launching import host_sequence
from sycl_dnn.lower import kernel_passes
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.host_operations import operation_of
from sycl_dnn.lower.host_post_ops import Operation
from sycl_dnn.lower.host_products import has_fast_loops, with_packed_weights, work_of
from sycl_dnn.lower.host_recurrence import with_packed_matrices
from sycl_dnn.lower.packed_weights import PACKABLE
from sycl_dnn.lower.step_graph import Graph, Node, node_of, sharing_inputs
from sycl_dnn.program.segments import live_steps
from sycl_dnn.program.step_order import AnyStep
from sycl_dnn.trace.array import Target
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Step, is_kernel
from sycl_dnn.trace.values import Storage, Tensor

#: Operations that two threads compute.
_IN_PARTS = frozenset(
    (
        "product", "weight_gradient", "convolution", "depthwise", "narrow", "transposed",
        "recurrence",
    )
)  # fmt: skip
#: Operations that are worth a host task alone: after a launch, oneDNN's next primitive would wait
#: for its second thread.
_ALONE = frozenset(("gather", "narrow", "recurrence"))
#: Parts of the names of oneDNN's implementations of convolutions of each channel.
_BY_CHANNEL = ("dw", "brdgmm")
#: Operations that are no reason for others to be the host's.
LIGHT = ("copy", "expression", "kernel")
#: Factor of the limits, for programs with such and no other steps and for runs of several
#: operations: two threads compute them from the first to the last one, with one submission or none.
_FACTOR, OPERATIONS_OF_RUN = 10, 6
#: Among other steps, elements of a result beyond which oneDNN is faster, since it applies functions
#: to registers; and the factors for windows of few channels, and of each channel.
_MAX_IN_RUN, _FEW_CHANNELS, _FACTOR_OF_FEW, _FACTOR_BY_CHANNEL = 1 << 17, 16, 5, 2
#: Most multiplications of such programs, and of each step of them if there are more processors, on
#: which oneDNN is faster.
_MAX_WHOLE, _MAX_STEP_ON_SEVERAL = 60_000_000, 1_500_000
#: Larger arrays are read and written by no operation of the host.
_MOST_ELEMENTS = 1 << 20


def on_host(
    trace: Trace, steps: Sequence[AnyStep], finals: Sequence[Tensor],
    saved: Iterable[Storage] = (), targets: Mapping[int, Target] | None = None,
    fuses_kernels: bool = False,
) -> list[AnyStep]:  # fmt: skip
    """Return the steps of a program that is not compiled, the small ones as work of the host.

    ``steps``: in order. ``finals``: the results of a call, those with ``targets`` by index in the
    caller's arrays. ``saved``: others that a call returns. ``fuses_kernels``: whether to fuse
    kernels first; the trace has noted what they compute.
    """
    has_work = _has_host(trace) and any(map(_may_be_small, steps))
    if not (has_work or fuses_kernels):
        return list(steps)
    storages = [*saved, *(t.storage for t in finals)]
    nodes = {node_of(step): step for step in live_steps(steps, storages)}
    graph = Graph(trace, finals, sharing_inputs(finals, targets), list(nodes), storages)
    if fuses_kernels:
        kernel_passes.fuse(graph)
    run_on_host(graph)
    return [nodes.get(node) or _step_of(graph, node) for node in graph.nodes]


def _step_of(graph: Graph, node: Node) -> AnyStep:
    (step,) = graph.steps([node])
    # Packed weights of frozen arrays.
    step.constant = all(t.storage.constant for t in step.outputs.values())
    return step


def _has_host(trace: Trace) -> bool:
    return trace.engine.kind is engine_kind.cpu and trace.policy.kernels != "never"


def _may_be_small(step: AnyStep) -> bool:
    """Whether a step is a primitive that does not read or write too much."""
    if not isinstance(step, Step) or step.primitive is None or is_kernel(step.primitive):
        return False
    tensors = (*step.inputs.values(), *step.outputs.values())
    return max(t.size for t in tensors) <= _MOST_ELEMENTS


def run_on_host(graph: Graph) -> None:
    """Replace small steps on a CPU by work of the host."""
    if not _has_host(graph.trace):
        return
    # Before changes, after each of which constants would have to be found again.
    runs = [_packed(graph, run) for run in _whole(graph) or list(_runs(graph))]
    for run, copies in runs:
        _replace(graph, run, copies)
    if runs:
        graph.drop_dead()  # weights in oneDNN's layout


def _whole(graph: Graph) -> list[dict[Node, Operation]]:
    """Return all nodes of a program as one sequence; none if it is large or has other nodes."""
    if not has_fast_loops():
        return []
    operations: dict[Node, Operation | None] = {}
    for node in _variable(graph):
        operations[node] = _operation(graph, node, _FACTOR)
        if operations[node] is None and node.row != "reorder":  # of large programs, an early one
            return []
    run: dict[Node, Operation] = {}
    for node, operation in _needed(graph, operations):
        if operation is None:
            return []
        run[node] = operation
    n_processors = graph.trace.engine.sycl_device.max_compute_units
    most = _MAX_WHOLE if n_processors <= 2 else min(_MAX_WHOLE, _MAX_STEP_ON_SEVERAL * len(run))
    is_small = any(o.kind in _IN_PARTS for o in run.values()) and sum(map(work_of, run)) <= most
    return [run] if is_small and _is_worthwhile(run) else []


def _operation(graph: Graph, node: Node, factor: int) -> Operation | None:
    return operation_of(graph, node, factor) if _is_movable(graph, node) else None


def _needed(
    graph: Graph, operations: Mapping[Node, Operation | None]
) -> Iterator[tuple[Node, Operation | None]]:
    """Yield nodes with their operations, but no copies that only primitives need."""
    for node, operation in operations.items():
        is_copy = node.row == "reorder" and graph.is_inner(node.dst.storage)
        if not (is_copy and _is_unread(graph, node.dst.storage, operations)):
            yield node, operation


def _is_unread(graph: Graph, storage: Storage, operations: Mapping[Node, Operation | None]) -> bool:
    """Whether all readers of a storage are operations that read something else."""
    readers = [operations.get(node) for node in graph.readers(storage)]
    return all(
        o is not None and all(t is None or t.storage is not storage for t in o.inputs)
        for o in readers
    )


def _variable(graph: Graph) -> Iterator[Node]:
    """Yield the nodes that do not compute constants."""
    constant = constant_ids(graph)
    for node in graph.nodes:
        if not all(id(t.storage) in constant for t in node.outputs.values()):
            yield node


def _runs(graph: Graph) -> Iterator[dict[Node, Operation]]:
    """Yield sequences of nodes that the host can compute; constants between them do not count."""
    n_processors = graph.trace.engine.sycl_device.max_compute_units
    is_several = has_fast_loops() and n_processors <= 2
    for run in _consecutive(graph, _variable(graph), _factor_in_run if is_several else _one):
        n_operations = sum(o.kind not in LIGHT for o in run.values())
        if not is_several or n_operations >= OPERATIONS_OF_RUN:
            yield run
        else:
            yield from _consecutive(graph, run, _one)


def _one(node: Node) -> int:
    return 1


def _factor_in_run(node: Node) -> int:
    """Return the factor of the limits for a node between steps of oneDNN."""
    if not node.has_dst:
        return _FACTOR
    if node.dst.size > _MAX_IN_RUN:
        return 1
    if node.row == "convolution_forward":
        dims, weights = node.dst.desc.dims, node.inputs["weights"].desc.dims
        if len(weights) > len(dims):
            return _FACTOR_BY_CHANNEL
        if dims[1] <= _FEW_CHANNELS and max(weights[2 - len(dims) :]) > 1:
            return _FACTOR_OF_FEW
    return _FACTOR


def _consecutive(
    graph: Graph, nodes: Iterable[Node], factor_of: Callable[[Node], int]
) -> Iterator[dict[Node, Operation]]:
    """Yield sequences of nodes that the host can compute within limits times a factor."""
    first = next(_variable(graph), None)
    run: dict[Node, Operation] = {}
    operations = {node: _operation(graph, node, factor_of(node)) for node in nodes}
    for node, operation in _needed(graph, operations):
        if operation is not None:
            run[node] = operation
            continue
        if _is_worthwhile(run, first):
            yield run
        run = {}
    if _is_worthwhile(run, first):
        yield run


def _is_worthwhile(run: Mapping[Node, Operation], first: Node | None = None) -> bool:
    """Whether a run has several operations, one that nothing precedes, or one worth it alone.

    The caller's thread computes what nothing precedes; a kernel anyway.
    """
    if len(run) > 1 or any(o.kind in _ALONE or _is_slow(node, o) for node, o in run.items()):
        return True
    return any(node is first and o.kind not in ("expression", "kernel") for node, o in run.items())


def _is_slow(node: Node, operation: Operation) -> bool:
    """Whether oneDNN has no kernel for windows of each channel, such as windows far apart."""
    is_by_channel = operation.kind == "depthwise" and node.pd is not None
    return is_by_channel and not any(words in node.pd.impl_info for words in _BY_CHANNEL)


def _is_movable(graph: Graph, node: Node) -> bool:
    """Whether a node writes no argument, may run with others, and was not chosen by its time."""
    if node.function is not None or node.part != (0, 1) or node.is_repeated or node.times:
        return False
    is_own = all(t.storage.argument is None for t in node.outputs.values())
    return is_own and not graph.is_locked(node)


def _packed(
    graph: Graph, run: Mapping[Node, Operation]
) -> tuple[dict[Node, Operation], list[Node]]:
    """Return a run whose weights are packed, and the nodes for that.

    Those of other weights than constants are operations of the run, too.
    """
    constants = constant_ids(graph)
    operations: dict[Node, Operation] = {}
    copies: list[Node] = []
    for node, operation in run.items():
        if operation.kind == "recurrence":
            packed, new = with_packed_matrices(graph, operation)
        else:
            weights = node.inputs.get(PACKABLE)
            is_constant = weights is not None and id(weights.storage) in constants
            packed, new = with_packed_weights(graph, node, operation, is_constant)
            if new and not is_constant:
                copied = {copy: operation_of(graph, copy) for copy in new}
                operations |= {copy: o for copy, o in copied.items() if o is not None}
        operations[node] = packed
        copies += new
    return operations, copies


def _replace(graph: Graph, run: Mapping[Node, Operation], copies: Sequence[Node]) -> None:
    *_, last = run
    in_run = [n for n in copies if n in run]
    # The sources of those are arguments; of constants, other nodes of the run may precede.
    graph.insert(in_run, before=next(n for n in run if n not in in_run))
    graph.insert([n for n in copies if n not in run], before=last)
    joined = _joined(graph, run)
    joined.fused = [text for n in run for text in (n.row, *n.fused)]
    if len(run) == 1:
        joined.fused = last.fused
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
    name = "host_sequence" if len(run) > 1 else next(iter(run)).row
    parts = [_named(node, operation) for node, operation in run.items()]
    return Node(None, inputs, outputs, primitive=host_sequence(rows, name, parts))


def _named(node: Node, operation: Operation) -> tuple[str, str, bool, list[str]]:
    """Return an operation as profiles show it: name, implementation, names of its arrays."""
    names = {t.storage: name for name, t in (node.inputs | node.outputs).items()}
    arrays = (*operation.inputs, *operation.outputs)
    arguments = ["" if t is None else names.get(t.storage, PACKABLE) for t in arrays]
    return node.row, "+".join(["host", *node.fused]), node.inserted, arguments


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
