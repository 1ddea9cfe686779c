# SPDX-License-Identifier: Apache-2.0
"""The arrays that the kernel of a region reads and writes, and their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.node_expressions import expression_of, reads_of
from sycl_dnn.kernels.reduction_schedule import ReductionGrid, reduction_grid
from sycl_dnn.lower.region import Region
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order, readable, spread_strides


def coordinate_strides(node: Node, rank: int) -> list[int]:
    """Return the strides of a virtual array whose elements are their offsets; 0 if broadcast."""
    pairs = zip(node.shape, layout.row_major_strides(node.shape), strict=True)
    strides = [s if n > 1 else 0 for n, s in pairs]
    return ([0] * rank + strides)[len(strides) :]


def indexed_axes(gathers: Sequence[Node], sources: Sequence[Tensor]) -> list[int]:
    """Return size and stride of each indexed axis.

    Raises ValueError if there are no elements to choose from.
    """
    sizes_and_strides = []
    for node, source in zip(gathers, sources, strict=True):
        if not source.size:
            raise ValueError(
                f"gather: there must be elements to choose from for shape {node.shape}"
            )
        grid_of(source.shape, [source.strides]).check(str(node.operation))
        for axis in node.attributes["axes"]:
            sizes_and_strides += [source.shape[axis], source.strides[axis]]
    return sizes_and_strides


class RegionArrays:
    """The arrays that the kernels of a region read and write.

    ``tensors``: existing tensors by node. ``operands``: inputs, then sources of gathers, in plain
    layouts, of the rank of the region; ``indexed``: size and stride of each axis of a source that
    an index names.
    """

    def __init__(self, trace: Trace, region: Region, tensors: Mapping[Node, Tensor]) -> None:
        self.trace, self.outputs, self._shape = trace, region.outputs, region.shape
        rank = len(region.shape)
        reads = reads_of(region.outputs, tensors)
        inputs = [readable(tensors[node], rank) for node in reads.inputs]
        sources = [readable(tensors[node.inputs[0]], rank) for node in reads.gathers]
        self.operands = [*inputs, *sources]
        self.expression = expression_of(region.outputs, reads.inputs, reads)
        self.indexed = indexed_axes(reads.gathers, sources)
        full = [t for t in inputs if t.shape == region.shape] or sources
        self._order = self._order_of(axis_order(full[0] if full else None, rank), region.axes)
        self._kinds = "".join("r" if k in region.axes else "k" for k in self._order)
        strides: list[Sequence[int]] = [spread_strides(t) for t in inputs]
        for node, source in zip(reads.gathers, sources, strict=True):
            strides.append(spread_strides(source, node.attributes["axes"]))
        strides += [coordinate_strides(node, rank) for node in reads.places]
        strides += [self._strides_of(node) for node in region.outputs]
        self._strides = [[array_strides[k] for k in self._order] for array_strides in strides]

    def _order_of(self, order: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
        """Return the order of axes, as in memory; places are counted along axes in their order."""
        if not any(t.operation.startswith("arg") for t in self.expression.terms):
            return tuple(order)
        supply = iter(sorted(axes))
        return tuple([next(supply) if k in axes else k for k in order])

    def _strides_of(self, node: Node) -> list[int]:
        dense = layout.permuted_strides(node.shape, self._order)
        return [0 if n == 1 else s for n, s in zip(node.shape, dense, strict=True)]

    def grid(self) -> ReductionGrid:
        """Return the axes, and the strides of inputs, sources, coordinates and results."""
        grid = reduction_grid([self._shape[k] for k in self._order], self._kinds, self._strides)
        grid.check(str(self.outputs[0].operation))
        return grid

    def outs(self) -> list[Out]:
        """Return the requested outputs, in the axis order of the inputs."""
        requested = []
        for node in self.outputs:
            strides = layout.permuted_strides(node.shape, self._order)
            desc = layout.strided(node.shape, node.dtype, strides)
            requested.append(Out(node.shape, node.dtype, desc))
        return requested
