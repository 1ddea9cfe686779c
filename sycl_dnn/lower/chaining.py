# SPDX-License-Identifier: Apache-2.0
"""Launches of kernels that read each other's results, recorded as one kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from sycl_dnn.kernels.building import Module
from sycl_dnn.kernels.chained_stages import ChainForm, chain_module
from sycl_dnn.kernels.forms import ReductionForm, name_of
from sycl_dnn.kernels.fused_reduction import reduction_module
from sycl_dnn.kernels.launching import kernel_of, launched, new_results
from sycl_dnn.kernels.reduction_schedule import Plan, ReductionGrid
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Out, Step
from sycl_dnn.trace.values import Storage, Tensor

#: Maximum number of stages of a kernel; each increases its compilation time.
_MAX_STAGES = 5


@dataclass
class Stage:
    """A launch.

    ``indexed``: size and stride of each indexed axis.
    """

    plan: Plan
    grid: ReductionGrid
    operands: Sequence[Tensor]
    outs: Sequence[Out]
    indexed: Sequence[int] = ()
    results: list[Tensor] = field(default_factory=list)

    @property
    def form(self) -> ReductionForm:
        """Compile-time properties of the kernel."""
        return self.plan.form

    @property
    def n_visited(self) -> int:
        """Number of elements that it visits."""
        return math.prod(self.grid.sizes)

    def arrays(self) -> Iterator[tuple[Tensor, int]]:
        """Yield the arrays in the order of parameters, with their numbers in the grid."""
        yield from zip(self.operands, range(len(self.operands)), strict=True)
        first = self.form.expression.first_result
        yield from zip(self.results, range(first, first + len(self.results)), strict=True)

    @property
    def n_points(self) -> int:
        """Number of points of all kept axes except a vectorized one."""
        return math.prod([self.grid.sizes[a] for a in self._outer()])

    def _outer(self) -> list[int]:
        lanes = self.form.schedule.lanes
        return [a for a, kind in enumerate(self.grid.kinds) if kind == "k" and a != lanes]

    def _digits(self, n_slabs: int) -> dict[int, int] | None:
        """Return the number of slabs along each axis; None if units cannot be divided that way."""
        n_along: dict[int, int] = {}
        for axis in self._outer():
            size = self.grid.sizes[axis]
            n_along[axis] = math.gcd(n_slabs, size)
            if n_along[axis] != min(n_slabs, size):
                return None
            n_slabs //= n_along[axis]
        return n_along if n_slabs == 1 else None

    def is_in_slabs(self, n_slabs: int, shared: set[Storage]) -> bool:
        """Whether each slab has one contiguous part of each shared array."""
        digits = self._digits(n_slabs)
        if digits is None:
            return False
        for tensor, number in self.arrays():
            if tensor.storage not in shared:
                continue
            if tensor.size % n_slabs or tensor.offset:
                return False
            part = step = tensor.size // n_slabs
            strides = self.grid.strides[number]
            for axis, count in reversed(digits.items()):
                if count > 1 and strides[axis] * (self.grid.sizes[axis] // count) != step:
                    return False
                step *= count
            inner = [n // digits.get(a, 1) for a, n in enumerate(self.grid.sizes)]
            if sum((n - 1) * s for n, s in zip(inner, strides, strict=True)) >= part:
                return False
        return True


class Chains:
    """The launches that one lowering records, some of which become one chain."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._open: list[_Chain] = []
        #: Items of a group would have to wait for each other between stages.
        self._is_cpu = trace.is_on_cpu

    def begun(self, stages: Sequence[Stage]) -> list[Tensor]:
        """Record the first of several equal launches; return its results."""
        stage, plan = stages[0], stages[0].plan
        if self._is_cpu and plan.n_parts == 1:
            self._open.append(_Chain(self._trace, stages))
            return stage.results
        return launched(
            self._trace, partial(reduction_module, plan.form), name_of(plan.form), stage.operands,
            stage.outs, [*plan.numbers, *stage.indexed], plan.n_groups,
            plan.form.schedule.n_items, form=plan.form, n_visited=stage.n_visited,
        )  # fmt: skip

    def finish(self) -> None:
        """Compile the kernels; their stages are complete."""
        for chain in self._open:
            chain.finish()
        self._open = []

    def may_append(self, operands: Sequence[Tensor], n_inputs: int) -> bool:
        """Whether the kernel of a previous launch may compute one of these operands."""
        return self._chain_of(operands, n_inputs) is not None

    def recorded(self, stages: Sequence[Stage]) -> list[Tensor]:
        """Record one of several equivalent launches, preferably as a stage of a previous kernel."""
        return self.appended(stages) or self.begun(stages)

    def appended(self, stages: Sequence[Stage]) -> list[Tensor] | None:
        """Append one of equivalent launches to a previous kernel; return its results, or None."""
        chain = self._chain_of(stages[0].operands, len(stages[0].form.expression.inputs))
        return None if chain is None else chain.appended(stages)

    def _chain_of(self, operands: Sequence[Tensor], n_inputs: int) -> _Chain | None:
        chains = [c for c in reversed(self._open) if c.may_append(operands, n_inputs)]
        return chains[0] if chains else None


class _Chain:
    """A kernel's step, and the stages that it computes."""

    def __init__(self, trace: Trace, stages: Sequence[Stage]) -> None:
        self._trace, self._n_slabs = trace, 1
        device = trace.engine.sycl_queue.sycl_device
        self._n_processors = int(device.max_compute_units)
        results = new_results(trace, stages[0].outs)
        #: Equivalent lists of the stages so far.
        self._ways = [[stage] for stage in stages]
        for stage in stages:
            stage.results = results
        inputs = {f"src_{n}": t for n, t in enumerate(stages[0].operands)}
        self._step = Step(None, inputs, {f"dst_{n}": t for n, t in enumerate(results)})
        trace.add_step(self._step)

    def may_append(self, operands: Sequence[Tensor], n_inputs: int) -> bool:
        """Whether a stage reads results of the step, and nothing that later steps write.

        Operands after the inputs are sources of gathers, which may be read anywhere.
        """
        step, steps = self._step, self._trace.steps
        if len(self._ways[0]) == _MAX_STAGES:
            return False
        written = {t.storage for t in step.outputs.values()}
        read = {t.storage for t in operands}
        if written.isdisjoint(read) or any(t.storage in written for t in operands[n_inputs:]):
            return False
        if step.constant != all(t.storage.constant for t in operands):
            return False
        place = max(n for n, other in enumerate(steps) if other is step)
        later = {t.storage for other in steps[place + 1 :] for t in other.outputs.values()}
        return read.isdisjoint(later)

    def appended(self, stages: Sequence[Stage]) -> list[Tensor] | None:
        """Append one of several equivalent stages to the step; return its results, or None."""
        results = new_results(self._trace, stages[0].outs)
        for stage in stages:
            stage.results = results
        for chain in [[*chain, stage] for chain in self._ways for stage in stages]:
            n_slabs = self._divided(chain)
            if n_slabs:
                self._ways, self._n_slabs = [chain], n_slabs
                self._trace.extend_step(self._step, self._inputs(), self._results())
                return results
        return None

    def _divided(self, stages: Sequence[Stage]) -> int:
        """Return the number of slabs into which all stages can be divided; 0 if too few."""
        written = {t.storage for stage in stages for t in stage.results}
        common = math.gcd(*[stage.n_points for stage in stages])
        least = max(stage.plan.n_groups for stage in stages)
        for n in sorted(_divisors(common), reverse=True):
            is_enough = n >= least or n % self._n_processors == 0
            if is_enough and all(stage.is_in_slabs(n, written) for stage in stages):
                return n
        return 0

    def _results(self) -> list[Tensor]:
        return [t for stage in self._ways[0] for t in stage.results]

    def _inputs(self) -> list[Tensor]:
        written = {t.storage for t in self._results()}
        read = [t for stage in self._ways[0] for t in stage.operands if t.storage not in written]
        return list({_place(t): t for t in read}.values())

    def finish(self) -> None:
        """Compile the kernel."""
        stages, trace = self._ways[0], self._trace
        if len(stages) == 1:
            (stage,), plan = stages, stages[0].plan
            numbers = [*plan.numbers, *stage.indexed]
            source = Module(name_of(plan.form), partial(reduction_module, plan.form))
            self._step.primitive = kernel_of(
                trace, source, source.name, numbers, plan.n_groups, 1, plan.form,
                stages[0].n_visited,
            )  # fmt: skip
            return
        tensors = [*self._inputs(), *self._results()]
        numbered = {_place(t): n for n, t in enumerate(tensors)}
        arrays = [tuple([numbered[_place(t)] for t, _ in stage.arrays()]) for stage in stages]
        form = ChainForm(tuple([stage.form for stage in stages]), tuple(arrays))
        n_groups = min(self._n_slabs, max(stage.plan.n_groups for stage in stages))
        share = -(-self._n_slabs // n_groups)
        numbers = [share, self._n_slabs]
        for stage in stages:
            _, n_units, *rest = stage.plan.numbers
            numbers += [n_units // self._n_slabs, n_units, *rest, *stage.indexed]
        source = Module(name_of(form), partial(chain_module, form))
        self._step.primitive = kernel_of(
            trace, source, source.name, numbers, -(-self._n_slabs // share), 1,
            n_visited=sum(stage.n_visited for stage in stages),
        )  # fmt: skip


def _place(t: Tensor) -> tuple[Storage, int]:
    return t.storage, t.offset


def _divisors(n: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return [*small, *[n // d for d in small]]
