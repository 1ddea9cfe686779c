# SPDX-License-Identifier: Apache-2.0
"""Loops over the reduced axes of a generated kernel: bounds and element indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sycl_dnn.kernels.elementwise_schedule import Schedule
from sycl_dnn.kernels.forms import ReductionSchedule
from sycl_dnn.kernels.spirv import Kernel, Value


class ReducedAxes:
    """The axes that are looped over.

    ``total``: full size of the axis that is processed in parts. ``looped``: outermost first;
    ``high``: end of each axis.
    """

    def __init__(
        self,
        kernel: Kernel,
        kinds: str,
        schedule: ReductionSchedule | Schedule,
        sizes: Sequence[Value],
        total: Value | None,
    ) -> None:
        self._kernel, self._part, self._sizes, self._total = kernel, schedule.part, sizes, total
        self.lanes = schedule.lanes
        self.looped = [axis for axis, kind in enumerate(kinds) if kind == "r"]
        self.high = {axis: sizes[axis] for axis in self.looped}
        self._before: Value | None = None

    def locate(self, coordinates: Mapping[int, Value]) -> None:
        """Determine the current part of an axis; the last part may be shorter."""
        if self._total is None:
            return
        k, axis = self._kernel, self._part + 1
        self._before = k.call("mul", coordinates[self._part], self._sizes[axis])
        rest = k.call("sub", self._total, self._before)
        self.high[axis] = k.call("min", self._sizes[axis], rest)

    def counted(self, so_far: Value | None, axis: int, coordinate: Value) -> Value:
        """Return the index among all reduced elements up to this axis."""
        k, size = self._kernel, self._sizes[axis]
        if self._total is not None and self._before is not None and axis == self._part + 1:
            size = self._total
            coordinate = k.call("add", k.repeated(self._before, coordinate.width), coordinate)
        if so_far is None:
            return coordinate
        before = k.repeated(k.call("mul", so_far, size), coordinate.width)
        return k.call("add", before, coordinate)
