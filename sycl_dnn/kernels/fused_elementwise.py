# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of element-wise expressions, for broadcast operands in any layout."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence

from sycl_dnn.kernels.array_access import Scope
from sycl_dnn.kernels.elementwise_schedule import Grid, kept_terms, steady_along
from sycl_dnn.kernels.expression_kernel import ExpressionKernel
from sycl_dnn.kernels.forms import Form
from sycl_dnn.kernels.reduced_axes import ReducedAxes
from sycl_dnn.kernels.spirv import Kernel, Value
from sycl_dnn.kernels.unit_loops import unit_loop


def numbers_of(grid: Grid, n_groups: int, n_units: int, indexed: Sequence[int] = ()) -> list[int]:
    """Return the scalar arguments of a launch, in the order of the kernel's parameters.

    ``indexed`` has the numbers of the expression, then size and stride of each gathered axis, and
    the ends of a run.
    """
    share = -(-n_units // n_groups)
    return [share, n_units, *grid.sizes, *grid.passed_strides, *indexed]


@functools.lru_cache(maxsize=1024)
def module_of(form: Form) -> bytes:
    """Return the SPIR-V module of a kernel."""
    return ElementwiseWriter(form).module()


class ElementwiseWriter(ExpressionKernel):
    """The code generator of a kernel, or of a part of one."""

    def __init__(
        self, form: Form, kernel: Kernel | None = None, parameters: Sequence[Value] = ()
    ) -> None:
        super().__init__(form, kernel=kernel, parameters=parameters)
        self._form, self._schedule = form, form.schedule
        #: By term: the local memory of its values, which are equal in all rows.
        self._kept: dict[int, Value] = {}

    def _over_units(self, first: Value, last: Value) -> None:
        """Generate the loop over units, which are parts of an axis in sequence."""
        k, one, zero = self._kernel, self._constant(1), self._constant(0)
        axes = ReducedAxes(k, "k" * len(self._sizes), self._schedule, self._sizes, None)
        whole = Scope(self._arrays, axes)
        if self._schedule.kept_row:
            self._keep(whole)
        axis, length = self._schedule.cut
        pieces = self._schedule.pieces
        offsets = [self._constant(n) for n in itertools.accumulate(pieces[:-1], initial=0)]
        outer, size, span = self._sizes[:axis], self._sizes[axis], self._constant(length)
        n_parts = k.call("div", k.call("add", size, k.call("sub", span, one)), span)
        with unit_loop(k, first, last, [*outer, n_parts]) as (*places, part):
            start = k.call("mul", part, span)
            stop = k.call("min", k.call("add", start, span), size)
            scope = whole.moved(dict(enumerate(places)))
            if axis == -1:
                self._along(scope, start, stop)
            elif pieces:
                self._rows(scope, (start, stop), list(zip(offsets, pieces, strict=True)))
            elif self._schedule.in_columns:
                with self._runs() as run:
                    self._along(scope, *run, (start, stop))
            else:
                with k.loop(start, stop, one) as row:
                    self._along(scope.moved({-2: row}), zero, self._sizes[-1])

    @contextlib.contextmanager
    def _runs(self) -> Iterator[tuple[Value, Value]]:
        """Generate the loop over the parts of a row: before a run, the run, after it."""
        k, ends = self._kernel, [self._constant(0), *self._run, self._sizes[-1]]
        if not self._run:
            yield ends[0], ends[1]
            return
        with k.loop(self._constant(0), self._constant(3), self._constant(1)) as part:
            is_first, is_run = (k.call("eq", part, self._constant(n)) for n in (0, 1))
            start = k.select(is_first, ends[0], k.select(is_run, ends[1], ends[2]))
            yield start, k.select(is_first, ends[1], k.select(is_run, ends[2], ends[3]))

    def _keep(self, scope: Scope) -> None:
        """Generate the values that are equal in all rows, in local memory."""
        k, width, size = self._kernel, self._schedule.width, self._sizes[-1]
        numbers = kept_terms(self._expression, self._form.classes)
        kept = {n: k.group_memory("f32", self._schedule.kept_row) for n in numbers}
        n_single = k.call("rem", size, self._constant(width))
        end = k.call("sub", size, n_single)
        for first, last, length in ((self._constant(0), end, width), (end, size, 1)):
            with k.loop(first, last, self._constant(length)) as place:
                of_vector = scope.of_width(length).at(place)
                of_vector.compute(self._expression.needed(numbers))
                for n, memory in kept.items():
                    k.share(memory, place, k.repeated(of_vector.values[n], length))
        self._kept = kept

    def _along(
        self, scope: Scope, start: Value, stop: Value, rows: tuple[Value, Value] | None = None
    ) -> None:
        """Generate the loops along the innermost axis: over vectors, then single elements."""
        k, schedule = self._kernel, self._schedule
        width, n_items = schedule.width, schedule.n_items
        if not rows:
            scope.compute(self._steady(-1))

        def at(place: Value, width: int) -> None:
            if rows:
                self._rows(scope, rows, [(place, width)])
            else:
                self._elements(scope.of_width(width).at(place))

        stride = self._constant(width * n_items)
        length = k.call("sub", stop, start)
        vector_end = k.call("sub", stop, k.call("rem", length, stride))
        mine = k.call("mul", self._item, self._constant(width))
        with k.loop(k.call("add", start, mine), vector_end, stride) as place:
            at(place, width)
        if self._expression.n_places and n_items == 1:
            # One overlapping vector instead of single elements, since rows of images are short.
            enough = k.call("ge", length, self._constant(width))
            with k.when(k.call("and", enough, k.call("lt", vector_end, stop))):
                at(k.call("sub", stop, self._constant(width)), width)
            vector_end = k.select(enough, stop, vector_end)
        with k.loop(k.call("add", vector_end, self._item), stop, self._constant(n_items)) as place:
            at(place, 1)

    def _rows(
        self, scope: Scope, rows: tuple[Value, Value], vectors: Sequence[tuple[Value, int]]
    ) -> None:
        """Generate a loop over rows; in each, the vectors of some places and widths.

        What is equal in all rows, such as the numbers of a channel, is computed before.
        """
        of_all, of_row = self._steady(-2), self._steady(-1)
        columns = [scope.of_width(width).at(place) for place, width in vectors]
        for column in columns:
            column.compute(of_all)
        with self._kernel.loop(*rows, self._constant(1)) as row:
            in_row = scope.moved({-2: row})
            in_row.values |= columns[0].values  # only those that are equal in a row are read
            in_row.compute([n for n in of_row if n not in of_all])
            for (place, width), column in zip(vectors, columns, strict=True):
                of_vector = in_row.of_width(width).at(place)
                of_vector.values |= column.values
                self._elements(of_vector)

    def _steady(self, axis: int) -> list[int]:
        """Return the inputs and terms that are constant along an axis, in order."""
        return sorted(steady_along(axis, self._expression, self._form.classes))

    def _elements(self, scope: Scope) -> None:
        """Generate the elements of a vector, some of whose values exist."""
        for n, memory in self._kept.items():
            scope.read(n, memory)
        scope.compute(self._expression.needed(self._expression.results, scope.values))
        scope.store(range(len(self._expression.results)))
