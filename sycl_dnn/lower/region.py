# SPDX-License-Identifier: Apache-2.0
"""Selection of the nodes that one kernel computes: reductions or scans and their surroundings."""

from __future__ import annotations

from collections.abc import Container, Sequence

from sycl_dnn.ir.node import Node, Shape
from sycl_dnn.kernels.expression import REDUCTIONS, SCANS
from sycl_dnn.kernels.node_expressions import is_elementwise, is_indexed, read_through


def is_reduction(node: Node) -> bool:
    """Whether a reduction kernel computes the node."""
    return node.operation.name in REDUCTIONS


def is_scan(node: Node) -> bool:
    """Whether a kernel of scans computes the node."""
    return node.operation.name in SCANS


def longest_first(nodes: Sequence[Node], order: Sequence[Node]) -> list[Node]:
    """Sort by the length of dependent chains: the last nodes may be part of later kernels."""
    heights: dict[Node, int] = {}
    for node in reversed(order):
        heights[node] = heights.get(node, 0) + (not is_elementwise(node))
        for n in node.inputs:
            heights[n] = max(heights.get(n, 0), heights[node])
    return sorted(nodes, key=lambda node: -heights[node])


def _fits(shape: Shape, full: Shape) -> bool:
    """Whether a shape broadcasts to another one."""
    rest = full[len(full) - len(shape) :]
    return len(shape) <= len(full) and all(n in (1, m) for n, m in zip(shape, rest, strict=True))


class Region:
    """The nodes that are computed together with a reduction, or a scan.

    start : the reduction, or the scan
    order : all nodes to compute, each after its inputs
    existing : nodes that are already computed
    is_deep : whether to include nodes computed from a reduction's results at every element, and
        reductions of these

    ``shape``: of the operands; ``outputs``: nodes that are read outside the region.
    """

    def __init__(
        self,
        start: Node,
        order: Sequence[Node],
        existing: Container[Node],
        results: Sequence[Node],
        *,
        is_deep: bool,
    ) -> None:
        self._start, self.shape = start, start.inputs[0].shape
        attributes = start.attributes
        self.axes = (attributes["axis"],) if is_scan(start) else tuple(attributes["axes"])
        self._is_deep, self._existing = is_deep, existing
        self._levels: dict[Node, int] = {}
        #: Nodes before reductions that depend on where an element is.
        self._indexed: set[Node] = set()
        for node in order:
            if node not in existing and self._is_reached(node):
                self._consider(node)
        read_outside = set(results)
        for node in order:
            if node not in self._levels:
                read_outside.update(node.inputs)
        self.outputs = [n for n, level in self._levels.items() if level and n in read_outside]

    def _is_reached(self, node: Node) -> bool:
        """Whether all inputs of a node exist or are computed here."""
        direct = read_through(node)
        if len(direct) < len(node.inputs) and node.inputs[0] not in self._existing:
            return False
        return all(n in self._existing or n in self._levels for n in direct)

    def _consider(self, node: Node) -> None:
        level = max([self._levels.get(n, 0) for n in node.inputs], default=0)
        if is_reduction(node) or is_scan(node):
            if self._is_alike(node) and (self._is_deep or not level):
                self._levels[node] = level + 1
        elif is_elementwise(node) and self._belongs(node, level):
            self._levels[node] = level
            if not level and (is_indexed(node) or not self._indexed.isdisjoint(node.inputs)):
                self._indexed.add(node)

    def _is_alike(self, node: Node) -> bool:
        """Whether a reduction or a scan is of the same axes as the first."""
        same = is_scan(node) == is_scan(self._start) and node.inputs[0].shape == self.shape
        return same and node.attributes == self._start.attributes

    def _belongs(self, node: Node, level: int) -> bool:
        """Whether an element-wise node is computed at every element, or at every result."""
        if not level:
            return _fits(node.shape, self.shape)
        if is_indexed(node):
            return False
        if self._is_deep and node.shape == self.shape:
            return True
        # The kernels of the two stages have no coordinates of results.
        is_free = self._is_deep or is_scan(self._start) or self._indexed.isdisjoint(node.inputs)
        return is_free and node.shape == self._start.shape

    @property
    def computed(self) -> set[Node]:
        """The nodes that nothing outside has to compute again."""
        return {node for node, level in self._levels.items() if level}

    @property
    def is_nested(self) -> bool:
        """Whether there is more than one pass."""
        deep = max(self._levels.values()) > 1
        return deep or any(n.shape != self._start.shape for n in self.outputs)
