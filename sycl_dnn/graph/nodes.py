# SPDX-License-Identifier: Apache-2.0
"""Values and nodes of a graph, and validation of their arguments."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph.dropout_masks import dropout_mask
from sycl_dnn.graph.methods import shared_names
from sycl_dnn.graph.rows import OPERATIONS
from sycl_dnn.graph.shapes import Broken
from sycl_dnn.graph.table import Attribute, Input, Operation
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph


class Value:
    """A tensor of a graph: an input, a constant, or the result of an operation.

    Attributes
    ----------
    graph : Graph
    id : int
        oneDNN's id of the tensor in the graph.
    dtype : str
        oneDNN's name of the dtype, such as ``"f32"``.
    shape : tuple of int, or None
        None until the sizes of the inputs are known, at the call.
    name : str

    Examples
    --------
    >>> from sycl_dnn import graph
    >>> g = graph.Graph("cpu")
    >>> y = g.relu(g.input((2, 3), "f32", name="x"))
    >>> y.dtype, y.shape
    ('f32', (2, 3))
    """

    __slots__ = ("_data", "dtype", "graph", "id", "name", "node", "number", "property", "shape")

    def __init__(
        self,
        graph: Graph,
        id: int,
        dtype: str,
        shape: tuple[int | None, ...] | None,
        *,
        name: str = "",
        node: Node | None = None,
        number: int = 0,
        property: str = "undef",
        data: Any = None,
    ) -> None:
        self.graph, self.id, self.dtype, self.shape = graph, id, dtype, shape
        self.name = name or f"t{id}"
        #: The operation that produces it, and the index among its outputs.
        self.node, self.number = node, number
        self.property = property
        self._data = data

    @property
    def has_known_shape(self) -> bool:
        """Whether all sizes are known."""
        return self.shape is not None and None not in self.shape

    @property
    def logical_tensor(self) -> _core.LogicalTensor:
        """The description passed to oneDNN; the layout is decided at the call."""
        layout = "strided" if self.property == "host_scalar" else "undef"
        return _core.LogicalTensor(
            self.id, self.dtype, self.shape, layout_type=layout, property_type=self.property
        )

    def __repr__(self) -> str:
        return f"<Value {self.name}: {self.dtype} {self.shape}>"


# --- Node


class Node:
    """An operation and its tensors.

    operation : the row of the table
    id : oneDNN's id of the operation
    inputs : by name; sequences of values for ``concat`` and ``wildcard``
    attributes : those that are set, including defaults
    """

    __slots__ = ("attributes", "function", "id", "inputs", "name", "operation", "outputs", "slots")

    def __init__(
        self, operation: Operation, id: int, inputs: dict, attributes: dict, name: str
    ) -> None:
        self.operation, self.id, self.inputs = operation, id, inputs
        self.attributes, self.name = attributes, name or f"{operation.name}_{id}"
        self.outputs: tuple[Value, ...] = ()
        #: Indices of the row's outputs that exist.
        self.slots: tuple[int, ...] = ()
        self.function: Any = None

    @property
    def values(self) -> list[Value]:
        """The input tensors, in oneDNN's order."""
        results: list[Value] = []
        for provided in self.inputs.values():
            results += provided if isinstance(provided, (list, tuple)) else [provided]
        return results

    def output_shapes(self, shapes: dict[int, tuple[int, ...]]) -> list[Any] | None:
        """Return the shapes of the outputs given those of the values by id; None if unknown."""
        if self.operation.infer is None:
            return None
        provided = {
            name: [shapes[v.id] for v in value] if isinstance(value, list) else shapes[value.id]
            for name, value in self.inputs.items()
        }
        try:
            shapes_of_outputs = self.operation.infer(provided, self.attributes)
        except Broken as problem:
            argument, rule, value = problem.args
            raise broken(self.operation, argument, rule, value) from None
        return None if shapes_of_outputs is None else [shapes_of_outputs[i] for i in self.slots]

    def __repr__(self) -> str:
        return f"<{self.operation.kind} {self.name}>"


def broken(operation: Operation, argument: str, rule: str, value: Any) -> InvalidArguments:
    """Return the error for an argument that breaks a rule."""
    return InvalidArguments(f"{operation.name}: {argument} must {rule}, got {value}")


def check_input(operation: Operation, port: Input, value: Any, graph: Any) -> Value:
    """Validate an input."""
    if not isinstance(value, Value):
        raise TypeError(
            f"{operation.name}: {port.name} must be a value of the graph, got "
            f"{type(value).__name__} (see Graph.input and Graph.constant)"
        )
    if value.graph is not graph:
        raise broken(operation, port.name, "belong to this graph", value)
    if value.dtype not in port.dtypes:
        raise broken(operation, port.name, f"be {' or '.join(port.dtypes)}", value.dtype)
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _number(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError
    return float(value)


def _exactly(kind: type) -> Any:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return convert


def _several(one: Any) -> Any:
    def convert(values: Any) -> tuple:
        if isinstance(values, str):
            raise TypeError
        items = values if isinstance(values, Sequence) else values.tolist()
        return tuple(one(v) for v in items)

    return convert


_CONVERT = {
    "float": (_number, "a number"),
    "floats": (_several(_number), "a sequence of numbers"),
    "int": (_integer, "an integer"),
    "ints": (_several(_integer), "a sequence of integers"),
    "bool": (_exactly(bool), "True or False"),
    "str": (_exactly(str), "a string"),
}


def check_attribute(operation: Operation, attribute: Attribute, value: Any) -> Any:
    """Convert an attribute to the form that oneDNN accepts."""
    convert, rule = _CONVERT[attribute.kind]
    try:
        converted = convert(value)
    except (TypeError, ValueError, AttributeError):
        raise TypeError(
            f"{operation.name}: {attribute.name} must be {rule}, got {value!r}"
        ) from None
    if attribute.choices and converted not in attribute.choices:
        choices = ", ".join(map(repr, attribute.choices))
        raise broken(operation, attribute.name, f"be one of {choices}", repr(value))
    if attribute.name == "zps" and not all(-(2**31) <= n < 2**31 for n in converted):
        raise broken(operation, "zps", "be integers of 32 bits", repr(value))
    return converted


def output_dtype(operation: Operation, number: int, inputs: dict, requested: Any) -> str:
    """Return the dtype of an output."""
    output = operation.outputs[number]
    if number == 0 and requested is not None:
        chosen = dtypes.graph_name(requested, operation.name)
        if chosen not in output.choices:
            rule = f"be {' or '.join(output.choices)}" if output.choices else "be left out"
            raise broken(operation, "dtype", rule, chosen)
        return chosen
    if output.dtype is None:
        rule = f"be {' or '.join(output.choices)}"
        raise TypeError(f"{operation.name}: dtype must {rule}, got nothing")
    source = inputs.get(output.dtype)
    if isinstance(source, list):
        source = source[0]
    if source is not None:
        return source.dtype
    is_input = any(i.name == output.dtype for i in operation.inputs)
    return "f32" if is_input else output.dtype


# --- Adding operations

#: Weight formats for channels-first data.
_SECOND = {"XIO": "OIX", "XOI": "IOX"}


class HostData(NamedTuple):
    """Data of a constant that is not on a device yet."""

    values: np.ndarray
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.values.shape


def host_data(values: np.ndarray, dtype: str) -> HostData:
    """Return data for the first compilation to copy to the device."""
    if values.dtype.kind not in "biuf":
        raise TypeError(f"Graph.constant: data must be numbers, got dtype {values.dtype}")
    return HostData(values, dtype)


def dtype_of_data(data: Any) -> str:
    """Return oneDNN's name of the data type of a constant."""
    return (
        data.dtype
        if isinstance(data, HostData)
        else dtypes.graph_name(data.dtype, "Graph.constant")
    )


def _tensors(graph: Graph, row: Operation, provided: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    first: Value | None = next((v for v in provided.values() if isinstance(v, Value)), None)
    for port in row.inputs:
        value = provided.get(port.name)
        if port.name in shared_names(row) and not isinstance(value, Value):
            continue
        if value is None and port.optional:
            continue
        if port.many:
            result[port.name] = _sequence(graph, row, port, value)
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool) and first is not None:
            kind = first.dtype if first.dtype in port.dtypes else port.dtypes[0]
            value = graph.constant(value, kind)
        result[port.name] = check_input(row, port, value, graph)
    return result


def _sequence(graph: Graph, row: Operation, port: Input, values: Any) -> list[Value]:
    if not isinstance(values, (list, tuple)) or not values:
        raise TypeError(f"{row.name}: {port.name} must be a sequence of values, got {values!r}")
    return [check_input(row, port, value, graph) for value in values]


def _attributes(graph: Graph, row: Operation, provided: dict[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for attribute in row.attributes:
        value = provided.get(attribute.name)
        if value is None and attribute.name in ("data_format", "weights_format"):
            value = attribute.default
            if graph.data_format == "NCX":
                value = "NCX" if value == "NXC" else _SECOND[value]
        if isinstance(value, Value):
            continue
        value = attribute.default if value is None else value
        if value is None:
            if attribute.required:
                raise TypeError(f"{row.name}: {attribute.name} must be given, got None")
            continue
        checked[attribute.name] = check_attribute(row, attribute, value)
    if (
        row.attribute("dilations") is not None
        and "dilations" not in checked
        and "kernel" in checked
    ):
        # oneDNN's default has twelve entries, which MaxPoolBackward cannot handle.
        checked["dilations"] = (1,) * len(checked["kernel"])
    return checked


def _check_dtypes(row: Operation, inputs: dict[str, Any]) -> None:
    """Check that tensors of one type class in the row have the same dtype."""
    if row.name in _MIXED:
        return
    flat = [(n, v) for n, provided in inputs.items() for v in _as_list(provided)]
    wide = [(n, v) for n, v in flat if _class_of(row, n) == ("f32", "bf16", "f16")]
    for name, value in wide[1:]:
        if value.dtype != wide[0][1].dtype:
            raise broken(row, name, f"have the dtype of {wide[0][0]}, {wide[0][1].dtype}",
                         value.dtype)  # fmt: skip


#: Largest size that memory descriptors accept.
_LARGEST = 2**56 - 1
#: Operations whose tensors may differ in dtype within a type class.
_MIXED = ("add", "subtract", "multiply", "divide", "dynamic_dequantize", "rms_norm")


def _as_list(provided: Any) -> list[Value]:
    return provided if isinstance(provided, list) else [provided]


def _class_of(row: Operation, name: str) -> tuple[str, ...]:
    return next(i.dtypes for i in row.inputs if i.name == name)


def _exists(when: str | None, inputs: dict[str, Any], attributes: dict[str, Any]) -> bool:
    return when is None or when in inputs or bool(attributes.get(when))


def add(graph: Graph, row: Operation, arguments: dict[str, Any]) -> Any:
    """Validate an operation, add it to oneDNN's graph, and return its results."""
    name, requested_dtype = arguments.pop("name", ""), arguments.pop("dtype", None)
    inputs = _tensors(graph, row, arguments)
    attributes = _attributes(graph, row, arguments)
    if "use_affine" in attributes and "gamma" not in inputs:
        attributes["use_affine"] = False
    _check_dtypes(row, inputs)
    if attributes.pop("with_mask", False):
        return _masked_dropout(graph, inputs, name)
    node = Node(row, next(graph._ids), inputs, attributes, name)
    node.slots = tuple(i for i, o in enumerate(row.outputs) if _exists(o.when, inputs, attributes))
    kinds = [output_dtype(row, i, inputs, requested_dtype) for i in node.slots]
    if row.name == "type_cast" and kinds[0] == inputs["src"].dtype:
        raise broken(row, "dtype", "differ from that of src", kinds[0])
    return _finish(graph, node, _known_shapes(node), kinds)


def _known_shapes(node: Node) -> list[Any]:
    unknown: list[Any] = [None] * len(node.slots)
    if not all(v.has_known_shape for v in node.values):
        return unknown
    provided: dict[int, Any] = {v.id: v.shape for v in node.values}
    shapes = node.output_shapes(provided) or unknown
    for slot, shape in zip(node.slots, shapes, strict=True):
        if shape is not None and any(n is not None and n > _LARGEST for n in shape):
            name = node.operation.outputs[slot].name
            raise broken(node.operation, name, "have sizes below 2**56", shape)
    return shapes


def _finish(graph: Graph, node: Node, shapes: list[Any], kinds: Sequence[str]) -> Any:
    base = node.name
    results = []
    for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True)):
        name = f"{base}.{i}" if i else base
        results.append(Value(graph, next(graph._ids), kind, shape, name=name, node=node, number=i))
    node.outputs = tuple(results)
    graph.add_op(low_level(node))
    graph.nodes.append(node)
    if not results:
        return None
    return results[0] if len(results) == 1 and node.operation.infer is not None else tuple(results)


def low_level(node: Node) -> _core.Op:
    """Return oneDNN's operation for a node."""
    flags = {a.name for a in node.operation.attributes if a.is_flag}
    attributes = {n: v for n, v in node.attributes.items() if n not in flags}
    return _core.Op(
        node.id,
        node.operation.kind,
        [v.logical_tensor for v in node.values],
        [v.logical_tensor for v in node.outputs],
        attributes,
        node.name,
    )


def _masked_dropout(graph: Graph, inputs: dict[str, Value], name: str) -> tuple[Value, Value]:
    """Add a dropout and a function that draws its mask, which oneDNN leaves unwritten."""
    src = inputs["src"]
    dst = cast(Any, graph).dropout(**inputs, name=name)
    shape = src.shape if src.has_known_shape else None
    function = functools.wraps(dropout_mask)(functools.partial(dropout_mask, type(graph)))
    (mask,) = add_wildcard(
        graph, function, tuple(inputs.values()), (shape,), ("u8",), f"{dst.name}.mask"
    )
    return dst, mask


def add_wildcard(
    graph: Graph, function: Any, inputs: Any, shapes: Any, kinds: Any, name: str
) -> tuple[Value, ...]:
    """Add a Python function."""
    graph._require_open("wildcard")
    if not callable(function):
        raise TypeError(f"wildcard: function must be callable, got {function!r}")
    for value in inputs:
        if not isinstance(value, Value) or value.graph is not graph:
            raise InvalidArguments(f"wildcard: inputs must belong to this graph, got {value!r}")
    if len(shapes) != len(kinds) or not len(shapes):
        raise InvalidArguments(
            f"wildcard: dtypes must be as many as shapes, got {len(kinds)} for {len(shapes)}"
        )
    node = Node(OPERATIONS["wildcard"], next(graph._ids), {"src": list(inputs)}, {}, name)
    node.function = function
    node.slots = tuple(range(len(shapes)))
    shorts = [dtypes.graph_name(kind, "wildcard") for kind in kinds]
    return _finish(graph, node, [None if s is None else tuple(s) for s in shapes], shorts)
