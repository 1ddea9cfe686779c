# SPDX-License-Identifier: Apache-2.0
"""Plans by which ``_core.CallTable`` repeats calls of a traced function without Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.program.executable import Executable
from sycl_dnn.trace.allocation import Blank
from sycl_dnn.trace.frozen import Frozen


class _Result:
    """A placeholder of a numbered result in a nest of results."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def results(count: int) -> list[Any]:
    """Return placeholders of the results of an executable, which forms nest."""
    return [_Result(i) for i in range(count)]


def call_plan_of(
    executable: Executable,
    returned: Any,
    *,
    returns_given: bool = True,
) -> _core.CallPlan | None:
    """Return the plan for an executable; None where a call needs Python.

    Parameters
    ----------
    executable : Executable
    returned
        What the function returns, with ``results`` in place of its arrays.
    returns_given : bool
        Whether results that are arguments come back as the objects that the caller gave.
    """
    only, slots = executable.only_segment, executable.constants.slots
    if only is None or slots is None or not executable.is_given_or_captured():
        return None
    form = _form(executable, returned, returns_given)
    numbers = executable.seeds
    # Their memory is used again, which dpnp's work on a result would not notice.
    if form is None or not numbers.keys().isdisjoint(executable.results):
        return None
    frozen = {index: value for index, value, _ in executable.captured if isinstance(value, Frozen)}
    constants = [(*slot, frozen.get(slot[-1])) for slot in slots]
    captured = [(executable.register(t.storage), value) for _, value, t in executable.captured]
    held = [pair for pair in captured if pair[0] not in numbers]
    converted = [
        (register, number.bytes, KINDS["shared"], Blank(dtype.itemsize, (), None, dtype))
        for register, number in numbers.items()
        for dtype in [np.dtype(number.dtype)]
    ]
    return _core.CallPlan(
        only.program, only.reads, executable.n_registers, executable.blanks, constants, held, form,
        executable.saved, converted,
    )  # fmt: skip


def _form(executable: Executable, value: Any, returns_given: bool) -> tuple[Any, ...] | None:
    """Return the row of ``CallPlan`` for a part of the results; None if it has none."""

    def items(start: tuple[Any, ...], values: Any) -> tuple[Any, ...] | None:
        rows = [_form(executable, v, returns_given) for v in values]
        return None if None in rows else (*start, rows)

    if isinstance(value, _Result):
        register, dtype = executable.results[value.number], executable.result_dtypes[value.number]
        if returns_given and register < executable.n_given:
            return ("given", register)
        return ("array", register, dtype if dtype in dtypes.CARRIED else None)
    kind = type(value)
    if kind is dict:
        return items(("dict", tuple(value)), value.values())
    if kind is tuple or kind is list:
        return items((kind.__name__,), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return items(("made", kind), value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return ("object", value)
    return None
