# SPDX-License-Identifier: Apache-2.0
"""Shared by all generators of kernels of expressions: their parameters, and the loop over units."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from sycl_dnn.kernels.array_access import ArrayAccess
from sycl_dnn.kernels.expression import IN_MEMORY, REGISTERS
from sycl_dnn.kernels.forms import AnyForm, name_of
from sycl_dnn.kernels.spirv import Kernel, Value


def array_types(
    form: AnyForm, others: Sequence[str] = (), *, has_results: bool = True
) -> list[str]:
    """Return the types of the elements of a kernel's arrays, in the order of its parameters."""
    expression = form.expression
    dtypes = [*expression.inputs, *[source.dtype for source in expression.sources]]
    results = [*map(expression.dtype_of, expression.results if has_results else ())]
    for dtype in (*dtypes, *results):
        if dtype not in REGISTERS:
            raise TypeError(f"{dtype} has no arithmetic: convert arrays first, x.astype('float32')")
    in_memory = [[IN_MEMORY.get(d, REGISTERS[d]) for d in dtypes_] for dtypes_ in (dtypes, results)]
    return [*in_memory[0], *others, *in_memory[1]]


def n_numbers(form: AnyForm) -> int:
    """Return the number of scalar arguments of a kernel."""
    n_strides = sum(kinds.count("n") for kinds in form.classes)
    n_sizes = len(form.classes[0]) + (form.schedule.part >= 0) + form.schedule.has_span
    n_others = form.expression.n_passed + 2 * form.expression.n_indices + 2 * form.schedule.has_run
    return 2 + n_sizes + n_strides + n_others


def parameters_of(
    form: AnyForm, others: Sequence[str] = (), *, has_results: bool = True
) -> list[tuple[str, str]]:
    """Return the parameters of a kernel, as described at ``ExpressionKernel``."""
    types = array_types(form, others, has_results=has_results)
    return [("pointer", t) for t in types] + [("value", "i32")] * n_numbers(form)


class ExpressionKernel(abc.ABC):
    """The code generator of a kernel, or of a part of one.

    Its parameters: inputs, sources, any others, results; what each group computes, how many units
    there are, the whole size of an axis that is in parts, the span of columns of a group, the sizes
    of the axes, strides of class n, numbers of the expression, size and stride of each indexed
    axis, the ends of a run.

    others : types of elements of other arrays
    has_results : whether the results of the expression are stored
    kernel : one that does more than this, with these ``parameters``
    """

    def __init__(
        self,
        form: AnyForm,
        others: Sequence[str] = (),
        *,
        has_results: bool = True,
        kernel: Kernel | None = None,
        parameters: Sequence[Value] = (),
    ) -> None:
        self._expression = form.expression
        types = array_types(form, others, has_results=has_results)
        if kernel is None:
            declared = parameters_of(form, others, has_results=has_results)
            kernel = Kernel(name_of(form), declared, form.schedule.n_items)
            parameters = kernel.parameters
        self._kernel = kernel
        arrays, supply = parameters[: len(types)], iter(parameters[len(types) :])
        self._each, self._n_units = next(supply), next(supply)
        self._total = next(supply) if form.schedule.part >= 0 else None
        self._span = next(supply) if form.schedule.has_span else None
        self._sizes = [next(supply) for _ in form.classes[0]]
        known = {"t": kernel.constant(1, "i32")}
        strides = [
            [next(supply) if kind == "n" else known.get(kind) for kind in kinds]
            for kinds in form.classes
        ]
        passed = [next(supply) for _ in range(form.expression.n_passed)]
        indexed = [
            [(next(supply), next(supply)) for _ in range(source.n_indices)]
            for source in form.expression.sources
        ]
        self._run = list(supply)
        n_read = len(form.expression.inputs) + len(form.expression.sources)
        n_before = n_read + len(others)
        pointers = [*arrays[:n_read], *[None] * form.expression.n_places, *arrays[n_before:]]
        pointers += arrays[n_read:n_before]
        self._arrays = ArrayAccess(kernel, form, pointers, strides, indexed, passed)
        self._item = kernel.number_of("item")

    def _constant(self, value: int) -> Value:
        return self._kernel.constant(value, "i32")

    def _added(self, a: Value, b: Value) -> Value:
        return self._kernel.call("add", a, b)

    def module(self) -> bytes:
        """Return the SPIR-V of the kernel, which does nothing else."""
        self.write()
        return self._kernel.module()

    def write(self) -> None:
        """Generate the loop over the units of a group."""
        k = self._kernel
        first = k.call("mul", k.number_of("group"), self._each)
        last = k.call("min", self._added(first, self._each), self._n_units)
        self._over_units(first, last)

    @abc.abstractmethod
    def _over_units(self, first: Value, last: Value) -> None:
        """Generate the loop over some units."""
