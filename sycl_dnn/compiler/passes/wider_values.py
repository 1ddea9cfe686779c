# SPDX-License-Identifier: Apache-2.0
"""Values as slices of wider ones: joined products, and results written into concatenations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sycl_dnn._core import MemoryDesc
from sycl_dnn.compiler.rebuilding import origin, rebuilt, with_weights
from sycl_dnn.compiler.relayout import in_order, same_span
from sycl_dnn.functional.shape.joining import has_short_rows, interleave, join
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, has_only_post_ops, moved
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import axis_order, reshape

#: Descriptor parameters whose names differ from the execution arguments.
_PARAMETERS = {"src_0": "src0", "src_1": "src1", "src_2": "src2"}


@dataclass(frozen=True)
class Place:
    """The position of a dense storage's elements in a wider storage.

    Attributes
    ----------
    storage : Storage
        The wider storage.
    axes : tuple of (size, stride, stride in the wider one)
        Of the original storage, outermost first.
    offset : int
        Of the first element, in elements.
    """

    storage: Storage
    axes: tuple[tuple[int, int, int], ...]
    offset: int

    def of(self, tensor: Tensor) -> Tensor | None:
        """Return the same view at the new position; None if there is none."""
        desc = tensor.desc
        if not desc.is_plain:
            return None
        size = dtypes.bits_of(tensor.dtype) // 8
        start = tensor.offset // size
        ends = [start // s % n for n, s, _ in self.axes]
        strides = []
        for n, stride in zip(desc.dims, desc.strides, strict=True):
            at = next((i for i, (_, s, _) in enumerate(self.axes) if stride >= s), None)
            if at is None or (n > 1 and stride % self.axes[at][1]):
                return None
            step = stride // self.axes[at][1]
            ends[at] += (n - 1) * step
            strides.append(max(step * self.axes[at][2], 1))
        if any(end >= n for end, (n, _, _) in zip(ends, self.axes, strict=True)):
            return None
        shift = sum(start // s % n * t for n, s, t in self.axes)
        new_desc = layout.strided(desc.dims, dtypes.NAMES[desc.data_type], strides)
        return moved(tensor, self.storage, (self.offset + shift) * size, new_desc)


def place(old: MemoryDesc, storage: Storage, strides: Sequence[int], offset: int) -> Place:
    """Return the position of a dense value whose axes have these strides in a wider storage."""
    axes: list[tuple[int, int, int]] = []
    for axis in in_order(old):
        n, s, t = old.dims[axis], old.strides[axis], strides[axis]
        if n == 1:
            continue
        if axes and axes[-1][1] == s * n and axes[-1][2] == t * n:
            n *= axes.pop()[0]
        axes.append((n, s, t))
    return Place(storage, tuple(axes) or ((1, 1, 1),), offset)


def with_places(node: Node, places: dict[int, Place]) -> Node | Refusal:
    """Return a node with relocated storages at their new positions, or why not.

    ``places`` is keyed by ``id`` of the original storage.
    """
    views: dict[str, Tensor] = {}
    for name, tensor in (*node.inputs.items(), *node.outputs.items()):
        new_place = places.get(id(tensor.storage))
        if new_place is None:
            continue
        moved_view = new_place.of(tensor)
        if moved_view is None:
            return Refusal(f"{node.row} reads across the parts")
        views[name] = moved_view
    inputs = {n: views.get(n, t) for n, t in node.inputs.items()}
    outputs = {n: views.get(n, t) for n, t in node.outputs.items()}
    if node.pd is None:
        return _with_views(node, inputs, outputs)
    if any(n.startswith("attr_") for n in views):
        return Refusal(f"{node.row} has it as the operand of a post-op")
    changes = {_PARAMETERS.get(n, n): t.desc for n, t in (views | outputs).items()}
    changes = {n: d for n, d in changes.items() if n in node.params}
    if "srcs" in node.params:
        changes["srcs"] = [t.desc for n, t in inputs.items() if n.startswith("multiple_src")]
    engine = next(iter(outputs.values())).trace.engine
    pd = rebuilt(engine, node, node.attr, **changes)
    if isinstance(pd, Refusal):
        return pd
    for name, tensor in (*inputs.items(), *outputs.items()):
        required = pd.desc_of(name)
        if required and tensor.desc != required:
            return Refusal(f"{node.row} would require {name} in another layout")
    return node.with_pd(pd, inputs=inputs, outputs=outputs)


def _with_views(node: Node, inputs: dict[str, Tensor], outputs: dict[str, Tensor]) -> Any:
    """Return a kernel over relocated tensors, or why their views would differ."""
    if not is_kernel(node.primitive):
        return Refusal(f"{node.row} reads whole arrays")
    pairs = [(node.inputs[n], t) for n, t in inputs.items()]
    pairs += [(node.outputs[n], t) for n, t in outputs.items()]
    if any(old is not new and _strides_of_axes(old) != _strides_of_axes(new) for old, new in pairs):
        return Refusal(f"{node.row} is written for arrays without gaps")
    return replace(node, inputs=inputs, outputs=outputs)


def _strides_of_axes(tensor: Tensor) -> list[int]:
    return [s for n, s in zip(tensor.shape, tensor.strides, strict=True) if n != 1]


# --- Products of one source with several constant weights, such as queries, keys and values

_OPERANDS = {"src", "weights", "bias"}


def join_products(graph: Graph) -> None:
    """Merge products with the same source if all readers can read slices."""
    constants = constant_ids(graph)
    groups: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if _is_candidate(graph, node, constants):
            src = node.inputs["src"]
            views = id(src.storage), src.offset, src.desc
            key = (*views, repr(node.attr), node.dst.dtype, node.dst.storage.repeat)
            groups.setdefault(key, []).append(node)
    for group in groups.values():
        while len(group) > 1:
            group = _merge_group(graph, group)


def _is_candidate(graph: Graph, node: Node, constants: AbstractSet[int]) -> bool:
    if node.row != "matmul" or not node.has_dst or node.is_rounded:
        return False
    coefficients = [t for n, t in node.inputs.items() if n != "src"]
    if set(node.inputs) - _OPERANDS or any(id(t.storage) not in constants for t in coefficients):
        return False
    dst = node.dst
    row_major = layout.row_major(dst.desc.dims, dst.dtype)
    is_whole = not dst.offset and dst.desc == row_major and same_span(row_major, dst.storage.desc)
    is_matrix = dst.desc.ndims == 2 and dst.is_float and dst.desc.size
    return bool(is_matrix) and is_whole and graph.is_inner(dst.storage)


def _merge_group(graph: Graph, group: list[Node]) -> list[Node]:
    """Merge a group; return the part that may still be merged, empty when done."""
    first, last = graph.place(group[0]), graph.place(group[-1])
    writers = graph.writers(group[0].inputs["src"].storage)
    if any(first < graph.place(w) < last for w in writers):
        return []
    wide = _wide_result(group)
    places = _places(group, wide)
    readers: dict[Node, Node] = {}
    for node in group:
        part_readers = _read_as_parts(graph, node, places)
        if isinstance(part_readers, Refusal):
            node.refused.append(f"one product for several: {part_readers}")
            return [n for n in group if n is not node]
        readers |= part_readers
    merged = _product(graph, group, wide)
    if isinstance(merged, Refusal):
        group[0].refused.append(f"one product for several: {merged}")
        return []
    product, nodes = merged
    for old in sorted(readers, key=graph.place):
        graph.replace([], readers[old], at=old)
    later = _dependencies_after(graph, group[0], nodes)
    graph.replace(group[1:], product, at=group[0])
    graph.drop(later)
    graph.insert([*later, *nodes], before=product)
    return []


def _dependencies_after(graph: Graph, first: Node, nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes after ``first`` that the given nodes depend on."""
    makers: set[Node] = set()
    stack = list(nodes)
    while stack:
        read = [t.storage for t in stack.pop().inputs.values()]
        writers = {w for s in read for w in graph.writers(s) if graph.place(w) > graph.place(first)}
        stack += writers - makers
        makers |= writers
    return sorted(makers, key=graph.place)


def _wide_result(group: list[Node]) -> Tensor:
    dst = group[0].dst
    shape = (dst.desc.dims[0], sum(n.dst.desc.dims[1] for n in group))
    return Tensor(dst.trace, Storage(d := layout.row_major(shape, dst.dtype)), d, dst.dtype, shape)


def _places(group: list[Node], wide: Tensor) -> dict[int, Place]:
    """Return the position of each result's storage in the wide one, by id."""
    places, start = {}, 0
    for node in group:
        desc = node.dst.desc
        places[id(node.dst.storage)] = place(desc, wide.storage, wide.strides, start)
        start += desc.dims[1]
    return places


def _read_as_parts(
    graph: Graph, node: Node, places: dict[int, Place]
) -> dict[Node, Node] | Refusal:
    """Return the readers of a result with their replacements, or why one cannot be replaced."""
    replacements: dict[Node, Node] = {}
    for reader in graph.readers(node.dst.storage):
        replacement = with_places(reader, places)
        if isinstance(replacement, Refusal):
            return replacement
        replacements[reader] = replacement
    return replacements


def _product(graph: Graph, group: list[Node], wide: Tensor) -> tuple[Node, list[Node]] | Refusal:
    """Return the merged product and the nodes for its operands, or why there is none."""
    first = group[0]
    (weights, bias), new = graph.recorded(lambda: _operands(graph, group))
    node = Node(
        first.pd, {n: t for n, t in first.inputs.items() if n != "bias"}, {"dst": wide},
        first.params | {"dst": wide.desc, "bias": None}, refused=list(first.refused),
    )  # fmt: skip
    changed = with_weights(graph, node, weights, bias)
    if isinstance(changed, Refusal):
        return changed
    product, packing = changed
    sizes = ", ".join(str(n.dst.desc.dims[1]) for n in group)
    product.fused = [*first.fused, f"{len(group)} products of one source ({sizes} outputs)"]
    return product, [*new, *packing]


def _operands(graph: Graph, group: list[Node]) -> tuple[Tensor, Tensor | None]:
    """Return weights (K, sum of N) and bias (sum of N,) in float32."""
    trace = graph.trace

    def wide(tensor: Tensor) -> Tensor:
        return trace.convert(origin(graph, tensor), "float32")

    weights = join([wide(n.inputs["weights"]) for n in group], 1)
    if not any("bias" in n.inputs for n in group):
        return weights, None
    parts = []
    for node in group:
        n = node.dst.desc.dims[1]
        is_given = "bias" in node.inputs
        bias = wide(node.inputs["bias"]) if is_given else trace.literal(np.zeros(n))
        parts.append(reshape(bias, (n,)))
    return weights, join(parts, 0)


# --- Inputs of concatenations written in place


def write_into_parts(graph: Graph) -> None:
    """Let primitives write into concatenation results; other inputs are copied there.

    Parts without gaps are left to ``write_dense_parts``.
    """
    _write_parts(graph, lambda node: is_free(graph, node) and not _is_dense(node))


def write_dense_parts(graph: Graph) -> None:
    """Let primitives and kernels write into concatenation results.

    Runs after kernels are fused, since kernels write such parts like whole arrays.
    """
    _write_parts(graph, lambda node: is_free(graph, node))


def _write_parts(graph: Graph, is_wanted: Callable[[Node], bool]) -> None:
    seen: set[Node] = set()
    # Concatenations of one value: moving it replaces those that come later.
    while new := [n for n in graph.nodes if n.row == "concat" and n not in seen]:
        seen.update(new)
        for node in graph.walk(new):
            if is_wanted(node):
                _write_inputs(graph, node)


def _is_dense(node: Node) -> bool:
    """Whether no part of a concatenation has gaps in the result."""
    dst = node.dst
    return all(
        t.strides is not None
        and dst.strides is not None
        and _strides_of_axes(t) == _strides_of_axes(dst.view(t.shape, dst.strides))
        for t in node.inputs.values()
    )


def is_free(graph: Graph, node: Node) -> bool:
    """Whether the result of a concatenation may be written early, piece by piece."""
    dst = node.dst
    is_whole = not dst.offset and same_span(dst.desc, dst.storage.desc)
    is_own = dst.storage.argument is None and graph.n_writers(dst.storage) == 1
    is_plain = has_only_post_ops(node.attr) and not len(node.post_ops)
    return is_whole and is_own and is_plain and not graph.is_locked(node)


def _write_inputs(graph: Graph, node: Node) -> None:
    axis, start = node.params["concat_dimension"], 0
    left: list[tuple[Tensor, int]] = []
    moved = 0
    for name, src in list(node.inputs.items()):
        offset = start * node.dst.desc.strides[axis]
        start += src.desc.dims[axis]
        refusal = _move_input(graph, node, name, offset)
        if refusal is None:
            moved += 1
            continue
        left.append((src, offset))
        node.refused.append(f"{name}: {refusal}")
    if moved:
        copies = [_part_copy(graph, node, src, offset) for src, offset in left]
        graph.insert(copies, before=node)
        graph.drop([node])


def _move_input(graph: Graph, node: Node, name: str, offset: int) -> Refusal | None:
    """Redirect the writer and readers of an input to its slice of the result, or say why not."""
    src, dst = node.inputs[name], node.dst
    writers = graph.writers(src.storage)
    is_own = src.storage.argument is None and src.storage.memory is None
    if not writers or not is_own or graph.is_final(src.storage):
        return Refusal("no separate step makes it")
    if src.offset or not same_span(src.desc, src.storage.desc) or src.dtype != dst.dtype:
        return Refusal("it is a part of another value")
    if any(graph.place(writer) > graph.place(node) for writer in writers):
        return Refusal("a later step accumulates into it")
    if sum(t.storage is src.storage for t in node.inputs.values()) > 1:
        return Refusal("it is an input twice")
    target = place(src.desc, dst.storage, dst.desc.strides, offset)
    users = [*writers, *(n for n in graph.readers(src.storage) if n not in (node, *writers))]
    moved_users: list[Node] = []
    for user in users:
        moved_user = with_places(user, {id(src.storage): target})
        if isinstance(moved_user, Refusal):
            return moved_user
        if moved_user.row == "concat" and _has_gaps(moved_user):
            return Refusal("oneDNN's concatenation on GPUs assumes that separated rows are dense")
        moved_users.append(moved_user)
    for old, new in zip(users, moved_users, strict=True):
        graph.replace([], new, at=old)
    moved_users[0].fused.append("writes its part of a concatenation")
    return None


def _has_gaps(node: Node) -> bool:
    """Whether a concatenation on a GPU reads or writes tensors with gaps.

    Fault concat-gaps-gpu: gaps of a result are overwritten. Gaps in a source only force the
    reference implementation.
    """
    tensors = [*node.inputs.values(), *node.outputs.values()]
    if tensors[0].trace.is_on_cpu:
        return False
    # A dense tensor spans exactly its elements.
    return any(
        t.desc.size != math.prod(t.desc.dims) * dtypes.bits_of(t.dtype) // 8 for t in tensors
    )


def _part_copy(graph: Graph, node: Node, src: Tensor, offset: int) -> Node:
    """Return a node that copies an input into its slice of the result."""
    dst = node.dst
    part = dst.view(src.desc.dims, dst.desc.strides, offset)
    _, nodes = graph.recorded(lambda: graph.trace.written_into(dst, part, src))
    nodes[0].fused = ["a part of a concatenation"]
    nodes[0].refused = list(node.refused)
    return nodes[0]


# --- Concatenations of short rows


def interleave_short_rows(graph: Graph) -> None:
    """Replace concatenations of short rows, each of which oneDNN would copy separately."""
    for node in graph.walk():
        if node.row == "concat" and not graph.is_locked(node) and node.part == (0, 1):
            _interleave(graph, node)


def _interleave(graph: Graph, node: Node) -> None:
    parts, axis, dst = [*node.inputs.values()], node.params["concat_dimension"], node.dst
    is_plain = has_only_post_ops(node.attr) and not len(node.post_ops)
    if not is_plain or not has_short_rows(parts, axis) or not _has_dense_rows(dst, parts[0], axis):
        return
    _, nodes = graph.recorded(lambda: interleave(parts, axis, dst))
    nodes[-1].fused, nodes[-1].refused = node.fused, node.refused
    for new in nodes:
        new.is_repeated = node.is_repeated
    graph.insert(nodes, before=node)
    graph.drop([node])


def _has_dense_rows(dst: Tensor, part: Tensor, axis: int) -> bool:
    """Whether the rows of a concatenation are dense, in the axis order of its parts."""
    if dst.strides is None or axis_order(dst, dst.ndim) != axis_order(part, part.ndim):
        return False
    dense = layout.like(dst.desc, dst.dtype).strides
    return all(s == d for s, d in zip(dst.strides, dense, strict=True) if d <= dense[axis])
