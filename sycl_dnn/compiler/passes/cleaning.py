# SPDX-License-Identifier: Apache-2.0
"""Common-subexpression and dead-code elimination, and recognition of gated activations."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core
from sycl_dnn._core import algorithm
from sycl_dnn.compiler.post_ops import ELEMENTWISE, Op, attached, chain_on, linear, simplified
from sycl_dnn.compiler.relayout import same_places, same_span
from sycl_dnn.lower.packed_weights import source_of_copy
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, moved
from sycl_dnn.onednn import dtypes, shared_descriptors
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Storage, Tensor


def clean(graph: Graph) -> None:
    """Drop dead nodes, duplicates, and redundant copies."""
    graph.drop_dead()
    changed = True
    while changed:
        changed = _merge_equal(graph) | _skip_copies(graph)
        graph.drop_dead()


def _node_key(node: Node) -> Any:
    inputs = [(n, id(t.storage), t.offset, t.desc) for n, t in sorted(node.inputs.items())]
    # Values that are recomputed later to save memory must not be merged.
    outs = [
        (n, t.offset, t.desc, t.storage.desc, t.storage.repeat)
        for n, t in sorted(node.outputs.items())
    ]
    return (*node.work, tuple(inputs), tuple(outs))


def _merge_equal(graph: Graph) -> bool:
    """Merge nodes with equal work on equal inputs; return whether there were any."""
    seen: dict[Any, Node] = {}
    unsteady, has_merged = graph.unsteady(), False
    for node in graph.nodes:
        if node.pd is None or not _is_pure(node, unsteady):
            continue
        first = seen.setdefault(_node_key(node), node)
        if first is not node and all(graph.is_inner(t.storage) for t in node.outputs.values()):
            merged = [(t.storage, first.outputs[n].storage) for n, t in node.outputs.items()]
            graph.drop([node])
            for old, new in merged:
                graph.redirect(old, new)
            has_merged = True
    return has_merged


def _is_pure(node: Node, unsteady: set[Storage]) -> bool:
    if not unsteady:
        return True
    tensors = (*node.inputs.values(), *node.outputs.values())
    return unsteady.isdisjoint(t.storage for t in tensors)


def _skip_copies(graph: Graph) -> bool:
    """Replace uses of an identical copy by the original; return whether there was one."""
    unsteady, changed = graph.unsteady(), False
    for node in graph.walk():
        is_copy = node.row == "reorder" and len(node.inputs) == 1 and not len(node.post_ops)
        if not is_copy or not _is_pure(node, unsteady):
            continue
        src, dst = node.inputs["src"], node.outputs["dst"]
        if not graph.is_inner(dst.storage) or dst.offset or _is_for_arrays(graph, src, dst):
            continue
        if _is_same(src.desc, dst.desc) and dst.desc == dst.storage.desc:
            graph.drop([node])
            graph.redirect(dst.storage, src.storage, src.offset)
            changed = True
        else:
            changed |= _read_original(graph, node, unsteady)
    return changed


def _is_for_arrays(graph: Graph, src: Tensor, dst: Tensor) -> bool:
    """Whether a call over arrays reads the copy of a memory, which it cannot read directly."""
    readers = graph.readers(dst.storage) if src.storage.memory is not None else []
    return any(r.function is not None for r in readers)


def _is_same(a: Any, b: Any) -> bool:
    return a.data_type == b.data_type and same_places(a, b) and layout.is_dense(b)


def _read_original(graph: Graph, node: Node, unsteady: set[Storage]) -> bool:
    """Read through a lossless copy of a copy; return whether that was possible."""
    src, dst = node.inputs["src"], node.outputs["dst"]
    first = source_of_copy(graph, src)
    if first is None or first.storage in unsteady:
        return False
    wide = dtypes.promote(first.dtype, src.dtype) == src.dtype or dst.dtype == src.dtype
    if not wide or not first.is_float or first.desc.dims != src.desc.dims:
        return False
    if first.dtype != src.dtype and dst.dtype not in (src.dtype, first.dtype):
        return False
    copy, nodes = graph.recorded(lambda: graph.trace.reorder(first, dst.desc))
    if len(nodes) != 1:
        return False
    nodes[0].outputs = {"dst": moved(copy, dst.storage, dst.offset)}
    graph.replace([], nodes[0], at=node)
    return True


# --- Gated activations: swish and piecewise variants, written as products

A = algorithm
_CLIP = (A.eltwise_clip, A.eltwise_clip_v2)
#: Maximum number of steps of a gate.
_MAX_STEPS = 4


def merge_gates(graph: Graph) -> None:
    """Replace products of a value and a gate computed from it by one element-wise function."""
    for node in graph.walk():
        is_product = node.row == "binary" and node.params["algorithm"] is A.binary_mul
        if not is_product or len(node.post_ops):
            continue
        a, b = node.inputs["src_0"], node.inputs["src_1"]
        for value, gate in ((a, b), (b, a)):
            merged = _gated_node(graph, node, value, gate)
            if merged is not None:
                graph.replace([], merged, at=node)
                break
    graph.drop_dead()  # gates whose readers would prevent fusion


def _gated_node(graph: Graph, node: Node, value: Tensor, gate: Tensor) -> Node | None:
    dst = node.dst
    if value.desc != dst.desc or not value.is_float:
        return None
    steps = _gate_ops(graph, value, gate)
    ops = None if steps is None else _product_ops(steps)
    if ops is None:
        return None
    inputs = {"src_0": value, "src_1": value}
    attr = attached(_core.PrimitiveAttr(), ops, inputs)
    engine = graph.trace.engine
    # A maximum with itself: element-wise primitives have no fast post-ops.
    params = {"algorithm": A.binary_max, "src0": value.desc, "src1": value.desc, "dst": dst.desc}
    pd = shared_descriptors.shared.described(engine, "binary", params, attr)
    return Node(pd, inputs, {"dst": dst}, pd.parameters, fused=[ops[0].label])


def _gate_ops(graph: Graph, value: Tensor, gate: Tensor) -> tuple[Op, ...] | None:
    """Return the element-wise operations from the value to its gate; None if there are others."""
    ops: tuple[Op, ...] = ()
    for _ in range(_MAX_STEPS):
        if gate.storage is value.storage:
            is_it = gate.offset == value.offset and same_span(gate.desc, value.desc)
            return ops if is_it else None
        maker = graph.writer(gate)
        if maker is None or maker.row not in ELEMENTWISE or len(graph.readers(gate.storage)) > 1:
            return None
        name = "src" if "src" in maker.inputs else "src_0"
        chain = chain_on(maker, name)
        if isinstance(chain, Refusal) or any(op.kind != "eltwise" for op in chain.ops):
            return None
        if not same_span(chain.result.desc, gate.desc) or chain.result.offset != gate.offset:
            return None
        ops, gate = (*chain.ops, *ops), chain.source
    return None


def _product_ops(steps: tuple[Op, ...]) -> tuple[Op, ...] | None:
    """Return the product of a value and its gate as operations on the value."""
    steps = simplified(steps)
    first = linear(1.0)
    if len(steps) > 1 and steps[0].algorithm is A.eltwise_linear:
        first, steps = steps[0], steps[1:]
    if len(steps) != 1:
        return None
    kind, alpha, beta = steps[0].algorithm, steps[0].alpha, steps[0].beta
    if kind is A.eltwise_logistic and not first.beta:
        return (Op("eltwise", A.eltwise_swish, first.alpha),)
    if kind is A.eltwise_hardsigmoid:
        shift = alpha * first.beta + beta
        return (Op("eltwise", A.eltwise_hardswish, alpha * first.alpha, shift),)
    if kind in _CLIP and alpha == 0 and beta > 0:
        # The gate saturates at beta, hardswish's at 1.
        inner = Op("eltwise", A.eltwise_hardswish, first.alpha / beta, first.beta / beta)
        return simplified((inner, linear(beta)))
    return None
