# SPDX-License-Identifier: Apache-2.0
"""What ``_core.CallTable`` needs of a traced function, to repeat its calls without Python."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sycl_dnn import _core
from sycl_dnn.call.nesting import Form
from sycl_dnn.call.seed import Seed
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.dispatch.executable import Executable

__all__ = ["call_plan_of", "is_in_order"]


class _Result:
    """Stands for the result of a number where results are nested."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def is_in_order(arrays: list[Any], args: Any, kwargs: Any) -> bool:
    """Whether these are the arrays of a call in the order in which the table finds them.

    Trees take dicts by sorted keys, the table as they are; what it told apart stays so.
    """
    found = list(_arrays((args, kwargs)))
    return len(found) == len(arrays) and all(map(operator.is_, found, arrays))


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)
    elif hasattr(value, "get_array") and not isinstance(value, Frozen):
        yield value.get_array()


def call_plan_of(executable: Executable, results: Form) -> _core.CallPlan | None:
    """Return the plan for an executable; None where a call needs Python.

    Parameters
    ----------
    executable : Executable
    results : Form
        How what the function returns is nested.
    """
    only, slots = executable.only_segment, executable.constants.slots
    if only is None or slots is None or not executable.is_given_or_captured():
        return None
    numbers = [_Result(i) for i in range(len(executable.results))]
    form = _form(executable, results.build(numbers))
    if form is None or any(isinstance(value, Seed) for _, value, _ in executable.captured):
        return None
    frozen = {index: value for index, value, _ in executable.captured if isinstance(value, Frozen)}
    constants = [(*slot, frozen.get(slot[-1])) for slot in slots]
    held = [(executable.register(t.storage), value) for _, value, t in executable.captured]
    blanks = [(r, b.nbytes, b.shape, b.strides, b.dtype) for r, b in executable.blanks]
    return _core.CallPlan(
        only.program, only.reads, executable.n_registers, blanks, constants, held, form
    )


def _form(executable: Executable, value: Any) -> tuple[Any, ...] | None:
    """Return the row of ``CallPlan`` for a part of the results; None where it has none."""
    if isinstance(value, _Result):
        return _array(executable, value.number)
    if type(value) is dict:
        return _items(executable, ("dict", tuple(value)), value.values())
    kind = type(value)
    if kind is tuple or kind is list:
        return _items(executable, (kind.__name__,), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _items(executable, ("made", kind), value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return ("object", value)
    return None


def _items(executable: Executable, start: tuple[Any, ...], values: Any) -> tuple[Any, ...] | None:
    rows = [_form(executable, value) for value in values]
    return None if None in rows else (*start, rows)


def _array(executable: Executable, number: int) -> tuple[Any, ...]:
    register, dtype = executable.results[number], executable.result_dtypes[number]
    if register < executable.n_given:
        return ("given", register)
    return ("array", register, dtype if dtype in dtypes.CARRIED else None)
