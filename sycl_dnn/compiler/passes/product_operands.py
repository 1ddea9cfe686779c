# SPDX-License-Identifier: Apache-2.0
"""Operands of matrix products: read without copies, or packed for faster access."""

from __future__ import annotations

from sycl_dnn import _core
from sycl_dnn.compiler.rebuilding import misfit, origin, rebuilt
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.packed_weights import PACKABLE
from sycl_dnn.lower.step_graph import Graph, Node, Refusal
from sycl_dnn.trace.values import Tensor

#: Name component of the implementations that read strided batches correctly.
_STRIDED_IMPL = "brg_matmul"


def read_in_place(graph: Graph) -> None:
    """Remove copies whose only purpose is to make matrices contiguous."""
    for node in graph.walk():
        for name in ("src", "weights"):
            if node.row == "matmul" and _STRIDED_IMPL in node.pd.impl_info:
                replacement = _without_copy(graph, node, name)
                if replacement is not None:
                    graph.replace([], replacement, at=node)
                    node = replacement


def _without_copy(graph: Graph, node: Node, name: str) -> Node | None:
    copy = graph.writer(node.inputs[name])
    if copy is None or copy.row != "reorder" or len(copy.inputs) > 1 or copy.attr.calls:
        return None
    source, copied, operand = copy.inputs["src"], copy.outputs["dst"], node.inputs[name]
    if copied.desc != operand.desc or copied.offset != operand.offset or not _is_by_rows(source):
        return None
    if source.dtype != copied.dtype:
        return None
    if graph.is_written_between(source.storage, copy, node):
        return None
    pd = rebuilt(graph.trace.engine, node, node.attr, **{name: source.desc})
    inputs = {**node.inputs, name: source}
    if isinstance(pd, Refusal) or _STRIDED_IMPL not in pd.impl_info or misfit(pd, node, inputs):
        return None
    if pd.desc_of(name) != source.desc or pd.desc_of("dst") != node.dst.desc:
        return None
    writer = graph.writer(source)
    if writer is not None:
        writer.refused = [r for r in writer.refused if not r.startswith("reorder:")]
    return node.with_pd(pd, inputs=inputs, fused=[*node.fused, f"{name} read in place"])


def _is_by_rows(tensor: Tensor) -> bool:
    """Whether one of the last two axes is dense and no element is repeated."""
    if not tensor.desc.is_plain or tensor.ndim < 3:
        return False
    steps = [(s, n) for n, s in zip(tensor.desc.dims, tensor.desc.strides, strict=True) if n > 1]
    steps.sort()
    nested = all(s * n <= t for (s, n), (t, _) in zip(steps, steps[1:], strict=False))
    return nested and 1 in tensor.desc.strides[-2:]


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
    trace, old = graph.trace, node.inputs[PACKABLE]
    layout = _core.MemoryDesc(old.desc.dims, old.desc.data_type, tag)
    pd = rebuilt(trace.engine, node, node.attr, weights=layout)
    if isinstance(pd, Refusal) or misfit(pd, node, node.inputs):
        return
    if pd.desc_of("dst") != node.dst.desc:
        return
    source = origin(graph, old)
    if source.desc.dims != layout.dims:
        return
    packed, nodes = graph.recorded(lambda: trace.reorder(source, layout))
    packed_node = node.with_pd(pd, inputs={**node.inputs, PACKABLE: packed})
    packed_node.fused = [*node.fused, f"weights as {tag}: few rows"]
    graph.replace([], packed_node, at=node)
    graph.insert(nodes, before=packed_node)
