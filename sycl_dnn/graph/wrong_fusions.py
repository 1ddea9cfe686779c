# SPDX-License-Identifier: Apache-2.0
"""Partitions that oneDNN 3.13 compiles and computes wrongly; their operations run one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn.graph.node import Node

_POOLS = ("avg_pool", "max_pool")
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def why_wrong(group: Sequence[Node], shapes: Mapping[int, Any]) -> str:
    """Return what is wrong with a partition of these operations; "" for nothing.

    A post-op of pooling whose operand has the shape of the result reads the operand at the places
    of another layout, in part beyond its end (docs/onednn_in_python.md).
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
