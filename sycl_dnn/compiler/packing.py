# SPDX-License-Identifier: Apache-2.0
"""Constant weights: where they come from, and how a primitive wants them."""

from __future__ import annotations

from typing import Any

from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.rebuilding import PACKABLE, misfit, rebuilt
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Tensor


def origin(graph: Graph, tensor: Tensor) -> Tensor:
    """Return the values that a constant was copied from, before it was packed or narrowed."""
    writers = graph.writers(tensor.storage)
    while len(writers) == 1 and writers[0].row == "reorder" and not writers[0].attr.calls:
        copy = writers[0]
        if copy.outputs["dst"].desc != tensor.desc or tensor.offset:
            break
        tensor = copy.inputs["src"]
        writers = graph.writers(tensor.storage)
    return graph.trace.widened(tensor)


def with_weights(
    graph: Graph, node: Node, weights: Tensor, bias: Tensor | None
) -> tuple[Node, list[Node]] | Refusal:
    """Return the node with other constant weights and bias, and the nodes that pack them."""
    old = node.inputs[PACKABLE]
    changes: dict[str, Any] = {PACKABLE: layout.any_layout(weights.shape, old.dtype)}
    inputs = dict(node.inputs)
    if bias is not None:
        rank = node.dst.desc.ndims if node.row == "matmul" else 1
        shape = (1,) * (rank - 1) + (bias.size,)
        inputs["bias"] = bias.view(shape, layout.row_major_strides(shape))
        changes["bias"] = inputs["bias"].desc
    pd = rebuilt(graph.trace.engine, node, node.attr, **changes)
    if isinstance(pd, Refusal):
        return pd
    refusal = misfit(pd, node, inputs)
    if refusal is not None or pd.desc_of("dst") != node.dst.desc:
        return refusal or Refusal(f"{node.row} would write another layout")
    packed, nodes = graph.recorded(lambda: graph.trace.reorder(weights, pd.desc_of(PACKABLE)))
    inputs[PACKABLE] = packed
    return node.with_pd(pd, inputs=inputs), nodes


def repacked(graph: Graph, node: Node) -> tuple[Node, list[Node]] | Refusal:
    """Return the node with its weights as its descriptor wants them, and what packs them."""
    if PACKABLE not in node.inputs:
        return node, []
    wanted, tensor = node.pd.desc_of(PACKABLE), node.inputs[PACKABLE]
    if not wanted or tensor.desc == wanted:
        return node, []
    source = origin(graph, tensor)
    if source is tensor or source.desc is None or source.desc.dims != wanted.dims:
        return Refusal(f"{node.row} would want its weights in another layout")
    packed, nodes = graph.recorded(lambda: graph.trace.reorder(source, wanted))
    return node.with_pd(node.pd, inputs={**node.inputs, PACKABLE: packed}), nodes
