# SPDX-License-Identifier: Apache-2.0
"""Recording of scan kernels, in one launch or in two: the states of parts, then the results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sycl_dnn.kernels.expression import REGISTERS, SCANS
from sycl_dnn.kernels.forms import ReductionSchedule, ScanForm, name_of
from sycl_dnn.kernels.fused_scan import scan_module, state_types
from sycl_dnn.kernels.launching import launched
from sycl_dnn.kernels.reduction_schedule import (
    Plan,
    ReductionGrid,
    in_parts,
    is_far_apart,
    longest_kept,
    n_parts_of,
    planned,
    whole_schedule,
)
from sycl_dnn.kernels.scanning import is_in_order
from sycl_dnn.lower.region_arrays import RegionArrays
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: By type, the dtype of arrays that hold states.
_DTYPES = {register: dtype for dtype, register in reversed(REGISTERS.items())}


#: Elements along the innermost axis from which a CPU vectorizes along it.
_MIN_LANES = 4


class ScanLaunch:
    """The launch of a region of scans.

    ``is_reversed``: whether the last element comes first.
    """

    def __init__(self, region: RegionArrays, *, is_reversed: bool) -> None:
        self._region, self._is_reversed = region, is_reversed
        self._expression = expression = region.expression
        device = region.trace.engine.sycl_queue.sycl_device
        self._n_processors = int(device.max_compute_units)
        self._is_cpu = region.trace.is_on_cpu
        self._wide = "f64" if self._is_cpu else "f32"
        terms = [t for t in expression.terms if t.operation in SCANS]
        self._in_order = any(
            is_in_order(t.operation, expression.dtype_of(t.operands[0])) for t in terms
        )
        self._grid = region.grid()
        self._schedule = self._schedule_of(self._grid)

    def _schedule_of(self, grid: ReductionGrid) -> ReductionSchedule:
        last = len(grid.sizes) - 1
        is_dense = any(along[-1] == 1 for along in grid.strides)
        is_innermost = self._is_cpu and is_dense and grid.sizes[last] >= _MIN_LANES
        lanes = last if is_innermost else None
        schedule = self._whole(grid, lanes)
        if grid.kinds[schedule.lanes] == "k":
            return schedule
        if self._in_order:
            # Rows side by side; a few of them one after another.
            lanes = longest_kept(grid)
            if lanes is not None and (grid.sizes[lanes] >= 8 or not self._is_cpu):
                return self._whole(grid, lanes)
            return schedule._replace(width=1, unroll=1, n_items=1)
        return schedule._replace(unroll=1)

    def _whole(self, grid: ReductionGrid, lanes: int | None) -> ReductionSchedule:
        n_terms = len(self._expression.terms)
        schedule = whole_schedule(grid, n_terms, is_cpu=self._is_cpu, lanes=lanes)
        return schedule._replace(tile=0, has_rest=True)  # scans read element by element

    def recorded(self) -> list[Tensor]:
        """Record the kernels; return the outputs."""
        region, n_parts = self._region, 1
        if not self._in_order:
            is_apart = is_far_apart(self._grid, self._schedule)
            n_parts = n_parts_of(self._grid, self._schedule, self._n_processors, is_apart=is_apart)
        if n_parts > 1:
            return self._in_parts(n_parts)
        plan = planned(self._expression, self._grid, self._schedule, self._n_processors)
        return self._submitted(plan, "whole", region.operands, region.outs())

    def _in_parts(self, n_parts: int) -> list[Tensor]:
        region, full_grid = self._region, self._grid
        types = state_types(self._expression, self._wide)
        n_results, n_states = len(region.outputs), len(types)
        dense = _dense_over_kept(full_grid)
        states = [dense] * n_states
        axis = full_grid.kinds.index("r")
        part_states: list[Tensor] = []
        for stage, strides in (
            ("states", full_grid.strides[: len(full_grid.strides) - n_results]),
            ("parts", full_grid.strides),
        ):
            grid = full_grid._replace(strides=(*strides, *states))
            grid, schedule = in_parts(grid, self._schedule, n_parts, n_states)
            plan = planned(
                self._expression, grid, schedule, self._n_processors, full_grid.sizes[axis]
            )
            if stage == "states":
                outs = [Out((plan.n_parts, full_grid.count("k")), _DTYPES[t]) for t in types]
                part_states = self._submitted(plan, stage, region.operands, outs)
        return self._submitted(plan, "parts", region.operands, region.outs(), part_states)

    def _submitted(
        self,
        plan: Plan,
        stage: str,
        operands: Sequence[Tensor],
        outs: Sequence[Out],
        states: Sequence[Tensor] = (),
    ) -> list[Tensor]:
        form = ScanForm(*plan.form, self._is_reversed, self._wide, stage)
        numbers = [*plan.numbers, *self._region.indexed]
        return launched(
            self._region.trace, partial(scan_module, form), name_of(form), [*operands, *states],
            outs, numbers, plan.n_groups, form.schedule.n_items,
        )  # fmt: skip


def _dense_over_kept(grid: ReductionGrid) -> tuple[int, ...]:
    """Return the strides of an array of the kept axes."""
    strides, n = [], 1
    for size, kind in zip(reversed(grid.sizes), reversed(grid.kinds), strict=True):
        strides.append(n if kind == "k" else 0)
        n *= size if kind == "k" else 1
    return tuple(reversed(strides))
