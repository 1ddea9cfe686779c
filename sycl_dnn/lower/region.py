# SPDX-License-Identifier: Apache-2.0
"""``Region``: nodes fused into one reduction kernel."""

from __future__ import annotations

from collections.abc import Container, Sequence

from sycl_dnn.ir.node import Node, Shape
from sycl_dnn.kernels.expression import REDUCTIONS
from sycl_dnn.kernels.node_expressions import is_elementwise, is_indexed


def is_reduction(node: Node) -> bool:
    """Whether a reduction kernel computes the node."""
    return node.operation.name in REDUCTIONS


def _fits(shape: Shape, whole: Shape) -> bool:
    """Whether a shape broadcasts to another one."""
    rest = whole[len(whole) - len(shape) :]
    return len(shape) <= len(whole) and all(n in (1, m) for n, m in zip(shape, rest, strict=True))


class Region:
    """The nodes that are computed together with a reduction.

    Parameters
    ----------
    start : Node
        The reduction.
    order : sequence of Node
        All nodes to compute, each after its inputs.
    known : container of Node
        Nodes that are already computed.
    is_deep : bool
        Whether to include element-wise computations on the results, and reductions of those.

    Attributes
    ----------
    shape : tuple of int
        Shape of the reductions' operands.
    axes : tuple of int
    outputs : list of Node
        Nodes that are read outside the region.
    """

    def __init__(
        self,
        start: Node,
        order: Sequence[Node],
        known: Container[Node],
        results: Sequence[Node],
        *,
        is_deep: bool,
    ) -> None:
        self.shape, self.axes = start.inputs[0].shape, tuple(start.attributes["axes"])
        self._kept, self._is_deep = start.shape, is_deep
        self._levels: dict[Node, int] = {}
        for node in order:
            if node not in known and all(n in known or n in self._levels for n in node.inputs):
                self._consider(node)
        wanted = set(results)
        for node in order:
            if node not in self._levels:
                wanted.update(node.inputs)
        self.outputs = [n for n, level in self._levels.items() if level and n in wanted]

    def _consider(self, node: Node) -> None:
        level = max([self._levels.get(n, 0) for n in node.inputs], default=0)
        if is_reduction(node):
            same = node.inputs[0].shape == self.shape and node.attributes["axes"] == self.axes
            if same and (self._is_deep or not level):
                self._levels[node] = level + 1
        elif is_elementwise(node) and not is_indexed(node):
            of_results = node.shape == self._kept or (self._is_deep and node.shape == self.shape)
            if of_results if level else _fits(node.shape, self.shape):
                self._levels[node] = level

    @property
    def is_nested(self) -> bool:
        """Whether there is more than one pass."""
        deep = max(self._levels.values()) > 1
        return deep or any(n.shape != self._kept for n in self.outputs)
