# SPDX-License-Identifier: Apache-2.0
"""Change a graph as options say: shapes, attributes, kinds, data types, properties.

Shapes of all results are worked out again from those of the inputs.
"""

from __future__ import annotations

from math import prod
from typing import Any

from sycl_dnn.verify.graph import batch, checks, infer
from sycl_dnn.verify.graph.checks import Broken
from sycl_dnn.verify.graph.document import Document, OpText, TensorText, check_ports
from sycl_dnn.verify.graph.option_text import ShapeText
from sycl_dnn.verify.layout import dense_strides

_FLOATS = ("f32", "bf16", "f16")
#: Operations whose data types are their meaning: --dt cannot change them.
_TYPED = ("TypeCast", "Quantize", "Dequantize", "DynamicQuantize", "DynamicDequantize")
_KEPT = ("cond", "mask", "seed", "offset", "probability", "stats")
#: Inputs and outputs of norms that follow --dt; statistics and parameters stay.
_NORM_DATA = ("src", "dst", "diff_dst", "diff_src")


def _set_layout(tensor: TensorText, text: ShapeText) -> None:
    if text.dims is not None:
        tensor.shape, tensor.strides = (
            text.dims,
            dense_strides(text.dims, infer.LETTERS[: len(text.dims)]),
        )
    given = len(text.order) if text.order else len(text.strides or tensor.shape)
    if given != len(tensor.shape):
        raise Broken(f"strides of tensor {tensor.id} must be {len(tensor.shape)}, got {given}")
    if text.order:
        tensor.strides = dense_strides(tensor.shape, text.order)
    elif text.strides is not None:
        tensor.strides = text.strides


def _require(number: int, known: Any, what: str) -> None:
    if number not in known:
        raise Broken(f"{what} must be one of the graph's, got {number}")


def _change_inputs(document: Document, texts: dict[int, ShapeText], mb: int) -> None:
    inputs, results = document.inputs(), document.results()
    for number, text in texts.items():
        _require(number, {*inputs, *results}, "--in-shapes: tensor")
        if number in inputs:
            _set_layout(document.tensors[number], text)
    if mb:
        carried = batch.tensors(document)
        if not carried:
            raise Broken("--mb must have an input with a batch to change, got none")
        for number in carried:
            tensor = document.tensors[number]
            infer.set_shape(tensor, (mb, *tensor.shape[1:]))


def _change_attributes(document: Document, given: dict[int, dict[str, Any]]) -> None:
    ops = {op.id: op for op in document.ops}
    for number, attributes in given.items():
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
    """Connect what an elementwise operation reads from another one with who reads its result."""
    made = document.producers()
    kept = op.inputs if len(op.inputs) == 1 else [n for n in op.inputs if n in made]
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


def _change_dtypes(document: Document, given: str | dict[int, str]) -> None:
    if isinstance(given, dict):
        for number, dtype in given.items():
            _require(number, document.tensors, "--dt: tensor")
            document.tensors[number].dtype = dtype
        return
    if given == "undef":
        return
    for op in document.ops:
        if op.kind in _TYPED:
            raise op.fail("must not be in a graph whose data type --dt changes")
        for number in _followers(op):
            tensor = document.tensors[number]
            tensor.dtype = given if tensor.dtype in _FLOATS else tensor.dtype


def _change_properties(document: Document, given: dict[int, str]) -> None:
    for number, kind in given.items():
        _require(number, document.tensors, "--tensor-property: tensor")
        document.tensors[number].property = kind


def _check_sizes(document: Document) -> None:
    for tensor in document.tensors.values():
        if min(tensor.shape, default=0) < 0:
            raise Broken(f"shape of tensor {tensor.id} must be known, got {tensor.shape}")
        if prod(tensor.shape) > checks.MAX_SIZE or max(tensor.shape, default=0) > checks.MAX_SIZE:
            raise Broken(f"tensor {tensor.id} must have at most 2**40 elements")
        if tensor.strides is None:
            tensor.strides = dense_strides(tensor.shape, infer.LETTERS[: len(tensor.shape)])
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
        A number is not in the graph, or shapes do not fit.
    """
    _change_inputs(document, options["in-shapes"], options["mb"] or 0)
    _change_attributes(document, options["op-attrs"])
    _change_kinds(document, options["op-kind"])
    for op in document.ops:
        infer.infer(op, document, options["op-attrs"].get(op.id, {}))
    for number in document.results():
        if number in options["in-shapes"]:
            _set_layout(document.tensors[number], options["in-shapes"][number])
    _change_dtypes(document, options["dt"])
    _change_properties(document, options["tensor-property"])
    if options["attr-fpmath"] is not None:
        document.fpmath, document.fpmath_to_int = options["attr-fpmath"]
    _check_sizes(document)
    return document
