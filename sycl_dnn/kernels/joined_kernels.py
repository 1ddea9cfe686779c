# SPDX-License-Identifier: Apache-2.0
"""Kernels that combine equal launches over different arrays into one.

A tree of parameters has more arrays than drivers accept as parameters of a kernel, so the addresses
are in an array themselves.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn.kernels.fused_elementwise import ElementwiseWriter, Form, name_of, parameters_of
from sycl_dnn.kernels.fused_reduction import ReductionWriter
from sycl_dnn.kernels.kept_points import array_types, n_numbers
from sycl_dnn.kernels.reduction_form import ReductionForm
from sycl_dnn.kernels.spirv import Kernel, Value

#: Maximum number of launches to join, a power of two: a group finds its own in ten steps.
MOST_ROWS = 1 << 10


class Launch(NamedTuple):
    """A launch of a generated kernel: its form, its scalar arguments and its groups."""

    form: Form | ReductionForm
    numbers: tuple[int, ...]
    n_groups: int


def is_row(form: Form | ReductionForm) -> bool:
    """Whether all arrays of a form lie along one axis, or have one element for all of it."""
    return isinstance(form, Form) and set(form.classes) <= {"0", "1"} and "1" in form.classes


def is_single(form: Form | ReductionForm) -> bool:
    """Whether a form has a single element."""
    return isinstance(form, Form) and set(form.classes) == {"0"}


def of_row(form: Form | ReductionForm) -> tuple[Any, ...]:
    """Return the key that forms of rows and of single elements must share to be joined."""
    return form.expression, form.schedule


def facts_of(launches: Sequence[Launch]) -> list[int]:
    """Return the integers that a joined kernel reads besides addresses.

    The number of launches; the first group of each; their scalar arguments.
    """
    firsts = itertools.accumulate([0, *[launch.n_groups for launch in launches[:-1]]])
    return [len(launches), *firsts, *[n for launch in launches for n in launch.numbers]]


def joined_name(form: Form | ReductionForm) -> str:
    """Return the name of the kernel of several launches of a form."""
    return f"joined_{name_of(form)}"


@functools.lru_cache(maxsize=1024)
def joined_module(form: Form | ReductionForm) -> bytes:
    """Return the SPIR-V of the kernel of several launches of a form."""
    if isinstance(form, Form):
        return ElementwiseWriter(form, _JoinedKernel(form, parameters_of(form))).module()
    declared = [("pointer", t) for t in array_types(form)] + [("value", "i32")] * n_numbers(form)
    kernel = _JoinedKernel(form, declared)
    return ReductionWriter(form, kernel, kernel.parameters).module()


class _JoinedKernel(Kernel):
    """A kernel whose groups each have the parameters of their own launch.

    The addresses are those of all inputs of all launches, then those of all results.
    """

    def __init__(self, form: Form | ReductionForm, parameters: Sequence[tuple[str, str]]) -> None:
        tables = [("pointer", "u64"), ("pointer", "i32")]
        super().__init__(joined_name(form), tables, form.schedule.n_items)
        addresses, facts = self.parameters
        n_rows = self.load(facts, self._number(0))
        group = super().number_of("group")
        row = self._row_of(group, facts, n_rows)
        first = self.load(facts, self._sum(row, 1))
        self._own_group = self.call("sub", group, first)
        n_arrays = sum(kind == "pointer" for kind, _ in parameters)
        n_read = n_arrays - len(form.expression.results)
        start = self._sum(self._sum(n_rows, 1), row, len(parameters) - n_arrays)
        after_inputs = self._sum(self._number(0), n_rows, n_read)
        own_parameters: list[Value] = []
        for number, (_, name) in enumerate(parameters):
            if number < n_read:
                place = self._sum(self._number(number), row, n_read)
            elif number < n_arrays:
                place = self._sum(after_inputs, row, n_arrays - n_read)
                place = self._sum(place, number - n_read)
            else:
                own_parameters.append(self.load(facts, self._sum(start, number - n_arrays)))
                continue
            own_parameters.append(self.pointer_of(self.load(addresses, place), name))
        self.parameters = own_parameters

    def number_of(self, index_of: str) -> Value:
        """Return the index of this group in its own launch, or of this item in the group."""
        return self._own_group if index_of == "group" else super().number_of(index_of)

    def _number(self, value: int) -> Value:
        return self.constant(value, "i32")

    def _sum(self, a: Value, b: Value | int, times: int = 1) -> Value:
        b = self._number(b) if isinstance(b, int) else b
        return self.call("add", a, self.call("mul", b, self._number(times)) if times != 1 else b)

    def _row_of(self, group: Value, facts: Value, n_rows: Value) -> Value:
        """Return the number of the launch that a group belongs to, by bisection."""
        row, last = self._number(0), self._sum(n_rows, -1)
        step = MOST_ROWS >> 1
        while step:
            further = self._sum(row, step)
            first = self.load(facts, self._sum(self.call("min", further, last), 1))
            is_inside = self.call("le", further, last)
            is_reached = self.call("and", is_inside, self.call("le", first, group))
            row, step = self.select(is_reached, further, row), step >> 1
        return row
