# SPDX-License-Identifier: Apache-2.0
"""``Plan``: a graph compiled for given input layouts, as a list of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn import _core, functional
from sycl_dnn.errors import DnnlError, InvalidArguments, Unimplemented
from sycl_dnn.graph import fallbacks
from sycl_dnn.graph.fallbacks import ArraysStep, lacking
from sycl_dnn.graph.nodes import Node, Value, low_level
from sycl_dnn.graph.read_as_rows import PRODUCTS, ordered_operands, read_as_rows
from sycl_dnn.graph.repeated_calls import call_plan_of
from sycl_dnn.graph.tensor import Tensor, array_over, element_strides
from sycl_dnn.onednn import dtypes, faults
from sycl_dnn.onednn.apart import is_row_major
from sycl_dnn.onednn.fault import GraphOp
from sycl_dnn.trace import allocation, policy
from sycl_dnn.trace.array import wrapped
from sycl_dnn.trace.capabilities import saturates

if TYPE_CHECKING:
    from sycl_dnn.graph.compiled_graph import CompiledGraph


_STRIDED = _core.layout_type.strided
_DEQUANTIZE = ("dequantize", "dynamic_dequantize")
#: Operations allowed between dequantization and an integer product.
_MOVES = ("type_cast", "static_reshape", "static_transpose", "reorder")


def why_wrong(
    group: Sequence[Node],
    shapes: Mapping[int, Any],
    layouts: Mapping[int, _core.LogicalTensor],
    engine: Any,
) -> str:
    """Return the known fault of a partition with these operations, or ""."""
    if _multiplies_integers(group) and saturates(engine):
        return "this CPU adds products of 8-bit integers in 16 bits, which do not hold them all"
    return faults.why_wrong(_graph_ops(group, shapes, layouts), engine.kind.name)


def _graph_ops(
    group: Sequence[Node], shapes: Mapping[int, Any], layouts: Mapping[int, _core.LogicalTensor]
) -> list[GraphOp]:
    """Describe operations for the fault register."""

    def strides(value: Any) -> Any:
        layout = layouts.get(value.id)
        return layout.strides if layout and layout.layout_type is _STRIDED else None

    return [
        GraphOp(
            node.operation.name,
            [shapes[v.id] for v in node.values],
            layout=node.attributes.get("data_format", ""),
            strides=[strides(v) for v in node.values],
            result=shapes[node.outputs[0].id] if node.outputs else None,
            dtype=str(node.values[0].dtype) if node.values else "",
        )
        for node in group
    ]


def _multiplies_integers(group: Sequence[Node]) -> bool:
    """Whether both operands of a product are 8-bit integers outside the partition."""
    writers = {v.id: node for node in group for v in node.outputs}

    def is_of_integers(value: Any) -> bool:
        node = writers.get(value.id)
        if node is None:
            return False
        if node.operation.name in _MOVES:
            return is_of_integers(node.values[0])
        return node.operation.name in _DEQUANTIZE and node.values[0].dtype in ("s8", "u8")

    products = [node for node in group if node.operation.name in PRODUCTS]
    return any(all(map(is_of_integers, node.values[:2])) for node in products)


# --- Tensors of one call: host scalars, allocated memory, caller's arrays, results


class Number(Tensor):
    """A host scalar with its Python value."""

    __slots__ = ("value",)

    def __init__(self, layout: _core.LogicalTensor, value: Any) -> None:
        super().__init__(layout, value)
        self.value = value

    def to_array(self) -> Any:
        """Return the value."""
        return self.value


class Data(_core.GraphTensor):
    """Memory allocated by a call."""

    __slots__ = ()

    def to_array(self) -> Any:
        """Return an array over the memory."""
        return result_of(self)


def result_of(tensor: Any) -> Any:
    """Return the array of a tensor."""
    owner = tensor.owner
    dtype = dtypes.LONG[tensor.logical_tensor.data_type.name]
    if isinstance(owner, allocation.usm_ndarray):
        return wrapped(owner, dtype)
    return array_over(tensor.logical_tensor, owner)


def in_layout(array: Any, target: Any, queue: Any) -> Any:
    """Convert an array to a result's dtype, shape and strides, or raise."""
    dtype = target.data_type.name
    if not hasattr(array, "get_array"):
        array = dpnp.asarray(array, sycl_queue=queue)
    if dtypes.graph_name(array.dtype, "graph") != dtype:
        array = functional.astype(array, dtypes.LONG[dtype])
    if tuple(array.shape) != target.dims:
        raise ValueError(f"graph: a result must have shape {target.dims}, got {array.shape}")
    strides = element_strides(array)
    if any(n > 1 and a != b for n, a, b in zip(target.dims, strides, target.strides, strict=True)):
        array = array.copy() if isinstance(array, dpnp.ndarray) else _dense(array)
        if element_strides(array) != target.strides and isinstance(array, dpnp.ndarray):
            array = dpnp.ascontiguousarray(array)
    return array


def _dense(array: Any) -> Any:
    return type(array)(dpnp.ascontiguousarray(array.bits), array.dtype)


# --- Steps: compiled partitions


class PartitionStep:
    """A compiled partition with its tensor ids; inputs in ``copied`` are made row-major."""

    __slots__ = ("compiled", "copied", "nodes", "reads", "writes")
    reason: str | None = None
    inner = None

    def __init__(
        self, compiled: _core.CompiledPartition, nodes: list[Node], copied: Iterable[int]
    ) -> None:
        self.compiled, self.nodes, self.copied = compiled, nodes, tuple(copied)
        compiled.label = "+".join(node.operation.name for node in nodes)
        # A tensor read by two operations has one port for each.
        self.reads = list(dict.fromkeys(t.id for t in compiled.inputs))
        self.writes = [t.id for t in compiled.outputs]

    def run(self, plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any) -> None:
        """Submit."""
        for id in self.writes:
            tensors[id] = plan.allocate(id, stream, kind)
        outputs = [tensors[id] for id in self.writes]
        rows = {id: plan.in_rows(id, tensors[id]) for id in self.copied}
        self.compiled.execute(stream, [(tensors | rows)[id] for id in self.reads], outputs)


# --- Plan


class Plan:
    """Steps, and the layouts of all materialized tensors."""

    def __init__(self, owner: CompiledGraph, inputs: dict[int, tuple[Any, Any]]) -> None:
        # No reference to the owner, which keeps its plans.
        self.graph, self.queue = owner.graph, owner.queue
        self.engine, self.stream = owner.engine, owner.stream
        self.layouts: dict[int, _core.LogicalTensor] = {}
        self.steps: list[PartitionStep | ArraysStep] = []
        #: Partitions that oneDNN failed to compile: their operations, and the message.
        self.refused: list[tuple[list[Node], str]] = []
        self._values = {v.id: v for v in self._all_values()}
        self._place_inputs(inputs, owner.constant)
        self.shapes = self._infer({id: shape for id, (shape, _) in inputs.items()})
        self._ends = {v.id for v in self.graph.outputs}
        if not self._add_whole():
            self._build_steps(owner.partitions)
        #: For each step, the tensors that are not needed after it.
        self.drops = self._last_uses()
        #: The owner's key for this plan.
        self.key: Any = None
        self._call_plans: dict[tuple[int, ...], _core.CallPlan | None] = {}

    def _add_whole(self) -> bool:
        """Run the whole graph in f32 if the device lacks its types, so that oneDNN can fuse it."""
        nodes = [n for n in self.graph.nodes if n.operation.name != "end"]
        if any(n.function is not None for n in nodes):
            return False  # it receives the graph's own types
        return self._add_wide(nodes, [v.id for v in self.graph.outputs])

    def _build_steps(self, partitions: list[Any]) -> None:
        try:
            self._build(partitions, keep_opaque=True)
        except DnnlError:
            # Fallbacks cannot read opaque layouts.
            self.steps.clear()
            self.refused.clear()
            self._build(partitions, keep_opaque=False)

    def _all_values(self) -> list[Any]:
        graph = self.graph
        results = [v for node in graph.nodes for v in node.outputs]
        return [*graph.inputs.values(), *graph.constants, *results]

    def _place_inputs(
        self, inputs: dict[int, tuple[Any, Any]], constant: Callable[[Value], Tensor]
    ) -> None:
        self.constants: dict[int, Any] = {}
        for value in self.graph.inputs.values():
            shape, strides = inputs[value.id]
            self.layouts[value.id] = _core.LogicalTensor(
                value.id, value.dtype, shape, strides=strides, property_type=value.property
            )
        for value in self.graph.constants:
            tensor = constant(value)
            self.layouts[value.id] = tensor.logical_tensor
            self.constants[value.id] = tensor

    def _infer(self, shapes: dict[int, Any]) -> dict[int, Any]:
        shapes |= {v.id: v.shape for v in self.graph.constants}
        for node in self.graph.nodes:
            if node.function is not None:
                # A mask has the shape of its data.
                first = shapes[node.values[0].id] if node.values else None
                shapes |= {v.id: first if v.shape is None else v.shape for v in node.outputs}
                continue
            output_shapes = node.output_shapes(shapes)
            if output_shapes is None:
                raise InvalidArguments(f"{node.operation.name}: the shape of {node} is not known")
            shapes |= {v.id: s for v, s in zip(node.outputs, output_shapes, strict=True)}
        return shapes

    def _build(self, partitions: list[Any], keep_opaque: bool) -> None:
        nodes = {node.id: node for node in self.graph.nodes}
        groups = [([nodes[i] for i in p.ops], p) for p in partitions]
        self._only_fused = self._read_by_partitions(groups) if keep_opaque else set()
        for group, partition in groups:
            name = group[0].operation.name
            if name == "end":
                continue
            if name == "wildcard":
                self._add_fallback(group[0])
            elif not partition.is_supported:
                self._add_alone(group)
            elif reason := self._why_wrong(group):
                self.refused.append((group, reason))
                self._add_alone(group)
            else:
                self._add(partition, group)

    def _why_wrong(self, group: Sequence[Node]) -> str:
        return why_wrong(group, self.shapes, self.layouts | self._rows_for(group), self.engine)

    def _rows_for(self, group: Sequence[Node]) -> dict[int, _core.LogicalTensor]:
        """Return row-major layouts for the tensors that kernels require to be row-major."""
        is_gpu = self.engine.kind is not _core.engine_kind.cpu
        ops = _graph_ops(group, self.shapes, self.layouts)
        return {v.id: self.row_major(v) for v in read_as_rows(group, ops, self.shapes, is_gpu)}

    def _read_by_partitions(self, groups: list[Any]) -> set[int]:
        """Return the tensors that are read only by supported partitions."""
        fused: set[int] = set()
        others = set(self._ends)
        for group, partition in groups:
            reads = {v.id for node in group for v in node.values}
            (fused if partition.is_supported else others).update(reads)
            others.update(v.id for v in ordered_operands(group, self.shapes))
        return fused - others

    def _add(self, partition: Any, group: list[Node]) -> None:
        try:
            step = self._compiled_step(partition, group)
        except DnnlError as problem:
            if len(group) == 1:
                self._add_fallback(group[0], problem)
            else:
                self.refused.append((group, str(problem)))
                self._add_alone(group)
            return
        self.steps.append(step)
        for tensor in step.compiled.outputs:
            self.layouts[tensor.id] = tensor

    def _compiled_step(self, partition: Any, group: list[Node]) -> PartitionStep:
        """Return a step for a partition; copy its operands to row-major order if oneDNN refuses."""
        rows = self._rows_for(group)
        try:
            return PartitionStep(self._compile(partition, rows), group, rows)
        except DnnlError:
            moved = {v.id: self.row_major(v) for node in group for v in node.values
                     if self._is_moved(v)}  # fmt: skip
            if moved.keys() <= rows.keys():
                raise
            return PartitionStep(self._compile(partition, rows | moved), group, rows | moved)

    def _is_moved(self, value: Any) -> bool:
        """Whether a tensor exists before its partition and is not row-major."""
        layout = self.layouts.get(value.id)
        if layout is None or layout.layout_type is not _STRIDED:
            return False
        return not is_row_major(self.shapes[value.id], layout.strides)

    def _add_alone(self, group: list[Node]) -> None:
        """Add a separate step for each operation of a partition that oneDNN did not compile."""
        if len(group) == 1:
            self._add_fallback(group[0])
            return
        for node in group:
            if self._why_wrong([node]):
                self._add_fallback(node)
            else:
                self._add(_core.Partition(low_level(node), self.graph.engine_kind), [node])

    def _add_fallback(self, node: Node, problem: Exception | None = None) -> None:
        try:
            step = fallbacks.lone_step(node, self, problem)
        except Unimplemented:
            if not self._add_wide([node], [v.id for v in node.outputs]):
                raise
            return
        self._append(step)

    def _add_wide(self, group: list[Node], writes: list[int]) -> bool:
        """Run operations in f32 if the device lacks their types; return whether it does."""
        if policy.current().fallback == "error" or not lacking(group, self):
            return False
        try:
            step = fallbacks.wide_step(group, writes, self)
        except Unimplemented:
            return False
        self._append(step)
        return True

    def _append(self, step: ArraysStep) -> None:
        """Add a step that operates on arrays.

        Raises Unimplemented if it would have to read an opaque layout.
        """
        if any(self.layouts[id].layout_type is _core.layout_type.opaque for id in step.reads):
            raise Unimplemented(
                "graph: an operation that is not a partition reads an opaque layout"
            )
        self.steps.append(step)
        for id in step.writes:
            self.layouts[id] = self.row_major(self.value(id))

    def value(self, id: int) -> Any:
        """Return a value of the graph by id."""
        return self._values[id]

    def row_major(self, value: Any) -> _core.LogicalTensor:
        """Return the row-major layout of a value."""
        return _core.LogicalTensor(
            value.id, value.dtype, self.shapes[value.id], property_type=value.property
        )

    def _compile(
        self, partition: Any, rows: Mapping[int, _core.LogicalTensor]
    ) -> _core.CompiledPartition:
        outputs = []
        for port in partition.output_ports:
            value = self._values[port.id]
            if port.id in self._only_fused:
                outputs.append(
                    _core.LogicalTensor(
                        port.id, value.dtype, self.shapes[port.id], layout_type="any"
                    )
                )
            else:
                outputs.append(self.row_major(value))
        read = dict.fromkeys(p.id for p in partition.input_ports)
        inputs = [rows.get(id, self.layouts[id]) for id in read]
        return partition.compile(inputs, outputs, self.engine)

    def _last_uses(self) -> list[list[int]]:
        """Return, for each step, the tensors that are not needed after it."""
        permanent = self._ends | set(self.constants)
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            last |= dict.fromkeys((*step.reads, *step.writes), number)
        drops: list[list[int]] = [[] for _ in self.steps]
        for id, number in last.items():
            if id not in permanent:
                drops[number].append(id)
        return drops

    def allocate(self, id: int, stream: Any, kind: Any) -> Any:
        """Allocate a tensor: separately for results, otherwise from the queue's pool."""
        layout = self.layouts[id]
        dtype = layout.data_type.name
        size = max(layout.mem_size, 1)
        shape = strides = None
        if layout.layout_type is _STRIDED and dtypes.SHORT[dtype].bits != 4:
            shape, strides = layout.dims, layout.strides
        blank = allocation.Blank(size, shape, strides, dtypes.SHORT[dtype].dtype)
        result = blank.new(stream.sycl_queue, kind)
        memory = result if shape is None else result.usm_data
        return Data(layout, self.engine, memory, 0, result, True)

    def in_rows(self, id: int, tensor: Any) -> Tensor:
        """Return a row-major copy of a tensor."""
        expected = self.row_major(self.value(id))
        return Tensor(expected, self.engine, in_layout(tensor.to_array(), expected, self.queue))

    def adopt(self, value: Any, array: Any) -> Any:
        """Return a tensor over an array that no partition produced."""
        expected = self.layouts[value.id]
        array = in_layout(array, expected, self.queue)
        return Tensor(expected, self.engine, array)

    def run(self, tensors: dict[int, Any], stream: Any, kind: Any) -> list[Any]:
        """Submit all steps given the input tensors; return the result arrays."""
        tensors.update(self.constants)
        for step, dropped in zip(self.steps, self.drops, strict=True):
            step.run(self, tensors, stream, kind)
            for id in dropped:
                del tensors[id]
        return [result_of(tensors[v.id]) for v in self.graph.outputs]

    def call_plan(self, inputs: Sequence[int]) -> _core.CallPlan | None:
        """Return a plan that repeats calls with these inputs without Python; None if impossible."""
        key = tuple(inputs)
        if key not in self._call_plans:
            self._call_plans[key] = call_plan_of(self, key)
        return self._call_plans[key]
