# SPDX-License-Identifier: Apache-2.0
"""Partitions that oneDNN 3.13 computes wrongly or with a loss; their operations run one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn._saturation import saturates
from sycl_dnn.graph.node import Node

_POOLS = ("avg_pool", "max_pool")
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
_PRODUCTS = ("convolution", "conv_transpose", "matmul")
_DEQUANTIZE = ("dequantize", "dynamic_dequantize")
#: What a dequantised value may go through on its way to a product of integers.
_MOVES = ("type_cast", "static_reshape", "static_transpose", "reorder")


def why_wrong(group: Sequence[Node], shapes: Mapping[int, Any], engine: Any) -> str:
    """Return what is wrong with a partition of these operations; "" for nothing."""
    if _multiplies_integers(group) and saturates(engine):
        return "this CPU adds products of 8-bit integers in 16 bits, which do not hold them all"
    return _why_pooling_is_wrong(group, shapes)


def _multiplies_integers(group: Sequence[Node]) -> bool:
    """Whether both operands of a product are 8-bit integers in front of the partition."""
    writers = {v.id: node for node in group for v in node.outputs}

    def is_of_integers(value: Any) -> bool:
        node = writers.get(value.id)
        if node is None:
            return False
        if node.operation.name in _MOVES:
            return is_of_integers(node.values[0])
        return node.operation.name in _DEQUANTIZE and node.values[0].dtype in ("s8", "u8")

    products = [node for node in group if node.operation.name in _PRODUCTS]
    return any(all(map(is_of_integers, node.values[:2])) for node in products)


def _why_pooling_is_wrong(group: Sequence[Node], shapes: Mapping[int, Any]) -> str:
    """Return what is wrong with a post-op of pooling.

    If its operand has the shape of the result, it is read at the places of another layout, in part
    beyond its end (docs/onednn_in_python.md).
    """
    if not any(n.operation.name in _POOLS for n in group):
        return ""
    for node in group:
        operands = [shapes[v.id] for v in node.values]
        if (
            node.operation.name in _BINARY
            and len(set(operands)) == 1
            and math.prod(operands[0]) > 1
        ):
            return "oneDNN reads an operand of the shape of the pooled images wrongly"
    return ""
