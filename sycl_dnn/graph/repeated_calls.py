# SPDX-License-Identifier: Apache-2.0
"""Plans for ``_core.CallTable``, which repeats calls of a compiled graph without Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn import _core
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.allocation import Blank

if TYPE_CHECKING:
    from sycl_dnn.graph.partition_plan import Plan

_STRIDED = _core.layout_type.strided


def call_plan_of(plan: Plan, inputs: Sequence[int]) -> _core.CallPlan | None:
    """Return a plan that repeats calls; None if a call requires Python.

    ``inputs``: the graph's id of each array of a call, in order.
    """
    results = [v.id for v in plan.graph.outputs]
    if any(step.compiled is None or step.copied for step in plan.steps) or not _all_arrays(
        plan, results
    ):
        return None
    constants = {id: tensor.owner for id, tensor in plan.constants.items()}
    if not all(hasattr(array, "get_array") for array in constants.values()):
        return None
    numbers = {id: i for i, id in enumerate((*inputs, *constants, *dict.fromkeys(results)))}
    blanks = [_result(plan, id, numbers[id]) for id in dict.fromkeys(results)]
    _place_others(plan, numbers, blanks)
    n_arrays = len(inputs) + len(constants) + len(blanks)
    rows: list[Any] = [("array", numbers[id], _carried(plan, id)) for id in results]
    return _core.CallPlan(
        _core.PartitionSequence([(step.compiled, numbers) for step in plan.steps]),
        list(range(n_arrays)), n_arrays, blanks, [],
        [(numbers[id], array) for id, array in constants.items()],
        rows[0] if len(rows) == 1 else ("tuple", rows),
    )  # fmt: skip


def _all_arrays(plan: Plan, results: Sequence[int]) -> bool:
    """Whether inputs are arrays and all results can be dpnp arrays written by partitions."""
    written = {id for step in plan.steps for id in step.writes}
    return all(v.property != "host_scalar" for v in plan.graph.inputs.values()) and all(
        id in written
        and plan.layouts[id].layout_type is _STRIDED
        and dtypes.SHORT[plan.layouts[id].data_type.name].bits != 4
        for id in results
    )


def _result(plan: Plan, id: int, number: int) -> tuple[Any, ...]:
    layout = plan.layouts[id]
    dtype = dtypes.SHORT[layout.data_type.name].dtype
    return number, Blank(max(layout.mem_size, 1), layout.dims, layout.strides, dtype)


def _carried(plan: Plan, id: int) -> str | None:
    name = dtypes.LONG[plan.layouts[id].data_type.name]
    return name if name in dtypes.CARRIED else None


def _place_others(plan: Plan, numbers: dict[int, int], blanks: list[Any]) -> None:
    """Allocate intermediate tensors, reusing the memory of those no longer needed."""
    free: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for step, dropped in zip(plan.steps, plan.drops, strict=True):
        for id in step.writes:
            if id in numbers:
                continue
            size = sizes[id] = _core.ResultPool.rounded(max(plan.layouts[id].mem_size, 1))
            if free[size]:
                numbers[id] = free[size].pop()
                continue
            numbers[id] = blanks[-1][0] + 1
            blanks.append((numbers[id], Blank(size, None, None, dtypes.SHORT["u8"].dtype)))
        for id in dropped:
            if id in sizes:
                free[sizes[id]].append(numbers[id])
