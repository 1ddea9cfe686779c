# SPDX-License-Identifier: Apache-2.0
"""Joining of launches that do not depend on each other, such as those of all parameters."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sycl_dnn._core import Kernel
from sycl_dnn.compiler.passes.kernel_fusion import Fusion, Group
from sycl_dnn.kernels.joined_kernels import (
    MOST_FORMS,
    MOST_ROWS,
    Launch,
    is_row,
    is_single,
    of_row,
)
from sycl_dnn.kernels.launching import joined_kernel, launch_of, module_of
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.host_expressions import are_few
from sycl_dnn.lower.host_operations import MOST_VISITED, operation_of
from sycl_dnn.lower.host_sequences import LIGHT, OPERATIONS_OF_RUN
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Tensor

#: Maximum number of bytes that a joined launch keeps alive, which its parts would have freed.
MOST_KEPT = 1 << 25
#: Values up to this size may be computed early, such as scalars that updates read.
_SMALL = 4096
#: Steps that the host computes instead of one launch, elements that they write at most, and the
#: factor of the limits of each among other steps of the host.
_FEW, _MOST_ON_HOST, _FACTOR = 16, 1 << 16, 4


#: Primitives that kernels may replace, and other steps that may change places with kernels.
_REPLACEABLE = ("binary", "eltwise_forward", "reorder")
_LIGHT = (*_REPLACEABLE, "concat", "zeros")


def join_launches(graph: Graph) -> None:
    """Replace launches that do not depend on each other by a single launch."""
    joining = _Joining(graph)
    for stretch in joining.stretches():
        joining.rewrite(stretch)


class _Bunch:
    """Nodes to be joined.

    A node that waits for the others keeps alive the values that it would have freed.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._forms: set[Any] = set()
        self._last, self._freed, self._freed_last = -1, 0, 0

    def add(self, node: Node, form: Any, ready: int, freed: int) -> bool:
        """Add a node and return True, unless too much memory or code would be kept."""
        last = max(ready, self._last)
        freed_last = freed * (ready == last) + self._freed_last * (self._last == last)
        kept_bytes = self._freed + freed - freed_last
        forms = self._forms | {form}
        is_full = len(self.nodes) == MOST_ROWS or len(forms) > MOST_FORMS
        if self.nodes and (is_full or kept_bytes > MOST_KEPT):
            return False
        self.nodes.append(node)
        self._forms = forms
        self._last, self._freed, self._freed_last = last, self._freed + freed, freed_last
        return True


class _Joining:
    """Selects the launches of a graph that are joined."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._unsteady = graph.unsteady()
        #: By node: the kernel that computes it.
        self._kernels: dict[Node, Node] = {}
        self._launches: dict[Node, Launch] = {}

    # Of the graph before it is changed, if a stretch asks for them at all.

    @functools.cached_property
    def _constant(self) -> frozenset[int]:
        return constant_ids(self._graph)

    @functools.cached_property
    def _ready(self) -> dict[Node, int]:
        return _ready(self._graph)

    @functools.cached_property
    def _factor(self) -> int:
        """The factor of the limits within which the host computes steps of this graph."""
        others = (
            operation_of(self._graph, n, _FACTOR) for n in self._graph.nodes if n.pd is not None
        )
        n_others = sum(o is not None and o.kind not in LIGHT for o in others)
        return _FACTOR if n_others >= OPERATIONS_OF_RUN else 1

    @functools.cached_property
    def _fusion(self) -> Fusion:
        return Fusion(self._graph)

    def stretches(self) -> list[list[Node]]:
        """Return the longest sequences of kernels that may be reordered."""
        runs: list[list[Node]] = [[]]
        for node in self._graph.nodes:
            if self._is_movable(node):
                runs[-1].append(node)
            elif runs[-1]:
                runs.append([])
        return [stretch for stretch in runs if len(stretch) > 1]

    def _is_movable(self, node: Node) -> bool:
        tensors = (*node.inputs.values(), *node.outputs.values())
        is_steady = self._unsteady.isdisjoint(t.storage for t in tensors)
        is_free = is_steady and node.part == (0, 1) and not self._graph.is_locked(node)
        return is_free and (is_kernel(node.primitive) or node.row in _LIGHT)

    def rewrite(self, stretch: Sequence[Node]) -> None:
        """Join equal launches that are independent of each other."""
        before = _dependencies(stretch)
        ranges = _level_ranges(before)
        # Constant nodes are launched once.
        candidates = [node for node in _nodes_sharing_levels(ranges) if not self._is_constant(node)]
        if not candidates:
            return
        keys = self._keys(candidates)
        levels = _fewer(_levels(before, ranges, keys), before, keys)
        bunches = [bunch for level in levels for bunch in self._bunches(level)]
        if len(bunches) == len(stretch):
            return
        launches = [node for bunch in bunches for node in self._joined(bunch)]
        self._graph.insert(launches, before=stretch[-1])
        self._graph.drop(stretch)

    def _keys(self, stretch: Sequence[Node]) -> dict[Node, Any]:
        """Return the key by which launches wait for each other: their form and circumstances."""
        launches: dict[Node, Launch] = {}
        for node in stretch:
            kernel = self._kernels[node] = self._as_kernel(node)
            launch = launch_of(kernel.primitive) if is_kernel(kernel.primitive) else None
            if launch is not None:
                launches[node] = launch
        # A single element, such as a scalar parameter, is a short row.
        rows = {of_row(form): form for form, *_ in launches.values() if is_row(form)}
        for node, launch in launches.items():
            if is_single(launch.form):
                form = rows.get(of_row(launch.form), launch.form)
                launches[node] = launch._replace(form=form)
        self._launches |= launches
        return {node: (launch.form, self._circumstances(node)) for node, launch in launches.items()}

    def _bunches(self, level: Sequence[Node]) -> Iterator[list[Node]]:
        """Yield the nodes of a level to join; they do not depend on each other."""
        bunches: dict[Any, _Bunch] = {}
        by_form: dict[Any, list[Node]] = {}
        for node in level:
            launch = self._launches.get(node)
            by_form.setdefault(launch.form if launch else node, []).append(node)
        for form, nodes in by_form.items():
            for node in nodes:
                key = self._circumstances(node) if node in self._launches else node
                bunch = bunches.setdefault(key, _Bunch())
                if not bunch.add(node, form, self._ready[node], self._freed(node)):
                    yield bunch.nodes
                    bunch = bunches[key] = _Bunch()
                    bunch.add(node, form, self._ready[node], self._freed(node))
        for bunch in bunches.values():
            yield bunch.nodes

    def _as_kernel(self, node: Node) -> Node:
        """Return a kernel for one of oneDNN's element-wise primitives, or the node."""
        unit = self._fusion.units.of(node) if node.row in _REPLACEABLE else None
        nodes = None if unit is None else self._fusion.recorded(Group(unit, 0))
        return nodes[0] if nodes is not None and len(nodes) == 1 else node

    def _circumstances(self, node: Node) -> tuple[Any, ...]:
        """Return what launches must share to be joined."""
        repeats = frozenset(t.storage.repeat for t in node.outputs.values())
        return self._launches[node].form.schedule.n_items, node.is_repeated, repeats

    def _is_constant(self, node: Node) -> bool:
        return all(id(t.storage) in self._constant for t in node.outputs.values())

    def _freed(self, node: Node) -> int:
        """Return the size of the large intermediate values that no other node reads later."""
        storages = {t.storage for t in node.inputs.values() if t.storage.nbytes > _SMALL}
        inner = [s for s in storages if self._graph.is_inner(s)]
        return sum(s.nbytes for s in inner if self._graph.readers(s)[-1] is node)

    def _is_brief(self, bunch: Sequence[Node]) -> bool:
        """Whether the host computes launches, one after the other, before one could begin."""
        if not self._graph.trace.is_on_cpu:
            return False
        n_written = sum(t.size for node in bunch for t in node.outputs.values())
        if len(bunch) <= _FEW and n_written <= _MOST_ON_HOST:
            operations = [operation_of(self._graph, node, self._factor) for node in bunch]
            is_known = all(o is not None and o.kind != "kernel" for o in operations)
            # Rows that are gathered are copied, which takes less time than their terms.
            pairs = zip(bunch, operations, strict=True)
            computed = [node for node, o in pairs if o is not None and o.kind == "expression"]
            if is_known and are_few(computed, self._factor):
                return True
        kernels = [self._kernels[node].primitive for node in bunch]
        n_visited = sum(kernel.n_visited for kernel in kernels)
        if n_visited > MOST_VISITED:
            return False
        modules = set(map(module_of, kernels))
        return all(m is not None and Kernel.is_brief(m, n_visited) for m in modules)

    def _joined(self, bunch: Sequence[Node]) -> list[Node]:
        if len(bunch) == 1 or self._is_brief(bunch):
            return [replace(node) for node in bunch]
        kernels = [self._kernels[node] for node in bunch]
        inputs = _by_row([kernel.inputs for kernel in kernels])
        outputs = _by_row([kernel.outputs for kernel in kernels])
        primitive = joined_kernel(self._graph.trace, [self._launches[node] for node in bunch])
        fused = [text for node in bunch for text in (node.fused or [node.row])]
        is_repeated = bunch[0].is_repeated
        return [
            Node(None, inputs, outputs, primitive=primitive, fused=fused, is_repeated=is_repeated)
        ]


def _ready(graph: Graph) -> dict[Node, int]:
    """Return for each node the place of the last large value that it depends on."""
    completion: dict[Node, int] = {}
    ready: dict[Node, int] = {}
    for node in graph.nodes:
        writers = [w for t in node.inputs.values() for w in graph.writers(t.storage)]
        ready[node] = max([completion.get(w, -1) for w in writers], default=-1)
        is_small = all(t.storage.nbytes <= _SMALL for t in node.outputs.values())
        completion[node] = ready[node] if is_small else graph.place(node)
    return ready


def _by_row(tensors: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the tensors of all launches, each named by the number of the launch and its name."""
    pairs = [(f"{n}:{name}", t) for n, by_name in enumerate(tensors) for name, t in by_name.items()]
    return dict(pairs)


def _dependencies(stretch: Sequence[Node]) -> dict[Node, list[Node]]:
    """Return the dependencies of each node within the sequence."""
    before: dict[Node, list[Node]] = {}
    written: dict[Any, Node] = {}
    read: dict[Any, list[Node]] = {}
    for node in stretch:
        inputs = {t.storage for t in node.inputs.values()}
        outputs = {t.storage for t in node.outputs.values()}
        before[node] = [written[storage] for storage in inputs | outputs if storage in written]
        before[node] += [reader for storage in outputs for reader in read.get(storage, ())]
        for storage in outputs:
            written[storage], read[storage] = node, []
        for storage in inputs:
            read.setdefault(storage, []).append(node)
    return before


def _level_ranges(before: Mapping[Node, Sequence[Node]]) -> dict[Node, range]:
    """Return the levels that each node may be in: it depends on lower levels only."""
    earliest: dict[Node, int] = {}
    for node, others in before.items():
        earliest[node] = max([earliest[other] for other in others], default=-1) + 1
    after = dict.fromkeys(before, max(earliest.values()) + 1)
    for node in reversed(list(before)):
        for other in before[node]:
            after[other] = min(after[other], after[node] - 1)
    return {node: range(level, after[node]) for node, level in earliest.items()}


def _nodes_sharing_levels(ranges: Mapping[Node, range]) -> list[Node]:
    """Return the nodes that may share a level with another one."""
    n_nodes = Counter(level for levels in ranges.values() for level in levels)
    return [node for node, levels in ranges.items() if any(n_nodes[n] > 1 for n in levels)]


def _levels(
    before: Mapping[Node, Sequence[Node]], ranges: Mapping[Node, range], keys: Mapping[Node, Any]
) -> list[list[Node]]:
    """Return the nodes by level, in order; those of a level do not depend on each other.

    A node is in the level after its dependencies, or in a later one with others of its key.
    """
    n_levels = max(r.stop for r in ranges.values())
    after = dict.fromkeys(before, n_levels)
    levels: list[list[Node]] = [[] for _ in range(n_levels)]
    last: dict[tuple[int, Any], bool] = {}
    for node in sorted(ranges, key=lambda node: -ranges[node].start):
        key, level = keys.get(node), ranges[node].start
        later = range(after[node] - 1, level, -1)
        level = next((n for n in later if key is not None and (n, key) in last), level)
        last[level, key] = True
        levels[level].append(node)
        for other in before[node]:
            after[other] = min(after[other], level)
    return [level for level in levels if level]


def _fewer(
    levels: Sequence[list[Node]], before: Mapping[Node, Sequence[Node]], keys: Mapping[Node, Any]
) -> list[list[Node]]:
    """Return levels of which those of kernels that no next level needs are parts of the next."""
    needed_by = [{other for node in level for other in before[node]} for level in levels]
    result = list(levels[-1:])
    needed = needed_by[-1]
    for level, own_needed in zip(levels[-2::-1], needed_by[-2::-1], strict=True):
        if all(node in keys and node not in needed for node in level):
            result[-1] = [*level, *result[-1]]
            needed |= own_needed
        else:
            result.append(level)
            needed = own_needed
    return result[::-1]
