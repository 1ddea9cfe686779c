# SPDX-License-Identifier: Apache-2.0
"""Cache of fusion attempts, keyed by everything that determines the outcome."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sycl_dnn.compiler.rebuilding import PACKABLE
from sycl_dnn.compiler.step_graph import Node, Refusal
from sycl_dnn.trace.values import Tensor

_MAX_OUTCOMES = 2048
#: The fused node, or why there is none, and the number of readers that it replaces.
Absorbed = tuple[Node | Refusal, int]


def _tensors(node: Node, readers: Sequence[Node]) -> list[Tensor]:
    """Return the tensors of all nodes, in the same order for equal keys."""
    nodes = (node, *readers)
    return [t for n in nodes for t in (*n.inputs.values(), n.dst)]


def _key(node: Node, readers: Sequence[Node], tensors: list[Tensor]) -> Any:
    """Return the key of a fusion attempt; None if the outcome depends on more."""
    nodes = (node, *readers)
    if any(PACKABLE in n.inputs or n.pd is None for n in nodes):
        return None  # it also depends on the origin of the weights
    first: dict[Any, int] = {}
    views = []
    for number, t in enumerate(tensors):
        storage, desc = t.storage, t.desc
        if desc is None:
            return None
        same = first.setdefault(storage, number)
        views.append((desc, desc.strides, t.shape, t.offset, same, storage.scalar, storage.memory))
    descriptors = [(n.pd, *n.inputs, tuple(n.fused), tuple(n.refused)) for n in nodes]
    return (*descriptors, tuple(views))


@dataclass(frozen=True)
class _Recipe:
    """A fused node: its inputs as indices into the tensors of all, with views that are new."""

    pd: Any
    inputs: tuple[tuple[str, int, tuple[Any, ...] | None], ...]
    result: tuple[Any, ...]
    fused: tuple[str, ...]
    refused: tuple[str, ...]
    #: Number of readers that it replaces.
    n_readers: int

    @classmethod
    def of(cls, readers: Sequence[Node], fused_node: Node, tensors: list[Tensor]) -> _Recipe | None:
        """Return the recipe of a node; None if it reads other tensors."""
        inputs = []
        for name, t in fused_node.inputs.items():
            number = next((i for i, other in enumerate(tensors) if other is t), None)
            view = None
            if number is None:
                pairs = enumerate(tensors)
                fits = (i for i, o in pairs if o.storage is t.storage and o.offset == t.offset)
                number, view = next(fits, None), (t.desc, t.dtype, t.shape)
            if number is None:
                return None
            inputs.append((name, number, view))
        dst, old = fused_node.dst, readers[-1].dst
        if dst.storage is not old.storage or dst.offset != old.offset:
            return None
        result = (dst.desc, dst.dtype, dst.shape)
        names = tuple(fused_node.fused), tuple(fused_node.refused)
        return cls(fused_node.pd, tuple(inputs), result, *names, len(readers))

    def node(self, node: Node, readers: Sequence[Node], tensors: list[Tensor]) -> Absorbed:
        """Build the fused node."""
        last = readers[self.n_readers - 1]
        inputs = {
            name: tensors[i] if view is None else _retyped_view(tensors[i], view)
            for name, i, view in self.inputs
        }
        outputs = {"dst": _retyped_view(last.dst, self.result)}
        names = {"fused": list(self.fused), "refused": list(self.refused)}
        return node.with_pd(self.pd, inputs=inputs, outputs=outputs, **names), self.n_readers


def _retyped_view(tensor: Tensor, view: tuple[Any, ...]) -> Tensor:
    desc, dtype, shape = view
    return Tensor(tensor.trace, tensor.storage, desc, dtype, shape, tensor.offset)


class KnownFusions:
    """An LRU cache of outcomes for nodes and the chains of their readers.

    Parameters
    ----------
    capacity : int
        Maximum number of outcomes.
    """

    def __init__(self, capacity: int = _MAX_OUTCOMES) -> None:
        self._capacity = capacity
        self._found: OrderedDict[Any, _Recipe | Refusal] = OrderedDict()
        #: Numbers of lookups and of hits.
        self.n_asked = self.n_known = 0

    def absorbed(
        self, node: Node, readers: Sequence[Node], find: Callable[[], Absorbed]
    ) -> Absorbed:
        """Return the cached outcome of ``find()`` for a node and a chain of its readers."""
        self.n_asked += 1
        tensors = _tensors(node, readers)
        key = _key(node, readers, tensors)
        if key is None:
            return find()
        cached = self._found.get(key)
        if cached is not None:
            self.n_known += 1
            self._found.move_to_end(key)
            if isinstance(cached, Refusal):
                return cached, 0
            return cached.node(node, readers, tensors)
        fused, n = find()
        recipe = fused if isinstance(fused, Refusal) else _Recipe.of(readers[:n], fused, tensors)
        if recipe is not None:
            self._found[key] = recipe
            while len(self._found) > self._capacity:
                self._found.popitem(last=False)
        return fused, n
