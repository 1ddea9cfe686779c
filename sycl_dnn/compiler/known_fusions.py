# SPDX-License-Identifier: Apache-2.0
"""Cache of fusion attempts, keyed by everything that determines the outcome."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sycl_dnn.compiler.rebuilding import PACKABLE
from sycl_dnn.compiler.step_graph import Node, Refusal
from sycl_dnn.trace.values import Tensor

_MOST = 2048
#: Label of a node that directly writes a reordered result.
RELAID = "reorder"


def _tensors(node: Node, reader: Node) -> list[Tensor]:
    """Return the tensors of both nodes, in the same order for equal keys."""
    return [*node.inputs.values(), node.dst, *reader.inputs.values(), reader.dst]


def _key(node: Node, reader: Node, tensors: list[Tensor]) -> Any:
    """Return the key of a fusion attempt; None if the outcome depends on more."""
    if PACKABLE in node.inputs or PACKABLE in reader.inputs or reader.pd is None:
        return None  # it also depends on the origin of the weights
    first: dict[Any, int] = {}
    views = []
    for number, t in enumerate(tensors):
        storage, desc = t.storage, t.desc
        if desc is None:
            return None
        same = first.setdefault(storage, number)
        views.append((desc, desc.strides, t.shape, t.offset, same, storage.scalar, storage.memory))
    return (node.pd, reader.pd, tuple(node.inputs), tuple(reader.inputs), tuple(views))


@dataclass(frozen=True)
class _Recipe:
    """A fused node: its inputs as indices into the tensors of both, with views that are new."""

    pd: Any
    inputs: tuple[tuple[str, int, tuple[Any, ...] | None], ...]
    result: tuple[Any, ...]
    #: Work of the first node, if its description changes.
    own: tuple[str, ...] | None
    label: str

    @classmethod
    def of(
        cls, reader: Node, made: Node, tensors: list[Tensor], own: tuple[str, ...] | None
    ) -> _Recipe | None:
        """Return the recipe of a node; None if it reads other tensors."""
        inputs = []
        for name, t in made.inputs.items():
            number = next((i for i, other in enumerate(tensors) if other is t), None)
            view = None
            if number is None:
                pairs = enumerate(tensors)
                fits = (i for i, o in pairs if o.storage is t.storage and o.offset == t.offset)
                number, view = next(fits, None), (t.desc, t.dtype, t.shape)
            if number is None:
                return None
            inputs.append((name, number, view))
        dst, old = made.dst, reader.dst
        if dst.storage is not old.storage or dst.offset != old.offset:
            return None
        result = (dst.desc, dst.dtype, dst.shape)
        return cls(made.pd, tuple(inputs), result, own, made.fused[-1])

    def node(self, node: Node, reader: Node, tensors: list[Tensor]) -> Node:
        """Build the fused node."""
        inputs = {
            name: tensors[i] if view is None else _seen(tensors[i], view)
            for name, i, view in self.inputs
        }
        if self.own is not None:
            node.fused = list(self.own)
        after = [] if self.label == RELAID else reader.fused
        return node.with_pd(
            self.pd,
            inputs=inputs,
            outputs={"dst": _seen(reader.dst, self.result)},
            fused=[*node.fused, *after, self.label],
            refused=[*node.refused, *reader.refused],
        )


def _seen(tensor: Tensor, view: tuple[Any, ...]) -> Tensor:
    desc, dtype, shape = view
    return Tensor(tensor.trace, tensor.storage, desc, dtype, shape, tensor.offset)


class KnownFusions:
    """An LRU cache of outcomes for pairs of nodes.

    Parameters
    ----------
    capacity : int
        Maximum number of pairs.
    """

    def __init__(self, capacity: int = _MOST) -> None:
        self._capacity = capacity
        self._found: OrderedDict[Any, _Recipe | Refusal] = OrderedDict()
        #: Numbers of lookups and of hits.
        self.n_asked = self.n_known = 0

    def absorbed(
        self, node: Node, reader: Node, find: Callable[[], Node | Refusal]
    ) -> Node | Refusal:
        """Return the cached outcome of ``find()`` for a node and the sole reader of its result."""
        self.n_asked += 1
        tensors = _tensors(node, reader)
        key = _key(node, reader, tensors)
        if key is None:
            return find()
        known = self._found.get(key)
        if known is not None:
            self.n_known += 1
            self._found.move_to_end(key)
            return known if isinstance(known, Refusal) else known.node(node, reader, tensors)
        before = node.fused
        made = find()
        own = None if node.fused is before else tuple(node.fused)
        kept = made if isinstance(made, Refusal) else _Recipe.of(reader, made, tensors, own)
        if kept is not None:
            self._found[key] = kept
            while len(self._found) > self._capacity:
                self._found.popitem(last=False)
        return made
