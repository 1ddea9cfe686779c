# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions that were not appended to anything, as kernels that keep NaN."""

from __future__ import annotations

from collections.abc import Iterator

from sycl_dnn._core import algorithm as A
from sycl_dnn.compiler.post_ops import post_ops_as_chain
from sycl_dnn.compiler.step_graph import Graph, Node, Refusal
from sycl_dnn.ir.node import Node as Value
from sycl_dnn.lower.algorithms import PAIRS, stepped
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.values import Storage

#: Algorithms for which oneDNN returns numbers for NaN, or has errors of 5e-5 (mish).
_LOSING = frozenset(
    (
        A.eltwise_relu, A.eltwise_relu_use_dst_for_bwd, A.eltwise_clip, A.eltwise_clip_v2,
        A.eltwise_clip_v2_use_dst_for_bwd, A.eltwise_hardsigmoid, A.eltwise_exp,
        A.eltwise_exp_use_dst_for_bwd, A.eltwise_mish,
    )
)  # fmt: skip


def keep_nan(graph: Graph) -> None:
    """Replace element-wise nodes by kernels where oneDNN would lose NaN."""
    for node in list(graph.nodes):
        if node.row in ("eltwise_forward", "binary") and _loses_nan(node):
            _replace(graph, node)


def _algorithms(node: Node) -> Iterator[A]:
    if node.row == "eltwise_forward":
        yield node.params["algorithm"]
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if name == "append_eltwise":
            yield args[0]


def _loses_nan(node: Node) -> bool:
    is_float = node.has_dst and all(
        dtypes.is_float(t.dtype) for t in (node.dst, node.inputs.get("src", node.dst))
    )
    return is_float and not _LOSING.isdisjoint(_algorithms(node))


def _replace(graph: Graph, node: Node) -> None:
    later = post_ops_as_chain(node)
    kind, is_pair = node.params["algorithm"], node.row == "binary"
    if isinstance(later, Refusal) or graph.is_locked(node) or (is_pair and kind not in PAIRS):
        return
    operands = [node.inputs[n] for n in (("src_0", "src_1") if is_pair else ("src",))]
    n_given = len(operands)
    first = () if is_pair else ((kind, node.params["alpha"], node.params["beta"]),)
    steps = (*first, *[(op.algorithm, op.alpha, op.beta) for op in later])
    operands += [
        op.operand.view(op.desc.dims, op.desc.strides) for op in later if op.operand is not None
    ]
    dst = node.dst

    def definition(*given: Value) -> Value:
        second = given[1] if is_pair else None
        wide = dtypes.wide(dst.dtype)
        return cast(stepped(kind, given[0], second, steps, given[n_given:], wide), dst.dtype)

    result, nodes = graph.recorded(lambda: computed(definition, *operands))
    if result.desc != dst.desc or not nodes or result.storage not in _written(nodes[-1]):
        return
    graph.insert(nodes, before=node)
    graph.drop([node])
    outputs = {n: dst if t is result else t for n, t in nodes[-1].outputs.items()}
    graph.rewire(nodes[-1], outputs=outputs)


def _written(node: Node) -> list[Storage]:
    return [t.storage for t in node.outputs.values()]
