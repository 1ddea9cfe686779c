# SPDX-License-Identifier: Apache-2.0
"""``Graph``: the nodes of a model with their implementations."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper

from sycl_dnn.onnx import model_file
from sycl_dnn.onnx.host_values import PASSED
from sycl_dnn.onnx.operator_registry import Operator, find

#: Value kinds other than tensors: strings, sequences, optionals and others.
_NOT_TENSORS = (
    "string", "unknown", "sequence_type", "map_type", "optional_type", "sparse_tensor_type",
    "opaque_type",
)  # fmt: skip

#: Attributes whose integers are values or bounds, not sizes.
_ANY_INTEGER = ("starts", "ends", "value_int", "value_ints", "seed", "k")


class ModelInput(NamedTuple):
    """An input or output of a model."""

    name: str
    #: Strings are symbols, None is unknown. None if the rank is unknown.
    shape: tuple[int | str | None, ...] | None
    dtype: str


class Facts(NamedTuple):
    """What a call of a model needs apart from its nodes."""

    #: Of the structure.
    digest: str
    inputs: tuple[ModelInput, ...]
    outputs: tuple[ModelInput, ...]
    #: Unsupported operators with their nodes, and unsupported kinds of values.
    missing: tuple[str, ...]
    #: Operators whose results' shapes depend on values: the graph cannot be one program.
    host_steps: tuple[str, ...]
    #: Names of the inputs whose values determine shapes.
    static_inputs: frozenset[str]


class Node:
    """One node: operator, attributes, and names of its values."""

    __slots__ = (
        "attributes", "domain", "graphs", "inputs", "last_reads", "n_outputs", "name", "op",
        "operator", "outputs", "reads", "reads_values", "title", "version",
    )  # fmt: skip

    def __init__(self, proto: onnx.NodeProto, versions: Mapping[str, int]) -> None:
        self.op = proto.op_type
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.version = versions.get(self.domain, 1)
        self.title = f"{self.domain}:{self.op}" if self.domain else self.op
        self.inputs, self.outputs = tuple(proto.input), tuple(proto.output)
        self.name = proto.name or next(filter(None, self.outputs), "")
        self.n_outputs = max((i + 1 for i, o in enumerate(self.outputs) if o), default=0)
        self.operator: Operator | None = find(self.domain, self.op, self.version)
        self.graphs: dict[str, Graph] = {}
        self.attributes: dict[str, Any] = {}
        for attribute in proto.attribute:
            if attribute.type == AttributeProto.GRAPH:
                self.graphs[attribute.name] = Graph(attribute.g, versions)
            else:
                self.attributes[attribute.name] = _attribute(attribute)
        captured: set[str] = {name for g in self.graphs.values() for name in g.captured}
        self.reads = {*filter(None, self.inputs), *captured}
        #: Whether it runs graphs, has results of unknown shape, or has read values of arrays.
        self.reads_values = bool(self.graphs) or self.operator is None or self.operator.is_step
        #: Values that no later node reads.
        self.last_reads: frozenset[str] = frozenset()


def _attribute(proto: AttributeProto) -> Any:
    kind = proto.type
    if kind == AttributeProto.TENSOR:
        return model_file.to_array(proto.t)
    if kind == AttributeProto.SPARSE_TENSOR:
        return _dense(proto.sparse_tensor)
    try:
        value = helper.get_attribute_value(proto)
    except ValueError as error:
        raise model_file.wrong(f"attribute {proto.name!r}: {error}") from None
    if kind in (AttributeProto.INT, AttributeProto.INTS) and proto.name not in _ANY_INTEGER:
        values = value if kind == AttributeProto.INTS else [value]
        if any(not -(2**31) <= v < 2**31 for v in values):
            raise model_file.wrong(f"attribute {proto.name!r} must fit into 32 bits, got {value}")
    if kind == AttributeProto.STRING:
        return value.decode(errors="replace")
    if kind == AttributeProto.STRINGS:
        return [v.decode(errors="replace") for v in value]
    return value


def _dense(sparse: onnx.SparseTensorProto) -> np.ndarray:
    values, indices = model_file.to_array(sparse.values), model_file.to_array(sparse.indices)
    shape = tuple(sparse.dims)
    check_size(shape)
    dense = np.zeros(shape, values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def check_size(shape: Any, bits: int = 33) -> None:
    """Reject an array that would exceed any memory before it is allocated."""
    sizes = tuple(map(int, shape))
    if min(sizes, default=0) < 0 or math.prod(sizes) > 2**bits:
        raise ValueError(f"shape must be of at most 2**{bits} elements, got {sizes}")


def check_host_size(shape: Any) -> None:
    """Reject an array for which NumPy's temporaries would exceed the memory of the host."""
    check_size(shape, 28)


class Graph:
    """Nodes in order, with their constants."""

    def __init__(self, proto: onnx.GraphProto, versions: Mapping[str, int]) -> None:
        self.inputs = tuple(_described(v) for v in proto.input)
        self.outputs = tuple(_described(v) for v in proto.output)
        self.constants = {t.name: model_file.to_array(t) for t in proto.initializer}
        self.constants |= {
            s.values.name: _dense(s) for s in proto.sparse_initializer if s.values.name
        }
        needed = {o.name for o in self.outputs}
        nodes = []
        for proto_node in reversed(proto.node):
            if needed & set(proto_node.output):
                nodes.append(Node(proto_node, versions))
                needed |= nodes[-1].reads
        self.nodes: list[Node] = nodes[::-1]
        defined = {i.name for i in self.inputs} | set(self.constants)
        computed = {o for n in self.nodes for o in n.outputs}
        #: Values from enclosing graphs.
        self.captured: frozenset[str] = frozenset(needed - defined - computed)
        self._note_last_reads()
        #: Device arrays of constants, by queue and content.
        self.on_device: dict[Any, Any] = {}
        self.constant_ids = self._constant_ids()
        #: Number of nodes that read values, and parts of the graph between them.
        self.parts: tuple[int, list[Any]] | None = None

    def _note_last_reads(self) -> None:
        later = {o.name for o in self.outputs} | {i.name for i in self.inputs}
        for node in reversed(self.nodes):
            node.last_reads = frozenset(node.reads - later)
            later |= node.reads

    def _constant_ids(self) -> frozenset[int]:
        attributes = (v for n in self.nodes for v in n.attributes.values())
        arrays = [v for v in (*self.constants.values(), *attributes) if isinstance(v, np.ndarray)]
        nested = (i for n in self.nodes for g in n.graphs.values() for i in g.constant_ids)
        return frozenset((*map(id, arrays), *nested))

    def maker(self, name: str) -> Node:
        """Return the node that computes a value."""
        return next(n for n in self.nodes if name in n.outputs)

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes, including those of nested graphs."""
        for node in self.nodes:
            yield node
            for graph in node.graphs.values():
                yield from graph.all_nodes()

    def missing(self) -> list[Node]:
        """Return the nodes with unsupported operators."""
        return [n for n in self.all_nodes() if n.operator is None]

    def facts(self, digest: str) -> Facts:
        """Return facts about the graph and those nested in it."""
        steps = {n.title for n in self.all_nodes() if n.operator and n.operator.is_step}
        return Facts(
            digest, self.inputs, self.outputs, self._missing_names(), tuple(sorted(steps)),
            self._static_inputs(),
        )  # fmt: skip

    def _missing_names(self) -> tuple[str, ...]:
        nodes = [f"{n.title}-{n.version} (node {n.name!r})" for n in self.missing()]
        graphs = [self, *(g for n in self.all_nodes() for g in n.graphs.values())]
        values = [v for g in graphs for v in (*g.inputs, *g.outputs)]
        kinds = {f"{v.dtype} ({v.name!r})" for v in values if v.dtype in _NOT_TENSORS}
        return (*sorted(nodes), *sorted(kinds))

    def _static_inputs(self) -> frozenset[str]:
        needed: set[str] = set()
        for node in reversed(self.nodes):
            if node.operator is None:
                continue
            needed |= {n for i, n in enumerate(node.inputs) if n and i in node.operator.host}
            if node.op in PASSED and needed & set(node.outputs):
                needed |= set(node.inputs)
        return frozenset(needed & {i.name for i in self.inputs})


def _described(value: onnx.ValueInfoProto) -> ModelInput:
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        return ModelInput(value.name, None, value.type.WhichOneof("value") or "untyped")
    shape = None
    if kind.HasField("shape"):
        shape = tuple(_size(d) for d in kind.shape.dim)
    return ModelInput(value.name, shape, dtype_name(kind.elem_type))


def _size(dimension: Any) -> int | str | None:
    if dimension.HasField("dim_value"):  # some exporters write -1 for an unknown size
        return int(dimension.dim_value) if dimension.dim_value >= 0 else None
    return dimension.dim_param or None


def dtype_name(number: int) -> str:
    """Return the name of an ONNX data type."""
    if number == TensorProto.STRING:
        return "string"
    try:
        return str(helper.tensor_dtype_to_np_dtype(number).name)
    except KeyError:
        return "unknown"


@functools.lru_cache(64)
def graph_of(structure: bytes) -> Graph:
    """Return the graph of a structure; models with equal structures share it."""
    model = onnx.ModelProto.FromString(structure)
    versions = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
    graph = Graph(model.graph, versions)
    missing = {(n.domain, n.op) for n in graph.missing()}
    if missing:
        model = model_file.with_definitions(model, missing)
        graph = Graph(model.graph, versions)
    return graph


#: Facts of structures that were read from the disk, until they are asked for.
_kept: dict[bytes, Facts] = {}


def note_facts(structure: bytes, facts: Facts) -> None:
    """Let ``facts_of`` return facts of a structure without reading it."""
    _kept[structure] = facts


@functools.lru_cache(64)
def facts_of(structure: bytes) -> Facts:
    """Return the facts about a structure.

    Raises InvalidArguments if a part of it is invalid.
    """
    facts = _kept.pop(structure, None)
    if facts is not None:
        return facts
    return graph_of(structure).facts(hashlib.sha256(structure).hexdigest())
