# SPDX-License-Identifier: Apache-2.0
"""Residuals that nobody needs afterwards are added to in place: the ``sum`` post-op."""

from __future__ import annotations

from sycl_dnn import _core
from sycl_dnn._core import algorithm
from sycl_dnn.compiler.attaching import with_post_ops
from sycl_dnn.compiler.frames import same_span
from sycl_dnn.compiler.graph import Graph, moved
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.rebuilding import misfit, rebuilt
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch.tensor import Storage

#: Rows that can add to what the result already holds.
_ROWS = ("convolution_forward", "deconvolution_forward", "matmul")


def sum_in_place(graph: Graph) -> None:
    """Let results take the place of residuals that are added to them and then die."""
    for node in list(graph.nodes):
        if node.row in _ROWS and node.has_dst and not graph.is_locked(node):
            for index in range(len(node.post_ops)):
                if _is_residual(graph, node, index) and _summed(graph, node, index):
                    break


def _is_residual(graph: Graph, node: Node, index: int) -> bool:
    name, args = node.post_ops[index]
    if name != "append_binary" or args[0] is not algorithm.binary_add:
        return False
    other, dst = node.inputs[f"attr_post_op_{index}_src_1"], node.dst
    if other.desc != dst.desc or other.offset or dst.offset:
        return False
    if not all(same_span(t.desc, t.storage.desc) for t in (other, dst)):
        return False
    is_only = graph.n_writers(dst.storage) == 1 and dst.storage.argument is None
    return is_only and _dies_at(graph, other.storage, node)


def _dies_at(graph: Graph, storage: Storage, node: Node) -> bool:
    """Whether a value belongs to nodes alone, and none needs it after this one."""
    if storage.argument is not None or storage.memory is not None or graph.is_final(storage):
        return False
    if sum(t.storage is storage for t in node.inputs.values()) > 1:
        return False
    last = graph.place(node)
    users = (*graph.readers(storage), *graph.writers(storage))
    # Calls over arrays hold on to what they made.
    return all(graph.place(n) <= last and n.function is None for n in users)


def _summed(graph: Graph, node: Node, index: int) -> bool:
    post_ops = _core.PostOps()
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if i == index:
            post_ops.append_sum(1.0)
        else:
            getattr(post_ops, name)(*args)
    inputs = dict(node.inputs)
    residual = inputs.pop(f"attr_post_op_{index}_src_1")
    pd = rebuilt(graph.trace.engine, node, with_post_ops(node.attr, post_ops))
    if isinstance(pd, Refusal) or misfit(pd, node, inputs) or pd.desc_of("dst") != node.dst.desc:
        return False
    if "weights" in inputs and pd.desc_of("weights") != inputs["weights"].desc:
        return False
    made = node.with_pd(pd, inputs=inputs)
    graph.replace([], made, at=node)
    if graph.is_final(node.dst.storage):
        graph.redirect(residual.storage, node.dst.storage)
    else:
        graph.rewire(made, outputs={"dst": moved(node.dst, residual.storage, 0)})
        graph.redirect(node.dst.storage, residual.storage)
    return True
