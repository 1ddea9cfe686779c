# SPDX-License-Identifier: Apache-2.0
"""Values multiplied by a gate of themselves: swish and its piecewise kin, written out."""

from __future__ import annotations

from sycl_dnn import _core
from sycl_dnn._core import algorithm
from sycl_dnn.compiler.attaching import attached, simplified
from sycl_dnn.compiler.chains import ELEMENTWISE, Op, chain_on, linear
from sycl_dnn.compiler.frames import same_span
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import descriptors
from sycl_dnn.dispatch.tensor import Tensor

A = algorithm
_LOGISTIC = (A.eltwise_logistic, A.eltwise_logistic_use_dst_for_bwd)
_CLIP = (A.eltwise_clip, A.eltwise_clip_v2, A.eltwise_clip_v2_use_dst_for_bwd)
#: Steps of a gate that are looked at.
_LONGEST = 4


def merge_gates(graph: Graph) -> None:
    """Replace products of a value and a gate of it by one element-wise function."""
    for node in list(graph.nodes):
        is_product = node.row == "binary" and node.params["algorithm"] is A.binary_mul
        if not is_product or len(node.post_ops):
            continue
        a, b = node.inputs["src_0"], node.inputs["src_1"]
        for value, gate in ((a, b), (b, a)):
            made = _merged(graph, node, value, gate)
            if made is not None:
                graph.replace([], made, at=node)
                break


def _merged(graph: Graph, node: Node, value: Tensor, gate: Tensor) -> Node | None:
    dst = node.dst
    if value.desc != dst.desc or not value.is_float:
        return None
    steps = _steps(graph, value, gate)
    ops = None if steps is None else _function(steps)
    if ops is None:
        return None
    inputs = {"src_0": value, "src_1": value}
    attr = attached(_core.PrimitiveAttr(), ops, inputs)
    engine = graph.trace.engine
    # A maximum with itself: element-wise primitives take no post-ops that are fast.
    given = {"algorithm": A.binary_max, "src0": value.desc, "src1": value.desc, "dst": dst.desc}
    pd = descriptors.shared.described(engine, "binary", given, attr)
    return Node(pd, inputs, {"dst": dst}, pd.parameters, fused=[ops[0].label])


def _steps(graph: Graph, value: Tensor, gate: Tensor) -> tuple[Op, ...] | None:
    """Return the element-wise operations that make the gate of the value; None if others do."""
    found: tuple[Op, ...] = ()
    for _ in range(_LONGEST):
        if gate.storage is value.storage:
            is_it = gate.offset == value.offset and same_span(gate.desc, value.desc)
            return found if is_it else None
        maker = graph.writer(gate)
        if maker is None or maker.row not in ELEMENTWISE or len(graph.readers(gate.storage)) > 1:
            return None
        name = "src" if "src" in maker.inputs else "src_0"
        chain = chain_on(maker, name)
        if isinstance(chain, Refusal) or any(op.kind != "eltwise" for op in chain.ops):
            return None
        if not same_span(chain.result.desc, gate.desc) or chain.result.offset != gate.offset:
            return None
        found, gate = (*chain.ops, *found), chain.source
    return None


def _function(steps: tuple[Op, ...]) -> tuple[Op, ...] | None:
    """Return what a value times its gate is, as operations on the value."""
    steps = simplified(steps)
    first = linear(1.0)
    if len(steps) > 1 and steps[0].algorithm is A.eltwise_linear:
        first, steps = steps[0], steps[1:]
    if len(steps) != 1:
        return None
    kind, alpha, beta = steps[0].algorithm, steps[0].alpha, steps[0].beta
    if kind in _LOGISTIC and not first.beta:
        return (Op("eltwise", A.eltwise_swish, first.alpha),)
    if kind is A.eltwise_hardsigmoid:
        shift = alpha * first.beta + beta
        return (Op("eltwise", A.eltwise_hardswish, alpha * first.alpha, shift),)
    if kind in _CLIP and alpha == 0 and beta > 0:
        # The gate reaches beta where that of hardswish reaches 1.
        inner = Op("eltwise", A.eltwise_hardswish, first.alpha / beta, first.beta / beta)
        return simplified((inner, linear(beta)))
    return None
