# SPDX-License-Identifier: Apache-2.0
"""Shapes of results from those of inputs; what has to fit them follows."""

from __future__ import annotations

from typing import Any

from sycl_dnn.graph import shapes as rules
from sycl_dnn.verify.graph.document import Document, OpText, TensorText
from sycl_dnn.verify.layout import dense_strides

LETTERS = "abcdefghijkl"


def order_of(tensor: TensorText) -> str:
    """Return the permutation that the strides of a tensor mean, outermost axis first."""
    strides = tensor.strides
    if strides is None:
        return LETTERS[: len(tensor.shape)]
    axes = sorted(range(len(strides)), key=lambda i: (-strides[i], i))
    return "".join(LETTERS[i] for i in axes)


def set_shape(tensor: TensorText, dims: tuple[int, ...]) -> None:
    """Give a tensor another shape; the order of its axes in memory stays if it can."""
    order = order_of(tensor) if len(dims) == len(tensor.shape) else LETTERS[: len(dims)]
    if dims != tensor.shape or tensor.strides is None:
        tensor.shape, tensor.strides = dims, dense_strides(dims, order)


def _resize_channels(op: OpText, shape: tuple[int, ...]) -> None:
    """Give quantisation by channel as many scales and zero points as there are channels."""
    if op.attrs.get("qtype") != "per_channel" or not op.attrs.get("scales"):
        return
    wanted = shape[rules.axis_of(op.attributes(), len(shape))]
    for name in ("scales", "zps"):
        values = op.attrs.get(name)
        if values and len(values) != wanted:
            op.attrs[name] = tuple(values[i % len(values)] for i in range(wanted))


def _regroup(op: OpText, document: Document, asked: bool) -> None:
    """Make groups follow the shapes of tensor and scales, or scales follow groups asked for."""
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
    """Set the shapes of what an operation writes."""
    if op.kind in ("Wildcard", "End"):
        return
    given: dict[str, Any] = {
        name: [document.tensors[n].shape for n in number]
        if isinstance(number, list)
        else document.tensors[number].shape
        for name, number in op.ports()
    }
    if op.kind in ("Quantize", "Dequantize"):
        _resize_channels(op, given["src"])
    if op.kind == "DynamicDequantize":
        _regroup(op, document, "group_shape" in asked)
    try:
        found = op.row.infer(given, op.attributes())
    except rules.Broken as problem:
        argument, rule, value = problem.args
        raise op.fail(f"{argument} must {rule}, got {value}") from None
    except (KeyError, IndexError, TypeError, ZeroDivisionError) as problem:
        raise op.fail(f"attributes must fit the tensors, got {op.attrs} ({problem!r})") from None
    for number, shape in zip(op.outputs, found or [], strict=False):
        if shape is not None:
            set_shape(document.tensors[number], tuple(int(n) for n in shape))
