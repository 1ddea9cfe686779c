# SPDX-License-Identifier: Apache-2.0
"""Operands of partitions that must be row-major because oneDNN's kernels assume it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn.onednn.apart import is_row_major, is_whole
from sycl_dnn.onednn.fault import GraphOp, softmax_of_other_rows

if TYPE_CHECKING:
    from sycl_dnn.graph.nodes import Node, Value

PRODUCTS = ("convolution", "conv_transpose", "matmul")
#: Operations whose CPU kernels treat tensors with gaps as dense.
_READ_AS_DENSE = {"layer_norm", "layer_norm_backward", "dynamic_dequantize"}
#: Operations that become post-ops of the previous one.
_OF_TWO = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "select", "squared_diff")
#: Operations that apply one tensor's strides to all, or assume row-major scales.
_IN_ONE_LAYOUT = (
    "layer_norm_backward", "softmax_backward", "log_softmax_backward", "prelu", "prelu_backward",
    "dynamic_dequantize", "dynamic_quantize",
)  # fmt: skip


def _is_wide(value: Value, shape: Sequence[int]) -> bool:
    return value.property != "host_scalar" and math.prod(shape) > 1


def _spreads_over_one(node: Node, shapes: Any) -> bool:
    """Whether operands broadcast and one has an axis of length 1 (``binary-lone-axis``)."""
    provided = [shapes[v.id] for v in node.values]
    return len(set(map(tuple, provided))) > 1 and any(1 in shape for shape in provided)


def ordered_operands(group: Sequence[Node], shapes: Any) -> list[Value]:
    """Return the operands of fused operations that oneDNN assumes to be row-major.

    These are operands of post-ops, the rows that they apply to, operands of operations that assume
    one layout, and batched products that lack an axis, which oneDNN adds with a wrong stride (see
    onednn/faults.jsonl).
    """
    produced = {v.id for node in group for v in node.outputs}
    fused = [
        node
        for node in group
        if node.operation.name in _OF_TWO and any(v.id in produced for v in node.values)
    ]
    values = [v for node in fused for v in node.values]
    for node in group:
        if node.operation.name in _IN_ONE_LAYOUT:
            values += node.values
        elif node.operation.name == "matmul":
            max_rank = max(len(shapes[v.id]) for v in node.values[:2])
            is_lone = bool(fused) and any(1 in shapes[v.id] for v in node.values)
            values += [v for v in node.values[:2] if 2 < len(shapes[v.id]) < max_rank or is_lone]
        elif node.operation.name in _OF_TWO and _spreads_over_one(node, shapes):
            values += node.values
        elif fused:
            values += node.values[:1]
    return [v for v in values if v.id not in produced and _is_wide(v, shapes[v.id])]


def _is_misread(op: GraphOp, dims: Any, strides: Any, is_gpu: bool) -> bool:
    """Whether a kernel would misread a tensor with gaps."""
    # Matrix product kernels respect strides, except of vectors such as the bias.
    is_affected = op.name not in PRODUCTS if is_gpu else op.name in _READ_AS_DENSE
    return (is_affected or len(dims) == 1) and not is_whole(dims, strides)


def read_as_rows(
    group: Sequence[Node], ops: Sequence[GraphOp], shapes: Any, is_gpu: bool
) -> list[Value]:
    """Return the operands of a partition that must be copied to row-major order.

    ``ops``: the same operations, described with shapes and strides; ``shapes``: by value id.
    """
    ordered = {v.id for v in ordered_operands(group, shapes)}
    values = []
    for node, op in zip(group, ops, strict=True):
        if is_gpu and softmax_of_other_rows([op]):
            values.append(node.values[0])
        for value, dims, strides in zip(node.values, op.shapes, op.strides, strict=True):
            if strides is None:
                continue
            moved = value.id in ordered and not is_row_major(dims, strides)
            if moved or _is_misread(op, dims, strides, is_gpu):
                values.append(value)
    return values
