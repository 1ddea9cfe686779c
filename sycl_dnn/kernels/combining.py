# SPDX-License-Identifier: Apache-2.0
"""Reductions in kernels: initial state, accumulation, merging and result.

The state of a reduction is a list of registers. Floating-point sums are compensated: a second
register accumulates rounding errors, so that the error does not grow with the number of elements.
Extremes of floats also have a second register, with bits that note NaN. The first one is then
updated by a single instruction, which may lose a NaN, instead of several dependent ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.kernels.expression import REGISTERS, Expression, Term, rounded
from sycl_dnn.kernels.spirv import TYPES, Kernel, Value

State = list[Value]
#: Greater than any element index.
_NOWHERE = (1 << 31) - 1


def register_of(dtype: str) -> str:
    """Return the accumulator type for a dtype; bools are 0 or 1."""
    return "u8" if dtype == "bool" else REGISTERS[dtype]


def partial_dtype(dtype: str) -> str:
    """Return the dtype that stores partial results without rounding."""
    return "float32" if dtype in ("bfloat16", "float16") else dtype


def bytes_of_states(expression: Expression) -> int:
    """Return the bytes that all reductions of an expression need per element, at most.

    The state of a block and that of all blocks have two registers each; places are i32.
    """
    terms = [expression.terms[n - len(expression.inputs)] for n in expression.reductions]
    dtypes = [expression.dtype_of(term.operands[0]) for term in terms]
    return sum(4 * max(TYPES[register_of(dtype)][0], 32) // 8 for dtype in dtypes)


def _is_float(name: str) -> bool:
    return TYPES[name][1] == "f"


def least(name: str) -> float:
    """Return the smallest value of a type."""
    bits, kind = TYPES[name]
    return {"f": -math.inf, "i": -(1 << (bits - 1)), "u": 0}[kind]


def most(name: str) -> float:
    """Return the largest value of a type."""
    bits, kind = TYPES[name]
    return {"f": math.inf, "i": (1 << (bits - 1)) - 1, "u": (1 << bits) - 1}[kind]


def _start(operation: str, name: str) -> float:
    if operation.endswith("max"):
        return least(name)
    if operation.endswith("min"):
        return most(name)
    return 1 if operation in ("prod", "all") else 0


def two_sum(k: Kernel, a: Value, b: Value) -> tuple[Value, Value]:
    """Return the rounded sum and its exact rounding error (Knuth's TwoSum)."""
    total = k.call("add", a, b)
    part = k.call("sub", total, a)
    first = k.call("sub", a, k.call("sub", total, part))
    return total, k.call("add", first, k.call("sub", b, part))


class Reduction:
    """One reduction of a kernel.

    term : one of ``REDUCTIONS``
    dtype : dtype of the operand
    is_block : whether all elements are one block, whose sum is not compensated
    """

    def __init__(self, kernel: Kernel, term: Term, dtype: str, *, is_block: bool = False) -> None:
        self._kernel, self._term = kernel, term
        self._operation = term.operation
        is_truth = term.operation in ("any", "all")
        self._register = "u8" if is_truth else register_of(dtype)
        self.has_places = term.operation.startswith("arg")
        self._is_sum = term.operation == "sum" and _is_float(self._register)
        self._loses = self._is_sum and not is_block
        self._has_nan = term.operation in ("max", "min") and _is_float(self._register)
        self._bits = f"i{TYPES[self._register][0]}"

    def start(self, width: int) -> State:
        """Return the state over no elements."""
        k = self._kernel
        state = [k.constant(_start(self._operation, self._register), self._register, width)]
        if self._has_nan:
            state.append(k.constant(0, self._bits, width))
        return [*state, k.constant(_NOWHERE, "i32", width)] if self.has_places else state

    def total_start(self, width: int) -> State:
        """Return the state over no blocks."""
        lost = [self._kernel.constant(0, self._register, width)] if self._loses else []
        return [*self.start(width), *lost]

    def element(self, v: Value, place: Value | None, width: int) -> State:
        """Return the state of one element per lane."""
        k = self._kernel
        if self._operation in ("any", "all"):
            v = k.converted(v, "bool")
        state = [k.repeated(k.converted(v, self._register), width)]
        if self._has_nan:
            bits = [k.constant(n, self._bits, width) for n in (-1, 0)]
            state.append(k.select(k.call("isnan", state[0]), *bits))
        return state if place is None else [*state, k.repeated(k.converted(place, "i32"), width)]

    def masked(self, state: State, holds: Value) -> State:
        """Return a state reset to no elements in lanes where a condition is false."""
        nothing = self.start(holds.width)
        return [self._kernel.select(holds, v, n) for v, n in zip(state, nothing, strict=True)]

    def merged(self, a: State, b: State) -> State:
        """Merge two states."""
        k, operation = self._kernel, self._operation
        if self.has_places:
            return self._earlier(a, b)
        if operation in ("max", "min"):
            wins = k.call("gt" if operation == "max" else "lt", a[0], b[0])
            best = k.select(wins, a[0], b[0])
            return [best, *[k.call("or", a[1], b[1]) for _ in range(self._has_nan)]]
        return [k.call({"sum": "add", "prod": "mul", "any": "or", "all": "and"}[operation], *a, *b)]

    def _earlier(self, a: State, b: State) -> State:
        """Return the better value with its index; the first one on ties; NaN wins."""
        k = self._kernel
        (x, i), (y, j) = a, b
        better = k.call("gt" if self._operation == "argmax" else "lt", y, x)
        same = k.call("eq", y, x)
        if _is_float(self._register):
            is_nan = k.call("isnan", y)
            better = k.call("or", better, k.call("and", is_nan, k.call("eq", x, x)))
            same = k.call("or", same, k.call("and", is_nan, k.call("isnan", x)))
        is_second = k.call("or", better, k.call("and", same, k.call("lt", j, i)))
        return [k.select(is_second, y, x), k.select(is_second, j, i)]

    def gathered(self, total: State, block: State) -> State:
        """Add a block to the state of all blocks."""
        if not self._loses:
            return self.merged(total, block)
        k, (so_far, lost), (block_sum,) = self._kernel, total, block
        result, rest = two_sum(k, so_far, block_sum)
        return [result, k.call("add", lost, rest)]

    def settled(self, total: State) -> State:
        """Return the final state of all blocks."""
        if not self._loses:
            return total
        return [self._kernel.call("add", total[0], self._rest_of(total))]

    def _rest_of(self, total: State) -> Value:
        """Return the rounding error of a sum; that of an infinite one is NaN."""
        k, lost = self._kernel, total[1]
        return k.select(k.call("eq", lost, lost), lost, k.constant(0, lost.type, lost.width))

    def total_of_lanes(self, total: State) -> State:
        """Return the final state of all blocks and lanes, on a CPU; few sums are added in float64.

        The rounding of each would show in their sum.
        """
        k = self._kernel
        if not self._is_sum or self._register != "f32":
            return self.across(self.settled(total))
        wide = k.converted(total[0], "f64")
        if self._loses:
            wide = k.call("add", wide, k.converted(self._rest_of(total), "f64"))
        while wide.width > 1:
            wide = k.call("add", k.half(wide, 0), k.half(wide, 1))
        return [k.converted(wide, "f32")]

    def across(self, state: State) -> State:
        """Reduce a state over its lanes."""
        k = self._kernel
        while state[0].width > 1:
            state = self.merged([k.half(v, 0) for v in state], [k.half(v, 1) for v in state])
        return state

    def result(self, state: State) -> Value:
        """Return the register of the result."""
        k, value = self._kernel, state[1] if self.has_places else state[0]
        if self._has_nan:
            nan = k.constant(math.nan, self._register, value.width)
            has_none = k.call("eq", state[1], k.constant(0, self._bits, value.width))
            value = k.select(has_none, value, nan)
        return rounded(k, k.converted(value, REGISTERS[self._term.dtype]), self._term.dtype)


def variables(kernel: Kernel, states: Sequence[State]) -> list[State]:
    """Return variables initialized with states."""
    return [[kernel.variable(v) for v in state] for state in states]


def current(kernel: Kernel, state: State) -> State:
    """Return the values of a state's variables."""
    return [kernel.current(v) for v in state]


def assign(kernel: Kernel, state: State, values: State) -> None:
    """Assign new values to a state's variables."""
    for variable, v in zip(state, values, strict=True):
        kernel.assign(variable, v)
