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

    Pooling of row-major images with a post-op whose operand has the shape of the result reads the
    operand as if its channels were innermost, beyond its end (docs/onednn_in_python.md).
    """
    pools = [n for n in group if n.operation.name in _POOLS]
    if not any(n.attributes.get("data_format") == "NCX" for n in pools):
        return ""
    for node in group:
        operands = [shapes[v.id] for v in node.values]
        if (
            node.operation.name in _BINARY
            and len(set(operands)) == 1
            and math.prod(operands[0]) > 1
        ):
            return "oneDNN reads an operand of the shape of pooled row-major images wrongly"
    return ""
