# SPDX-License-Identifier: Apache-2.0
"""Gradients of oneDNN's element-wise primitives: those of their nodes."""

from __future__ import annotations

from collections.abc import Callable

from sycl_dnn._core import algorithm
from sycl_dnn.ir.node import Node, leaf
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS
from sycl_dnn.lower.node_lowering import gradient
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.pointwise import linear_map, mul
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Tensor


def _defined(entry: Entry, *operands: Node) -> Node:
    """Return the node of a primitive, in a dtype of at least 32 bits."""
    params, kind = entry.params, entry.params["algorithm"]
    if entry.row == "binary":
        return PAIRS[kind](*operands)
    return FUNCTIONS[kind](operands[0], params["alpha"], params["beta"])


#: Gradients by one primitive each, which takes half as long to submit as a kernel. In a compiled
#: function kernels are fused instead.
_SLOPES: dict[algorithm, dict[str, Callable[..., Tensor]]] = {
    algorithm.binary_add: {"src_0": lambda g, a, b: g, "src_1": lambda g, a, b: g},
    algorithm.binary_sub: {
        "src_0": lambda g, a, b: g,
        "src_1": lambda g, a, b: linear_map(g, -1.0),
    },
    algorithm.binary_mul: {"src_0": lambda g, a, b: mul(g, b), "src_1": lambda g, a, b: mul(g, a)},
}


def _of_operand(entry: Entry, grad: Tensor, name: str, slope: Callable[..., Tensor]) -> Tensor:
    operand = entry.inputs[name]
    of_all = slope(grad, entry.inputs["src_0"], entry.inputs["src_1"])
    return operand.trace.convert(sum_to(of_all, operand.shape), str(operand.dtype))


@rule_for("binary")
@rule_for("eltwise_forward")
def _elementwise(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    slopes = None if trace.is_compiled else _SLOPES.get(entry.params["algorithm"])
    if slopes is not None:
        return {n: _of_operand(entry, grads["dst"], n, slopes[n]) for n in needed}
    names, result = list(entry.inputs), entry.outputs["dst"]
    inputs = {str(i): t for i, t in enumerate(entry.inputs.values())}
    leaves = [leaf(("operand", i), t.shape, str(t.dtype)) for i, t in enumerate(inputs.values())]
    wide = dtypes.wide(result.dtype)
    node = cast(_defined(entry, *[cast(x, wide) for x in leaves]), str(result.dtype))
    params = {"results": (node,), "leaves": tuple(leaves), "backward": None}
    of_nodes = Entry("nodes", inputs, {"0": result}, params)
    numbers = {str(names.index(name)) for name in needed}
    parts = gradient(trace, of_nodes, {"0": grads["dst"]}, numbers)
    return {names[int(number)]: part for number, part in parts.items()}
