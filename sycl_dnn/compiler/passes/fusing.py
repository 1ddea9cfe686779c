# SPDX-License-Identifier: Apache-2.0
"""Fusion of element-wise nodes into preceding primitives as post-ops.

This is the only place that decides which nodes run as one, so another fusing library could be
integrated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sycl_dnn import _core
from sycl_dnn._core import MemoryDesc, algorithm, data_type, format_kind
from sycl_dnn.compiler.post_ops import (
    ELEMENTWISE,
    Chain,
    Op,
    attached,
    chain_on,
    simplified,
    with_post_ops,
)
from sycl_dnn.compiler.rebuilding import kept_layouts, rebuilt, repacked
from sycl_dnn.compiler.relayout import carried, relaid, same_places, same_span
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, moved
from sycl_dnn.onednn import dtypes, faults
from sycl_dnn.onednn.shared_descriptors import post_ops_of
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Storage, Tensor

#: Primitives with compiled kernels for post-ops, at least in some cases.
PRODUCERS = frozenset(
    (
        "convolution_forward", "deconvolution_forward", "group_normalization_forward",
        "layer_normalization_forward", "matmul", "pooling_forward", "resampling_forward",
        "softmax_forward",
    )
)  # fmt: skip
#: Primitives that can write a permuted result.
_RELAYING = frozenset(("matmul", "softmax_forward", "convolution_forward"))
_FLOATS = (data_type.f32, data_type.bf16, data_type.f16)
#: Label of a node that directly writes a reordered result.
_RELAID = "reorder"
#: Maximum number of post-ops per primitive in oneDNN.
_MAX_POST_OPS = 30


def fuse(graph: Graph) -> None:
    """Fuse until no more fusions are possible."""
    node = graph.after(None)
    while node is not None:
        before = graph.before(node)
        is_fused = node.row in PRODUCERS and _fused_once(graph, node)
        # A fused node replaces the original.
        node = graph.after(before if is_fused else node)


def _fused_once(graph: Graph, node: Node) -> bool:
    """Fuse the readers of a node's result into it; return whether that was possible."""
    readers = _readers(graph, node)
    if not readers:
        return False
    fused: Node | Refusal
    if is_overwritten(graph, node, readers[0]):
        fused, n = Refusal("an input is overwritten in between"), 0
    else:
        fused, n = _absorbed(graph, node, readers)
    if isinstance(fused, Refusal):
        node.refused.append(f"{readers[0].row}: {fused}")
        return False
    last = readers[n - 1]
    fused.is_rounded = is_narrowing(last)
    graph.replace([node, *readers[: n - 1]], fused, at=last)
    return True


def _readers(graph: Graph, node: Node) -> list[Node]:
    """Return the element-wise nodes that may be fused into a node, each the only reader.

    At most as many as a primitive has post-ops: a fused node is asked again for further ones.
    """
    fusible: list[Node] = []
    last, is_rounded = node, node.is_rounded
    while last.has_dst and not is_rounded and graph.is_inner(last.dst.storage):
        if len(fusible) == _MAX_POST_OPS:
            break
        readers = graph.readers(last.dst.storage)
        if last.dst.desc.data_type not in _FLOATS or len(readers) != 1:
            break
        reader = readers[0]
        if reader.row not in ELEMENTWISE or graph.is_locked(reader):
            break
        if fusible and (
            _is_relayout(reader) or is_overwritten(graph, last, reader, node, *fusible)
        ):
            break
        fusible.append(reader)
        last, is_rounded = reader, is_narrowing(reader)
        if _is_relayout(reader):
            break
    return fusible


def _is_relayout(reader: Node) -> bool:
    """Whether a node is a copy to other places, which oneDNN often refuses to fuse."""
    if reader.row != "reorder":
        return False
    return not same_places(reader.inputs["src"].desc, reader.dst.desc)


def is_narrowing(copy: Node) -> bool:
    """Whether a node is a copy to fewer bits."""
    if copy.row != "reorder":
        return False
    widths = [dtypes.bits_of(t.dtype) for t in (copy.inputs["src"], copy.outputs["dst"])]
    return widths[1] < widths[0]


def primary(node: Node, dst: Tensor) -> str | None:
    """Return the name of the only input of a node that views ``dst``; None if there are several."""
    names = [n for n, t in node.inputs.items() if t.storage is dst.storage]
    if names == ["src_0", "src_1"] and node.row == "binary":
        a, b = node.inputs["src_0"], node.inputs["src_1"]
        # With different views, one would be an operand that is no longer written.
        return "src_0" if a.desc == b.desc and a.offset == b.offset else None
    return names[0] if len(names) == 1 else None


@dataclass
class Draft:
    """A node with the work of its readers, before its descriptor is created."""

    node: Node
    inputs: dict[str, Tensor]
    dst: Tensor
    #: Operations after those of the node.
    ops: tuple[Op, ...]
    #: Names of the work of each reader.
    labels: list[str]

    @classmethod
    def of(cls, node: Node) -> Draft:
        """Return a draft without additional work."""
        return cls(node, dict(node.inputs), node.dst, (), [])

    def attached(self) -> tuple[Any, dict[str, Tensor]]:
        """Return the attribute and the inputs with those of the operations."""
        inputs = dict(self.inputs)
        return attached(self.node.attr, self.ops, inputs), inputs


def _absorbed(graph: Graph, node: Node, readers: Sequence[Node]) -> tuple[Node | Refusal, int]:
    """Return one node that replaces a node and its first readers, or why there is none."""
    if _is_relayout(readers[0]):
        fused = _relaid_node(graph, node, readers[0])
        if not isinstance(fused, Refusal):
            return fused, 1
    # Creating a descriptor is slow, so all readers are tried together before the first alone.
    for n_readers in dict.fromkeys((len(readers), 1)):
        draft, n, refusal = Draft.of(node), 0, None
        while n < n_readers and (refusal := _extend(draft, readers[n])) is None:
            n += 1
        if not n:
            return refusal or Refusal(""), 0
        fused = built(graph, draft, readers[n - 1])
        if isinstance(fused, Node):
            report(fused, node, readers[:n], node.fused, draft.labels)
            return fused, n
    return fused, 0


def report(
    fused: Node,
    node: Node,
    readers: Sequence[Node],
    own_names: Sequence[str],
    labels: Sequence[str],
) -> None:
    """Name the fusions of a fused node: the work of a node and of its readers."""
    fused.fused = list(own_names)
    fused.refused = list(node.refused)
    for reader, label in zip(readers, labels, strict=True):
        fused.fused += [label] if label == _RELAID else [*reader.fused, label]
        fused.refused += reader.refused


def _extend(draft: Draft, reader: Node) -> Refusal | None:
    """Add the work of a reader to a draft; return why that is impossible."""
    dst, name = draft.dst, primary(reader, draft.dst)
    if name is None:
        return Refusal("it reads the result twice")
    chain = chain_on(reader, name)
    if isinstance(chain, Refusal):
        return chain
    source = reader.inputs[name]
    if source.offset != dst.offset or not same_span(source.desc, dst.desc):
        return Refusal("it reads a part of the result")
    if chain.result.desc.data_type not in _FLOATS:
        return Refusal("the result has no floating-point dtype")
    ops = on_target(dst.desc, source.desc, chain)
    return ops if isinstance(ops, Refusal) else with_work(draft, chain, ops)


def extended(graph: Graph, draft: Draft, last: Node, node: Node) -> list[Node]:
    """Add the work of the readers of ``last``, the last of a node's draft; return those added."""
    added: list[Node] = []
    for reader in _readers(graph, last):
        # `_readers` has looked at all but the first.
        if is_overwritten(graph, node, reader) or not added and is_overwritten(graph, last, reader):
            break
        if _is_relayout(reader) or _extend(draft, reader) is not None:
            break
        added.append(reader)
    return added


def is_overwritten(graph: Graph, node: Node, reader: Node, *others: Node) -> bool:
    """Whether a node between the two overwrites an input of the first, or of others before it."""
    inputs = (t for n in (node, *others) for t in n.inputs.values())
    return any(graph.is_written_between(t.storage, node, reader) for t in inputs)


def on_target(target: MemoryDesc, frame: MemoryDesc, chain: Chain) -> tuple[Op, ...] | Refusal:
    """Return the operations with operands arranged for ``target``."""
    ops = []
    for op in chain.ops:
        if op.operand is None:
            ops.append(op)
            continue
        desc = carried(op.desc, frame, target)
        if desc is None:
            return Refusal(f"the operand of {op.label} does not match the result")
        ops.append(replace(op, desc=desc))
    return tuple(ops)


def with_work(draft: Draft, chain: Chain, ops: tuple[Op, ...]) -> Refusal | None:
    """Add operations to a draft; return why that is impossible, with the draft as it was."""
    work = tuple(op for op in ops if op.kind != "convert")
    work = simplified((*draft.ops, *work))
    if len(draft.node.post_ops) + len(work) > _MAX_POST_OPS:
        return Refusal("there are too many post-ops")
    draft.ops = work
    draft.dst = destination(draft.dst, chain.result)
    draft.labels.append(chain.label)
    return None


def destination(dst: Tensor, target: Tensor) -> Tensor:
    """Return the destination of the reader's result with the axes of the node's."""
    desc = dst.desc
    if desc.data_type != target.desc.data_type:
        desc = layout.strided(dst.desc.dims, target.dtype, dst.desc.strides)
    return Tensor(dst.trace, target.storage, desc, target.dtype, dst.shape, target.offset)


def built(
    graph: Graph, draft: Draft, reader: Node, is_constant: bool = False, **changes: Any
) -> Node | Refusal:
    """Return the node of a draft; insert the packing of its weights before the last reader.

    ``is_constant``: whether the weights are known to be constant. ``changes`` are parameters.
    """
    node, result = draft.node, draft.dst
    attr, inputs = draft.attached()
    if fault := faults.spoils(node.row, result.desc, post_ops_of(attr)):
        return Refusal(f"oneDNN computes this post-op of {node.row} wrongly ({fault.name})")
    changes["dst"] = _requested(node, result.desc)
    pd = rebuilt(node, attr, kept_layouts(inputs, result), **changes)
    if isinstance(pd, Refusal):
        return pd
    fused = node.with_pd(pd, inputs=inputs, outputs={"dst": result})
    packed = repacked(graph, fused, is_constant)
    if isinstance(packed, Refusal):
        return packed
    fused, nodes = packed
    graph.insert(nodes, before=reader)
    return fused


def _requested(node: Node, dst: MemoryDesc) -> MemoryDesc:
    """Return the layout to request for a result: "any" if the node left it to oneDNN."""
    first = node.params.get("dst")
    is_open = first is not None and first.format_kind is format_kind.any
    return layout.any_layout(dst.dims, dtypes.NAMES[dst.data_type]) if is_open else dst


def _relaid_node(graph: Graph, node: Node, reader: Node) -> Node | Refusal:
    """Return the node with the layout change of a following copy applied to its result."""
    src, dst = reader.inputs["src"], reader.outputs["dst"]
    if node.row not in _RELAYING or reader.attr.calls:
        return Refusal(f"{node.row} cannot write another layout")
    if dst.desc.data_type not in _FLOATS or src.offset != node.dst.offset:
        return Refusal("the copy is of a part, or makes integers")
    if not (src.desc.is_plain and dst.desc.is_plain and layout.is_dense(src.desc)):
        return Refusal("the copy is of a part, or into a layout of oneDNN's own")
    desc = relaid(node.dst.desc, src.desc, dst.desc, dtypes.NAMES[dst.desc.data_type])
    if desc is None:
        return Refusal("the axes of the copy do not correspond")
    result = Tensor(dst.trace, dst.storage, desc, dst.dtype, node.dst.shape, dst.offset)
    draft = Draft.of(node)
    draft.dst = result
    fused = built(graph, draft, reader)
    if isinstance(fused, Node):
        report(fused, node, [reader], node.fused, [_RELAID])
    return fused


# --- In-place addition of residuals: the ``sum`` post-op

#: Primitives that can accumulate into their result.
_ROWS = ("convolution_forward", "deconvolution_forward", "matmul")


def sum_in_place(graph: Graph) -> None:
    """Accumulate into residuals that have no later readers."""
    for node in graph.walk():
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
    return is_only and _is_last_use(graph, other.storage, node)


def _is_last_use(graph: Graph, storage: Storage, node: Node) -> bool:
    """Whether only nodes use a value, none of them after this one."""
    if storage.argument is not None or storage.memory is not None or graph.is_final(storage):
        return False
    if sum(t.storage is storage for t in node.inputs.values()) > 1:
        return False
    last = graph.place(node)
    users = (*graph.readers(storage), *graph.writers(storage))
    # Calls over arrays keep their results.
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
    layouts = inputs | {"dst": node.dst}
    pd = rebuilt(node, with_post_ops(node.attr, post_ops), layouts)
    if isinstance(pd, Refusal):
        return False
    summed = node.with_pd(pd, inputs=inputs)
    graph.replace([], summed, at=node)
    if graph.is_final(node.dst.storage):
        graph.redirect(residual.storage, node.dst.storage)
    else:
        graph.rewire(summed, outputs={"dst": moved(node.dst, residual.storage, 0)})
        graph.redirect(node.dst.storage, residual.storage)
    return True
