# SPDX-License-Identifier: Apache-2.0
"""Fusion of generated kernels with each other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple

from sycl_dnn.compiler.passes.kernel_units import Form, Unit, Units, rebuilt, strides_of
from sycl_dnn.ir.node import Node as Value
from sycl_dnn.ir.node import leaf
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.node_lowering import Lowering
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Storage, Tensor

#: Limits of one kernel: arrays that it reads and writes, and operations.
_MAX_ARRAYS = 16
_MAX_TERMS = 96
#: Bytes that a kernel accesses in any order in less time than a launch takes.
_SMALL = 1 << 15
#: Least elements of rows that are read as fast with a distance between them as without.
_LONG_ROW = 16


def fuse_kernels(graph: Graph) -> None:
    """Fuse kernels that read each other's results where the order of steps allows it."""
    fusion = Fusion(graph)
    for node in graph.nodes:
        unit = fusion.units.of(node)
        if unit is not None:
            fusion.add(unit)
    fusion.rewrite()


class _Surroundings(NamedTuple):
    """The state that a group shares with the other nodes of a graph."""

    #: Nodes that it depends on, or that must have run before it writes; and those after it.
    earlier: dict[Node, None]
    later: dict[Node, None]
    #: Storage and offset of the arrays that it reads from outside.
    reads: dict[tuple[Storage, int], None]
    #: Its results that others read.
    results: list[Storage]
    #: What joined groups must share: whether they are constant, and their repeats.
    kind: tuple[bool, frozenset[int]]


class Group:
    """Units that become one kernel, or a few.

    units : in execution order
    anchor : the place in the order of nodes where the units run
    around : only of groups that may be joined
    axes : the reduced axes
    shape : of reductions' operands, or of element-wise results
    kept : the shape of reductions' results
    """

    around: _Surroundings
    axes: tuple[int, ...] | None
    shape: tuple[int, ...]
    kept: tuple[int, ...]

    def __init__(self, unit: Unit, anchor: int) -> None:
        self.units, self.anchor = [unit], anchor
        self.nodes = dict.fromkeys(unit.nodes)
        self.written = {t.storage: t for t in unit.outputs.values()}
        self._copy_form(unit.form)
        self.is_pointwise, self.is_aligned = unit.form.is_pointwise, unit.form.is_aligned
        self.n_terms = unit.form.n_terms

    def _copy(self) -> Group:
        group = Group.__new__(Group)
        group.__dict__.update(self.__dict__)
        return group

    def _copy_form(self, form: Form | Group) -> None:
        self.axes, self.shape, self.kept = form.axes, form.shape, form.kept

    def joined(self, other: Group, order: Callable[[Unit], int]) -> Group:
        """Return a group of the units of both, which has no anchor yet.

        ``order``: a key of units by which those of each group are in order.
        """
        joined = self._copy()
        joined.units = [*self.units, *other.units]
        joined.nodes, joined.written = self.nodes | other.nodes, self.written | other.written
        if order(self.units[-1]) > order(other.units[0]):
            joined.units.sort(key=order)
            # If a group is not one kernel, its nodes remain, in this order.
            joined.nodes = {node: None for unit in joined.units for node in unit.nodes}
        joined._copy_form(self if self.axes is not None or other.axes is None else other)
        joined.is_pointwise = self.is_pointwise and other.is_pointwise
        joined.is_aligned = self.is_aligned and other.is_aligned
        joined.n_terms = self.n_terms + other.n_terms
        return joined

    @property
    def n_bytes(self) -> int:
        """Size in bytes of the arrays that are read or written."""
        tensors = [t for u in self.units for t in (*u.inputs.values(), *u.outputs.values())]
        return sum(map(_n_bytes, tensors))

    def in_frame(self, like: Tensor) -> Group:
        """Return an element-wise group over the axes of a view, which all units have as a frame."""
        moved = self._copy()
        moved.units = [unit.in_frame(like) for unit in self.units]
        moved.written = {t.storage: t for unit in moved.units for t in unit.outputs.values()}
        forms = [unit.form for unit in moved.units]
        moved._copy_form(forms[0])
        moved.is_aligned = all(form.is_aligned for form in forms)
        moved.n_terms = sum([form.n_terms for form in forms])
        return moved

    def whole(self) -> Iterator[Tensor]:
        """Yield the arrays over all axes, and those over all kept axes."""
        shapes = (self.shape, self.kept)
        for unit in self.units:
            for tensors in (unit.outputs, unit.inputs):
                for value, tensor in tensors.items():
                    if value.shape in shapes and value not in unit.form.sources:
                        yield tensor


class Fusion:
    """Groups units that one kernel computes."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self.units = graph, Units(graph)
        self._constant, self._unsteady = constant_ids(graph), graph.unsteady()
        self._groups: dict[Node, Group] = {}
        #: Nodes whose units may run elsewhere.
        self._movable: set[Node] = set()

    def add(self, unit: Unit) -> None:
        """Add a unit to the groups that it reads from, or as a new group."""
        group = Group(unit, self._place_of(unit))
        self._register(group)
        if not self._is_movable(unit):
            return
        group.around = self._around(unit, group)
        self._movable.update(unit.nodes)
        for node in self._neighbors(unit):
            before = self._groups[node]
            if before is group or node not in self._movable:
                continue
            joined = self._joined(before, group)
            if joined is not None:
                group = joined
                self._register(group)

    def _neighbors(self, unit: Unit) -> list[Node]:
        """Return the grouped nodes that a unit reads, or that reduce the same elements."""
        neighbors: list[Node] = []
        for tensor in unit.inputs.values():
            writers = self._graph.writers(tensor.storage)
            # A value with more readers than one kernel can contain must be in memory.
            is_shared = self._graph.n_readers(tensor.storage) > _MAX_ARRAYS
            neighbors += writers if len(writers) == 1 and not is_shared else ()
            if unit.form.axes is not None and _n_bytes(tensor) > _SMALL:
                neighbors += self._reductions_of(tensor)
        return [node for node in neighbors if node in self._groups]

    def _reductions_of(self, tensor: Tensor) -> Iterator[Node]:
        """Yield the reductions that read all elements of a tensor."""
        for node in self._graph.readers(tensor.storage):
            group = self._groups.get(node)
            if group is not None and group.axes is not None:
                read = [t for u in group.units for t in u.inputs.values()]
                read = [t for t in read if t.storage is tensor.storage and t.shape == tensor.shape]
                if any(_is_same(t, tensor) for t in read):
                    yield node

    def _register(self, group: Group) -> None:
        self._groups.update(dict.fromkeys(group.nodes, group))

    def _is_movable(self, unit: Unit) -> bool:
        unsteady = self._unsteady
        if not unsteady.isdisjoint([t.storage for t in unit.outputs.values()]):
            return False
        read = [t.storage for t in unit.inputs.values() if t.storage in unsteady]
        is_own = all(storage.argument is None for storage in read)
        return is_own and not any(map(self._graph.is_locked, unit.nodes))

    def _joined(self, before: Group, after: Group) -> Group | None:
        """Return the group of both; None if they cannot, or should not, be computed together."""
        if before.around.kind != after.around.kind:
            return None
        after = _in_frame(after, before)
        before = _in_frame(before, after)
        if not (
            _are_edges(before, after) and _are_edges(after, before) and self._fit(before, after)
        ):
            return None
        joined = before.joined(after, self._place_of)
        joined.around = self._around_both(before, after, joined)
        anchor = self._anchor_of(joined)
        if anchor is None or _is_too_large(joined):
            return None
        joined.anchor = anchor
        return joined

    def _place_of(self, unit: Unit) -> int:
        return self._graph.place(unit.nodes[-1])

    def _around(self, unit: Unit, group: Group) -> _Surroundings:
        graph, place = self._graph, self._place_of(unit)
        users: dict[Node, None] = {}
        for tensor in unit.inputs.values():
            users.update(dict.fromkeys(graph.writers_of(tensor.storage)))
        for storage in group.written:
            users.update(dict.fromkeys(graph.readers_of(storage)))
        earlier: dict[Node, None] = {}
        later: dict[Node, None] = {}
        for user in users:
            if user not in group.nodes:
                (earlier if graph.place(user) < place else later)[user] = None
        reads = {(t.storage, t.offset): None for t in unit.inputs.values()}
        is_constant = all(id(storage) in self._constant for storage in group.written)
        kind = is_constant, frozenset([storage.repeat for storage in group.written])
        return _Surroundings(earlier, later, reads, self._read_outside(group), kind)

    def _around_both(self, before: Group, after: Group, joined: Group) -> _Surroundings:
        a, b, nodes = before.around, after.around, joined.nodes.keys()
        results = [s for s in (*a.results, *b.results) if self._is_read_outside(s, nodes)]
        return _Surroundings(
            {node: None for node in a.earlier | b.earlier if node not in nodes},
            {node: None for node in a.later | b.later if node not in nodes},
            {read: None for read in a.reads | b.reads if read[0] not in joined.written},
            results,
            a.kind,
        )

    def _fit(self, before: Group, after: Group) -> bool:
        """Whether one kernel computes both in fewer passes over memory."""
        if after.axes is not None and before.axes is not None:
            return (after.axes, after.shape) == (before.axes, before.shape)
        is_aligned = before.is_aligned and after.is_aligned
        if not is_aligned and before.n_bytes + after.n_bytes > _SMALL:
            return False
        if before.axes is not None:
            return after.shape in (before.shape, before.kept)
        if before.shape != after.shape:
            return False
        if after.axes is None:
            return True
        is_costly = any(unit.form.is_costly for unit in before.units)
        is_nested = any(unit.form.is_nested for unit in after.units)
        if is_nested:
            return not (is_costly or self._read_outside(before, after.nodes))
        return not (is_costly and self._read_outside(before, after.nodes))

    def _read_outside(self, group: Group, after: Collection[Node] = ()) -> list[Storage]:
        """Return the storages of a group that nodes outside of it and of ``after`` read."""
        nodes = {*group.nodes, *after} if after else group.nodes.keys()
        return [s for s in group.written if self._is_read_outside(s, nodes)]

    def _is_read_outside(self, storage: Storage, nodes: Set[Node]) -> bool:
        graph = self._graph
        return not (graph.is_inner(storage) and graph.readers_of(storage) <= nodes)

    def _anchor_of(self, group: Group) -> int | None:
        """Return a place where a group may run, if there is one.

        Its order relative to nodes that its units depend on, or that depend on them, is preserved.
        """
        low = max(map(self._place, group.around.earlier), default=-1)
        high = min(map(self._place, group.around.later), default=None)
        last = self._place_of(group.units[-1])
        if low < last and (high is None or last < high):
            return last
        return high - 1 if high is not None and low < high - 1 else None

    def _place(self, node: Node) -> int:
        group = self._groups.get(node)
        # A unit alone stays where its nodes are, which may be two.
        if group is None or len(group.units) == 1:
            return self._graph.place(node)
        return group.anchor

    def rewrite(self) -> None:
        """Replace the units of each group with several by their common kernels."""
        graph = self._graph
        groups = {id(g): g for g in self._groups.values() if len(g.units) > 1}.values()
        order = list(graph.nodes)
        places = [graph.place(node) for node in order]
        replaced: list[Node] = []
        for group in sorted(groups, key=lambda g: g.anchor):
            # Other groups were placed around this one, so its nodes move there in any case.
            nodes = self.recorded(group)
            if nodes is None or not _is_better(nodes, group):
                nodes = [replace(node) for node in group.nodes]
            graph.insert(nodes, before=order[bisect_left(places, group.anchor)])
            replaced += group.nodes
        graph.drop(replaced)
        if replaced:
            graph.drop_dead()  # copies whose originals are read

    def recorded(self, group: Group) -> list[Node] | None:
        """Return the nodes that compute a group; None if they would write other layouts."""
        values, inputs = _values_of(group)
        storages = self._read_outside(group)
        results = {values[s]: group.written[s] for s in storages}
        if len(results) < len(storages) or not results or not inputs.keys().isdisjoint(results):
            return None
        originals = {value: self._original(tensor) for value, tensor in inputs.items()}
        nodes = self._computed(group, originals, results)
        if nodes is None and any(originals[value] is not t for value, t in inputs.items()):
            nodes = self._computed(group, inputs, results)
        return nodes

    def _original(self, tensor: Tensor) -> Tensor:
        """Return the tensor that one with long rows is a copy of, if it has the same rows."""
        copy = self._graph.writer(tensor)
        if copy is None or copy.row != "reorder" or copy.attr.calls:
            return tensor
        source, row = copy.inputs["src"], _row_of(tensor)
        is_same = copy.dst.shape == tensor.shape and source.dtype == tensor.dtype
        if not is_same or source.strides is None or source.storage in self._unsteady:
            return tensor
        has_rows = row is not None and row == _row_of(source)
        return source if has_rows and _is_same(copy.dst, tensor) else tensor

    def _computed(
        self, group: Group, inputs: dict[Value, Tensor], results: dict[Value, Tensor]
    ) -> list[Node] | None:
        """Return the nodes that compute results from inputs; None if in other layouts."""
        graph = self._graph
        leaves, outputs = list(inputs), tuple(results)

        def body(*operands: Tensor) -> list[Tensor]:
            tensors = dict(zip(leaves, operands, strict=True))
            return Lowering(graph.trace, tensors, {}).tensors(outputs)

        # Groups of repeated layers have the same nodes.
        written, nodes = graph.recorded(
            lambda: graph.joined(body, *inputs.values(), key=(Fusion.recorded, *leaves, outputs))
        )
        if not _are_written(nodes, written, list(results.values())):
            return None
        nodes[-1].fused = [node.row for node in group.nodes]
        return nodes


def _row_of(tensor: Tensor) -> int | None:
    """Return the innermost axis if rows along it are long and dense."""
    rows = (a for a, s in enumerate(tensor.strides) if s == 1 and tensor.shape[a] >= _LONG_ROW)
    return next(rows, None)


def _n_bytes(tensor: Tensor) -> int:
    return tensor.size * dtypes.bits_of(tensor.dtype) // 8


def _is_too_large(group: Group) -> bool:
    n_arrays = len(group.around.reads) + len(group.around.results)
    return n_arrays > _MAX_ARRAYS or group.n_terms > _MAX_TERMS


def _is_better(nodes: Sequence[Node], group: Group) -> bool:
    """Whether nodes are fewer than those of a group, or as many that one launch may join."""
    written = {t.storage for node in nodes for t in node.outputs.values()}
    is_free = written.isdisjoint(t.storage for node in nodes for t in node.inputs.values())
    return len(nodes) < len(group.nodes) + is_free


def _are_written(
    nodes: Sequence[Node], tensors: Sequence[Tensor], targets: Sequence[Tensor]
) -> bool:
    """Let nodes write into the targets; return whether all are written, in the same layouts."""
    replacements = dict(
        zip([t.storage for t in tensors], zip(tensors, targets, strict=True), strict=True)
    )
    if len(replacements) < len(tensors) or any(a.desc != b.desc for a, b in replacements.values()):
        return False
    written = {t.storage for node in nodes for t in node.outputs.values()}
    if not written.issuperset(replacements):
        return False
    for node in nodes:
        node.inputs = {n: _redirected(t, replacements) for n, t in node.inputs.items()}
        node.outputs = {n: _redirected(t, replacements) for n, t in node.outputs.items()}
    return True


def _redirected(tensor: Tensor, replacements: dict[Storage, tuple[Tensor, Tensor]]) -> Tensor:
    pair = replacements.get(tensor.storage)
    if pair is None:
        return tensor
    original, target = pair
    if tensor is original:
        return target
    return Tensor(
        tensor.trace, target.storage, tensor.desc, tensor.dtype, tensor.shape,
        target.offset + tensor.offset, tensor.strides,
    )  # fmt: skip


def _are_edges(before: Group, after: Group) -> bool:
    """Whether ``after`` reads the results of ``before`` only element by element."""
    if not any(storage in before.written for storage, _ in after.around.reads):
        return True
    for unit in after.units:
        for value, tensor in unit.inputs.items():
            written = before.written.get(tensor.storage)
            if written is not None and (
                value in unit.form.sources
                or value.shape != written.shape
                or not _is_same(tensor, written)
            ):
                return False
    return True


def _is_same(a: Tensor, b: Tensor) -> bool:
    """Whether tensors of one shape and storage are the same elements."""
    if a.offset != b.offset or a.dtype != b.dtype:
        return False
    triples = zip(a.shape, a.strides, b.strides, strict=True)
    return a.strides == b.strides or all(n == 1 or s == t for n, s, t in triples)


def _in_frame(group: Group, other: Group) -> Group:
    """Return an element-wise group over the axes of another one, if it has the same elements."""
    if not group.is_pointwise or group.shape in (other.shape, other.kept):
        return group
    # Units are moved by the order of their results in memory, which must be the same one.
    if len(group.written) > 1 and len(set(map(strides_of, group.written.values()))) > 1:
        return group
    tried: set[Any] = set()
    for like in other.whole():
        frame = like.shape, like.strides
        if frame not in tried and all(unit.has_frame(like) for unit in group.units):
            return group.in_frame(like)
        tried.add(frame)
    return group


def _values_of(group: Group) -> tuple[dict[Storage, Value], dict[Value, Tensor]]:
    """Return the values that a group writes by storage, and the tensors that it reads by value."""
    values: dict[Storage, Value] = {}
    inputs: dict[Value, Tensor] = {}
    numbers: dict[Any, int] = {}
    for unit in group.units:
        mapping: dict[Value, Value] = {}
        for value, tensor in unit.inputs.items():
            source = values.get(tensor.storage)
            if source is None:
                place = (tensor.storage, tensor.offset, tensor.strides)
                number = numbers.setdefault(place, len(numbers))
                source = leaf(("array", number), value.shape, value.dtype)
                inputs.setdefault(source, tensor)
            mapping[value] = source
        key = tuple(mapping.values())
        results = unit.form.over.get(key)
        if results is None:
            results = [rebuilt(value, mapping) for value in unit.outputs]
            unit.form.over[key] = results
        values.update(zip([t.storage for t in unit.outputs.values()], results, strict=True))
    return values, inputs
