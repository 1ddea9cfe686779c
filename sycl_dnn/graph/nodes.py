# SPDX-License-Identifier: Apache-2.0
"""Adding operations to a graph: arguments checked, shapes and data types of results known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph.methods import shared_names
from sycl_dnn.graph.node import Node, broken, check_attribute, check_input, output_dtype
from sycl_dnn.graph.rows import OPERATIONS
from sycl_dnn.graph.value import Value
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph
    from sycl_dnn.graph.table import Input, Operation

#: What the formats of weights are where channels stand second.
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
    """Return data that the first compilation copies to the device."""
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


def _tensors(graph: Graph, row: Operation, given: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    first: Value | None = next((v for v in given.values() if isinstance(v, Value)), None)
    for port in row.inputs:
        value = given.get(port.name)
        if port.name in shared_names(row) and not isinstance(value, Value):
            continue
        if value is None and port.optional:
            continue
        if port.many:
            found[port.name] = _sequence(graph, row, port, value)
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool) and first is not None:
            kind = first.dtype if first.dtype in port.dtypes else port.dtypes[0]
            value = graph.constant(value, kind)
        found[port.name] = check_input(row, port, value, graph)
    return found


def _sequence(graph: Graph, row: Operation, port: Input, values: Any) -> list[Value]:
    if not isinstance(values, (list, tuple)) or not values:
        raise TypeError(f"{row.name}: {port.name} must be a sequence of values, got {values!r}")
    return [check_input(row, port, value, graph) for value in values]


def _attributes(graph: Graph, row: Operation, given: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in row.attributes:
        value = given.get(attribute.name)
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
        found[attribute.name] = check_attribute(row, attribute, value)
    if row.attribute("dilations") is not None and "dilations" not in found and "kernel" in found:
        # oneDNN's own default has twelve numbers, which MaxPoolBackward then cannot compile.
        found["dilations"] = (1,) * len(found["kernel"])
    return found


def _check_dtypes(row: Operation, inputs: dict[str, Any]) -> None:
    """Tensors that oneDNN wants alike are alike: those whose types are one class in the row."""
    if row.name in _MIXED:
        return
    flat = [(n, v) for n, given in inputs.items() for v in _as_list(given)]
    wide = [(n, v) for n, v in flat if _class_of(row, n) == ("f32", "bf16", "f16")]
    for name, value in wide[1:]:
        if value.dtype != wide[0][1].dtype:
            raise broken(row, name, f"have the dtype of {wide[0][0]}, {wide[0][1].dtype}",
                         value.dtype)  # fmt: skip


#: Sizes that memory descriptors take.
_LARGEST = 2**56 - 1
#: Operations whose tensors of the same class may differ.
_MIXED = ("add", "subtract", "multiply", "divide", "dynamic_dequantize", "rms_norm")


def _as_list(given: Any) -> list[Value]:
    return given if isinstance(given, list) else [given]


def _class_of(row: Operation, name: str) -> tuple[str, ...]:
    return next(i.dtypes for i in row.inputs if i.name == name)


def _exists(when: str | None, inputs: dict[str, Any], attributes: dict[str, Any]) -> bool:
    return when is None or when in inputs or bool(attributes.get(when))


def add(graph: Graph, row: Operation, given: dict[str, Any]) -> Any:
    """Check, add to oneDNN's graph, and return the values of the results."""
    name, asked = given.pop("name", ""), given.pop("dtype", None)
    inputs = _tensors(graph, row, given)
    attributes = _attributes(graph, row, given)
    if "use_affine" in attributes and "gamma" not in inputs:
        attributes["use_affine"] = False
    _check_dtypes(row, inputs)
    if attributes.pop("with_mask", False):
        return _masked_dropout(graph, inputs, name)
    node = Node(row, next(graph._ids), inputs, attributes, name)
    node.slots = tuple(i for i, o in enumerate(row.outputs) if _exists(o.when, inputs, attributes))
    kinds = [output_dtype(row, i, inputs, asked) for i in node.slots]
    if row.name == "type_cast" and kinds[0] == inputs["src"].dtype:
        raise broken(row, "dtype", "differ from that of src", kinds[0])
    return _finish(graph, node, _known_shapes(node), kinds)


def _known_shapes(node: Node) -> list[Any]:
    unknown: list[Any] = [None] * len(node.slots)
    if not all(v.has_known_shape for v in node.values):
        return unknown
    given: dict[int, Any] = {v.id: v.shape for v in node.values}
    shapes = node.output_shapes(given) or unknown
    for slot, shape in zip(node.slots, shapes, strict=True):
        if shape is not None and any(n is not None and n > _LARGEST for n in shape):
            name = node.operation.outputs[slot].name
            raise broken(node.operation, name, "have sizes below 2**56", shape)
    return shapes


def _finish(graph: Graph, node: Node, shapes: list[Any], kinds: Sequence[str]) -> Any:
    base = node.name
    made = []
    for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True)):
        name = f"{base}.{i}" if i else base
        made.append(Value(graph, next(graph._ids), kind, shape, name=name, node=node, number=i))
    node.outputs = tuple(made)
    graph.add_op(low_level(node))
    graph.nodes.append(node)
    if not made:
        return None
    return made[0] if len(made) == 1 and node.operation.infer is not None else tuple(made)


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
    """Add a dropout and a function that draws its mask: oneDNN leaves that output unwritten."""
    from sycl_dnn.graph.instead_graphs import dropout_mask

    src = inputs["src"]
    dst = cast(Any, graph).dropout(**inputs, name=name)
    shape = src.shape if src.has_known_shape else None
    (mask,) = add_wildcard(
        graph, dropout_mask, tuple(inputs.values()), (shape,), ("u8",), f"{dst.name}.mask"
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
