# SPDX-License-Identifier: Apache-2.0
"""Kernels that combine equal launches over different arrays into one.

A tree of parameters has more arrays than drivers accept as parameters of a kernel, so the addresses
are in an array themselves.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn.kernels.expression_kernel import parameters_of
from sycl_dnn.kernels.forms import Form, ReductionForm, name_of
from sycl_dnn.kernels.fused_elementwise import ElementwiseWriter
from sycl_dnn.kernels.fused_reduction import ReductionWriter
from sycl_dnn.kernels.spirv import Kernel, Value

#: Maximum number of launches to join, a power of two: a group finds its own in ten steps.
MOST_ROWS = 1 << 10
#: Maximum number of forms of a kernel, which contains the code of each.
MOST_FORMS = 8
#: Numbers of a launch before its scalar arguments: its form; its first input, result and argument.
_ROW = 4


class Launch(NamedTuple):
    """A launch of a generated kernel: its form, its scalar arguments and its groups."""

    form: Form | ReductionForm
    numbers: tuple[int, ...]
    n_groups: int
    n_visited: int = 0


def is_row(form: Form | ReductionForm) -> bool:
    """Whether each array of a form spans one axis, or has one element for all of it."""
    return isinstance(form, Form) and set(form.classes) <= {"0", "1"} and "1" in form.classes


def is_single(form: Form | ReductionForm) -> bool:
    """Whether a form has a single element."""
    return isinstance(form, Form) and set(form.classes) == {"0"}


def of_row(form: Form | ReductionForm) -> tuple[Any, ...]:
    """Return the key that forms of rows and of single elements must share to be joined."""
    return form.expression, form.schedule


def facts_of(launches: Sequence[Launch]) -> list[int]:
    """Return the integers that a joined kernel reads besides addresses.

    The number of launches; the first group of each; of each its form, its first input, its first
    result and its first scalar argument; the scalar arguments of all.
    """
    forms = forms_of(launches)
    n_read = [_n_read(launch.form) for launch in launches]
    n_written = [len(launch.form.expression.results) for launch in launches]
    n_numbers_before = 1 + (1 + _ROW) * len(launches)
    columns = [
        [forms.index(launch.form) for launch in launches],
        _firsts(n_read, 0),
        _firsts(n_written, sum(n_read)),
        _firsts([len(launch.numbers) for launch in launches], n_numbers_before),
    ]
    firsts = _firsts([launch.n_groups for launch in launches], 0)
    rows = itertools.chain.from_iterable(zip(*columns, strict=True))
    return [len(launches), *firsts, *rows, *[n for launch in launches for n in launch.numbers]]


def forms_of(launches: Sequence[Launch]) -> tuple[Form | ReductionForm, ...]:
    """Return the different forms, in order."""
    return tuple(dict.fromkeys(launch.form for launch in launches))


def _n_read(form: Form | ReductionForm) -> int:
    return len(form.expression.inputs) + len(form.expression.sources)


def _firsts(counts: Sequence[int], start: int) -> list[int]:
    return list(itertools.accumulate(counts[:-1], initial=start))


@functools.lru_cache(maxsize=1024)
def joined_name(forms: tuple[Form | ReductionForm, ...]) -> str:
    """Return the name of the kernel of launches of several forms."""
    names = [name_of(form) for form in forms]
    if len(forms) == 1:
        return f"joined_{names[0]}"
    digest = hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]
    return f"joined_{len(forms)}_forms_{digest}"


@functools.lru_cache(maxsize=1024)
def joined_module(forms: tuple[Form | ReductionForm, ...]) -> bytes:
    """Return the SPIR-V of the kernel of launches of several forms."""
    return _JoinedKernel(forms).module()


class _JoinedKernel(Kernel):
    """A kernel in which each group has the form and the parameters of its launch.

    The addresses are those of all inputs of all launches, then those of all results.
    """

    def __init__(self, forms: tuple[Form | ReductionForm, ...]) -> None:
        tables = [("pointer", "u64"), ("pointer", "i32")]
        super().__init__(joined_name(forms), tables, forms[0].schedule.n_items)
        self._addresses, self._facts = self.parameters
        #: By type: the arrays in local memory, and how many of them the current form uses.
        self._memory: dict[str, list[Value]] = {}
        self._n_used: Counter[str] = Counter()
        n_rows = self.load(self._facts, self._number(0))
        group = super().number_of("group")
        row = self._row_of(group, n_rows)
        self._own_group = self.call("sub", group, self.load(self._facts, self._sum(row, 1)))
        start = self._sum(self._sum(n_rows, 1), row, _ROW)
        number, *firsts = [self.load(self._facts, self._sum(start, n)) for n in range(_ROW)]
        for n, form in enumerate(forms):
            is_form = self.call("eq", number, self._number(n))
            with self.when(is_form) if len(forms) > 1 else contextlib.nullcontext():
                self._write(form, *firsts)

    def _write(self, form: Form | ReductionForm, read: Value, written: Value, own: Value) -> None:
        """Generate the code of one form; its arrays and numbers start at these places."""
        self._n_used.clear()
        declared = parameters_of(form)
        n_read = _n_read(form)
        n_arrays = n_read + len(form.expression.results)
        parameters = []
        for n, (_, name) in enumerate(declared):
            if n >= n_arrays:
                parameters.append(self.load(self._facts, self._sum(own, n - n_arrays)))
                continue
            place = self._sum(read, n) if n < n_read else self._sum(written, n - n_read)
            parameters.append(self.pointer_of(self.load(self._addresses, place), name))
        if isinstance(form, Form):
            ElementwiseWriter(form, self, parameters).write()
        else:
            ReductionWriter(form, self, parameters).write()

    def number_of(self, index_of: str) -> Value:
        """Return the index of this group in its own launch, or of this item in the group."""
        return self._own_group if index_of == "group" else super().number_of(index_of)

    def group_memory(self, name: str, length: int) -> Value:
        """Return an array in local memory that the form does not use yet.

        Forms share arrays, as long as the longest one needs, since a group has one form.
        """
        of_type, place = self._memory.setdefault(name, []), self._n_used[name]
        self._n_used[name] += 1
        if place == len(of_type):
            of_type.append(super().group_memory(name, length))
        memory = of_type[place]
        self._group_arrays[memory] = max(self._group_arrays[memory], length)
        return memory

    def _number(self, value: int) -> Value:
        return self.constant(value, "i32")

    def _sum(self, a: Value, b: Value | int, times: int = 1) -> Value:
        b = self._number(b) if isinstance(b, int) else b
        return self.call("add", a, self.call("mul", b, self._number(times)) if times != 1 else b)

    def _row_of(self, group: Value, n_rows: Value) -> Value:
        """Return the number of the launch that a group belongs to, by bisection."""
        row, last = self._number(0), self._sum(n_rows, -1)
        step = MOST_ROWS >> 1
        while step:
            further = self._sum(row, step)
            first = self.load(self._facts, self._sum(self.call("min", further, last), 1))
            is_inside = self.call("le", further, last)
            is_reached = self.call("and", is_inside, self.call("le", first, group))
            row, step = self.select(is_reached, further, row), step >> 1
        return row
