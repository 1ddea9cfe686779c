# SPDX-License-Identifier: Apache-2.0
"""Nodes in a row: insertion and removal anywhere, and comparison of places, in constant time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sycl_dnn.compiler.node import Node

#: Distance of neighbours' numbers when they are dealt out.
_STEP = 1 << 40


class _Link:
    """A node between its neighbours."""

    __slots__ = ("after", "before", "node", "number")

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self.before = self.after = self
        self.number = 0


class Order:
    """A linked row of nodes with ascending numbers.

    Parameters
    ----------
    nodes : iterable of Node
        In order, each once.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        #: Stands before the first node and after the last one.
        self._ends = _Link(None)
        self._links: dict[Node, _Link] = {}
        #: How often all nodes got new numbers.
        self.renumbered = 0
        for node in nodes:
            self._append(node)
        self._renumber()

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, node: Node) -> bool:
        return node in self._links

    def __iter__(self) -> Iterator[Node]:
        link = self._ends.after
        while link.node is not None:
            yield link.node
            link = link.after

    def place(self, node: Node) -> int:
        """Return a number that is larger than those of all nodes before."""
        return self._links[node].number

    def before(self, node: Node) -> Node | None:
        """Return the node before another; None for the first."""
        return self._links[node].before.node

    def after(self, node: Node | None) -> Node | None:
        """Return the node after another, the first for None; None after the last."""
        return (self._ends if node is None else self._links[node]).after.node

    def insert(self, nodes: Sequence[Node], before: Node) -> None:
        """Put nodes in front of another."""
        if not nodes:
            return
        at = self._links[before]
        low, gap = at.before.number, (at.number - at.before.number) // (len(nodes) + 1)
        for i, node in enumerate(nodes, 1):
            self._link(node, at).number = low + i * gap
        if not gap:
            self._renumber()

    def remove(self, node: Node) -> None:
        """Take one node out."""
        link = self._links.pop(node)
        link.before.after, link.after.before = link.after, link.before

    def _append(self, node: Node) -> None:
        self._link(node, self._ends)

    def _link(self, node: Node, after: _Link) -> _Link:
        if node in self._links:
            raise ValueError(f"order: {node.row} is among the nodes already")
        link = self._links[node] = _Link(node)
        link.before, link.after = after.before, after
        link.before.after = after.before = link
        return link

    def _renumber(self) -> None:
        self.renumbered += 1
        link, number = self._ends.after, 0
        while link.node is not None:
            number += _STEP
            link.number = number
            link = link.after
