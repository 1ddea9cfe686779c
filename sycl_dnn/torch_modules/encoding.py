# SPDX-License-Identifier: Apache-2.0
"""Conversion of an ``ExportedProgram`` to a ``Graph``."""

from __future__ import annotations

import collections
import types
from collections.abc import Sequence
from typing import Any

import torch

from sycl_dnn.torch_modules import exporting, nested_values, operator_tables
from sycl_dnn.torch_modules.exported_graph import Branch, Graph, Node

#: Maximum number of elements of constants computed during conversion.
_MAX_ELEMENTS = 1 << 20
#: Positions of arguments: the mean of normalizations, and the mode of normalizations and dropouts.
_MEAN, _MODES = 3, {"batch_norm": 5, "instance_norm": 5}
#: Arguments that specify memory location and layout.
_PLACE = (
    "device", "layout", "memory_format", "pin_memory", "non_blocking", "implicit", "generator",
)  # fmt: skip
_COND = "higher_order.cond"
#: Kinds of a program's inputs and results without a counterpart here.
_REFUSED = collections.defaultdict(lambda: "from_torch: {} is not supported") | {
    "CUSTOM_OBJ": "from_torch: the forward reads {}, which is not a tensor",
    "PARAMETER_MUTATION": "from_torch: the forward must not write to the parameter {}",
    "TOKEN": "from_torch: operators with side effects are not supported",
}


class Constants:
    """The arrays of a graph that are neither parameters nor buffers, without duplicates."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self._names: dict[Any, str] = {}

    def name_of(self, tensor: Any) -> str:
        """Return the name of a tensor, a new one unless an equal one exists."""
        host = tensor.detach().cpu().contiguous()
        raw = host.reshape(-1).view(torch.uint8).numpy().tobytes() if host.numel() else b""
        key = (str(host.dtype), tuple(host.shape), raw)
        if key not in self._names:
            name = self._names[key] = f"_constant_{len(self._names)}"
            self.tensors[name] = host
        return self._names[key]


def encoded(
    program: Any, is_training: bool, constants: Constants, names: list[str], labels: dict[str, str]
) -> Graph:
    """Return the graph of a program; unsupported operators are decomposed.

    Raises NotImplementedError if operators have no decomposition; the error names them with lines
    that use them.
    """
    while True:
        encoder = Encoder(program, is_training, constants, labels)
        graph = encoder.graph(names)
        if not encoder.missing:
            return graph
        program = exporting.composed(program, encoder.missing)


class Encoder:
    """The encoder of one program."""

    def __init__(
        self, program: Any, is_training: bool, constants: Constants, labels: dict[str, str]
    ) -> None:
        self._program, self._training = program, is_training
        self._constants, self._labels = constants, labels
        #: Tensors and numbers that depend on no parameter, buffer or input.
        self._constant_values: dict[Any, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._states: list[str] = []
        self._nodes: list[Node] = []
        self._branches: list[Branch] = []
        #: Unsupported operators, with the first line that uses each.
        self.missing: dict[Any, str] = {}

    def graph(self, names: list[str]) -> Graph:
        """Return the graph, which must not be used if operators are ``missing``."""
        program = self._program
        signature = program.graph_signature
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        inputs, user = [], []
        for node, spec in zip(placeholders, signature.input_specs, strict=True):
            kind = spec.kind.name
            if kind == "USER_INPUT":
                user.append(node)
                inputs.append(self._input(spec, node))
            elif kind in ("PARAMETER", "BUFFER"):
                self._numbers[node] = self._state(spec.target)
            elif kind == "CONSTANT_TENSOR":
                self._constant_values[node] = program.constants[spec.target]
            else:
                raise NotImplementedError(_REFUSED[kind].format(spec.target))
        body = [n for n in program.graph.nodes if n.op not in ("placeholder", "output")]
        self._fold(body)
        self._number_states(body, user)
        for node in body:
            self._add(node, self._nodes)
        updates, outputs = [], []
        results = next(n for n in program.graph.nodes if n.op == "output").args[0]
        for spec, value in zip(signature.output_specs, results, strict=True):
            kind = spec.kind.name
            if kind == "BUFFER_MUTATION":
                updates.append((spec.target, self._encoded(value)))
            elif kind == "USER_OUTPUT":
                outputs.append(self._encoded(value))
            elif kind != "USER_INPUT_MUTATION":
                raise NotImplementedError(_REFUSED[kind].format(spec.target))
        return Graph(
            self._training, self._states, inputs, self._limits(), names,
            nested_values.encoded(program.call_spec.in_spec),
            nested_values.encoded(program.call_spec.out_spec),
            self._nodes, self._branches, updates, outputs,
        )  # fmt: skip

    def _state(self, path: str) -> int:
        if path not in self._states:
            self._states.append(path)
        return self._states.index(path)

    def _input(self, spec: Any, node: Any) -> dict[str, Any]:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return {"name": node.name, "value": getattr(spec.arg, "value", value)}
        shape = [n if isinstance(n, int) else self._label(n) for n in value.shape]
        return {"name": node.name, "shape": shape, "dtype": _dtype(value.dtype)}

    def _label(self, size: Any) -> str:
        return self._labels.get(str(size), str(size))

    def _limits(self) -> dict[str, tuple[int, int | None]]:
        bounds = {}
        for symbol, limits in self._program.range_constraints.items():
            lower, upper = limits.lower, limits.upper
            least = int(lower) if lower.is_finite else 0
            is_bounded = upper.is_finite and upper.is_Integer and int(upper) < 2**62
            bounds[self._label(symbol)] = (least, int(upper) if is_bounded else None)
        return bounds

    # Constant folding.

    def _fold(self, body: Sequence[Any]) -> None:
        """Compute whatever depends on no input: masks, positions, index tables."""
        for node in body:
            target = node.target
            if node.op != "call_function" or not _is_plain(target):
                continue
            if all(n in self._constant_values for n in node.all_input_nodes):
                args, kwargs = torch.fx.node.map_arg(
                    (node.args, node.kwargs), self._constant_values.get
                )
                size = getattr(node.meta.get("val"), "numel", lambda: 0)()
                if isinstance(size, int) and size <= _MAX_ELEMENTS:
                    self._constant_values[node] = target(*args, **kwargs)

    def _number_states(self, body: Sequence[Any], user: Sequence[Any]) -> None:
        """Assign numbers to all states, then to the inputs."""
        for node in [*body, *(n for n in self._program.graph.nodes if n.op == "output")]:
            for source in node.all_input_nodes if node not in self._constant_values else ():
                value = self._constant_values.get(source)
                if isinstance(value, torch.Tensor):
                    self._numbers[source] = self._state(self._constants.name_of(value))
        for number, node in enumerate(user, len(self._states)):
            self._numbers[node] = number
        self._count = len(self._states) + len(user)

    # Nodes.

    def _add(self, node: Any, nodes: list[Node]) -> None:
        if node.op == "get_attr":
            self._numbers[node] = -1 - self._branch(self._graph_at(node.target))
        elif node not in self._constant_values:
            name = exporting.operator_name(node.target)
            line = exporting.line_of(node.meta.get("stack_trace"))
            if name not in (_COND, *operator_tables.MODAL) and operator_tables.row_of(name) is None:
                self.missing.setdefault(node.target, line)
            self._numbers[node] = self._count
            self._count += 1
            kwargs = {k: self._encoded(v) for k, v in node.kwargs.items() if k not in _PLACE}
            args, owner = [self._encoded(v) for v in node.args], ""
            if name in operator_tables.MODAL:
                owner = _owner(node)
                self._follow_mode(name, args, owner)
            nodes.append(Node(name, args, kwargs, owner, line))

    def _graph_at(self, target: str) -> Any:
        return self._program.graph_module.get_submodule(target).graph

    def _follow_mode(self, name: str, args: list[Any], owner: str) -> None:
        """Make an argument that was the mode at conversion follow the module's mode."""
        short = name.split(".")[1]
        mode_position = _MODES.get(short, 2)
        if args[mode_position] is self._training and (
            short not in _MODES or args[_MEAN] is not None
        ):
            args[mode_position] = {"mode": owner}

    def _branch(self, graph: Any) -> int:
        """Add the graph of a branch, whose values are numbered separately."""
        outer, self._numbers, count, self._count = self._numbers, {}, self._count, 0
        nodes: list[Node] = []
        for node in graph.nodes:
            if node.op == "placeholder":
                self._numbers[node], self._count = self._count, self._count + 1
            elif node.op == "output":
                outputs = [self._encoded(v) for v in node.args[0]]
            elif node.op == "get_attr":
                raise NotImplementedError("from_torch: control flow within torch.cond")
            else:
                self._add(node, nodes)
        n_inputs = sum(n.op == "placeholder" for n in graph.nodes)
        self._numbers, self._count = outer, count
        self._branches.append(Branch(n_inputs, nodes, outputs))
        return len(self._branches) - 1

    def _encoded(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            constant = self._constant_values.get(value)
            if value in self._constant_values and not isinstance(constant, torch.Tensor):
                return self._encoded(constant)
            number = self._numbers[value]
            return {"value": number} if number >= 0 else {"graph": -1 - number}
        if isinstance(value, (list, tuple)):
            return [self._encoded(v) for v in value]
        if isinstance(value, torch.dtype):
            return {"dtype": _dtype(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return None
        raise NotImplementedError(f"from_torch: an argument is a {type(value).__name__}: {value}")


def _is_plain(target: Any) -> bool:
    """Whether an operator is deterministic."""
    if isinstance(target, types.BuiltinFunctionType):
        return True
    tags = getattr(target, "tags", None)
    if tags is None or getattr(target, "namespace", "") != "aten":
        return False
    return torch.Tag.nondeterministic_seeded not in tags


def _owner(node: Any) -> str:
    """Return the path of the module whose forward called an operator."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].split("@")[0] if stack else ""


def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
