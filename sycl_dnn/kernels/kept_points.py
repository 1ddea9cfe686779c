# SPDX-License-Identifier: Apache-2.0
"""Shared by kernels along axes: the loop over points of the kept axes, memory that items share."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from sycl_dnn.kernels.array_access import Scope
from sycl_dnn.kernels.expression_kernel import ExpressionKernel
from sycl_dnn.kernels.forms import ReductionForm, ScanForm
from sycl_dnn.kernels.reduced_axes import ReducedAxes
from sycl_dnn.kernels.spirv import Kernel, Value
from sycl_dnn.kernels.unit_loops import unit_loop


class KeptPoints(ExpressionKernel):
    """The code generator of a kernel with kept axes; parameters as for any expression's kernel."""

    def __init__(
        self,
        form: ReductionForm | ScanForm,
        others: Sequence[str] = (),
        *,
        has_results: bool = True,
        kernel: Kernel | None = None,
        parameters: Sequence[Value] = (),
    ) -> None:
        super().__init__(
            form, others, has_results=has_results, kernel=kernel, parameters=parameters
        )
        self._kinds, self._schedule = form.kinds, form.schedule
        self._is_rows = form.kinds[form.schedule.lanes] == "r"
        self._shared: dict[tuple[str, int], Value] = {}

    def at_slab(self, slab: Value) -> None:
        """Generate the loop over the units of a slab; slabs are equal parts of the whole."""
        k = self._kernel
        first = k.call("mul", slab, self._each)
        self._over_units(first, self._added(first, self._each))

    def _over_units(self, first: Value, last: Value) -> None:
        """Generate the loop over units: points of the kept axes, or vectors of points."""
        k, schedule = self._kernel, self._schedule
        axes = [a for a, kind in enumerate(self._kinds) if kind == "k" and a != schedule.lanes]
        sizes = [self._sizes[axis] for axis in axes]
        unit = self._span or self._constant(schedule.unit)
        if not self._is_rows:
            before = k.call("sub", unit, self._constant(1))
            sizes.append(k.call("div", self._added(self._sizes[schedule.lanes], before), unit))
        with unit_loop(k, first, last, sizes) as places:
            start = None if self._is_rows else k.call("mul", places[-1], unit)
            self._unit(dict(zip(axes, places, strict=False)), start)

    def _unit(self, coordinates: dict[int, Value], start: Value | None) -> None:
        """Generate the code for one point of the kept axes, or for vectors from ``start`` on."""
        self._coordinates = coordinates
        self._axes = ReducedAxes(
            self._kernel, self._kinds, self._schedule, self._sizes, self._total
        )
        self._axes.locate(coordinates)
        point_scope = Scope(self._arrays, self._axes).moved(coordinates)
        if start is not None and self._span is not None:
            self._at_span(point_scope, start)
            return
        places = [None] if start is None else self._lanes(start)
        self._at_points([point_scope if at is None else point_scope.at(at) for at in places])

    def _at_span(self, scope: Scope, start: Value) -> None:
        """Generate the computation of a span along the axis of vectors, in the order of memory."""
        raise NotImplementedError

    @abc.abstractmethod
    def _at_points(self, scopes: list[Scope]) -> None:
        """Generate the computation at one point, or at vectors of points."""

    def _lanes(self, start: Value) -> list[Value]:
        """Return the first coordinates of vectors along a kept axis; the last ones overlap."""
        k, schedule = self._kernel, self._schedule
        width, n_items = schedule.width, schedule.n_items
        last = k.call("sub", self._sizes[schedule.lanes], self._constant(width))
        mine = self._added(start, k.call("mul", self._item, self._constant(width)))
        return [
            k.call("min", self._added(mine, self._constant(n * width * n_items)), last)
            for n in range(schedule.unroll)
        ]

    # --- What the items of a group share

    def _memory(self, name: str, number: int) -> Value:
        if (name, number) not in self._shared:
            memory = self._kernel.group_memory(name, self._schedule.n_items)
            self._shared[name, number] = memory
        return self._shared[name, number]

    def _share(self, memory: list[Value], state: list[Value]) -> None:
        for at, v in zip(memory, state, strict=True):
            self._kernel.share(at, self._item, v)

    def _shared_state(self, memory: list[Value], item: Value) -> list[Value]:
        return [self._kernel.shared(at, item) for at in memory]
