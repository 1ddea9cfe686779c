# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of reductions, possibly nested, with surrounding element-wise terms.

Axes are kept (k) or reduced (r). Each nesting level is a pass over the reduced axes: for softmax,
first the maximum of a row, then the sum of exponentials. Vectors extend along a reduced axis, or
along a kept one, where each lane computes a separate reduction.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence

from sycl_dnn.kernels.array_access import Scope
from sycl_dnn.kernels.column_states import ColumnStates
from sycl_dnn.kernels.combining import Reduction, State, assign, current, variables
from sycl_dnn.kernels.expression import REDUCTIONS
from sycl_dnn.kernels.forms import ReductionForm
from sycl_dnn.kernels.kept_points import KeptPoints
from sycl_dnn.kernels.passes import Passes
from sycl_dnn.kernels.spirv import Kernel, Value


@functools.lru_cache(maxsize=1024)
def reduction_module(form: ReductionForm) -> bytes:
    """Return the SPIR-V of a kernel."""
    return ReductionWriter(form).module()


class ReductionWriter(KeptPoints):
    """The code generator of a kernel, or of a part of one."""

    def __init__(
        self, form: ReductionForm, kernel: Kernel | None = None, parameters: Sequence[Value] = ()
    ) -> None:
        super().__init__(form, kernel=kernel, parameters=parameters)
        expression = form.expression
        # Several items, or vectors along a kept axis, would overwrite elements that they share.
        keeps = self._is_rows and form.schedule.n_items == 1
        has_row = form.schedule.row > 0
        self._has_short_rows = self._is_rows and form.schedule.n_rows > 0
        self._passes = Passes(expression, form.kinds, form.classes, keeps=keeps, has_row=has_row)
        #: Local memory of a term along the reduced axes, of each vector along a kept one.
        self._rows: list[Value | None] = [None]
        if has_row:
            n, width = (1, 1) if self._is_rows else (form.schedule.unroll, form.schedule.width)
            length = form.schedule.row * width
            self._rows = [self._kernel.group_memory("f32", length) for _ in range(n)]
        self._reductions = {
            n: Reduction(
                self._kernel, term, expression.dtype_of(term.operands[0]),
                is_block=not form.schedule.block,
            )
            for n, term in enumerate(expression.terms, len(expression.inputs))
            if term.operation in REDUCTIONS
        }  # fmt: skip

    # --- Passes over the reduced axes

    def _at_points(self, scopes: list[Scope]) -> None:
        passes = self._passes
        for scope, row in zip(scopes, itertools.cycle(self._rows)):
            scope.row = row
        for number in range(passes.count):
            reductions, written = passes.reductions[number], passes.full[number]
            if not (reductions or written):
                continue
            for scope in scopes:
                scope.compute(passes.constant_before[number])
            totals = [self._variables(reductions, is_total=True) for _ in scopes]
            along = self._along_rows if self._is_rows else self._along_columns
            if self._has_short_rows:
                along = self._along_short_rows
            with self._outer_loops(scopes) as moved:
                along(moved, totals, number)
            for scope, of_scope in zip(scopes, totals, strict=True):
                self._finish(scope, reductions, of_scope)
        for scope in scopes:
            scope.compute(passes.constant_after)
        if self._is_rows and self._schedule.n_items > 1:
            with self._kernel.when(self._kernel.call("eq", self._item, self._constant(0))):
                scopes[0].store(passes.once)
        else:
            for scope in scopes:
                scope.store(passes.once)

    def _variables(self, numbers: Sequence[int], *, is_total: bool = False) -> list[State]:
        width = self._schedule.width
        starts = [self._reductions[n] for n in numbers]
        states = [r.total_start(width) if is_total else r.start(width) for r in starts]
        return variables(self._kernel, states)

    @contextlib.contextmanager
    def _outer_loops(self, scopes: list[Scope]) -> Iterator[list[Scope]]:
        """Generate the loops over reduced axes outside the innermost loops; yield moved scopes."""
        axes = [a for a in self._axes.looped if a != self._schedule.lanes]
        with contextlib.ExitStack() as loops:
            for axis in axes if self._is_rows and not self._has_short_rows else axes[:-1]:
                high = self._axes.high[axis]
                loop = self._kernel.loop(self._constant(0), high, self._constant(1))
                c = loops.enter_context(loop)
                scopes = [s.moved({axis: c}) for s in scopes]
            yield scopes

    @contextlib.contextmanager
    def _blocks(self, high: Value, step: int) -> Iterator[tuple[Value, Value]]:
        """Generate the loop over blocks of steps; yield where one begins and ends."""
        k, zero = self._kernel, self._constant(0)
        if not self._schedule.block:
            yield zero, high
            return
        block = self._constant(step * self._schedule.block)
        with k.loop(zero, high, block) as first:
            yield first, k.call("min", self._added(first, block), high)

    def _along_columns(self, scopes: list[Scope], totals: list[list[State]], number: int) -> None:
        """Generate the inner loops over the last reduced axis, a block of rows at a time."""
        k, axis = self._kernel, self._axes.looped[-1]
        reductions = self._passes.reductions[number]
        with self._blocks(self._axes.high[axis], 1) as (first, last):
            sums = [self._variables(reductions) for _ in scopes]
            if self._schedule.tile:
                tile = self._constant(self._schedule.tile)
                end = k.call("sub", last, k.call("rem", k.call("sub", last, first), tile))
                with k.loop(first, end, tile) as row:
                    for scope, states in zip(scopes, sums, strict=True):
                        self._absorb_tile(scope, axis, row, states, number)
                first = end
            if self._schedule.has_rest:
                with k.loop(first, last, self._constant(1)) as row:
                    for scope, states in zip(scopes, sums, strict=True):
                        row_scope = scope.moved({axis: row})
                        self._absorb(row_scope, states, number)
            for states, total in zip(sums, totals, strict=True):
                self._gather(reductions, total, states)

    def _at_span(self, scope: Scope, start: Value) -> None:
        """Generate the pass over a span of columns: some rows at a time, in the order of memory."""
        k, reductions = self._kernel, [self._reductions[n] for n in self._passes.reductions[0]]
        width, span = self._schedule.width, self._schedule.span
        totals = ColumnStates(k, [r.total_start(width) for r in reductions], span)
        blocks = ColumnStates(k, [r.start(width) for r in reductions], span)
        with self._columns(start) as columns:
            for column, _ in columns:
                totals.keep(column, totals.starts)
        with self._outer_loops([scope]) as (moved,):
            self._blocks_of_span(moved, start, totals, blocks)
        with self._columns(start) as columns:
            for column, at in columns:
                of_vector = scope.at(at)
                for n, total in zip(self._passes.reductions[0], totals.of(column), strict=True):
                    reduction = self._reductions[n]
                    of_vector.values[n] = reduction.result(reduction.settled(total))
                of_vector.compute(self._passes.constant_after)
                of_vector.store(self._passes.once)

    @contextlib.contextmanager
    def _columns(self, start: Value) -> Iterator[list[tuple[Value, Value]]]:
        """Generate the loop over the columns of a span.

        Yield the place of the state of each vector, and the first coordinate of its elements.
        """
        k, schedule = self._kernel, self._schedule
        assert self._span is not None
        stop = self._added(start, self._span)
        stop = k.call("min", stop, self._sizes[schedule.lanes])
        with k.loop(start, stop, self._constant(schedule.step)) as at:
            first = k.call("sub", at, start)
            shifts = [self._constant(n * schedule.width) for n in range(schedule.unroll)]
            columns = [self._added(first, shift) for shift in shifts]
            yield list(zip(columns, self._lanes(at), strict=True))

    def _blocks_of_span(
        self, scope: Scope, start: Value, totals: ColumnStates, blocks: ColumnStates
    ) -> None:
        """Generate the inner loops over the last reduced axis: blocks, some rows, columns, rows."""
        k, axis, one = self._kernel, self._axes.looped[-1], self._constant(1)
        reductions, n_rows = self._passes.reductions[0], self._constant(self._schedule.n_rows)
        with self._blocks(self._axes.high[axis], 1) as (first, last):
            with self._columns(start) as columns:
                for column, _ in columns:
                    blocks.keep(column, blocks.starts)
            with k.loop(first, last, n_rows) as row, self._columns(start) as columns:
                end = k.call("min", self._added(row, n_rows), last)
                scopes = [scope.at(at) for _, at in columns]
                for of_vector in scopes:
                    of_vector.compute(self._passes.constant_before[0])
                sums = [variables(k, blocks.of(column)) for column, _ in columns]
                with k.loop(row, end, one) as c:
                    for of_vector, states in zip(scopes, sums, strict=True):
                        self._absorb(of_vector.moved({axis: c}), states, 0)
                for (column, _), states in zip(columns, sums, strict=True):
                    blocks.keep(column, [current(k, state) for state in states])
            with self._columns(start) as columns:
                for column, _ in columns:
                    pairs = zip(totals.of(column), blocks.of(column), strict=True)
                    of_reductions = zip(reductions, pairs, strict=True)
                    gathered = [self._reductions[n].gathered(*pair) for n, pair in of_reductions]
                    totals.keep(column, gathered)

    def _along_rows(self, scopes: list[Scope], totals: list[list[State]], number: int) -> None:
        """Generate the inner loops: unrolled over several vectors, then over the rest."""
        k, schedule, (scope,), (total,) = self._kernel, self._schedule, scopes, totals
        axis, reductions = schedule.lanes, self._passes.reductions[number]
        high, step = self._axes.high[axis], self._constant(schedule.step)
        unrolled_end = k.call("sub", high, k.call("rem", high, step))
        mine = k.call("mul", self._item, self._constant(schedule.width))
        with self._blocks(unrolled_end, schedule.step) as (first, last):
            sums = [self._variables(reductions) for _ in range(schedule.unroll)]
            with k.loop(self._added(first, mine), last, step) as at:
                for n, states in enumerate(sums):
                    shift = self._constant(n * schedule.width * schedule.n_items)
                    self._absorb(scope.at(self._added(at, shift)), states, number)
            for states in sums[1:]:
                self._merge(reductions, sums[0], states)
            self._gather(reductions, total, sums[0])
        vector_step = self._constant(schedule.width * schedule.n_items)
        with k.loop(self._added(unrolled_end, mine), high, vector_step) as at:
            self._rest(scope, total, number, at, high)

    def _along_short_rows(
        self, scopes: list[Scope], totals: list[list[State]], number: int
    ) -> None:
        """Generate the loops over blocks of rows, the rows of a block, and their vectors."""
        k, schedule, (scope,), (total,) = self._kernel, self._schedule, scopes, totals
        zero, step, reductions = self._constant(0), schedule.step, self._passes.reductions[number]
        outer, high = self._axes.looped[-2], self._axes.high
        n_rows, row_end = self._constant(schedule.n_rows), high[schedule.lanes]
        unrolled_end = k.call("sub", row_end, k.call("rem", row_end, self._constant(step)))
        with k.loop(zero, high[outer], n_rows) as first:
            last = k.call("min", self._added(first, n_rows), high[outer])
            sums = [self._variables(reductions) for _ in range(schedule.unroll)]
            with k.loop(first, last, self._constant(1)) as row:
                of_row = scope.moved({outer: row})
                with k.loop(zero, unrolled_end, self._constant(step)) as at:
                    for n, states in enumerate(sums):
                        place = self._added(at, self._constant(n * schedule.width))
                        self._absorb(of_row.at(place), states, number)
                with k.loop(unrolled_end, row_end, self._constant(schedule.width)) as at:
                    self._rest(of_row, sums[0], number, at, row_end, is_total=False)
            for states in sums[1:]:
                self._merge(reductions, sums[0], states)
            self._gather(reductions, total, sums[0])

    def _rest(
        self, scope: Scope, total: list[State], number: int, at: Value, high: Value,
        *, is_total: bool = True,
    ) -> None:  # fmt: skip
        """Generate a final vector, masking elements already processed."""
        k, width = self._kernel, self._schedule.width
        start = k.call("min", at, k.call("sub", high, self._constant(width)))
        vector_scope = scope.at(start)
        places = self._added(k.repeated(start, width), k.counting("i32", width))
        is_new = k.call("ge", places, k.repeated(at, width))
        reductions = self._passes.reductions[number]
        elements = self._elements(vector_scope, number, is_new)
        for n, state, element in zip(reductions, total, elements, strict=True):
            reduction = self._reductions[n]
            element = reduction.masked(element, is_new)
            add = reduction.gathered if is_total else reduction.merged
            assign(k, state, add(current(k, state), element))

    def _elements(self, scope: Scope, number: int, is_new: Value | None = None) -> list[State]:
        """Store a vector's results and return the states of its elements.

        ``is_new`` says which elements were not processed yet.
        """
        passes, width = self._passes, self._schedule.width
        self._compute(scope, number, is_new)
        scope.store(passes.full[number])
        states = []
        for n in passes.reductions[number]:
            operand, *place = self._expression.terms[n - len(self._expression.inputs)].operands
            reduction, index = self._reductions[n], None
            if reduction.has_places:
                index = scope.values[place[0]] if place else scope.counted()
            states.append(reduction.element(scope.values[operand], index, width))
        return states

    def _compute(self, scope: Scope, number: int, is_new: Value | None) -> None:
        """Compute a vector's terms, from those that an earlier pass left in memory."""
        read_back = self._passes.read_back[number].items()
        for term, place in read_back:
            scope.read_back(term, place)
        scope.compute(self._passes.varying[number])
        is_again = is_new is not None and any(place is not None for _, place in read_back)
        for term, place in self._passes.kept[number].items():
            if is_new is not None and is_again:
                # Its operands are overwritten where it was stored before.
                recomputed = self._kernel.repeated(scope.values[term], self._schedule.width)
                scope.read_back(term, place)
                scope.values[term] = self._kernel.select(is_new, recomputed, scope.values[term])
            scope.keep(term, place)
        for term, place in read_back:
            if is_new is not None and place is not None:
                result = self._expression.results[place]
                final = scope.values[term]  # elements processed before are results already
                scope.values[result] = self._kernel.select(is_new, scope.values[result], final)

    def _absorb(self, scope: Scope, states: list[State], number: int) -> None:
        elements = self._elements(scope, number)
        for n, state, element in zip(
            self._passes.reductions[number], states, elements, strict=True
        ):
            merged = self._reductions[n].merged(current(self._kernel, state), element)
            assign(self._kernel, state, merged)

    def _absorb_tile(
        self, scope: Scope, axis: int, row: Value, states: list[State], number: int
    ) -> None:
        shifts = [self._constant(n) for n in range(self._schedule.tile)]
        scopes = [scope.moved({axis: self._added(row, shift)}) for shift in shifts]
        scopes[0].load_tiles(self._passes.varying[number], scopes)
        for of_row in scopes:
            of_row.held = of_row.tiled(self._passes.full[number])
            self._absorb(of_row, states, number)
        scopes[0].store_tiles(scopes)

    def _merge(self, reductions: Sequence[int], sums: list[State], others: list[State]) -> None:
        k = self._kernel
        for n, a, b in zip(reductions, sums, others, strict=True):
            assign(k, a, self._reductions[n].merged(current(k, a), current(k, b)))

    def _gather(self, reductions: Sequence[int], total: list[State], block: list[State]) -> None:
        k = self._kernel
        for n, a, b in zip(reductions, total, block, strict=True):
            assign(k, a, self._reductions[n].gathered(current(k, a), current(k, b)))

    def _finish(self, scope: Scope, reductions: Sequence[int], totals: list[State]) -> None:
        """Store the results of reductions in the scope."""
        for n, total in zip(reductions, totals, strict=True):
            reduction = self._reductions[n]
            state = current(self._kernel, total)
            if self._is_rows and self._schedule.n_items == 1:
                state = reduction.total_of_lanes(state)
            else:
                state = reduction.settled(state)
                if self._is_rows:
                    state = self._of_group(reduction, reduction.across(state))
            scope.values[n] = reduction.result(state)

    def _of_group(self, reduction: Reduction, state: State) -> State:
        """Reduce a state over the group by a binary tree."""
        k, half = self._kernel, self._schedule.n_items // 2
        if not half:
            return state
        memory = [self._memory(v.type, n) for n, v in enumerate(state)]
        self._share(memory, state)
        k.barrier()
        while half:
            with k.when(k.call("lt", self._item, self._constant(half))):
                other = self._added(self._item, self._constant(half))
                mine, others = (
                    self._shared_state(memory, self._item),
                    self._shared_state(memory, other),
                )
                self._share(memory, reduction.merged(mine, others))
            k.barrier()
            half //= 2
        total = self._shared_state(memory, self._constant(0))
        k.barrier()
        return total
