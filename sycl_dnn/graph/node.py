# SPDX-License-Identifier: Apache-2.0
"""Node: one operation of a graph, and the checks of its arguments."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph.shapes import Broken
from sycl_dnn.graph.table import Attribute, Input, Operation
from sycl_dnn.graph.value import Value
from sycl_dnn.onednn import dtypes

__all__ = ["Node"]


class Node:
    """An operation with its tensors.

    Attributes
    ----------
    operation : Operation
        The row of the table.
    id : int
        oneDNN's number of the operation.
    inputs : dict of str to Value
        By name; a sequence of values for ``concat`` and ``wildcard``.
    attributes : dict of str to object
        Those that are set, defaults included.
    outputs : tuple of Value
    name : str
    """

    __slots__ = ("attributes", "function", "id", "inputs", "name", "operation", "outputs", "slots")

    def __init__(
        self, operation: Operation, id: int, inputs: dict, attributes: dict, name: str
    ) -> None:
        self.operation, self.id, self.inputs = operation, id, inputs
        self.attributes, self.name = attributes, name or f"{operation.name}_{id}"
        self.outputs: tuple[Value, ...] = ()
        #: Which of the row's outputs these are.
        self.slots: tuple[int, ...] = ()
        self.function: Any = None

    @property
    def values(self) -> list[Value]:
        """The tensors it reads, in oneDNN's order."""
        found: list[Value] = []
        for given in self.inputs.values():
            found += given if isinstance(given, (list, tuple)) else [given]
        return found

    def output_shapes(self, shapes: dict[int, tuple[int, ...]]) -> list[Any] | None:
        """Return the shapes of the outputs for those of the values by id; None if unknown."""
        if self.operation.infer is None:
            return None
        given = {
            name: [shapes[v.id] for v in value] if isinstance(value, list) else shapes[value.id]
            for name, value in self.inputs.items()
        }
        try:
            found = self.operation.infer(given, self.attributes)
        except Broken as problem:
            argument, rule, value = problem.args
            raise broken(self.operation, argument, rule, value) from None
        return None if found is None else [found[i] for i in self.slots]

    def __repr__(self) -> str:
        return f"<{self.operation.kind} {self.name}>"


def broken(operation: Operation, argument: str, rule: str, value: Any) -> InvalidArguments:
    """Return the error for an argument that breaks a rule."""
    return InvalidArguments(f"{operation.name}: {argument} must {rule}, got {value}")


def check_input(operation: Operation, port: Input, value: Any, graph: Any) -> Value:
    """Raise unless this may be the input."""
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


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


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
    "bool": (_truth, "True or False"),
    "str": (_text, "a string"),
}


def check_attribute(operation: Operation, attribute: Attribute, value: Any) -> Any:
    """Return the value as oneDNN takes it."""
    convert, rule = _CONVERT[attribute.kind]
    try:
        converted = convert(value)
    except (TypeError, ValueError, AttributeError):
        raise TypeError(
            f"{operation.name}: {attribute.name} must be {rule}, got {value!r}"
        ) from None
    if attribute.choices and converted not in attribute.choices:
        known = ", ".join(map(repr, attribute.choices))
        raise broken(operation, attribute.name, f"be one of {known}", repr(value))
    if attribute.name == "zps" and not all(-(2**31) <= n < 2**31 for n in converted):
        raise broken(operation, "zps", "be integers of 32 bits", repr(value))
    return converted


def output_dtype(operation: Operation, number: int, inputs: dict, asked: Any) -> str:
    """Return the data type of an output."""
    output = operation.outputs[number]
    if number == 0 and asked is not None:
        chosen = dtypes.graph_name(asked, operation.name)
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
