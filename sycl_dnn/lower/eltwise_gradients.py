# SPDX-License-Identifier: Apache-2.0
"""Gradients of oneDNN's element-wise primitives: those of their nodes."""

from __future__ import annotations

from sycl_dnn.ir.node import Node, leaf
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS
from sycl_dnn.lower.node_lowering import gradient
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry


def _defined(entry: Entry, *operands: Node) -> Node:
    """Return the node of a primitive, in a dtype of at least 32 bits."""
    params, kind = entry.params, entry.params["algorithm"]
    if entry.row == "binary":
        return PAIRS[kind](*operands)
    return FUNCTIONS[kind](operands[0], params["alpha"], params["beta"])


@rule_for("binary")
@rule_for("eltwise_forward")
def _elementwise(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    names, result = list(entry.inputs), entry.outputs["dst"]
    inputs = {str(i): t for i, t in enumerate(entry.inputs.values())}
    leaves = [leaf(("operand", i), t.shape, str(t.dtype)) for i, t in enumerate(inputs.values())]
    wide = dtypes.wide(result.dtype)
    node = cast(_defined(entry, *[cast(x, wide) for x in leaves]), str(result.dtype))
    params = {"results": (node,), "leaves": tuple(leaves)}
    of_nodes = Entry("nodes", inputs, {"0": result}, params)
    numbers = {str(names.index(name)) for name in needed}
    parts = gradient(trace, of_nodes, {"0": grads["dst"]}, numbers)
    return {names[int(number)]: part for number, part in parts.items()}
