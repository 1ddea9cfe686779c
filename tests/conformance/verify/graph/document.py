# SPDX-License-Identifier: Apache-2.0
"""Graphs as benchdnn writes them in JSON: read, checked and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sycl_dnn.graph import OPERATIONS, Graph, Value
from sycl_dnn.graph.nodes import Node
from sycl_dnn.graph.table import KIND_OF, Operation
from sycl_dnn.tools.cases.storage import dense_strides

DTYPES = (
    *("f32", "bf16", "f16", "f8_e5m2", "f8_e4m3", "s64", "s32", "s8", "u8", "s4", "u4"),
    "boolean",
)
PROPERTIES = ("undef", "variable", "constant", "host_scalar")
FPMATH = ("strict", "bf16", "f16", "tf32", "any")
MAX_LIST = 1 << 20
MAX_RANK = 12
MAX_SIZE = 2**40


class Broken(ValueError):
    """A graph file, or an option that changes it, breaks a rule; the message says which."""


def one_of(value: Any, choices: Iterable[str], what: str) -> str:
    """Return a name that must be one of the known ones."""
    if not isinstance(value, str) or value not in choices:
        names = list(choices)
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise Broken(f"{what} must be one of {shown}, got {value!r:.80}")
    return value


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise Broken(f"{what} must be an object, got {type(value).__name__}")
    return value


def sequence(value: Any, what: str, most: int = MAX_LIST) -> list[Any]:
    if not isinstance(value, list):
        raise Broken(f"{what} must be a list, got {type(value).__name__}")
    if len(value) > most:
        raise Broken(f"{what} must have at most {most} items, got {len(value)}")
    return value


def integer(value: Any, what: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Broken(f"{what} must be an integer in [{low}, {high}], got {value!r:.80}")
    return value


def integers(value: Any, what: str, low: int = -(2**63)) -> tuple[int, ...]:
    return tuple(integer(one, what, low) for one in sequence(value, what))


def _number(value: Any, what: str) -> float:
    # Infinity is written as a string or as 1e999.
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise Broken(f"{what} must be a number, got {value!r:.80}") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Broken(f"{what} must be a number, got {value!r:.80}")
    return float(value)


def _truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool) and value not in (0, 1):
        raise Broken(f"{what} must be true or false, got {value!r:.80}")
    return bool(value)


def _text_checks(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > 100:
        raise Broken(f"{what} must be a short string, got {value!r:.80}")
    return value


#: Readers by the ``type`` of an attribute.
VALUES: dict[str, Callable[[Any, str], Any]] = {
    "string": _text_checks,
    "bool": _truth,
    "s64": integer,
    "s64[]": integers,
    "f32": _number,
    "f32[]": lambda value, what: tuple(_number(one, what) for one in sequence(value, what)),
}


# --- A graph as benchdnn's JSON describes it: operations by number, tensors by number

ROWS: dict[str, Operation] = {row.kind: row for row in OPERATIONS.values()}


@dataclass
class TensorText:
    """A logical tensor; ``strides`` is None if oneDNN or the case leaves them open."""

    id: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    property: str = "undef"


@dataclass
class OpText:
    """An operation; tensors by number, attributes as Python values."""

    id: int
    name: str
    kind: str
    attrs: dict[str, Any]
    inputs: list[int]
    outputs: list[int]

    @property
    def row(self) -> Operation:
        return ROWS[self.kind]

    def ports(self) -> Iterator[tuple[str, Any]]:
        """Iterate over (name of the row's input, number), a list of numbers if it accepts many."""
        rest = list(self.inputs)
        for port in self.row.inputs:
            if port.many:
                yield port.name, rest
                return
            if rest:
                yield port.name, rest.pop(0)

    def attributes(self) -> dict[str, Any]:
        """Return all attributes that have a value, including defaults."""
        defaults = {a.name: a.default for a in self.row.attributes if a.default is not None}
        return defaults | self.attrs

    def fail(self, message: str) -> Broken:
        """Return the error that says which rule this operation breaks."""
        return Broken(f"op {self.id} ({self.kind}): {message}")


@dataclass
class Document:
    """A graph: operations in an order in which they can run."""

    ops: list[OpText]
    tensors: dict[int, TensorText]
    fpmath: str = "strict"
    fpmath_to_int: bool = False
    name: str = ""

    def producers(self) -> dict[int, OpText]:
        """Return the operation that writes each tensor."""
        return {number: op for op in self.ops for number in op.outputs}

    def readers(self) -> dict[int, list[OpText]]:
        """Return the operations that read each tensor."""
        result: dict[int, list[OpText]] = {number: [] for number in self.tensors}
        for op in self.ops:
            for number in op.inputs:
                result[number].append(op)
        return result

    def inputs(self) -> list[int]:
        """Return the tensors that no operation writes, in the order of their first reader."""
        produced = self.producers()
        read = dict.fromkeys(n for op in self.ops for n in op.inputs)
        return [number for number in read if number not in produced]

    def results(self) -> list[int]:
        """Return the tensors that only an ``End`` or nothing reads."""
        readers = self.readers()
        numbers = [number for op in self.ops for number in op.outputs]
        return [n for n in numbers if all(op.kind == "End" for op in readers[n])]


def check_ports(op: OpText) -> None:
    """Raise unless an operation has as many inputs and outputs as its kind requires."""
    row = op.row
    least = sum(not port.optional for port in row.inputs)
    most = len(row.inputs) if not any(port.many for port in row.inputs) else MAX_LIST
    if not least <= len(op.inputs) <= most and op.kind != "Wildcard":
        raise op.fail(f"inputs must be {least} to {most} tensors, got {len(op.inputs)}")
    if len(op.outputs) > len(row.outputs) and op.kind != "Wildcard":
        raise op.fail(f"outputs must be at most {len(row.outputs)}, got {len(op.outputs)}")
    if row.outputs and not op.outputs:
        raise op.fail("outputs must not be empty")


# --- Which inputs of a graph have a batch as their first axis: those that ``--mb`` changes

#: Kinds with a size in an attribute, or in the meaning of an axis, that would not follow.
_FIXED = (
    *("AvgPoolBackward", "ConvolutionBackwardData", "ConvolutionBackwardWeights"),
    *("ConvTransposeBackwardWeights", "GenIndex", "StaticReshape", "StaticTranspose", "Wildcard"),
)
_PAIRS = ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "SquaredDifference")


def _carries(op: OpText, place: int, document: Document) -> bool:
    """Whether the first axis of an operation's input is the batch of its result."""
    ranks = [len(document.tensors[n].shape) for n in op.inputs]
    first = document.tensors[op.inputs[0]].shape
    mine = document.tensors[op.inputs[place]].shape
    if op.kind in _FIXED or not mine:
        return False
    if op.kind in _PAIRS:
        return ranks[place] == max(ranks) and (min(ranks) != max(ranks) or mine[0] != 1)
    if op.kind == "MatMul":
        return place == 0 or (place == 1 and ranks[0] > 2 and ranks[1] == ranks[0])
    if op.kind == "DynamicDequantize":
        return ranks[0] > 2 and ranks[place] == ranks[0]
    if op.kind in ("Concat", "GreaterEqual", "Select"):
        return ranks[place] == max(ranks)
    if op.kind == "LayerNormBackward" and place in (2, 3):
        return mine[0] == first[0]
    return place == 0 or (place == 1 and op.kind.endswith("Backward"))


def tensors(document: Document) -> list[int]:
    """Return the inputs whose first axis is a batch to every reader, down to the results."""
    readers = document.readers()
    carrying: dict[int, bool] = {}
    for op in reversed(document.ops):
        for number in op.outputs:
            carrying.setdefault(number, _all_carry(number, readers, carrying, document))
    return [n for n in document.inputs() if _all_carry(n, readers, carrying, document)]


def _all_carry(
    number: int, readers: dict[int, list[OpText]], carrying: dict[int, bool], document: Document
) -> bool:
    for op in readers[number]:
        places = [i for i, n in enumerate(op.inputs) if n == number]
        if not all(_carries(op, place, document) for place in places):
            return False
        if op.outputs and not carrying.get(op.outputs[0], True):
            return False
    return True


# --- Read benchdnn's JSON: files may come from anywhere, so their content is checked first

MAX_BYTES = 16 << 20
MAX_OPS = 4096


def _attribute(name: str, text: Any) -> Any:
    cells = mapping(text, f"attribute {name}")
    kind = one_of(cells.get("type"), VALUES, f"type of attribute {name}")
    return VALUES[kind](cells.get("value"), f"attribute {name}")


def _tensor(text: Any) -> TensorText:
    cells = mapping(text, "a tensor")
    number = integer(cells.get("id"), "id of a tensor", low=0)
    what = f"tensor {number}"
    dtype = one_of(cells.get("dtype"), DTYPES, f"dtype of {what}")
    shape = integers(cells.get("shape"), f"shape of {what}", low=-(2**63))
    if len(shape) > MAX_RANK:
        raise Broken(f"shape of {what} must have at most {MAX_RANK} axes, got {len(shape)}")
    steps = integers(cells.get("stride", []), f"stride of {what}", low=-(2**63))
    is_open = cells.get("layout_type") != "strided" or len(steps) != len(shape)
    strides = None if is_open or min(steps, default=0) < 0 else steps
    kind = cells.get("property_type", "undef")
    one_of(kind, PROPERTIES, f"property of {what}")
    return TensorText(number, dtype, shape, strides, kind)


def _merge(tensors: dict[int, TensorText], tensor: TensorText) -> int:
    """Keep a tensor, or check that it equals the known one with this number."""
    earlier = tensors.setdefault(tensor.id, tensor)
    if earlier.dtype != tensor.dtype:
        raise Broken(
            f"tensor {tensor.id} must have one dtype, got {earlier.dtype} and {tensor.dtype}"
        )
    if earlier.property == "undef":
        earlier.property = tensor.property
    if min(earlier.shape, default=0) < 0:
        earlier.shape, earlier.strides = tensor.shape, tensor.strides
    return tensor.id


def _op(text: Any, tensors: dict[int, TensorText]) -> OpText:
    cells = mapping(text, "an operation")
    number = integer(cells.get("id"), "id of an operation", low=0)
    kind = one_of(cells.get("kind"), ROWS, f"kind of op {number}")
    op = OpText(number, str(cells.get("name", ""))[:200], kind, {}, [], [])
    try:
        attrs = mapping(cells.get("attrs", {}), "attrs")
        op.attrs = {str(name): _attribute(str(name), value) for name, value in attrs.items()}
        op.inputs = _tensors(cells.get("inputs", []), "inputs", tensors)
        op.outputs = _tensors(cells.get("outputs", []), "outputs", tensors)
    except Broken as problem:
        raise op.fail(str(problem)) from None
    check_ports(op)
    return op


def _tensors(text: Any, what: str, tensors: dict[int, TensorText]) -> list[int]:
    return [_merge(tensors, _tensor(one)) for one in sequence(text, what)]


def _ordered(ops: list[OpText]) -> list[OpText]:
    """Return the operations ordered so that each comes after those whose results it reads."""
    produced: dict[int, OpText] = {}
    for op in ops:
        for number in op.outputs:
            if number in produced:
                raise op.fail(
                    f"tensor {number} must be written once, op {produced[number].id} writes it too"
                )
            produced[number] = op
    matches: list[OpText] = []
    done: set[int] = set()
    waiting = list(ops)
    while waiting:
        ready = [
            op
            for op in waiting
            if all(n not in produced or produced[n].id in done for n in op.inputs)
        ]
        if not ready:
            raise waiting[0].fail("must not depend on its own result")
        matches += ready
        done |= {op.id for op in ready}
        waiting = [op for op in waiting if op.id not in done]
    return matches


def parse(text: str, name: str = "") -> Document:
    """Return the graph of a JSON text.

    Raises
    ------
    Broken
        The text is not JSON or breaks a rule; the message names operation and rule.
    """
    try:
        cells = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Broken(f"must be JSON: {str(error)[:200]}") from None
    cells = mapping(cells, "the file")
    texts = sequence(cells.get("graph"), "graph", most=MAX_OPS)
    if not texts:
        raise Broken("graph must have an operation, got none")
    tensors: dict[int, TensorText] = {}
    ops = [_op(one, tensors) for one in texts]
    if len({op.id for op in ops}) < len(ops):
        raise Broken("ids of operations must differ")
    mode = one_of(cells.get("fpmath_mode", "strict"), FPMATH, "fpmath_mode")
    to_int = cells.get("fpmath_mode_apply_to_int", False) in (True, "true")
    return Document(_ordered(ops), tensors, mode, to_int, name)


@lru_cache(64)
def _text_parse(path: Path, stamp: float) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise Broken(f"must have at most {MAX_BYTES} bytes, got {path.stat().st_size}")
    return path.read_text(encoding="utf-8")


def read(path: Path) -> Document:
    """Return the graph in a file; see `parse`. Messages begin with the file's name."""
    try:
        return parse(_text_parse(path, path.stat().st_mtime), path.name)
    except OSError as error:
        raise Broken(f"{path.name}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise Broken(f"{path.name}: must be UTF-8 text") from None
    except Broken as problem:
        raise Broken(f"{path.name}: {problem}") from None


# --- Write a graph of the builder as benchdnn's JSON, to use it as a case


_TYPES = {"float": "f32", "floats": "f32[]", "int": "s64", "ints": "s64[]", "bool": "bool"}
_TYPES["str"] = "string"


def _tensor_text(value: Value) -> dict[str, Any]:
    if value.shape is None or None in value.shape:
        raise ValueError(f"write: value must have a known shape, got {value}")
    shape = tuple(int(n) for n in value.shape if n is not None)
    order = "abcdefghijkl"[: len(shape)]
    return {
        "id": value.id,
        "dtype": value.dtype,
        "shape": shape,
        "stride": dense_strides(shape, order),
        "layout_type": "strided",
        "property_type": value.property,
    }


def _operation_text(node: Node) -> dict[str, Any]:
    flags = {a.name for a in node.operation.attributes if a.is_flag}
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.operation.kind,
        "attrs": {
            name: {"type": _TYPES[KIND_OF[name]], "value": value}
            for name, value in node.attributes.items()
            if name not in flags
        },
        "inputs": [_tensor_text(v) for v in node.values],
        "outputs": [_tensor_text(v) for v in node.outputs],
    }


def _lines(operation: dict[str, Any]) -> str:
    """Return an operation with a line for each tensor and attribute."""
    rows = []
    for key, value in operation.items():
        if key in ("inputs", "outputs") and value:
            inner = ",\n".join(f"     {json.dumps(one)}" for one in value)
            rows.append(f'   "{key}": [\n{inner}\n   ]')
        elif key == "attrs" and value:
            inner = ",\n".join(f"     {json.dumps(n)}: {json.dumps(v)}" for n, v in value.items())
            rows.append(f'   "{key}": {{\n{inner}\n   }}')
        else:
            rows.append(f'   "{key}": {json.dumps(value)}')
    return "  {\n" + ",\n".join(rows) + "\n  }"


def text(graph: Graph) -> str:
    """Return a graph as JSON.

    Parameters
    ----------
    graph : Graph
        With known shapes. Constants become inputs with the property ``constant``; their values are
        not written, since a case draws its data.

    Raises
    ------
    ValueError
        A shape is not known.
    """
    mode, to_int = graph.get_fpmath_mode()
    head = {
        "version": "3.13.0",
        "engine_kind": graph.engine_kind.name,
        "fpmath_mode": mode.name,
        "fpmath_mode_apply_to_int": "true" if to_int else "false",
    }
    rows = [f' "{name}": {json.dumps(value)}' for name, value in head.items()]
    ops = ",\n".join(_lines(_operation_text(node)) for node in graph.nodes)
    return "{\n" + ",\n".join(rows) + f',\n "graph": [\n{ops}\n ]\n}}\n'
