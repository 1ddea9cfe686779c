# SPDX-License-Identifier: Apache-2.0
"""Which inputs of a graph have a batch as their first axis: those that ``--mb`` changes."""

from __future__ import annotations

from sycl_dnn.verify.graph.document import Document, OpText

#: An attribute, or the meaning of their axes, holds a size that would not follow.
_FIXED = (
    *("AvgPoolBackward", "ConvolutionBackwardData", "ConvolutionBackwardWeights"),
    *("ConvTransposeBackwardWeights", "GenIndex", "StaticReshape", "StaticTranspose", "Wildcard"),
)
_PAIRS = ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "SquaredDifference")


def _carries(op: OpText, place: int, document: Document) -> bool:
    """Whether the first axis of an operation's input is the batch of its result."""
    ranks = [len(document.tensors[n].shape) for n in op.inputs]
    first = document.tensors[op.inputs[0]].shape
    mine = document.tensors[op.inputs[place]].shape
    if op.kind in _FIXED or not mine:
        return False
    if op.kind in _PAIRS:
        return ranks[place] == max(ranks) and (min(ranks) != max(ranks) or mine[0] != 1)
    if op.kind == "MatMul":
        return place == 0 or (place == 1 and ranks[0] > 2 and ranks[1] == ranks[0])
    if op.kind == "DynamicDequantize":
        return ranks[0] > 2 and ranks[place] == ranks[0]
    if op.kind in ("Concat", "GreaterEqual", "Select"):
        return ranks[place] == max(ranks)
    if op.kind == "LayerNormBackward" and place in (2, 3):
        return mine[0] == first[0]
    return place == 0 or (place == 1 and op.kind.endswith("Backward"))


def tensors(document: Document) -> list[int]:
    """Return the inputs whose first axis every reader takes for a batch, down to the results."""
    readers = document.readers()
    known: dict[int, bool] = {}
    for op in reversed(document.ops):
        for number in op.outputs:
            known.setdefault(number, _all_carry(number, readers, known, document))
    return [n for n in document.inputs() if _all_carry(n, readers, known, document)]


def _all_carry(
    number: int, readers: dict[int, list[OpText]], known: dict[int, bool], document: Document
) -> bool:
    for op in readers[number]:
        places = [i for i, n in enumerate(op.inputs) if n == number]
        if not all(_carries(op, place, document) for place in places):
            return False
        if op.outputs and not known.get(op.outputs[0], True):
            return False
    return True
