# SPDX-License-Identifier: Apache-2.0
"""``Graph``: an exported graph as text, and its interpreter.

The text is JSON. Values are numbered: parameters, buffers and inputs first, then one per node. In
arguments, ``{"value": 3}`` is a value, ``{"dtype": "float32"}`` a data type,
``{"complex": [0, 1]}`` a complex number, ``{"graph": 0}`` a branch of control flow, and
``{"mode": "block.norm"}`` the training mode of that module.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.torch_modules import nested_values, operator_tables
from sycl_dnn.trace.values import Tensor


class Node(NamedTuple):
    """One call of an operator."""

    operator: str
    args: list[Any]
    kwargs: dict[str, Any]
    #: Path of the module that called it, and its source line.
    owner: str
    line: str


class Branch(NamedTuple):
    """A graph with positional inputs."""

    n_inputs: int
    nodes: list[Node]
    outputs: list[Any]


class Graph(NamedTuple):
    """A forward in one mode."""

    is_training: bool
    #: Paths of parameters, buffers and constants.
    states: list[str]
    #: Flattened inputs: name, and either ``shape`` and ``dtype`` or ``value``.
    inputs: list[dict[str, Any]]
    #: Names of dynamic sizes, with their minimum and maximum.
    limits: dict[str, tuple[int, int | None]]
    names: list[str]
    arguments: Any
    result: Any
    nodes: list[Node]
    branches: list[Branch]
    #: Paths of buffers, with their new values.
    updates: list[tuple[str, Any]]
    outputs: list[Any]


def text_of(graph: Graph) -> str:
    """Serialize a graph."""
    return json.dumps(graph._asdict(), separators=(",", ":"))


@functools.lru_cache(maxsize=128)
def parsed(text: str) -> Graph:
    """Parse a graph."""
    fields = json.loads(text)
    fields["nodes"] = _nodes(fields["nodes"])
    fields["branches"] = [Branch(n, _nodes(nodes), out) for n, nodes, out in fields["branches"]]
    return Graph(**fields)


def _nodes(rows: list[Any]) -> list[Node]:
    return [Node(*row) for row in rows]


def run(graph: Graph, module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run a graph on the arrays of a module and the arguments of its forward."""
    inputs = nested_values.bound(graph.names, graph.arguments, args, kwargs)
    _check_inputs(graph, inputs)
    trace = next((v.trace for v in inputs if isinstance(v, Tensor)), None)
    values = [module.state_at(path, trace) for path in graph.states]
    values += inputs
    scope = _Scope(graph, module)
    scope.run(graph.nodes, values)
    for path, new in graph.updates:
        owner, _, name = path.rpartition(".")
        part = module.part_at(owner)
        if part.training or not graph.is_training:
            part.update_state(name, scope.decoded(new, values))
    return nested_values.rebuilt(graph.result, [scope.decoded(v, values) for v in graph.outputs])


class _Scope:
    """Shared context of the nodes in one run."""

    def __init__(self, graph: Graph, module: Any) -> None:
        self._graph, self._module = graph, module

    def run(self, nodes: Sequence[Node], values: list[Any]) -> None:
        """Append the value of each node."""
        for node in nodes:
            try:
                values.append(self._result(node, values))
            except Exception as error:
                if hasattr(error, "add_note") and node.line not in getattr(error, "__notes__", ()):
                    error.add_note(f"{node.operator}, in torch: {node.line}")
                raise

    def _result(self, node: Node, values: list[Any]) -> Any:
        args = [self.decoded(v, values) for v in node.args]
        if node.operator == "higher_order.cond":
            return self._chosen(*args)
        kwargs = {name: self.decoded(v, values) for name, v in node.kwargs.items()}
        modal = operator_tables.MODAL.get(node.operator)
        if modal is not None:
            return modal(self._module.part_at(node.owner), *args, **kwargs)
        row = operator_tables.row_of(node.operator)
        assert row is not None, node.operator
        return row(*args, **kwargs)

    def _chosen(self, condition: Any, yes: Branch, no: Branch, operands: Sequence[Any]) -> Any:
        """Compute both branches and select elements."""
        if isinstance(condition, bool):
            return self._branch(yes if condition else no, operands)
        pairs = zip(self._branch(yes, operands), self._branch(no, operands), strict=True)
        return [F.where(condition, a, b) for a, b in pairs]

    def _branch(self, branch: Branch, operands: Sequence[Any]) -> list[Any]:
        values = list(operands)
        self.run(branch.nodes, values)
        return [self.decoded(v, values) for v in branch.outputs]

    def decoded(self, item: Any, values: Sequence[Any]) -> Any:
        """Decode an argument; lists become tuples."""
        if isinstance(item, list):
            return tuple(self.decoded(v, values) for v in item)
        if not isinstance(item, dict):
            return item
        ((kind, content),) = item.items()
        if kind == "value":
            return values[content]
        if kind == "graph":
            return self._graph.branches[content]
        if kind == "complex":
            return complex(*content)
        return self._module.part_at(content).training if kind == "mode" else content


def _check_inputs(graph: Graph, inputs: Sequence[Any]) -> None:
    """Raise if inputs do not fit the graph's shapes, kinds of dtypes and constants; bind sizes."""
    sizes: dict[str, int] = {}
    for facts, value in zip(graph.inputs, inputs, strict=True):
        name = facts["name"]
        if "value" in facts:
            if hasattr(value, "shape") or value != facts["value"]:
                raise ValueError(
                    f"forward: {name} must be {facts['value']!r}, with which the module was "
                    f"converted, got {nested_values.described(value)}; convert it again with "
                    "another"
                )
        elif not hasattr(value, "shape"):
            raise TypeError(
                f"forward: {name} must be an array, got {nested_values.described(value)}"
            )
        elif (kind := _kind(facts["dtype"])) != _kind(str(value.dtype)):
            # torch leaves out conversions that change nothing, such as float() of a float32.
            raise TypeError(
                f"forward: {name} must be {kind}, as in the conversion, got {value.dtype}"
            )
        elif not all(_fits(sizes, *pair) for pair in _pairs(facts["shape"], value.shape)):
            expected = ", ".join(map(str, facts["shape"]))
            raise ValueError(
                f"forward: {name} must have shape ({expected}), got {tuple(value.shape)}"
                f"{_bound(sizes)}; from_torch(..., dynamic=) names sizes that vary"
            )
    for name, n in sizes.items():
        low, high = graph.limits.get(name, (0, None))
        if n < low or (high is not None and n > high):
            upper = "" if high is None else f" and at most {high}"
            raise ValueError(f"forward: the size {name} must be at least {low}{upper}, got {n}")


def _kind(dtype: str) -> str:
    if dtype == "bool":
        return "bool"
    kinds = ("complex", "float", "int")
    return next((f"of a {kind} dtype" for kind in kinds if kind in dtype), dtype)


def _pairs(expected: Sequence[Any], shape: Sequence[int]) -> Iterator[tuple[Any, Any]]:
    if len(expected) != len(shape):
        return iter([(0, -1)])
    return zip(expected, shape, strict=True)


def _fits(sizes: dict[str, int], expected: Any, n: int) -> bool:
    if isinstance(expected, int):
        return expected == n
    # Size expressions are unnamed; torch's graph uses the size itself.
    return not expected.isidentifier() or sizes.setdefault(expected, n) == n


def _bound(sizes: dict[str, int]) -> str:
    return "".join(f", {name} = {n}" for name, n in sizes.items())
