# SPDX-License-Identifier: Apache-2.0
"""Shared by kernels along axes: their parameters, and the loop over points of the kept axes."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from sycl_dnn.kernels.array_access import ArrayAccess, Scope
from sycl_dnn.kernels.expression import IN_MEMORY, REGISTERS
from sycl_dnn.kernels.fused_elementwise import name_of
from sycl_dnn.kernels.reduced_axes import ReducedAxes
from sycl_dnn.kernels.reduction_form import ReductionForm, ScanForm
from sycl_dnn.kernels.spirv import Kernel, Value
from sycl_dnn.kernels.unit_loops import unit_loop


def array_types(
    form: ReductionForm | ScanForm, others: Sequence[str] = (), *, has_results: bool = True
) -> list[str]:
    """Return the types of the elements of a kernel's arrays, in the order of its parameters."""
    expression = form.expression
    dtypes = [*expression.inputs, *[source.dtype for source in expression.sources]]
    results = map(expression.dtype_of, expression.results if has_results else ())
    in_memory = [[IN_MEMORY.get(d, REGISTERS[d]) for d in dtypes_] for dtypes_ in (dtypes, results)]
    return [*in_memory[0], *others, *in_memory[1]]


def n_numbers(form: ReductionForm | ScanForm) -> int:
    """Return the number of scalar arguments of a kernel."""
    n_strides = sum(kinds.count("n") for kinds in form.classes)
    n_sizes = len(form.kinds) + (form.schedule.part >= 0)
    n_others = form.expression.n_passed + 2 * form.expression.n_indices
    return 2 + n_sizes + n_strides + n_others


def parameters_of(
    form: ReductionForm | ScanForm, others: Sequence[str] = (), *, has_results: bool = True
) -> list[tuple[str, str]]:
    """Return the parameters of a kernel, as described at ``KeptPoints``."""
    types = array_types(form, others, has_results=has_results)
    return [("pointer", t) for t in types] + [("value", "i32")] * n_numbers(form)


class KeptPoints(abc.ABC):
    """The code generator of a kernel with kept axes.

    Its parameters: inputs, sources, any others, results; what each group computes, how many units
    there are, the whole size of an axis that is in parts, the sizes of the axes, strides of class
    n, numbers of the expression, size and stride of each indexed axis.

    Parameters
    ----------
    form : ReductionForm
        What is derived from it as well.
    others : sequence of str
        Types of elements of other arrays.
    has_results : bool
        Whether the results of the expression are stored.
    kernel : Kernel, optional
        One that does more than this, with these ``parameters``.
    """

    def __init__(
        self,
        form: ReductionForm | ScanForm,
        others: Sequence[str] = (),
        *,
        has_results: bool = True,
        kernel: Kernel | None = None,
        parameters: Sequence[Value] = (),
    ) -> None:
        self._expression, self._kinds, self._schedule = form.expression, form.kinds, form.schedule
        types = array_types(form, others, has_results=has_results)
        if kernel is None:
            declared = parameters_of(form, others, has_results=has_results)
            kernel = Kernel(name_of(form), declared, form.schedule.n_items)
            parameters = kernel.parameters
        self._kernel = kernel
        arrays, supply = parameters[: len(types)], iter(parameters[len(types) :])
        self._each, self._n_units = next(supply), next(supply)
        self._total = next(supply) if form.schedule.part >= 0 else None
        self._sizes = [next(supply) for _ in form.kinds]
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
        n_read = len(form.expression.inputs) + len(form.expression.sources)
        n_before = n_read + len(others)
        pointers = [*arrays[:n_read], *[None] * form.expression.n_places, *arrays[n_before:]]
        pointers += arrays[n_read:n_before]
        width = form.schedule.width
        self._arrays = ArrayAccess(kernel, form, pointers, strides, indexed, width, passed)
        self._is_rows = form.kinds[form.schedule.lanes] == "r"
        self._item = kernel.number_of("item")
        self._shared: dict[tuple[str, int], Value] = {}

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

    def at_slab(self, slab: Value) -> None:
        """Generate the loop over the units of a slab; slabs are equal parts of the whole."""
        k = self._kernel
        first = k.call("mul", slab, self._each)
        self._over_units(first, self._added(first, self._each))

    def _over_units(self, first: Value, last: Value) -> None:
        """Generate the loop over units: points of the kept axes, or vectors of points."""
        k, schedule = self._kernel, self._schedule
        axes = [a for a, kind in enumerate(self._kinds) if kind == "k" and a != schedule.lanes]
        sizes, unit = [self._sizes[axis] for axis in axes], self._constant(schedule.unit)
        if not self._is_rows:
            before = self._constant(schedule.unit - 1)
            sizes.append(k.call("div", self._added(self._sizes[schedule.lanes], before), unit))
        with unit_loop(k, first, last, sizes) as places:
            start = None if self._is_rows else k.call("mul", places[-1], unit)
            self._unit(dict(zip(axes, places, strict=False)), start)

    def _unit(self, coordinates: dict[int, Value], start: Value | None) -> None:
        """Generate the code for one point of the kept axes, or for vectors from ``start`` on."""
        self._coordinates = coordinates
        self._axes = ReducedAxes(
            self._kernel, self._kinds, self._schedule, self._sizes, self._total
        )
        self._axes.locate(coordinates)
        point_scope = Scope(self._arrays, self._axes).moved(coordinates)
        if start is not None and self._schedule.span:
            self._at_span(point_scope, start)
            return
        places = [None] if start is None else self._lanes(start)
        self._at_points([point_scope if at is None else point_scope.at(at) for at in places])

    def _at_span(self, scope: Scope, start: Value) -> None:
        """Generate the computation of a span along the axis of vectors, in the order of memory."""
        raise NotImplementedError

    @abc.abstractmethod
    def _at_points(self, scopes: list[Scope]) -> None:
        """Generate the computation at one point, or at vectors of points."""

    def _lanes(self, start: Value) -> list[Value]:
        """Return the first coordinates of vectors along a kept axis; the last ones overlap."""
        k, schedule = self._kernel, self._schedule
        width, n_items = schedule.width, schedule.n_items
        last = k.call("sub", self._sizes[schedule.lanes], self._constant(width))
        mine = self._added(start, k.call("mul", self._item, self._constant(width)))
        return [
            k.call("min", self._added(mine, self._constant(n * width * n_items)), last)
            for n in range(schedule.unroll)
        ]

    # --- What the items of a group share

    def _memory(self, name: str, number: int) -> Value:
        if (name, number) not in self._shared:
            memory = self._kernel.group_memory(name, self._schedule.n_items)
            self._shared[name, number] = memory
        return self._shared[name, number]

    def _share(self, memory: list[Value], state: list[Value]) -> None:
        for at, v in zip(memory, state, strict=True):
            self._kernel.share(at, self._item, v)

    def _shared_state(self, memory: list[Value], item: Value) -> list[Value]:
        return [self._kernel.shared(at, item) for at in memory]
