# SPDX-License-Identifier: Apache-2.0
"""Cache of fusion attempts, keyed by everything that determines the outcome."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.compiler.rebuilding import PACKABLE
from sycl_dnn.compiler.step_graph import Node, Refusal
from sycl_dnn.trace.replay import Copies, Unlike, stand_ins
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
        same = first.setdefault(storage, number)
        views.append((desc, desc.strides, t.shape, t.offset, same, storage.memory))
    descriptors = [(n.pd, *n.inputs, tuple(n.fused), tuple(n.refused)) for n in nodes]
    return (*descriptors, tuple(views))


class KnownFusions:
    """An LRU cache of outcomes for nodes and the chains of their readers.

    Parameters
    ----------
    capacity : int
        Maximum number of outcomes.
    """

    def __init__(self, capacity: int = _MAX_OUTCOMES) -> None:
        self._capacity = capacity
        #: With what stands for the tensors of the nodes.
        self._found: OrderedDict[Any, tuple[Absorbed, list[Tensor]]] = OrderedDict()

    def absorbed(
        self, node: Node, readers: Sequence[Node], find: Callable[[], Absorbed]
    ) -> Absorbed:
        """Return the cached outcome of ``find()`` for a node and a chain of its readers."""
        tensors = _tensors(node, readers)
        key = _key(node, readers, tensors)
        if key is None:
            return find()
        cached = self._found.get(key)
        if cached is not None:
            self._found.move_to_end(key)
            return _over(*cached, tensors)
        outcome, operands = find(), stand_ins(node.dst.trace, tensors)
        with contextlib.suppress(Unlike):  # it reads other tensors
            self._found[key] = _over(outcome, tensors, operands), operands
            while len(self._found) > self._capacity:
                self._found.popitem(last=False)
        return outcome


def _over(outcome: Absorbed, before: Sequence[Tensor], after: Sequence[Tensor]) -> Absorbed:
    """Return the same outcome for other tensors."""
    fused, n_readers = outcome
    if isinstance(fused, Refusal):
        return outcome
    copies = Copies(after[0].trace, zip(before, after, strict=True))
    inputs, outputs = copies.named(fused.inputs), copies.named(fused.outputs)
    names = {"fused": list(fused.fused), "refused": list(fused.refused)}
    return fused.with_pd(fused.pd, inputs=inputs, outputs=outputs, **names), n_readers
