# SPDX-License-Identifier: Apache-2.0
"""The common part of all ways to call a function: place, plan, run, results."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from sycl_dnn.call import arguments
from sycl_dnn.call.arguments import Collected
from sycl_dnn.call.call_plan import call_plan_of, numbered
from sycl_dnn.call.captures import Check, nothing_captured
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import allocation
from sycl_dnn.trace.allocation import pool_of
from sycl_dnn.trace.array import check_out


class Plan:
    """The executable for calls of one kind, and how their results are nested.

    form : how results are nested
    n_results : results of the function; its executable may have others after them
    check : whether the plan is still valid
    call_plan : repeats calls without Python, if possible
    reverse : ``reverse(plan, saved)`` returns the pullback for the values that a call saved
    is_remembered : whether a call of it has been remembered
    """

    check: Check = staticmethod(nothing_captured)
    reverse: Any = None
    is_remembered: bool = False

    def __init__(
        self,
        executable: Executable,
        form: Any,
        repeats: bool = True,
        n_results: int | None = None,
    ) -> None:
        """Parameters as the attributes; ``repeats``: whether a call may need no Python."""
        self.executable = executable
        self.form = form
        self.n_results = len(executable.results) if n_results is None else n_results
        self.call_plan = None
        if repeats:
            leaves = numbered(form, range(self.n_results))
            self.call_plan = call_plan_of(executable, form.structure, leaves)

    def arrays(self, placed: PlacedCall, held: Sequence[Any]) -> list[Any]:
        """Return the executable's arguments: the arrays of a call, and those that are ``held``."""
        return placed.call.arrays

    def results(self, placed: PlacedCall, registers: list[Any]) -> Any:
        """Return the result of the function from the registers that a call filled."""
        leaves = self.executable.leaves(registers, placed.call.objects)
        return self.form.build(leaves[: self.n_results])


class PlacedCall:
    """A call on the queue that its arrays share.

    ``facts``: what the key of its plan has in addition to the arguments: the place, and where
    results go; ``kind``: allocator of the results. Raises TypeError if there is no array, or
    ``outs`` has something that is not an array, and ExecutionPlacementError if the arrays belong to
    different queues.
    """

    def __init__(
        self, name: str, call: Collected, out: Any = None, outs: Sequence[Any] | None = None
    ) -> None:
        self.name, self.call, self.out = name, call, out
        queue = self.queue = arguments.shared_queue(call.arrays, name)
        self.place, self.stream = place_of(queue)
        if outs is None:
            outs = () if out is None else (out,)
        self.facts = (self.place, *(check_out(name, o, call, queue) for o in outs))
        self.outs = {i: o.get_array() for i, o in enumerate(outs)} or None
        self.kind = allocation.coerced_kind(call.arrays)

    def registers(self, plan: Plan, held: Sequence[Any] = (), submits: bool = True) -> list[Any]:
        """Submit, or only prepare; return the registers of the plan's executable."""
        executable, arrays = plan.executable, plan.arrays(self, held)
        fill = executable.run if submits else executable.registers
        call = self.call
        return fill(
            self.queue, self.stream, arrays, self.kind, self.outs, call.frozen, call.numbers
        )

    def results(self, plan: Plan, registers: list[Any]) -> Any:
        """Return the result of the function."""
        return plan.results(self, registers) if self.out is None else self.out

    def run(self, plan: Plan, held: Sequence[Any] = ()) -> Any:
        """Submit; return what the function returns."""
        if plan.call_plan is not None and plan.reverse is None and self.out is None:
            arrays, call = plan.arrays(self, held), self.call
            kept = self.stream, pool_of(self.queue), self.kind, arrays, call.frozen
            result = plan.call_plan.run(
                arguments.ARRAY_TYPES, kept, call.objects, list(call.numbers)
            )
            if result is not NotImplemented:
                return result
        return self.results(plan, self.registers(plan, held))

    def remember(
        self,
        plans: Any,
        subject: tuple[Any, ...],
        args: Any,
        kwargs: Any,
        key: Any,
        plan: Plan,
        arrays: list[Any] | None = None,
        fixed: Iterable[int] = (),
    ) -> None:
        """Let later calls like this one run without Python if possible.

        ``subject`` is what the table is queried with; ``arrays`` are those of the arguments, by
        default of this call; ``fixed`` are the floats that the plan was made for.
        """
        if plan.call_plan is None:
            return
        # Objects that guards compare may refer back to the plan.
        guard = None if plan.check is nothing_captured else weakref.ref(plan.check)
        arrays = self.call.arrays if arrays is None else arrays
        if not plan.is_remembered:
            # Arrays of the call that built a plan often recur, such as parameters.
            allocation.move_to_huge_pages(arrays, self.queue)
            plan.is_remembered = True
        plans.calls.remember(
            subject, args, kwargs, self.out, arrays, key, weakref.ref(plan),
            plan.call_plan, self.stream, pool_of(self.queue), guard, plan.reverse,
            self.call.numbers, sorted(fixed),
        )  # fmt: skip
