# SPDX-License-Identifier: Apache-2.0
"""Recording of reduction kernels, in one launch, or in two stages for large arrays."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.kernels.expression import Expression
from sycl_dnn.kernels.forms import BLOCK, ReductionSchedule
from sycl_dnn.kernels.passes import Passes
from sycl_dnn.kernels.reduction_schedule import (
    SHORT,
    Plan,
    ReductionGrid,
    in_memory_order,
    in_parts,
    is_costly,
    is_far_apart,
    n_parts_of,
    planned,
    reduction_grid,
    row_of,
    short_of,
    whole_schedule,
)
from sycl_dnn.kernels.two_stages import Stages
from sycl_dnn.lower.chaining import Chains, Stage
from sycl_dnn.lower.region_arrays import RegionArrays
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor


def schedule_of(
    expression: Expression,
    grid: ReductionGrid,
    n_processors: int,
    *,
    is_cpu: bool,
    lanes: int | None = None,
) -> ReductionSchedule:
    """Return the schedule of an expression over a grid; ``lanes`` fixes the axis of the vectors."""
    passes = Passes(expression, grid.kinds, grid.classes(0), keeps=False, has_row=False)
    short = short_of(expression, grid, passes.count) if is_cpu else SHORT
    schedule = whole_schedule(grid, passes.n_terms, is_cpu=is_cpu, lanes=lanes, short=short)
    is_single = passes.count == 1 and bool(expression.reductions)
    if is_cpu and is_single:
        schedule = in_memory_order(grid, schedule, expression, n_processors)
    return schedule


def plans_of(
    expression: Expression,
    grid: ReductionGrid,
    n_processors: int,
    *,
    is_cpu: bool,
    block: int = BLOCK,
) -> list[Plan]:
    """Return plans of a launch; the first is the best one if the launch is not chained.

    With vectors along the innermost axis, the other axes can be divided into slabs.
    """
    schedules = [schedule_of(expression, grid, n_processors, is_cpu=is_cpu)]
    last = len(grid.sizes) - 1
    if schedules[0].lanes != last:
        schedules.append(schedule_of(expression, grid, n_processors, is_cpu=is_cpu, lanes=last))
    schedules = [schedule._replace(block=block) for schedule in schedules]
    return [planned(expression, grid, s, n_processors) for s in schedules]


def elementwise_plans(
    expression: Expression,
    sizes: Sequence[int],
    strides: Sequence[Sequence[int]],
    n_processors: int,
) -> tuple[list[Plan], ReductionGrid]:
    """Return plans and grid of element-wise nodes on a CPU; long rows are treated as reduced."""
    *outer, inner = sizes
    kinds = "k" * len(outer) + ("r" if inner >= SHORT else "k")
    grid = reduction_grid(sizes, kinds, strides)
    grid.check(expression.terms[-1].operation if expression.terms else "copy")
    return plans_of(expression, grid, n_processors, is_cpu=True), grid


class ReductionLaunch:
    """The launch of a region's outputs.

    ``chain``: the earlier launches.
    """

    def __init__(self, region: RegionArrays, chain: Chains) -> None:
        self._region, self._expression, self._chains = region, region.expression, chain
        self._is_cpu = region.trace.is_on_cpu
        self._grid = region.grid()
        self._schedule = schedule_of(
            self._expression, self._grid, self._n_processors, is_cpu=self._is_cpu
        )
        is_cheap = self._is_cpu and not is_costly(self._expression)
        #: Whether several passes should be several kernels; those over short columns of which terms
        #: are kept find them in the cache.
        self.is_far_apart = is_far_apart(self._grid, self._schedule) and not row_of(
            self._expression, self._grid, self._schedule
        )
        self.n_parts = n_parts_of(
            self._grid, self._schedule, self._n_processors,
            is_apart=self.is_far_apart, is_cheap=is_cheap,
        )  # fmt: skip

    @property
    def _n_processors(self) -> int:
        return int(self._region.trace.engine.sycl_queue.sycl_device.max_compute_units)

    def recorded(self) -> list[Tensor]:
        """Record the kernels; return the outputs."""
        if self.n_parts > 1:
            return self._in_two_stages()
        region = self._region
        return self._launched(
            self._expression, self._grid, region.operands, region.outs(), region.indexed
        )

    def _launched(
        self,
        expression: Expression,
        grid: ReductionGrid,
        operands: Sequence[Tensor],
        outs: Sequence[Out],
        indexed: Sequence[int] = (),
        block: int = BLOCK,
    ) -> list[Tensor]:
        plans = plans_of(expression, grid, self._n_processors, is_cpu=self._is_cpu, block=block)
        return self._chains.recorded([Stage(p, grid, operands, outs, indexed) for p in plans])

    def _in_two_stages(self) -> list[Tensor]:
        region, stages = self._region, Stages(self._expression)
        n_results = len(region.outputs)
        of_inputs, of_outputs = self._grid.strides[:-n_results], self._grid.strides[-1]
        parts = [stages.first.dtype_of(n) for n in stages.first.results]
        # Every output has the kept axes, so all have the same strides.
        grid = self._grid._replace(strides=(*of_inputs, *[of_outputs] * len(parts)))
        grid, schedule = in_parts(grid, self._schedule, self.n_parts, len(parts))
        total = self._grid.sizes[schedule.part]
        plan = planned(stages.first, grid, schedule, self._n_processors, total)
        shape = (plan.n_parts, self._grid.count("k"))
        outs = [Out(shape, dtype) for dtype in parts]
        partials = self._chains.begun([Stage(plan, grid, region.operands, outs, region.indexed)])
        reread = [region.operands[n] for n in stages.again]
        second = self._grid_of_results(plan.n_parts, len(partials), stages.again, n_results)
        # There are few parts, of large sums: the rounding of each would show.
        return self._launched(stages.second, second, [*partials, *reread], region.outs(), block=1)

    def _grid_of_results(
        self, n_parts: int, n_partials: int, reread: Sequence[int], n_results: int
    ) -> ReductionGrid:
        """Return the grid of parts and kept axes."""
        kept_axes = [a for a, kind in enumerate(self._grid.kinds) if kind == "k"]
        sizes = [n_parts, *[self._grid.sizes[a] for a in kept_axes]]
        strides = self._grid.strides
        of_outputs = strides[-1]
        count = self._grid.count("k")
        rows = [[count, *[of_outputs[a] for a in kept_axes]]] * n_partials
        rows += [[0, *[strides[n][a] for a in kept_axes]] for n in reread]
        rows += [[0, *[of_outputs[a] for a in kept_axes]]] * n_results
        return reduction_grid(sizes, "r" + "k" * len(kept_axes), rows)
