# SPDX-License-Identifier: Apache-2.0
"""Rebuilding of nodes with other attributes, layouts or weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sycl_dnn._core import MemoryDesc
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.packed_weights import PACKABLE, source_of_copy
from sycl_dnn.lower.step_graph import Graph, Node, Refusal
from sycl_dnn.onednn import shared_descriptors
from sycl_dnn.trace import layout
from sycl_dnn.trace.descriptors import PREFERRED
from sycl_dnn.trace.gpu_layouts import is_right
from sycl_dnn.trace.values import Tensor

#: Name components of slow implementations.
_SLOW = {"ref", "simple", "gemm"}


def _slow_parts(name: str) -> set[str]:
    return _SLOW & set(name.replace("+", ":").replace("_", ":").split(":"))


def is_slower(name: str, than: str) -> bool:
    """Whether an implementation is of a slower kind than another, judging by the names."""
    return bool(_slow_parts(name) - _slow_parts(than))


def rebuilt(
    node: Node, attr: Any, layouts: Mapping[str, MemoryDesc | Tensor], **changes: Any
) -> Any:
    """Return the node's descriptor with changed parameters, or a ``Refusal``.

    ``layouts``: by execution argument: the layout that it has; ``**changes``: changed parameters.
    """
    engine, least = next(iter(node.outputs.values())).trace.engine, node.pd.impl_info
    params = node.params | changes
    pd = shared_descriptors.shared.described_or_none(engine, node.row, params, attr)
    if pd is None:
        return Refusal(f"{node.row} has no implementation for it")
    if node.row == "softmax_forward" and not is_right(node.row, engine, pd.src_desc, pd.dst_desc):
        return Refusal("softmax_forward would read this layout wrongly")
    is_chosen = bool(_slow_parts(least)) or any(words in least for words in PREFERRED)
    # Such an implementation was deliberately preferred to oneDNN's choice.
    if is_chosen and pd.impl_info != least:
        pd = shared_descriptors.shared.described(engine, node.row, params, attr, least)
    if is_slower(pd.impl_info, least):
        return Refusal(f"{node.row} would run as {pd.impl_info} instead of {least}")
    for name, given in layouts.items():
        required = pd.desc_of(name)
        if required and required != (given.desc if isinstance(given, Tensor) else given):
            verb = "write" if name in node.outputs else f"require {name} in"
            return Refusal(f"{node.row} would {verb} another layout")
    return pd


def kept_layouts(inputs: Mapping[str, Tensor], dst: Tensor) -> dict[str, Tensor]:
    """Return tensors whose layouts a new descriptor must keep: all but weights to pack again."""
    return {n: t for n, t in inputs.items() if n != PACKABLE} | {"dst": dst}


# --- Constant weights


def origin(graph: Graph, tensor: Tensor) -> Tensor:
    """Return the original values of a constant, before packing or conversion."""
    while (source := source_of_copy(graph, tensor)) is not None:
        tensor = source
    return graph.trace.widened(tensor)


def coefficients_of(
    node: Node, weights: Tensor, bias: Tensor | None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return other weights and bias of a node as inputs, and the layouts to request for them."""
    inputs = {PACKABLE: weights}
    changes: dict[str, Any] = {
        PACKABLE: layout.any_layout(weights.shape, node.inputs[PACKABLE].dtype)
    }
    if bias is not None:
        rank = node.dst.desc.ndims if node.row == "matmul" else 1
        shape = (1,) * (rank - 1) + (bias.size,)
        inputs["bias"] = bias.view(shape, layout.row_major_strides(shape))
        changes["bias"] = inputs["bias"].desc
    return inputs, changes


def with_weights(
    graph: Graph, node: Node, weights: Tensor, bias: Tensor | None
) -> tuple[Node, list[Node]] | Refusal:
    """Return the node with other constant weights and bias, and the nodes that pack them."""
    coefficients, changes = coefficients_of(node, weights, bias)
    inputs = {**node.inputs, **coefficients}
    pd = rebuilt(node, node.attr, kept_layouts(inputs, node.dst), **changes)
    if isinstance(pd, Refusal):
        return pd
    packed, nodes = graph.recorded(lambda: graph.trace.reorder(weights, pd.desc_of(PACKABLE)))
    inputs[PACKABLE] = packed
    return node.with_pd(pd, inputs=inputs), nodes


def repacked(
    graph: Graph, node: Node, is_constant: bool = False
) -> tuple[Node, list[Node]] | Refusal:
    """Return the node with weights in the descriptor's layout, and the node that packs them.

    ``is_constant``: whether the weights are known to be constant.
    """
    if PACKABLE not in node.inputs:
        return node, []
    required = node.pd.desc_of(PACKABLE)
    if not required:
        return node, []
    packed = packed_as(graph, node.inputs[PACKABLE], required, is_constant)
    if isinstance(packed, Refusal):
        return Refusal(f"{node.row} {packed}")
    return node.with_pd(node.pd, inputs={**node.inputs, PACKABLE: packed[0]}), packed[1]


def packed_as(
    graph: Graph, weights: Tensor, desc: MemoryDesc, is_constant: bool = False
) -> tuple[Tensor, list[Node]] | Refusal:
    """Return constant weights in a layout, and the nodes that pack them."""
    if weights.desc == desc:
        return weights, []
    source = origin(graph, weights)
    is_packable = is_constant or source is not weights or id(source.storage) in constant_ids(graph)
    if not is_packable or source.desc.dims != desc.dims:
        return Refusal("would require its weights in another layout")
    return graph.recorded(lambda: graph.trace.reorder(source, desc))
