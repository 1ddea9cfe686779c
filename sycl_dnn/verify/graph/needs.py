# SPDX-License-Identifier: Apache-2.0
"""What a graph needs: estimated before anything is allocated."""

from __future__ import annotations

from math import prod

from sycl_dnn.verify.graph import tolerance
from sycl_dnn.verify.graph.document import Document, OpText


def _positions(op: OpText, shapes: dict[str, tuple[int, ...]]) -> int:
    """Return how often a convolution applies its kernel."""
    channels_last = op.attributes()["data_format"] == "NXC"
    spatial = [s[1:-1] if channels_last else s[2:] for s in shapes.values()]
    return min(s[0] for s in shapes.values()) * min(prod(s) for s in spatial)


def _products(op: OpText, document: Document) -> int:
    shapes = [document.tensors[n].shape for n in (*op.inputs[:2], op.outputs[0])]
    if op.kind == "MatMul":
        axis = -2 if op.attrs.get("transpose_a") and len(shapes[0]) > 1 else -1
        return prod(shapes[-1]) * shapes[0][axis]
    if op.kind.startswith("Conv"):
        names = ("src", "weights", "dst")
        weights = 2 if op.kind.endswith("Weights") else 1
        data = {n: s for i, (n, s) in enumerate(zip(names, shapes, strict=True)) if i != weights}
        return prod(shapes[weights]) * _positions(op, data)
    return 0


def operations(document: Document) -> int:
    """Return how many products the references of a graph have."""
    once = sum(_products(op, document) for op in document.ops if op.outputs)
    return once * (1 + tolerance.RUNS)


def memory(document: Document) -> int:
    """Return what a graph needs in bytes, on the device and in the arrays of the host."""
    elements = sum(prod(t.shape) for t in document.tensors.values())
    strided = sum(
        sum((n - 1) * s for n, s in zip(t.shape, t.strides or (), strict=True)) + 1
        for t in document.tensors.values()
        if 0 not in t.shape
    )
    return 8 * elements * (3 + tolerance.RUNS) + 3 * 4 * strided
