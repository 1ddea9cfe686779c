# SPDX-License-Identifier: Apache-2.0
"""Faults of primitives that graphs meet inside their partitions."""

from __future__ import annotations

from sycl_dnn.verify.graph.document import Document, OpText

_BINARY = ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum")


def _whole_operand(ops: list[OpText], document: Document) -> bool:
    """Tell pooling of row-major data in front of an operand of the result's shape."""
    pools = [op for op in ops if op.kind in ("AvgPool", "MaxPool")]
    for op in ops:
        shapes = [document.tensors[n].shape for n in op.inputs]
        same = op.kind in _BINARY and len(set(shapes)) == 1
        if same and any(pool.attributes()["data_format"] == "NCX" for pool in pools):
            return True
    return False


#: (whether a partition meets it, how docs/onednn_in_python.md calls it)
_FAULTS = ((_whole_operand, "pooling_forward, operand of the shape of dst"),)


def find(ops: list[OpText], document: Document) -> str:
    """Return the title of the known fault that a partition meets; "" for none."""
    for meets, title in _FAULTS:
        if meets(ops, document):
            return f"known fault, docs/onednn_in_python.md: {title}"
    return ""
