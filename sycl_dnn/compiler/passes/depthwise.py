# SPDX-License-Identifier: Apache-2.0
"""Fusion of depthwise convolutions into preceding 1x1 convolutions: the ``depthwise`` post-op.

Source: oneDNN developer guide, "Primitive Attributes: Post-ops", Depthwise.
"""

from __future__ import annotations

from sycl_dnn import _core
from sycl_dnn._core import data_type
from sycl_dnn.compiler.passes.fusing import is_overwritten
from sycl_dnn.compiler.post_ops import with_post_ops
from sycl_dnn.compiler.rebuilding import kept_layouts, packed_as, rebuilt, repacked
from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, has_only_post_ops

_ROW = "convolution_forward"
_WEIGHTS, _BIAS = "attr_post_op_dw_weights", "attr_post_op_dw_bias"
_OPERANDS = {"src", "weights", "bias"}
_FLOATS = (data_type.f32, data_type.bf16)
#: Maximum input channels of the 1x1 convolution. Beyond that, oneDNN's faster 1x1 kernels without
#: the post-op save more than cache locality does.
_MAX_CHANNELS = 48
_KERNEL = 3


def fuse_depthwise(graph: Graph) -> None:
    """Fuse depthwise 3x3 convolutions into preceding 1x1 convolutions with few channels."""
    for node in graph.walk():
        if not _is_pointwise(node) or not graph.is_inner(node.dst.storage):
            continue
        readers = graph.readers(node.dst.storage)
        if len(readers) == 1 and _is_depthwise(readers[0]) and not graph.is_locked(readers[0]):
            refusal = _fused(graph, node, readers[0])
            if refusal is not None:
                node.refused.append(f"depthwise: {refusal}")


def _is_plain(node: Node) -> bool:
    """Whether a node is a convolution of images followed only by activations."""
    if node.row != _ROW or not node.has_dst or set(node.inputs) - _OPERANDS:
        return False
    post_ops, dst = node.post_ops, node.dst
    is_whole = not dst.offset and same_span(dst.desc, dst.storage.desc)
    return (
        dst.desc.ndims == 4
        and is_whole
        and dst.desc.data_type in _FLOATS
        and has_only_post_ops(node.attr)
        and all(post_ops[i][0] == "append_eltwise" for i in range(len(post_ops)))
    )


def _is_pointwise(node: Node) -> bool:
    if not _is_plain(node):
        return False
    weights = node.inputs["weights"].desc.dims
    is_single = len(weights) == 4 and weights[2:] == (1, 1) and weights[1] <= _MAX_CHANNELS
    return is_single and node.dst.desc.dims[2:] == node.inputs["src"].desc.dims[2:]


def _is_depthwise(node: Node) -> bool:
    if not _is_plain(node):
        return False
    src, dst, weights = node.inputs["src"].desc, node.dst.desc, node.inputs["weights"].desc
    p = node.params
    stride = p["strides"][0]
    return (
        weights.dims == (src.dims[1], 1, 1, _KERNEL, _KERNEL)
        and tuple(p["strides"]) == (stride, stride)
        and stride in (1, 2)
        and not any(p.get("dilates") or ())
        and tuple(p["padding_l"]) == (1, 1)
        and dst.dims[2:] == tuple(-(-n // stride) for n in src.dims[2:])
    )


def _fused(graph: Graph, first: Node, second: Node) -> Refusal | None:
    """Replace both by one node, or return why not."""
    src, middle = second.inputs["src"], first.dst
    if src.desc != middle.desc or is_overwritten(graph, first, second):
        return Refusal("it reads the result in another way, or later")
    attr = with_post_ops(first.attr, _post_ops(first, second))
    pd = rebuilt(first, attr, kept_layouts(first.inputs, second.dst))
    if isinstance(pd, Refusal):
        return pd
    packed_node = repacked(graph, first.with_pd(pd))
    if isinstance(packed_node, Refusal):
        return packed_node
    weights = packed_as(graph, second.inputs["weights"], pd.desc_of(_WEIGHTS))
    if isinstance(weights, Refusal):
        return Refusal(f"the post-op {weights}")
    fused, nodes = packed_node
    fused.inputs = {**fused.inputs, _WEIGHTS: weights[0]}
    if "bias" in second.inputs:
        fused.inputs[_BIAS] = second.inputs["bias"]
    fused.outputs = second.outputs
    fused.fused = [*first.fused, "depthwise 3x3", *second.fused]
    fused.refused = [*first.refused, *second.refused]
    graph.insert([*nodes, *weights[1]], before=second)
    graph.replace([first], fused, at=second)
    return None


def _post_ops(first: Node, second: Node) -> _core.PostOps:
    post_ops = first.post_ops.copy()
    bias = second.inputs.get("bias")
    post_ops.append_dw(
        second.inputs["weights"].desc.data_type,
        data_type.undef if bias is None else bias.desc.data_type,
        second.dst.desc.data_type,
        _KERNEL,
        second.params["strides"][0],
        1,
    )
    for i in range(len(second.post_ops)):
        name, args = second.post_ops[i]
        getattr(post_ops, name)(*args)
    return post_ops
