# SPDX-License-Identifier: Apache-2.0
"""Recording of reduction kernels, in one launch, or in two stages for large arrays."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn import _core
from sycl_dnn.ir.node import Node, Shape
from sycl_dnn.kernels.expression import Expression
from sycl_dnn.kernels.fused_elementwise import name_of
from sycl_dnn.kernels.fused_reduction import reduction_module
from sycl_dnn.kernels.launching import launched
from sycl_dnn.kernels.node_expressions import expression_of
from sycl_dnn.kernels.reduction_schedule import (
    Plan,
    ReductionGrid,
    in_parts,
    n_parts_of,
    planned,
    reduction_grid,
    whole_schedule,
)
from sycl_dnn.kernels.two_stages import Stages
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order, spread_strides


class ReductionLaunch:
    """The launch of a region's outputs.

    Parameters
    ----------
    trace : Trace
    outputs, inputs : sequence of Node
    operands : sequence of Tensor
        Tensors of the inputs, in plain layouts, with the rank of ``shape``.
    shape : tuple of int
        Shape of the reduced operand.
    axes : tuple of int
    """

    def __init__(
        self,
        trace: Trace,
        outputs: Sequence[Node],
        inputs: Sequence[Node],
        operands: Sequence[Tensor],
        shape: Shape,
        axes: Sequence[int],
    ) -> None:
        self._trace, self._operands, self._outputs = trace, list(operands), outputs
        self._expression = expression_of(outputs, inputs)
        self._is_cpu = trace.engine.kind is _core.engine_kind.cpu
        whole = next((t for t in operands if t.shape == shape), None)
        self._order = self._order_of(axis_order(whole, len(shape)), axes)
        self._kinds = "".join("r" if k in axes else "k" for k in self._order)
        self._sizes = [shape[k] for k in self._order]
        strides = [[spread_strides(t)[k] for k in self._order] for t in operands]
        for node in outputs:
            dense = layout.permuted_strides(node.shape, self._order)
            strides.append([0 if node.shape[k] == 1 else dense[k] for k in self._order])
        self._grid = reduction_grid(self._sizes, self._kinds, strides)
        self._grid.check(str(outputs[0].operation))
        n_terms = len(self._expression.terms)
        self._schedule = whole_schedule(self._grid, n_terms, is_cpu=self._is_cpu)
        self.n_parts = n_parts_of(self._grid, self._schedule, self._n_processors)

    @property
    def _n_processors(self) -> int:
        return int(self._trace.engine.sycl_queue.sycl_device.max_compute_units)

    def _order_of(self, order: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
        """Return the axes in memory order; indices count along axes in logical order."""
        if not any(t.operation.startswith("arg") for t in self._expression.terms):
            return tuple(order)
        supply = iter(sorted(axes))
        return tuple([next(supply) if k in axes else k for k in order])

    def recorded(self) -> list[Tensor]:
        """Record the kernels; return the outputs."""
        if self.n_parts > 1:
            return self._in_two_stages()
        return self._launched(self._expression, self._grid, self._operands, self._outs())

    def _outs(self) -> list[Out]:
        made = []
        for node in self._outputs:
            strides = layout.permuted_strides(node.shape, self._order)
            desc = layout.strided(node.shape, node.dtype, strides)
            made.append(Out(node.shape, node.dtype, desc))
        return made

    def _launched(
        self,
        expression: Expression,
        grid: ReductionGrid,
        operands: Sequence[Tensor],
        outs: Sequence[Out],
    ) -> list[Tensor]:
        schedule = whole_schedule(grid, len(expression.terms), is_cpu=self._is_cpu)
        plan = planned(expression, grid, schedule, self._n_processors)
        return self._submitted(plan, operands, outs)

    def _submitted(
        self, plan: Plan, operands: Sequence[Tensor], outs: Sequence[Out]
    ) -> list[Tensor]:
        form = plan.form
        return launched(
            self._trace, reduction_module(form), name_of(form), operands, outs, plan.numbers,
            plan.n_groups, form.schedule.n_items,
        )  # fmt: skip

    def _in_two_stages(self) -> list[Tensor]:
        stages, n_results = Stages(self._expression), len(self._outputs)
        of_inputs, of_outputs = self._grid.strides[:-n_results], self._grid.strides[-1]
        parts = [stages.first.dtype_of(n) for n in stages.first.results]
        # Every output has the kept axes: the strides of one are those of all.
        grid = self._grid._replace(strides=(*of_inputs, *[of_outputs] * len(parts)))
        grid, schedule = in_parts(grid, self._schedule, self.n_parts, len(parts))
        total = self._grid.sizes[schedule.part]
        plan = planned(stages.first, grid, schedule, self._n_processors, total)
        shape = (plan.n_parts, self._grid.count("k"))
        outs = [Out(shape, dtype) for dtype in parts]
        made = self._submitted(plan, self._operands, outs)
        again = [self._operands[n] for n in stages.again]
        second = self._grid_of_results(plan.n_parts, len(made), stages.again, n_results)
        return self._launched(stages.second, second, [*made, *again], self._outs())

    def _grid_of_results(
        self, n_parts: int, n_made: int, again: Sequence[int], n_results: int
    ) -> ReductionGrid:
        """Return the grid of parts and kept axes."""
        kept = [a for a, kind in enumerate(self._grid.kinds) if kind == "k"]
        sizes = [n_parts, *[self._grid.sizes[a] for a in kept]]
        strides = self._grid.strides
        of_outputs = strides[-1]
        count = self._grid.count("k")
        rows = [[count, *[of_outputs[a] for a in kept]]] * n_made
        rows += [[0, *[strides[n][a] for a in kept]] for n in again]
        rows += [[0, *[of_outputs[a] for a in kept]]] * n_results
        return reduction_grid(sizes, "r" + "k" * len(kept), rows)
