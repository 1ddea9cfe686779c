# SPDX-License-Identifier: Apache-2.0
"""Nodes as a graph of oneDNN's operations, and the partition that it makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn import _core, errors
from sycl_dnn._core import algorithm
from sycl_dnn._dpnp import place
from sycl_dnn.compiler.chains import Op, post_ops_as_chain
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.operations import BINARY, ELTWISE, NoPartition
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.graph import Graph
from sycl_dnn.graph.constants import constant_tensor
from sycl_dnn.graph.value import Value
from sycl_dnn.onednn import dtypes

A = algorithm
_FLOATS = ("float32", "bfloat16", "float16")


class PartitionGraph:
    """The operations of nodes that follow one another; each reads the result of the one before.

    Parameters
    ----------
    engine : Engine
    """

    def __init__(self, engine: _core.Engine) -> None:
        self._engine = engine
        self._graph: Any = Graph(engine.kind.name)
        self._values: dict[Any, Value] = {}
        #: What comes in, by the number of the value.
        self.inputs: dict[int, Tensor] = {}

    def _value(self, tensor: Tensor) -> Value:
        desc = tensor.desc
        key = (id(tensor.storage), tensor.offset, desc)
        if key not in self._values:
            dtype = dtypes.NAMES[desc.data_type]
            if not desc.is_plain or dtype not in _FLOATS:
                raise NoPartition(f"{dtype} in a layout of oneDNN's own is no input of a partition")
            self._values[key] = value = self._graph.input(desc.dims, dtype)
            self.inputs[value.id] = tensor
        return self._values[key]

    def add(self, node: Node) -> None:
        """Add the operations of a matmul or a softmax, with its post-ops."""
        result = node.dst.desc
        made = getattr(self, f"_{node.row.removesuffix('_forward')}")(node)
        ops = post_ops_as_chain(node)
        if isinstance(ops, Refusal):
            raise NoPartition(ops.reason)
        for op in ops:
            made = self._apply(op, made)
        if made.dtype != (kind := result.data_type.name):
            made = self._graph.type_cast(made, dtype=kind)
        self._values[id(node.dst.storage), node.dst.offset, result] = made

    def _matmul(self, node: Node) -> Value:
        names = ("src", "weights")
        src, weights = (self._value(node.inputs[n]) for n in names)
        # Scores that are kept wider than the operands are so from the product on.
        kind = node.dst.desc.data_type.name
        given = {} if kind == src.dtype else {"dtype": kind}
        made = self._graph.matmul(src, weights, **given)
        if "bias" in node.inputs:
            made = self._graph.add(made, self._value(node.inputs["bias"]))
        return made

    def _softmax(self, node: Node) -> Value:
        axis = node.params["axis"]
        if node.params["algorithm"] is not A.softmax_accurate:
            raise NoPartition("it is the logarithm of a softmax")
        src, kind = self._value(node.inputs["src"]), node.dst.desc.data_type.name
        given = {} if kind == src.dtype else {"dtype": kind}
        return self._graph.softmax(src, axis=axis, **given)

    def _apply(self, op: Op, value: Value) -> Value:
        if op.kind == "eltwise" and op.label in ELTWISE:
            return ELTWISE[op.label](self._graph, value, op.alpha, op.beta)
        if op.kind == "binary" and op.algorithm in BINARY:
            return getattr(self._graph, BINARY[op.algorithm])(value, self._value(op.operand))
        raise NoPartition(f"{op.label} has no operation")

    def compiled(self, result: Tensor) -> CompiledNodes:
        """Return the one partition, compiled for the layouts of the inputs and the result."""
        (last,) = self._graph.outputs
        partitions = self._graph.partitions()
        if len(partitions) != 1 or not partitions[0].is_supported:
            raise NoPartition(f"oneDNN makes {len(partitions)} partitions of it")
        return CompiledNodes(self, self._graph, partitions[0], self._engine, last, result)


def _described(id: int, tensor: Tensor) -> _core.LogicalTensor:
    desc = tensor.desc
    return _core.LogicalTensor(id, desc.data_type.name, desc.dims, strides=desc.strides)


class CompiledNodes:
    """A compiled partition as the function of a node: reads its inputs, writes its result."""

    #: What reports call the node.
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
        given = {i: _described(i, t) for i, t in graph.inputs.items() if i in read}
        given |= {t.id: t.logical_tensor for t in self._constants}
        try:
            self._compiled = partition.compile(
                [given[p] for p in dict.fromkeys(p.id for p in partition.input_ports)],
                [_described(last.id, result)],
                engine,
            )
        except errors.DnnlError as error:
            words = str(error).splitlines()[0]
            raise NoPartition(f"oneDNN does not compile the partition ({words})") from None
        self._compiled.label = self.__qualname__
        self._reads = [given[i] for i in self.inputs]
        self._constants += [_standing(given[i], t, engine) for i, t in held.items()]
        self._writes = self._compiled.outputs[0]

    def run_into(
        self,
        stream: _core.Stream,
        inputs: Sequence[tuple[Any, int]],
        outputs: Sequence[tuple[Any, int]],
    ) -> None:
        """Submit over memory: pairs of a USM object and bytes from its start."""
        (memory, offset), engine = outputs[0], self._engine
        result = _core.GraphTensor(self._writes, engine, memory, offset, memory, True)
        tensors = [
            _core.GraphTensor(layout, engine, memory, offset, memory, False)
            for layout, (memory, offset) in zip(self._reads, inputs, strict=True)
        ]
        self._compiled.execute(stream, [*tensors, *self._constants], [result])


def _standing(wanted: _core.LogicalTensor, tensor: Tensor, engine: _core.Engine) -> Any:
    """Return the tensor over a memory that stands for good."""
    owner = tensor.storage.memory.owner[0]
    array = owner.get_array() if hasattr(owner, "get_array") else owner
    memory, start = place(array)
    return _core.GraphTensor(wanted, engine, memory, start + tensor.offset, array, False)
