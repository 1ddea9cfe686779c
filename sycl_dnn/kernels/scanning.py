# SPDX-License-Identifier: Apache-2.0
"""The combination of elements by scans: states and their results.

The state of a scan is a list of registers; the states of adjacent ranges are merged into that of
both. On CPUs floats are combined in float64, as in torch; elsewhere rounding errors of sums are
accumulated separately.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from sycl_dnn.kernels.accurate_functions import exp, log
from sycl_dnn.kernels.combining import State, least, most, two_sum
from sycl_dnn.kernels.expression import REGISTERS, Term, rounded
from sycl_dnn.kernels.spirv import TYPES, Kernel, Value


class Scan(abc.ABC):
    """One scan of a kernel.

    term : of one of ``SCANS``
    dtype : of the operands
    wide : the type that narrower floats are combined in
    """

    has_places = False

    def __init__(self, kernel: Kernel, term: Term, dtype: str, wide: str) -> None:
        self._kernel, self._term, self._operation = kernel, term, term.operation
        self.register = scan_register(dtype, wide)
        self._is_float = TYPES[self.register][1] == "f"

    @property
    def types(self) -> list[str]:
        """The types of a state's registers."""
        return [v.type for v in self.nothing(1)]

    @abc.abstractmethod
    def nothing(self, width: int) -> State:
        """Return the state of no elements."""

    @abc.abstractmethod
    def merged(self, a: State, b: State) -> State:
        """Return the state of two ranges; the first one comes before the second."""

    def element(self, operands: Sequence[Value], place: Value | None, width: int) -> State:
        """Return the state of one element of each lane."""
        k = self._kernel
        return [k.repeated(k.converted(v, self.register), width) for v in operands]

    def masked(self, state: State, holds: Value) -> State:
        """Return a state reset to no elements in lanes where a condition is false."""
        nothing = self.nothing(holds.width)
        return [self._kernel.select(holds, v, n) for v, n in zip(state, nothing, strict=True)]

    def result(self, state: State) -> Value:
        """Return the register of the result of all elements so far."""
        value = self._kernel.converted(self._value(state), REGISTERS[self._term.dtype])
        return rounded(self._kernel, value, self._term.dtype)

    def _value(self, state: State) -> Value:
        return state[0]

    def _constant(self, value: float, width: int = 1) -> Value:
        return self._kernel.constant(value, self.register, width)


class _Sum(Scan):
    def nothing(self, width: int) -> State:
        zero = self._constant(0, width)
        return [zero, zero] if self.register == "f32" else [zero]

    def element(self, operands: Sequence[Value], place: Value | None, width: int) -> State:
        (v,) = super().element(operands, place, width)
        # As torch, which starts from 0: there is no sum of -0.
        v = self._kernel.call("add", v, self._constant(0, width)) if self._is_float else v
        return [v, self._constant(0, width)] if self.register == "f32" else [v]

    def merged(self, a: State, b: State) -> State:
        k = self._kernel
        if self.register != "f32":
            return [k.call("add", a[0], b[0])]
        result, lost = two_sum(k, a[0], b[0])
        return [result, k.call("add", k.call("add", a[1], b[1]), lost)]

    def _value(self, state: State) -> Value:
        if self.register != "f32":
            return state[0]
        k, (so_far, lost) = self._kernel, state
        # The rounding error of an infinite sum is NaN.
        lost = k.select(k.call("eq", lost, lost), lost, self._constant(0, lost.width))
        return k.call("add", so_far, lost)


class _Product(Scan):
    def nothing(self, width: int) -> State:
        return [self._constant(1, width)]

    def merged(self, a: State, b: State) -> State:
        return [self._kernel.call("mul", a[0], b[0])]


class _Extreme(Scan):
    """As in torch, the last one of equal elements, or of several NaN, counts."""

    def __init__(self, kernel: Kernel, term: Term, dtype: str, wide: str) -> None:
        # Extremes are elements: nothing is rounded.
        super().__init__(kernel, term, dtype, "f32")
        self.has_places = term.operation.endswith("_index")
        self._is_max = term.operation.startswith("cummax")

    def nothing(self, width: int) -> State:
        value = self._constant((least if self._is_max else most)(self.register), width)
        return [value, self._kernel.constant(-1, "i32", width)] if self.has_places else [value]

    def element(self, operands: Sequence[Value], place: Value | None, width: int) -> State:
        state, k = super().element(operands, place, width), self._kernel
        return state if place is None else [*state, k.repeated(k.converted(place, "i32"), width)]

    def merged(self, a: State, b: State) -> State:
        k = self._kernel
        is_second = k.call("ge" if self._is_max else "le", b[0], a[0])
        if self._is_float:
            # Comparisons with NaN fail: the first one's stays.
            is_second = k.call("or", is_second, k.call("isnan", b[0]))
        if self.has_places:
            exists = k.call("ge", b[1], k.constant(0, "i32", b[1].width))
            is_second = k.call("and", is_second, exists)
        return [k.select(is_second, y, x) for x, y in zip(a, b, strict=True)]

    def _value(self, state: State) -> Value:
        return state[-1]


class _LogSumExp(Scan):
    """The largest element, and the sum of exponentials of the differences from it."""

    def nothing(self, width: int) -> State:
        return [self._constant(least(self.register), width), self._constant(0, width)]

    def element(self, operands: Sequence[Value], place: Value | None, width: int) -> State:
        return [*super().element(operands, place, width), self._constant(1, width)]

    def merged(self, a: State, b: State) -> State:
        k, (x, p), (y, q) = self._kernel, a, b
        above = k.call("gt", x, y)
        # Equal infinities differ by 0.
        power = exp(k, k.call("neg", k.call("abs", k.call("sub", x, y))))
        power = k.select(k.call("eq", x, y), self._constant(1, power.width), power)
        of_first = k.call("add", p, k.call("mul", q, power))
        of_second = k.call("add", k.call("mul", p, power), q)
        return [k.select(above, x, y), k.select(above, of_first, of_second)]

    def _value(self, state: State) -> Value:
        k = self._kernel
        return k.call("add", log(k, state[1]), state[0])


class _Recurrence(Scan):
    """``h = a * h + b``: the product of the factors, and the value from 0."""

    def nothing(self, width: int) -> State:
        return [self._constant(1, width), self._constant(0, width)]

    def merged(self, a: State, b: State) -> State:
        k, (factor, so_far), (more, added) = self._kernel, a, b
        return [k.call("mul", factor, more), k.call("add", k.call("mul", more, so_far), added)]

    def _value(self, state: State) -> Value:
        return state[1]


_KINDS: dict[str, type[Scan]] = {
    "cumsum": _Sum, "cumprod": _Product, "logcumsumexp": _LogSumExp,
    "linear_recurrence": _Recurrence,
}  # fmt: skip


def scan_of(kernel: Kernel, term: Term, dtype: str, wide: str) -> Scan:
    """Return the scan of a term with operands of a dtype."""
    return _KINDS.get(term.operation, _Extreme)(kernel, term, dtype, wide)


def scan_register(dtype: str, wide: str) -> str:
    """Return the type in which elements of a dtype are combined."""
    register = "u8" if dtype == "bool" else REGISTERS[dtype]
    return wide if register == "f32" else register


def is_in_order(operation: str, dtype: str) -> bool:
    """Whether elements must be combined sequentially.

    Products of later elements may be infinite even if the whole product is not.
    """
    is_float = TYPES[REGISTERS[dtype]][1] == "f"
    return is_float and operation in ("cumprod", "linear_recurrence")
