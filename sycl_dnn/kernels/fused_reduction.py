# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of reductions, possibly nested, with surrounding element-wise terms.

Axes are kept (k) or reduced (r). Each nesting level is a pass over the reduced axes: for softmax,
first the maximum of a row, then the sum of exponentials. Vectors extend along a reduced axis, or
along a kept one, where each lane computes a separate reduction.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from sycl_dnn.kernels.array_access import ArrayAccess, Scope
from sycl_dnn.kernels.combining import Reduction, State, assign, current, variables
from sycl_dnn.kernels.expression import (
    IN_MEMORY,
    REDUCTIONS,
    REGISTERS,
)
from sycl_dnn.kernels.fused_elementwise import name_of
from sycl_dnn.kernels.passes import Passes
from sycl_dnn.kernels.reduced_axes import ReducedAxes
from sycl_dnn.kernels.reduction_form import ReductionForm
from sycl_dnn.kernels.spirv import Kernel, Value

#: Vectors, or rows of vectors, per block of the blocked summation.
_BLOCK = 64


@functools.lru_cache(maxsize=1024)
def reduction_module(form: ReductionForm) -> bytes:
    """Return the SPIR-V module of a kernel.

    Parameters of the kernel: inputs, results, units per group, number of units, full size of an
    axis processed in parts, sizes of the axes, strides of class n.
    """
    return _Writing(form).module()


class _Writing:
    """The code generator of a kernel."""

    def __init__(self, form: ReductionForm) -> None:
        self._expression, self._kinds, self._classes, self._schedule = form
        expression, n_axes = self._expression, len(form.kinds)
        dtypes = [*expression.inputs, *map(expression.dtype_of, expression.results)]
        types = [IN_MEMORY.get(d, REGISTERS[d]) for d in dtypes]
        is_split = form.schedule.part >= 0
        n_numbers = 2 + is_split + n_axes + sum(kinds.count("n") for kinds in form.classes)
        parameters = [("pointer", t) for t in types] + [("value", "i32")] * n_numbers
        self._kernel = k = Kernel(name_of(form), parameters, form.schedule.n_items)
        supply = iter(k.parameters[len(types) :])
        self._each, self._n_units = next(supply), next(supply)
        self._total = next(supply) if is_split else None
        self._sizes = [next(supply) for _ in range(n_axes)]
        strides = [
            [next(supply) if kind == "n" else None for kind in kinds] for kinds in form.classes
        ]
        self._arrays = ArrayAccess(k, form, k.parameters[: len(types)], strides)
        self._passes = Passes(self._expression, form.kinds, form.classes)
        self._reductions = {
            n: Reduction(k, term, expression.dtype_of(term.operands[0]))
            for n, term in enumerate(expression.terms, len(expression.inputs))
            if term.operation in REDUCTIONS
        }
        self._is_rows = form.kinds[form.schedule.lanes] == "r"
        self._item = k.number_of("item") if form.schedule.n_items > 1 else self._constant(0)
        self._shared: dict[tuple[str, int], Value] = {}

    def _constant(self, value: int) -> Value:
        return self._kernel.constant(value, "i32")

    def _added(self, a: Value, b: Value) -> Value:
        return self._kernel.call("add", a, b)

    # --- Units: points of the kept axes

    def module(self) -> bytes:
        """Generate the loop over the units of a group."""
        k = self._kernel
        first = k.call("mul", k.number_of("group"), self._each)
        last = k.call("min", self._added(first, self._each), self._n_units)
        with k.loop(first, last, self._constant(1)) as unit:
            self._unit(unit)
        return k.module()

    def _unit(self, unit: Value) -> None:
        """Generate the computation for one point of the kept axes, or a vector of them."""
        k, schedule = self._kernel, self._schedule
        rest, start = unit, None
        if not self._is_rows:
            step = self._constant(schedule.step)
            n = self._sizes[schedule.lanes]
            more = self._added(n, self._constant(schedule.step - 1))
            n_blocks = k.call("div", more, step)
            start = k.call("mul", k.call("rem", rest, n_blocks), step)
            rest = k.call("div", rest, n_blocks)
        coordinates = self._coordinates(rest)
        self._axes = ReducedAxes(k, self._kinds, self._schedule, self._sizes, self._total)
        self._axes.locate(coordinates)
        here = Scope(self._arrays, self._axes).moved(coordinates)
        places = [None] if start is None else self._lanes(start)
        self._all_passes([here if at is None else here.at(at) for at in places])

    def _coordinates(self, rest: Value) -> dict[int, Value]:
        """Return the coordinates along the kept axes, except that of vectors."""
        k = self._kernel
        kept = [a for a, kind in enumerate(self._kinds) if kind == "k"]
        kept = [a for a in kept if a != self._schedule.lanes]
        found = {}
        for axis in reversed(kept):
            if axis == kept[0]:
                found[axis] = rest
            else:
                found[axis] = k.call("rem", rest, self._sizes[axis])
                rest = k.call("div", rest, self._sizes[axis])
        return found

    def _lanes(self, start: Value) -> list[Value]:
        """Return the starts of vectors along a kept axis; the last one may overlap."""
        k, schedule = self._kernel, self._schedule
        width, n_items = schedule.width, schedule.n_items
        last = k.call("sub", self._sizes[schedule.lanes], self._constant(width))
        mine = self._added(start, k.call("mul", self._item, self._constant(width)))
        return [
            k.call("min", self._added(mine, self._constant(n * width * n_items)), last)
            for n in range(schedule.unroll)
        ]

    # --- Passes over the reduced axes

    def _all_passes(self, scopes: list[Scope]) -> None:
        passes = self._passes
        for number in range(passes.count):
            wanted, written = passes.reductions[number], passes.full[number]
            if not (wanted or written):
                continue
            for scope in scopes:
                scope.compute(passes.constant_before[number])
            totals = [self._variables(wanted, is_total=True) for _ in scopes]
            self._nest(self._outer(), scopes, totals, number)
            for scope, of_scope in zip(scopes, totals, strict=True):
                self._finish(scope, wanted, of_scope)
        for scope in scopes:
            scope.compute(passes.constant_after)
        if self._is_rows and self._schedule.n_items > 1:
            with self._kernel.when(self._kernel.call("eq", self._item, self._constant(0))):
                scopes[0].store(passes.once)
        else:
            for scope in scopes:
                scope.store(passes.once)

    def _variables(self, wanted: Sequence[int], *, is_total: bool = False) -> list[State]:
        width = self._schedule.width
        starts = [self._reductions[n] for n in wanted]
        states = [r.total_start(width) if is_total else r.start(width) for r in starts]
        return variables(self._kernel, states)

    def _outer(self) -> list[int]:
        looped = [a for a in self._axes.looped if a != self._schedule.lanes]
        return looped if self._is_rows else looped[:-1]

    def _nest(
        self, axes: list[int], scopes: list[Scope], totals: list[list[State]], number: int
    ) -> None:
        if not axes:
            along = self._along_rows if self._is_rows else self._along_columns
            along(scopes, totals, number)
            return
        axis = axes[0]
        with self._kernel.loop(self._constant(0), self._axes.high[axis], self._constant(1)) as c:
            self._nest(axes[1:], [s.moved({axis: c}) for s in scopes], totals, number)

    def _along_columns(self, scopes: list[Scope], totals: list[list[State]], number: int) -> None:
        """Generate the inner loops over the last reduced axis, a block of rows at a time."""
        k, axis = self._kernel, self._axes.looped[-1]
        wanted = self._passes.reductions[number]
        high, block = self._axes.high[axis], self._constant(_BLOCK)
        with k.loop(self._constant(0), high, block) as first:
            sums = [self._variables(wanted) for _ in scopes]
            last = k.call("min", self._added(first, block), high)
            with k.loop(first, last, self._constant(1)) as row:
                for scope, states in zip(scopes, sums, strict=True):
                    here = scope.moved({axis: row})
                    self._absorb(here, states, number)
            for states, total in zip(sums, totals, strict=True):
                self._gather(wanted, total, states)

    def _along_rows(self, scopes: list[Scope], totals: list[list[State]], number: int) -> None:
        """Generate the inner loops: unrolled over several vectors, then over the rest."""
        k, schedule, (scope,), (total,) = self._kernel, self._schedule, scopes, totals
        axis, wanted = schedule.lanes, self._passes.reductions[number]
        high, step = self._axes.high[axis], self._constant(schedule.step)
        whole = k.call("sub", high, k.call("rem", high, step))
        mine = k.call("mul", self._item, self._constant(schedule.width))
        block = self._constant(schedule.step * _BLOCK)
        with k.loop(self._constant(0), whole, block) as first:
            sums = [self._variables(wanted) for _ in range(schedule.unroll)]
            last = k.call("min", self._added(first, block), whole)
            with k.loop(self._added(first, mine), last, step) as at:
                for n, states in enumerate(sums):
                    shift = self._constant(n * schedule.width * schedule.n_items)
                    self._absorb(scope.at(self._added(at, shift)), states, number)
            for states in sums[1:]:
                self._merge(wanted, sums[0], states)
            self._gather(wanted, total, sums[0])
        one = self._constant(schedule.width * schedule.n_items)
        with k.loop(self._added(whole, mine), high, one) as at:
            self._rest(scope, total, number, at, high)

    def _rest(self, scope: Scope, total: list[State], number: int, at: Value, high: Value) -> None:
        """Generate a final vector, masking elements already processed."""
        k, width = self._kernel, self._schedule.width
        start = k.call("min", at, k.call("sub", high, self._constant(width)))
        here = scope.at(start)
        places = self._added(k.repeated(start, width), k.counting("i32", width))
        fresh = k.call("ge", places, k.repeated(at, width))
        wanted = self._passes.reductions[number]
        elements = self._elements(here, number)
        for n, state, element in zip(wanted, total, elements, strict=True):
            reduction = self._reductions[n]
            element = reduction.masked(element, fresh)
            assign(k, state, reduction.gathered(current(k, state), element))

    def _elements(self, scope: Scope, number: int) -> list[State]:
        """Store a vector's results and return the states of its elements."""
        passes, width = self._passes, self._schedule.width
        scope.compute(passes.varying[number])
        scope.store(passes.full[number])
        made = []
        for n in passes.reductions[number]:
            operand, *place = self._expression.terms[n - len(self._expression.inputs)].operands
            reduction, index = self._reductions[n], None
            if reduction.has_places:
                index = scope.values[place[0]] if place else scope.counted()
            made.append(reduction.element(scope.values[operand], index, width))
        return made

    def _absorb(self, scope: Scope, states: list[State], number: int) -> None:
        elements = self._elements(scope, number)
        for n, state, element in zip(
            self._passes.reductions[number], states, elements, strict=True
        ):
            merged = self._reductions[n].merged(current(self._kernel, state), element)
            assign(self._kernel, state, merged)

    def _merge(self, wanted: Sequence[int], into: list[State], more: list[State]) -> None:
        k = self._kernel
        for n, a, b in zip(wanted, into, more, strict=True):
            assign(k, a, self._reductions[n].merged(current(k, a), current(k, b)))

    def _gather(self, wanted: Sequence[int], total: list[State], block: list[State]) -> None:
        k = self._kernel
        for n, a, b in zip(wanted, total, block, strict=True):
            assign(k, a, self._reductions[n].gathered(current(k, a), current(k, b)))

    def _finish(self, scope: Scope, wanted: Sequence[int], totals: list[State]) -> None:
        """Store the results of reductions in the scope."""
        for n, total in zip(wanted, totals, strict=True):
            reduction = self._reductions[n]
            state = reduction.settled(current(self._kernel, total))
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
        whole = self._shared_state(memory, self._constant(0))
        k.barrier()
        return whole

    def _memory(self, name: str, number: int) -> Value:
        if (name, number) not in self._shared:
            made = self._kernel.group_memory(name, self._schedule.n_items)
            self._shared[name, number] = made
        return self._shared[name, number]

    def _share(self, memory: list[Value], state: State) -> None:
        for at, v in zip(memory, state, strict=True):
            self._kernel.share(at, self._item, v)

    def _shared_state(self, memory: list[Value], item: Value) -> State:
        return [self._kernel.shared(at, item) for at in memory]
