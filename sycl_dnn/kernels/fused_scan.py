# SPDX-License-Identifier: Apache-2.0
"""Kernels of scans along an axis, with the element-wise terms before and after them.

Vectors extend along the axis: their elements are combined in a logarithmic number of steps, then
with the state of all previous elements. Or they extend along a kept axis, with a separate scan in
each lane. If there are fewer rows than processors, one kernel computes the states of parts of the
axis, and a second one the results, starting each part from the states of the previous ones.
"""

from __future__ import annotations

import functools

from sycl_dnn.kernels.array_access import Scope
from sycl_dnn.kernels.combining import State, assign, current, variables
from sycl_dnn.kernels.expression import SCANS, Expression
from sycl_dnn.kernels.forms import ScanForm
from sycl_dnn.kernels.kept_points import KeptPoints
from sycl_dnn.kernels.scanning import Scan, scan_of
from sycl_dnn.kernels.spirv import Kernel, Value


def scans_of(kernel: Kernel, expression: Expression, wide: str) -> dict[int, Scan]:
    """Return the scans of an expression, by number of the term."""
    return {
        n: scan_of(kernel, term, expression.dtype_of(term.operands[0]), wide)
        for n, term in enumerate(expression.terms, len(expression.inputs))
        if term.operation in SCANS
    }


def state_types(expression: Expression, wide: str) -> list[str]:
    """Return the types of the states of all scans."""
    scans = scans_of(Kernel("states", [], 1), expression, wide)
    return [t for scan in scans.values() for t in scan.types]


@functools.lru_cache(maxsize=1024)
def scan_module(form: ScanForm) -> bytes:
    """Return the SPIR-V of a kernel."""
    return _Writing(form).module()


class _Writing(KeptPoints):
    """The code generator of a kernel."""

    def __init__(self, form: ScanForm) -> None:
        expression, self._stage = form.expression, form.stage
        others = [] if form.stage == "whole" else state_types(expression, form.wide)
        super().__init__(form, others, has_results=form.stage != "states")
        self._scans = scans_of(self._kernel, expression, form.wide)
        self._is_reversed = form.is_reversed
        operands = [n for number in self._scans for n in expression.operands_of(number)]
        self._before = expression.needed(operands)
        self._after = expression.needed(expression.results, self._scans)
        self._first_state = expression.first_result
        self._first_state += 0 if form.stage == "states" else len(expression.results)

    def _at_points(self, scopes: list[Scope]) -> None:
        width = 1 if self._is_rows else self._schedule.width
        so_far = [self._begun(scope, width) for scope in scopes]
        if self._is_rows:
            self._along_rows(scopes[0], so_far[0])
        else:
            self._along_columns(scopes, so_far)
        if self._stage == "states":
            for scope, states in zip(scopes, so_far, strict=True):
                flat = [v for state in states for v in current(self._kernel, state)]
                for number, v in enumerate(flat, self._first_state):
                    scope.put(number, v)

    # --- The states that parts begin with

    def _begun(self, scope: Scope, width: int) -> list[State]:
        """Return variables with the states of all elements before this part."""
        k, zero, one = self._kernel, self._constant(0), self._constant(1)
        so_far = variables(k, [scan.nothing(width) for scan in self._scans.values()])
        if self._stage != "parts":
            return so_far
        axis = self._schedule.part
        part, last = self._coordinates[axis], k.call("sub", self._sizes[axis], one)
        count = k.call("sub", last, part) if self._is_reversed else part
        with k.loop(zero, count, one) as number:
            other = k.call("sub", last, number) if self._is_reversed else number
            part_scope = scope.moved({axis: k.call("sub", other, part)})
            self._absorb(so_far, self._stored_states(part_scope))
        return so_far

    def _stored_states(self, scope: Scope) -> list[State]:
        number, states = self._first_state, []
        for scan in self._scans.values():
            stop = number + len(scan.types)
            states.append([scope.bits(n) for n in range(number, stop)])
            number = stop
        return states

    def _absorb(self, so_far: list[State], states: list[State]) -> list[State]:
        """Update variables with the states of more elements; return the new states."""
        k, merged_states = self._kernel, []
        for scan, variable, state in zip(self._scans.values(), so_far, states, strict=True):
            merged_states.append(scan.merged(current(k, variable), state))
            assign(k, variable, merged_states[-1])
        return merged_states

    # --- Along the axis

    def _elements(self, scope: Scope) -> list[State]:
        """Return the states of the elements of a vector."""
        scope.compute(self._before)
        states = []
        for n, scan in self._scans.items():
            operands = [scope.values[operand] for operand in self._expression.operands_of(n)]
            place = scope.counted() if scan.has_places else None
            states.append(scan.element(operands, place, scope.arrays.width))
        return states

    def _finish(self, scope: Scope, states: list[State]) -> None:
        """Store the results of scans and of the terms that depend on them."""
        if self._stage == "states":
            return
        for (n, scan), state in zip(self._scans.items(), states, strict=True):
            scope.values[n] = scan.result(state)
        scope.compute(self._after)
        scope.store(range(len(self._expression.results)))

    def _along_columns(self, scopes: list[Scope], so_far: list[list[State]]) -> None:
        k, (axis,) = self._kernel, self._axes.looped
        high, one = self._axes.high[axis], self._constant(1)
        last = k.call("sub", high, one)
        with k.loop(self._constant(0), high, one) as count:
            row = k.call("sub", last, count) if self._is_reversed else count
            for scope, states in zip(scopes, so_far, strict=True):
                row_scope = scope.moved({axis: row})
                self._finish(row_scope, self._absorb(states, self._elements(row_scope)))

    def _along_rows(self, scope: Scope, so_far: list[State]) -> None:
        """Generate the loops over vectors, then over single elements."""
        k, schedule, zero = self._kernel, self._schedule, self._constant(0)
        width, n_items = schedule.width, schedule.n_items
        high, vector_end = self._axes.high[schedule.lanes], zero
        if width > 1:
            step = self._constant(width * n_items)
            vector_end = k.call("sub", high, k.call("rem", high, step))
            mine = k.call("mul", self._item, self._constant(width))
            with k.loop(zero, vector_end, step) as first:
                vector_scope = scope.at(self._at(self._added(first, mine), width))
                elements = self._elements(vector_scope)
                self._finish(vector_scope, self._combined(so_far, elements, width))
        single = scope.of_width(1)
        with k.loop(vector_end, high, self._constant(n_items)) as first:
            self._single(single, so_far, self._added(first, self._item))

    def _at(self, place: Value, width: int) -> Value:
        """Return the first coordinate of the vector at a position of the scan."""
        if not self._is_reversed:
            return place
        k = self._kernel
        end = k.call("sub", self._axes.high[self._schedule.lanes], self._constant(width))
        return k.call("sub", end, place)

    def _single(self, scope: Scope, so_far: list[State], place: Value) -> None:
        """Generate one element per item; items without one take part because of barriers."""
        k, high = self._kernel, self._axes.high[self._schedule.lanes]
        if self._schedule.n_items == 1:
            element_scope = scope.at(self._at(place, 1))
            self._finish(element_scope, self._absorb(so_far, self._elements(element_scope)))
            return
        exists = k.call("lt", place, high)
        place = k.call("min", place, k.call("sub", high, self._constant(1)))
        element_scope = scope.at(self._at(place, 1))
        pairs = zip(self._scans.values(), self._elements(element_scope), strict=True)
        elements = [scan.masked(state, exists) for scan, state in pairs]
        states = self._combined(so_far, elements, 1)
        with k.when(exists):
            self._finish(element_scope, states)

    def _combined(self, so_far: list[State], elements: list[State], width: int) -> list[State]:
        """Return the states up to each element of a vector; update that of all elements."""
        k, states = self._kernel, []
        for number, (scan, variable, state) in enumerate(
            zip(self._scans.values(), so_far, elements, strict=True)
        ):
            state = self._up_to_each_lane(scan, state, width)
            last_state = [k.lane(v, 0 if self._is_reversed else width - 1) for v in state]
            before = current(k, variable)
            start = before
            if self._schedule.n_items > 1:
                others, last_state = self._of_items(scan, last_state, number)
                start = scan.merged(before, others)
            states.append(scan.merged(start, state))
            assign(k, variable, scan.merged(before, last_state))
        return states

    def _up_to_each_lane(self, scan: Scan, state: State, width: int) -> State:
        """Combine each lane with the lanes before it, doubling their number in each step."""
        nothing, reach = scan.nothing(width), 1
        while reach < width:
            shift = -reach if self._is_reversed else reach
            pairs = zip(state, nothing, strict=True)
            state = scan.merged([self._kernel.shifted(v, n, shift) for v, n in pairs], state)
            reach *= 2
        return state

    def _of_items(self, scan: Scan, state: State, number: int) -> tuple[State, State]:
        """Return the state of the items before this one, and that of all items."""
        k, n_items, zero = self._kernel, self._schedule.n_items, self._constant(0)
        memory = [self._memory(v.type, 8 * number + n) for n, v in enumerate(state)]
        self._share(memory, state)
        k.barrier()
        reach = 1
        while reach < n_items:
            earlier = k.call("sub", self._item, self._constant(reach))
            others = self._shared_state(memory, k.call("max", earlier, zero))
            mine = scan.merged(others, self._shared_state(memory, self._item))
            k.barrier()
            with k.when(k.call("ge", earlier, zero)):
                self._share(memory, mine)
            k.barrier()
            reach *= 2
        earlier = k.call("sub", self._item, self._constant(1))
        before = self._shared_state(memory, k.call("max", earlier, zero))
        before = scan.masked(before, k.call("ge", earlier, zero))
        total = self._shared_state(memory, self._constant(n_items - 1))
        k.barrier()
        return before, total
