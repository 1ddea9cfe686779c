# SPDX-License-Identifier: Apache-2.0
"""Change a graph as options say: shapes, attributes, kinds, data types, properties.

Shapes of all results are computed again from those of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

from conformance.verify.graph import document as checks
from conformance.verify.graph.document import (
    ROWS,
    Broken,
    Document,
    OpText,
    TensorText,
    check_ports,
)
from sycl_dnn.graph import shapes as rules
from sycl_dnn.graph.table import KIND_OF
from sycl_dnn.tools.cases.storage import dense_strides

T = TypeVar("T")


@dataclass(frozen=True)
class ShapeText:
    """What ``--in-shapes`` says about a tensor; None if it keeps the file's value.

    order : permutation of axes as letters, ``strides`` : numbers
    """

    dims: tuple[int, ...] | None
    order: str = ""
    strides: tuple[int, ...] | None = None


def _sizes(text: str, what: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise ValueError(f"{what} must be integers between x, got {text!r}")
    return tuple(map(int, parts))


def by_number(text: str, read: Callable[[str], T]) -> dict[int, T]:
    """Read ``ID:VALUE+ID:VALUE``; an empty string changes nothing."""
    values: dict[int, T] = {}
    for part in text.split("+") if text else ():
        number, colon, value = part.partition(":")
        # benchdnn reads a number up to the first other character; its files have ID*TAG:SHAPE*TAG.
        number = number.partition("*")[0]
        if not colon or not value or not number.isdigit():
            raise ValueError(f"must be ID:VALUE, joined by +, got {part!r}")
        if int(number) in values:
            raise ValueError(f"must name each number once, got {number} twice")
        if value != "default":
            values[int(number)] = read(value)
    return values


def shape(text: str) -> ShapeText:
    """Read ``SIZES``, ``SIZES*STRIDES``, ``*TAG`` or ``-``, which has no axes."""
    if text == "-":
        return ShapeText(())
    sizes, star, layout = text.partition("*")
    dims = _sizes(sizes, "shape") if sizes or not star else None
    if not star:
        return ShapeText(dims)
    if not layout.isalpha():
        return ShapeText(dims, strides=_sizes(layout, "strides"))
    if sorted(layout) != [chr(ord("a") + i) for i in range(len(layout))]:
        raise ValueError(f"tag must be a permutation of the first letters, got {layout!r}")
    return ShapeText(dims, order=layout)


def in_shapes(text: str) -> dict[int, ShapeText]:
    return by_number(text, shape)


def _attribute(name: str, text: str) -> Any:
    kind = KIND_OF.get(name)
    if kind is None:
        raise ValueError(f"attribute must be one of {', '.join(sorted(KIND_OF))}, got {name!r}")
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if kind in ("int", "float"):
            return {"int": int, "float": float}[kind](text)
        if kind in ("ints", "floats"):
            # As in benchdnn: the integer part of a fraction.
            one = (lambda part: int(float(part))) if kind == "ints" else float
            return tuple(one(part) for part in text.split("x"))
    except (KeyError, ValueError, OverflowError):
        raise ValueError(f"{name} must be of kind {kind}, got {text!r}") from None
    return text


def _attributes(text: str) -> dict[str, Any]:
    result = {}
    for part in text.split("*"):
        name, colon, value = part.partition(":")
        if not colon:
            raise ValueError(f"must be NAME:VALUE, joined by *, got {part!r}")
        result[name] = _attribute(name, value)
    return result


def op_attrs(text: str) -> dict[int, dict[str, Any]]:
    return by_number(text, _attributes)


def _known(choices: Any, what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        try:
            return checks.one_of(text, choices, what)
        except Broken as problem:
            raise ValueError(str(problem)) from None

    return read


def dtypes(text: str) -> str | dict[int, str]:
    """Read ``--dt``: one data type for all floating-point tensors, or one by tensor."""
    if ":" in text:
        return by_number(text, _known(checks.DTYPES, "dtype"))
    return _known(("undef", "f32", "bf16", "f16"), "dtype")(text or "undef")


def op_kinds(text: str) -> dict[int, str]:
    """Read ``--op-kind``; ``undef`` removes the operation."""
    return by_number(text, _known((*ROWS, "undef"), "kind"))


def properties(text: str) -> dict[int, str]:
    """Read ``--tensor-property``."""
    return by_number(text, _known(checks.PROPERTIES, "property"))


def partitions(text: str) -> int:
    """Read ``--expected-n-partitions``; 0 expects nothing."""
    if not text.isdigit():
        raise ValueError(f"must be an integer from 0, got {text!r}")
    return int(text)


# --- Shapes of results inferred from those of inputs; dependent attributes are adjusted

LETTERS = "abcdefghijkl"


def order_of(tensor: TensorText) -> str:
    """Return the permutation that the strides of a tensor imply, outermost axis first."""
    strides = tensor.strides
    if strides is None:
        return LETTERS[: len(tensor.shape)]
    axes = sorted(range(len(strides)), key=lambda i: (-strides[i], i))
    return "".join(LETTERS[i] for i in axes)


def set_shape(tensor: TensorText, dims: tuple[int, ...]) -> None:
    """Give a tensor another shape; keep the order of its axes in memory if possible."""
    order = order_of(tensor) if len(dims) == len(tensor.shape) else LETTERS[: len(dims)]
    if dims != tensor.shape or tensor.strides is None:
        tensor.shape, tensor.strides = dims, dense_strides(dims, order)


def _resize_channels(op: OpText, shape: tuple[int, ...]) -> None:
    """Give quantization by channel one scale and zero point for each channel."""
    if op.attrs.get("qtype") != "per_channel" or not op.attrs.get("scales"):
        return
    expected = shape[rules.axis_of(op.attributes(), len(shape))]
    for name in ("scales", "zps"):
        values = op.attrs.get(name)
        if values and len(values) != expected:
            op.attrs[name] = tuple(values[i % len(values)] for i in range(expected))


def _regroup(op: OpText, document: Document, asked: bool) -> None:
    """Fit groups to the shapes of tensor and scales, or scales to requested groups."""
    if op.attrs.get("qtype") != "per_group" or len(op.inputs) < 2:
        return
    src, scales, *zps = (document.tensors[n] for n in op.inputs)
    parts = op.attrs.get("group_shape", ()) if asked else scales.shape
    pairs = list(zip(src.shape, parts, strict=False))
    if len(src.shape) != len(parts) or any(m < 1 or n % m for n, m in pairs):
        what = "group_shape" if asked else "scales"
        raise op.fail(f"{what} must divide the tensor {src.shape} into groups, got {parts}")
    quotients = tuple(n // m for n, m in pairs)
    if not asked:
        op.attrs["group_shape"] = quotients
        return
    for tensor in (scales, *zps):
        set_shape(tensor, quotients)


def infer(op: OpText, document: Document, asked: dict[str, Any]) -> None:
    """Set the shapes of an operation's outputs."""
    if op.kind in ("Wildcard", "End"):
        return
    inputs: dict[str, Any] = {
        name: [document.tensors[n].shape for n in number]
        if isinstance(number, list)
        else document.tensors[number].shape
        for name, number in op.ports()
    }
    if op.kind in ("Quantize", "Dequantize"):
        _resize_channels(op, inputs["src"])
    if op.kind == "DynamicDequantize":
        _regroup(op, document, "group_shape" in asked)
    try:
        shapes = op.row.infer(inputs, op.attributes())
    except rules.Broken as problem:
        argument, rule, value = problem.args
        raise op.fail(f"{argument} must {rule}, got {value}") from None
    except (KeyError, IndexError, TypeError, ZeroDivisionError) as problem:
        raise op.fail(f"attributes must fit the tensors, got {op.attrs} ({problem!r})") from None
    for number, shape in zip(op.outputs, shapes or [], strict=False):
        if shape is not None:
            set_shape(document.tensors[number], tuple(int(n) for n in shape))


# --- Changes that options request: shapes, attributes, kinds, data types, properties

_FLOATS = ("f32", "bf16", "f16")
#: Operations that are defined by their data types: --dt cannot change them.
_TYPED = ("TypeCast", "Quantize", "Dequantize", "DynamicQuantize", "DynamicDequantize")
_KEPT = ("cond", "mask", "seed", "offset", "probability", "stats")
#: Inputs and outputs of norms that follow --dt; statistics and parameters do not change.
_NORM_DATA = ("src", "dst", "diff_dst", "diff_src")


def _set_layout(tensor: TensorText, text: ShapeText) -> None:
    if text.dims is not None:
        tensor.shape, tensor.strides = (
            text.dims,
            dense_strides(text.dims, LETTERS[: len(text.dims)]),
        )
    rank = len(text.order) if text.order else len(text.strides or tensor.shape)
    if rank != len(tensor.shape):
        raise Broken(f"strides of tensor {tensor.id} must be {len(tensor.shape)}, got {rank}")
    if text.order:
        tensor.strides = dense_strides(tensor.shape, text.order)
    elif text.strides is not None:
        tensor.strides = text.strides


def _require(number: int, numbers: Any, what: str) -> None:
    if number not in numbers:
        raise Broken(f"{what} must be one of the graph's, got {number}")


def _change_inputs(document: Document, texts: dict[int, ShapeText], mb: int) -> None:
    inputs, results = document.inputs(), document.results()
    for number, text in texts.items():
        _require(number, {*inputs, *results}, "--in-shapes: tensor")
        if number in inputs:
            _set_layout(document.tensors[number], text)
    if mb:
        carried = checks.tensors(document)
        if not carried:
            raise Broken("--mb must have an input with a batch to change, got none")
        for number in carried:
            tensor = document.tensors[number]
            set_shape(tensor, (mb, *tensor.shape[1:]))


def _change_attributes(document: Document, changes: dict[int, dict[str, Any]]) -> None:
    ops = {op.id: op for op in document.ops}
    for number, attributes in changes.items():
        _require(number, ops, "--op-attrs: operation")
        ops[number].attrs |= attributes


def _change_kinds(document: Document, kinds: dict[int, str]) -> None:
    ops = {op.id: op for op in document.ops}
    for number, kind in kinds.items():
        _require(number, ops, "--op-kind: operation")
        if kind == "undef":
            _take_out(document, ops[number])
            continue
        ops[number].kind = kind
        check_ports(ops[number])


def _take_out(document: Document, op: OpText) -> None:
    """Remove an elementwise operation: its readers read what it reads from another one."""
    produced = document.producers()
    kept = op.inputs if len(op.inputs) == 1 else [n for n in op.inputs if n in produced]
    if len(op.inputs) > 2 or len(op.outputs) != 1 or len(kept) != 1:
        raise op.fail("must have one input from another operation to be taken out")
    document.ops.remove(op)
    for other in document.ops:
        other.inputs = [kept[0] if n == op.outputs[0] else n for n in other.inputs]


def _followers(op: OpText) -> list[int]:
    """Return the tensors of an operation whose data types follow --dt."""
    row = op.row
    named = [(i.name, n) for i, n in zip(row.inputs, op.inputs, strict=False)]
    named += [(o.name, n) for o, n in zip(row.outputs, op.outputs, strict=False)]
    if any(port.many for port in row.inputs):
        return [*op.inputs, *op.outputs]
    if "Norm" in op.kind:
        return [n for name, n in named if name in _NORM_DATA]
    return [n for name, n in named if name not in _KEPT]


def _change_dtypes(document: Document, changes: str | dict[int, str]) -> None:
    if isinstance(changes, dict):
        for number, dtype in changes.items():
            _require(number, document.tensors, "--dt: tensor")
            document.tensors[number].dtype = dtype
        return
    if changes == "undef":
        return
    for op in document.ops:
        if op.kind in _TYPED:
            raise op.fail("must not be in a graph whose data type --dt changes")
        for number in _followers(op):
            tensor = document.tensors[number]
            tensor.dtype = changes if tensor.dtype in _FLOATS else tensor.dtype


def _change_properties(document: Document, changes: dict[int, str]) -> None:
    for number, kind in changes.items():
        _require(number, document.tensors, "--tensor-property: tensor")
        document.tensors[number].property = kind


def _check_sizes(document: Document) -> None:
    for tensor in document.tensors.values():
        if min(tensor.shape, default=0) < 0:
            raise Broken(f"shape of tensor {tensor.id} must be known, got {tensor.shape}")
        if prod(tensor.shape) > checks.MAX_SIZE or max(tensor.shape, default=0) > checks.MAX_SIZE:
            raise Broken(f"tensor {tensor.id} must have at most 2**40 elements")
        if tensor.strides is None:
            tensor.strides = dense_strides(tensor.shape, LETTERS[: len(tensor.shape)])
        if max(tensor.strides, default=0) > checks.MAX_SIZE:
            raise Broken(f"strides of tensor {tensor.id} must be at most 2**40")


def rewrite(document: Document, options: dict[str, Any]) -> Document:
    """Apply the options of a case to a graph, in place.

    Parameters
    ----------
    document : Document
    options : dict
        Values of ``in-shapes``, ``op-attrs``, ``mb``, ``op-kind``, ``dt``, ``tensor-property``,
        ``attr-fpmath``.

    Raises
    ------
    Broken
        The graph does not have a number, or shapes do not fit.
    """
    _change_inputs(document, options["in-shapes"], options["mb"] or 0)
    _change_attributes(document, options["op-attrs"])
    _change_kinds(document, options["op-kind"])
    for op in document.ops:
        infer(op, document, options["op-attrs"].get(op.id, {}))
    for number in document.results():
        if number in options["in-shapes"]:
            _set_layout(document.tensors[number], options["in-shapes"][number])
    _change_dtypes(document, options["dt"])
    _change_properties(document, options["tensor-property"])
    if options["attr-fpmath"] is not None:
        document.fpmath, document.fpmath_to_int = options["attr-fpmath"]
    _check_sizes(document)
    return document
