# SPDX-License-Identifier: Apache-2.0
"""Operands of matrix products: read without copies, or packed for faster access."""

from __future__ import annotations

from sycl_dnn import _core
from sycl_dnn._core import algorithm
from sycl_dnn.compiler.post_ops import with_post_ops
from sycl_dnn.compiler.rebuilding import kept_layouts, rebuilt, repacked
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.packed_weights import PACKABLE, copy_before
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, has_only_post_ops, moved
from sycl_dnn.trace.values import Tensor

#: Name component of the implementations that read strided batches correctly.
_STRIDED_IMPL = "brg_matmul"


def read_in_place(graph: Graph) -> None:
    """Remove copies whose only purpose is to make matrices contiguous."""
    for node in graph.walk():
        for name in ("src", "weights"):
            if node.row != "matmul" or _STRIDED_IMPL not in node.pd.impl_info:
                continue
            while (replacement := _without_copy(graph, node, name)) is not None:  # or its copy
                graph.replace([], replacement, at=node)
                node = replacement


def _without_copy(graph: Graph, node: Node, name: str) -> Node | None:
    operand = node.inputs[name]
    copy = copy_before(graph, operand)
    if copy is None:
        return None
    source = copy.inputs["src"]
    if source.dtype != operand.dtype or not _is_by_rows(source):
        return None
    if graph.is_written_between(source.storage, copy, node):
        return None
    inputs = {**node.inputs, name: source}
    layouts = kept_layouts(inputs, node.dst) | {name: source}
    pd = rebuilt(node, node.attr, layouts, **{name: source.desc})
    if isinstance(pd, Refusal) or _STRIDED_IMPL not in pd.impl_info:
        return None
    writer = graph.writer(source)
    if writer is not None:
        writer.refused = [r for r in writer.refused if not r.startswith("reorder:")]
    label = f"{name} read in place"
    fused = [text for text in node.fused if text != label]
    return node.with_pd(pd, inputs=inputs, fused=[*fused, label])


def _is_by_rows(tensor: Tensor) -> bool:
    """Whether one of the last two axes is dense and no element is repeated."""
    if not tensor.desc.is_plain or tensor.ndim < 3:
        return False
    steps = [(s, n) for n, s in zip(tensor.desc.dims, tensor.desc.strides, strict=True) if n > 1]
    steps.sort()
    nested = all(s * n <= t for (s, n), (t, _) in zip(steps, steps[1:], strict=False))
    return nested and 1 in tensor.desc.strides[-2:]


# --- Operands times a number


def scale_results(graph: Graph) -> None:
    """Multiply products by the numbers by which their operands are multiplied.

    Exporters scale queries and keys, which would otherwise be written once more.
    """
    constants = constant_ids(graph)
    for node in graph.walk():
        if node.row != "matmul" or not node.has_dst or "bias" in node.inputs:
            continue
        if not has_only_post_ops(node.attr) or len(node.post_ops):
            continue
        scaled = [_scaled(graph, node, name) for name in ("src", "weights")]
        found = [s for s in scaled if s is not None and id(s[0].dst.storage) not in constants]
        if found:
            _scale_result(graph, node, found)


def _scaled(graph: Graph, node: Node, name: str) -> tuple[Node, Node, str] | None:
    """Return the multiplication by a number that an operand is, or a copy of, and its reader."""
    reader, copy = node, copy_before(graph, node.inputs[name])
    if copy is not None and _is_read_once(graph, copy):
        reader, name = copy, "src"
    writer = graph.writer(reader.inputs[name])
    if writer is None or writer.row != "eltwise_forward" or not _is_read_once(graph, writer):
        return None
    p, src = writer.params, writer.inputs["src"]
    is_factor = p["algorithm"] is algorithm.eltwise_linear and p["beta"] == 0
    is_alone = not writer.attr.calls and src.desc == writer.dst.desc
    if not is_factor or not is_alone or graph.is_written_between(src.storage, writer, reader):
        return None
    return writer, reader, name


def _is_read_once(graph: Graph, node: Node) -> bool:
    storage = node.dst.storage
    return graph.is_inner(storage) and graph.n_readers(storage) == 1 and not graph.is_locked(node)


def _scale_result(graph: Graph, node: Node, found: list[tuple[Node, Node, str]]) -> None:
    post_ops, factor = _core.PostOps(), 1.0
    for product, _, _ in found:
        factor *= product.params["alpha"]
    post_ops.append_eltwise(algorithm.eltwise_linear, factor, 0.0)
    layouts = kept_layouts(node.inputs, node.dst)
    pd = rebuilt(node, with_post_ops(node.attr, post_ops), layouts)
    if isinstance(pd, Refusal):
        return
    for product, reader, name in found:
        src, read = product.inputs["src"], reader.inputs[name]
        offset = read.offset - product.dst.offset + src.offset
        graph.rewire(reader, {**reader.inputs, name: moved(read, src.storage, offset)})
        graph.drop([product])
    graph.replace([], node.with_pd(pd, fused=[*node.fused, "factors of operands"]), at=node)


# --- Packing of constant weights for products with one or two rows

#: With more rows, the layout that oneDNN chooses is as fast; see docs/compile.md.
_MAX_ROWS = 2
#: Size of float32 weights in bytes below which packing does not pay.
_MIN_BYTES = 4 << 20
#: Blocks of 16 outputs, by dtypes of source and weights. oneDNN's choice for "any" computes outputs
#: one by one and reaches only two thirds of the memory bandwidth in bfloat16.
_TAGS = {
    ("float32", "float32"): "BA16a16b",
    ("bfloat16", "bfloat16"): "BA16a16b2a",
    ("uint8", "int8"): "BA16a16b4a",
}


def pack_for_few_rows(graph: Graph) -> None:
    """Pack the weights of bandwidth-bound products on CPUs with AVX-512."""
    if not _is_measured(graph.trace.engine):
        return
    constants = constant_ids(graph)
    for node in graph.walk():
        tag = _tag_for(node)
        if tag is not None and id(node.inputs[PACKABLE].storage) in constants:
            _pack_weights(graph, node, tag)


def _is_measured(engine: _core.Engine) -> bool:
    """Whether the layouts were measured on such a device: AMX has other kernels."""
    if engine.kind is not _core.engine_kind.cpu:
        return False
    isa = _core.get_effective_cpu_isa().name
    return isa.startswith("avx512") and "amx" not in isa


def _tag_for(node: Node) -> str | None:
    if node.row != "matmul" or not node.has_dst or node.dst.desc.ndims != 2:
        return None
    if not 0 < node.dst.desc.dims[0] <= _MAX_ROWS or not node.dst.size:
        return None
    weights = node.inputs[PACKABLE]
    if weights.dtype == "float32" and weights.desc.get_size() < _MIN_BYTES:
        return None
    return _TAGS.get((node.inputs["src"].dtype, weights.dtype))


def _pack_weights(graph: Graph, node: Node, tag: str) -> None:
    weights = node.inputs[PACKABLE]
    desc = _core.MemoryDesc(weights.desc.dims, weights.desc.data_type, tag)
    pd = rebuilt(node, node.attr, kept_layouts(node.inputs, node.dst), weights=desc)
    packed = pd if isinstance(pd, Refusal) else repacked(graph, node.with_pd(pd))
    if isinstance(packed, Refusal):
        return
    packed_node, nodes = packed
    packed_node.fused = [*node.fused, f"weights as {tag}: few rows"]
    graph.replace([], packed_node, at=node)
    graph.insert(nodes, before=packed_node)
