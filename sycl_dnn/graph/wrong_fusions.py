# SPDX-License-Identifier: Apache-2.0
"""Partitions that oneDNN 3.13 computes wrongly or with a loss; their operations run one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn._saturation import saturates
from sycl_dnn.graph.node import Node
from sycl_dnn.onednn import faults

_PRODUCTS = ("convolution", "conv_transpose", "matmul")
_DEQUANTIZE = ("dequantize", "dynamic_dequantize")
#: What a dequantised value may go through on its way to a product of integers.
_MOVES = ("type_cast", "static_reshape", "static_transpose", "reorder")


def why_wrong(group: Sequence[Node], shapes: Mapping[int, Any], engine: Any) -> str:
    """Return what is wrong with a partition of these operations; "" for nothing."""
    if _multiplies_integers(group) and saturates(engine):
        return "this CPU adds products of 8-bit integers in 16 bits, which do not hold them all"
    ops = [(n.operation.name, [shapes[v.id] for v in n.values], "") for n in group]
    return faults.why_wrong(ops)


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
