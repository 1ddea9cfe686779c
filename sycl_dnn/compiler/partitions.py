# SPDX-License-Identifier: Apache-2.0
"""Replacement of attention and products by Graph API partitions, if requested or faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dpnp

from sycl_dnn import _core, errors
from sycl_dnn._core import PostOps, algorithm
from sycl_dnn._dpnp import place
from sycl_dnn.compiler.passes.fusing import is_overwritten
from sycl_dnn.compiler.post_ops import Op, post_ops_as_chain, with_post_ops
from sycl_dnn.compiler.rebuilding import origin, rebuilt
from sycl_dnn.graph import Graph
from sycl_dnn.graph.compiled_graph import constant_tensor
from sycl_dnn.graph.nodes import Value
from sycl_dnn.lower.step_graph import Graph as Graph_of_graph
from sycl_dnn.lower.step_graph import Node, Refusal, has_only_post_ops
from sycl_dnn.onednn import dtypes, faults
from sycl_dnn.onednn.fault import GraphOp
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.program.executable import Executable
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Storage, Tensor


class NoPartition(Exception):
    """The reason why nodes cannot be replaced by a partition."""


def _linear(g: Any, x: Value, alpha: float, beta: float) -> Value:
    if alpha != 1.0:
        x = g.multiply(x, alpha)
    return x if beta == 0.0 else g.add(x, beta)


def _check_parameters(alpha: float, beta: float, expected: tuple[float, float]) -> None:
    if abs(alpha - expected[0]) + abs(beta - expected[1]) > 1e-6:
        raise NoPartition(f"an activation has parameters {alpha}, {beta}")


def _hard_swish(g: Any, x: Value, alpha: float, beta: float) -> Value:
    _check_parameters(alpha, beta, (1 / 6, 0.5))
    return g.hard_swish(x)


#: By label of a post-op: a function of the value and its two parameters.
ELTWISE: dict[str, Callable[[Any, Value, float, float], Value]] = {
    "relu": lambda g, x, a, b: g.leaky_relu(x, alpha=a) if a else g.relu(x),
    "tanh": lambda g, x, a, b: g.tanh(x),
    "elu": lambda g, x, a, b: g.elu(x, alpha=a),
    "gelu_erf": lambda g, x, a, b: g.gelu(x, mode="gelu_erf"),
    "gelu_tanh": lambda g, x, a, b: g.gelu(x, mode="gelu_tanh"),
    "logistic": lambda g, x, a, b: g.sigmoid(x),
    "clip": lambda g, x, a, b: g.clamp(x, min=a, max=b),
    "clip_v2": lambda g, x, a, b: g.clamp(x, min=a, max=b),
    "exp": lambda g, x, a, b: g.exp(x),
    "abs": lambda g, x, a, b: g.abs(x),
    "square": lambda g, x, a, b: g.square(x),
    "sqrt": lambda g, x, a, b: g.sqrt(x),
    "mish": lambda g, x, a, b: g.mish(x),
    "hardsigmoid": lambda g, x, a, b: g.hard_sigmoid(x, alpha=a, beta=b),
    "hardswish": _hard_swish,
    "swish": lambda g, x, alpha, beta: g.multiply(x, g.sigmoid(_linear(g, x, alpha, 0.0))),
    "linear": _linear,
}


BINARY = {
    algorithm.binary_add: "add",
    algorithm.binary_sub: "subtract",
    algorithm.binary_mul: "multiply",
    algorithm.binary_div: "divide",
    algorithm.binary_max: "maximum",
    algorithm.binary_min: "minimum",
}


# --- Nodes as a oneDNN graph with a single partition

A = algorithm
_FLOATS = ("float32", "bfloat16", "float16")


class PartitionGraph:
    """The operations of a chain of nodes, each of which reads the previous result."""

    def __init__(self, engine: _core.Engine) -> None:
        self._engine = engine
        self._graph: Any = Graph(engine.kind.name)
        self._values: dict[Any, Value] = {}
        #: Inputs, by value id.
        self.inputs: dict[int, Tensor] = {}
        #: The operations, as described to the register of faults.
        self._told: list[GraphOp] = []

    def _value(self, tensor: Tensor) -> Value:
        desc = tensor.desc
        key = (id(tensor.storage), tensor.offset, desc)
        if key not in self._values:
            dtype = dtypes.NAMES[desc.data_type]
            if not desc.is_plain or dtype not in _FLOATS:
                raise NoPartition(
                    f"{dtype} in a layout of oneDNN's own is not an input of a partition"
                )
            self._values[key] = value = self._graph.input(desc.dims, dtype)
            self.inputs[value.id] = tensor
        return self._values[key]

    def add(self, node: Node) -> None:
        """Add the operations of a matmul or softmax with its post-ops."""
        result = node.dst.desc
        value = getattr(self, f"_{node.row.removesuffix('_forward')}")(node)
        ops = post_ops_as_chain(node)
        if isinstance(ops, Refusal):
            raise NoPartition(ops.reason)
        for op in ops:
            value = self._apply(op, value)
        if value.dtype != (kind := result.data_type.name):
            value = self._graph.type_cast(value, dtype=kind)
        self._values[id(node.dst.storage), node.dst.offset, result] = value

    def _matmul(self, node: Node) -> Value:
        names = ("src", "weights")
        src, weights = (self._value(node.inputs[n]) for n in names)
        dims = [node.inputs[n].desc.dims for n in names]
        result = node.dst.desc.dims
        self._told.append(GraphOp("matmul", dims, result=result, dtype=src.dtype))
        # Scores may be wider than the operands, starting with the product.
        kind = node.dst.desc.data_type.name
        result_dtype = {} if kind == src.dtype else {"dtype": kind}
        value = self._graph.matmul(src, weights, **result_dtype)
        if "bias" in node.inputs:
            value = self._graph.add(value, self._value(node.inputs["bias"]))
        return value

    def _softmax(self, node: Node) -> Value:
        axis = node.params["axis"]
        if node.params["algorithm"] is not A.softmax_accurate:
            raise NoPartition("it is the logarithm of a softmax")
        src, kind = self._value(node.inputs["src"]), node.dst.desc.data_type.name
        result_dtype = {} if kind == src.dtype else {"dtype": kind}
        return self._graph.softmax(src, axis=axis, **result_dtype)

    def _apply(self, op: Op, value: Value) -> Value:
        if op.kind == "eltwise" and op.label in ELTWISE:
            return ELTWISE[op.label](self._graph, value, op.alpha, op.beta)
        if op.kind == "binary" and op.algorithm in BINARY:
            name = BINARY[op.algorithm]
            self._told.append(GraphOp(name, [op.operand.desc.dims]))
            return getattr(self._graph, name)(value, self._value(op.operand))
        raise NoPartition(f"{op.label} has no operation")

    def compiled(self, result: Tensor) -> CompiledNodes:
        """Return the single partition, compiled for the layouts of the inputs and the result."""
        if reason := faults.why_wrong(self._told, self._engine.kind.name):
            raise NoPartition(reason)
        (last,) = self._graph.outputs
        partitions = self._graph.partitions()
        if len(partitions) != 1 or not partitions[0].is_supported:
            raise NoPartition(f"oneDNN makes {len(partitions)} partitions of it")
        return CompiledNodes(self, self._graph, partitions[0], self._engine, last, result)


def _logical_tensor(id: int, tensor: Tensor) -> _core.LogicalTensor:
    desc = tensor.desc
    return _core.LogicalTensor(id, desc.data_type.name, desc.dims, strides=desc.strides)


class CompiledNodes:
    """A compiled partition as the function of a node."""

    #: Name of the node in reports.
    row = "partition"

    def __init__(
        self, graph: PartitionGraph, operations: Any, partition: Any, engine: Any, last: Value,
        result: Tensor,
    ) -> None:  # fmt: skip
        self._engine = engine
        held = {i: t for i, t in graph.inputs.items() if t.storage.memory is not None}
        self.inputs = {i: t for i, t in graph.inputs.items() if i not in held}
        kinds = {n.id: n.operation.kind for n in operations.nodes}
        self.__qualname__ = " + ".join(kinds[i] for i in partition.ops)
        queue = engine.sycl_queue
        self._constants: list[Any] = [
            constant_tensor(v, engine, queue) for v in operations.constants
        ]
        queue.wait()
        read = {p.id for p in partition.input_ports}
        descriptions = {i: _logical_tensor(i, t) for i, t in graph.inputs.items() if i in read}
        descriptions |= {t.id: t.logical_tensor for t in self._constants}
        try:
            self._compiled = partition.compile(
                [descriptions[p] for p in dict.fromkeys(p.id for p in partition.input_ports)],
                [_logical_tensor(last.id, result)],
                engine,
            )
        except errors.DnnlError as error:
            words = str(error).splitlines()[0]
            raise NoPartition(f"oneDNN does not compile the partition ({words})") from None
        self._compiled.label = self.__qualname__
        self._reads = [descriptions[i] for i in self.inputs]
        self._constants += [_constant_tensor(descriptions[i], t, engine) for i, t in held.items()]
        self._writes = self._compiled.outputs[0]

    def run_into(
        self,
        stream: _core.Stream,
        inputs: Sequence[tuple[Any, int]],
        outputs: Sequence[tuple[Any, int]],
    ) -> None:
        """Submit over memory, given as pairs of a USM object and a byte offset."""
        (memory, offset), engine = outputs[0], self._engine
        result = _core.GraphTensor(self._writes, engine, memory, offset, memory, True)
        tensors = [
            _core.GraphTensor(layout, engine, memory, offset, memory, False)
            for layout, (memory, offset) in zip(self._reads, inputs, strict=True)
        ]
        self._compiled.execute(stream, [*tensors, *self._constants], [result])


def _constant_tensor(
    logical_tensor: _core.LogicalTensor, tensor: Tensor, engine: _core.Engine
) -> Any:
    """Return a tensor over permanent memory."""
    owner = tensor.storage.memory.owner[0]
    array = owner.get_array() if hasattr(owner, "get_array") else owner
    memory, start = place(array)
    return _core.GraphTensor(logical_tensor, engine, memory, start + tensor.offset, array, False)


# --- Timing of two alternatives

_ROUNDS = 9
#: Each round repeats until it takes about this many seconds.
_SPAN = 2e-3


def milliseconds(
    graph: Graph_of_graph, first: Sequence[Node], second: Sequence[Node], queue: Any, stream: Any
) -> tuple[float, float]:
    """Return the minimum time per run of two lists of nodes, over separate memory.

    They run alternately, waiting after each.
    """
    runs = [_Run(graph, nodes, queue, stream) for nodes in (first, second)]
    count = max(1, min(64, int(_SPAN / max(runs[0](1), runs[1](1), 1e-6))))
    times = [[run(count) for run in runs] for _ in range(_ROUNDS)]
    a, b = (1e3 * min(column) for column in zip(*times, strict=True))
    return a, b


class _Run:
    """Nodes as a program over zeros."""

    def __init__(
        self, graph: Graph_of_graph, nodes: Sequence[Node], queue: Any, stream: Any
    ) -> None:
        written = {id(t.storage) for n in nodes for t in n.outputs.values()}
        read: dict[int, Storage] = {
            id(t.storage): t.storage
            for n in nodes
            for t in n.inputs.values()
            if id(t.storage) not in written and t.storage.memory is None
        }
        arguments = list(read.values())
        finals = list(nodes[-1].outputs.values())
        self._executable = Executable(graph.trace, list(graph.steps(nodes)), finals, arguments)
        self._queue, self._stream = queue, stream
        self._arrays = [_zeros(storage, queue) for storage in arguments]

    def __call__(self, count: int) -> float:
        """Return the seconds per run over ``count`` runs."""
        kind = KINDS["device"]
        self._executable.run(self._queue, self._stream, list(self._arrays), kind)
        self._queue.wait()
        start = time.perf_counter()
        for _ in range(count):
            self._executable.run(self._queue, self._stream, list(self._arrays), kind)
        self._queue.wait()
        return (time.perf_counter() - start) / count


def _zeros(storage: Storage, queue: Any) -> Any:
    return dpnp.zeros(max(storage.nbytes, 1), dtype="u1", sycl_queue=queue).get_array()


# --- Selection

#: Ways to run nodes that both partitions and primitives support; the first is the default.
LOWERINGS = ("primitives", "partitions", "measured")
#: A partition is used if it takes less than this fraction of the primitives' time.
CLEARLY = 0.95


def lower(graph: Graph_of_graph, lowering: str, queue: Any, stream: Any) -> None:
    """Replace groups of nodes by partitions: all, or those measured to be faster."""
    if lowering == "primitives":
        return
    for group in list(_groups(graph)):
        try:
            partition, packing, after = _partitioned(graph, group)
        except NoPartition as reason:
            group[0].refused.append(f"partition: {reason}")
            continue
        if lowering == "measured":
            times = milliseconds(graph, group, [*packing, partition, *after], queue, stream)
            partition.times = group[0].times = dict(
                zip(("primitives", "partition"), times, strict=True)
            )
            if times[1] >= CLEARLY * times[0]:
                continue
        nodes = [*packing, partition, *after]
        graph.insert(nodes[:-1], before=group[-1])
        graph.replace(group[:-1], nodes[-1], at=group[-1])


def _groups(graph: Graph_of_graph) -> Iterator[list[Node]]:
    """Yield groups that partitions may replace: attention, and products with post-ops."""
    grouped: set[int] = set()
    for node in graph.nodes:
        group = _attention(graph, node)
        if group:
            grouped |= {id(n) for n in group}
            yield group
    for node in graph.nodes:
        if id(node) not in grouped and _is_product(node) and len(node.post_ops):
            yield [node]


def _is_product(node: Node) -> bool:
    return node.row == "matmul" and node.has_dst and has_only_post_ops(node.attr)


def _attention(graph: Graph_of_graph, node: Node) -> list[Node]:
    """Return the product, softmax and product that end with a node; empty if it is no attention."""
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


def _partitioned(graph: Graph_of_graph, group: list[Node]) -> tuple[Node, list[Node], list[Node]]:
    """Return the node of a partition, the nodes before and after it, or raise NoPartition."""
    try:
        return (*_partition(graph, group), [])
    except NoPartition:
        parts = _without_last_operand(graph, group[-1]) if len(group) > 1 else None
        if parts is None:
            raise
    bare, after = parts
    return (*_partition(graph, [*group[:-1], bare]), after)


def _without_last_operand(graph: Graph_of_graph, node: Node) -> tuple[Node, list[Node]] | None:
    """Split the only binary post-op off a product; return the product and the new node."""
    if len(node.post_ops) != 1 or node.post_ops[0][0] != "append_binary":
        return None
    operand, dst = node.inputs["attr_post_op_0_src_1"], node.dst
    pd = rebuilt(node, with_post_ops(node.attr, PostOps()), {"dst": dst})
    if isinstance(pd, Refusal):
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


def _partition(graph: Graph_of_graph, group: Sequence[Node]) -> tuple[Node, list[Node]]:
    """Return a node like a group, and those that prepare operands, or raise NoPartition."""
    partition = PartitionGraph(graph.trace.engine)
    packing: list[Node] = []
    for node in group:
        plain, nodes = _with_plain_weights(graph, node)
        packing += nodes
        partition.add(plain)
    result = group[-1].dst
    if not result.desc.is_plain:
        raise NoPartition("the result is in a layout of oneDNN's own")
    function: CompiledNodes = partition.compiled(result)
    inputs = {str(i): t for i, t in function.inputs.items()}
    replacement = Node(None, inputs, {"dst": result}, function=function)
    replacement.fused = [text for n in group for text in n.fused]
    replacement.refused = [text for n in group for text in n.refused]
    return replacement, packing


def _with_plain_weights(graph: Graph_of_graph, node: Node) -> tuple[Node, list[Node]]:
    """Return the node with weights in a plain layout, and the nodes that unpack them."""
    weights = node.inputs.get("weights")
    if weights is None or weights.desc.is_plain:
        return node, []
    source = origin(graph, weights)
    if source is weights or source.desc.dims != weights.desc.dims:
        raise NoPartition("the weights are in a layout of oneDNN's own")
    plain, nodes = graph.recorded(lambda: _row_major_copy(graph, source, weights.dtype))
    return node.with_pd(node.pd, inputs={**node.inputs, "weights": plain}), nodes


def _row_major_copy(graph: Graph_of_graph, source: Tensor, dtype: str) -> Tensor:
    if source.dtype == dtype and source.desc.is_plain:
        return source
    return graph.trace.reorder(source, layout.row_major(source.shape, dtype))
