# SPDX-License-Identifier: Apache-2.0
"""Plans by which ``_core.CallTable`` repeats calls of a traced function without Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sycl_dnn import _core, tree
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.program.executable import Executable
from sycl_dnn.trace.allocation import Blank
from sycl_dnn.trace.frozen import Frozen
from sycl_dnn.trace.nested_arguments import ARRAY, Form


class _Result:
    """A placeholder of a numbered result in a nest of results."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def numbered(form: Form, numbers: Iterable[int | None]) -> list[Any]:
    """Return the leaves of a form with placeholders of results in place of its arrays."""
    supply = iter(numbers)
    leaves = [next(supply) if v is ARRAY else v for v in form.others]
    pairs = zip(leaves, form.others, strict=True)
    return [_Result(v) if other is ARRAY and v is not None else v for v, other in pairs]


def call_plan_of(
    executable: Executable,
    structure: tree.Structure,
    leaves: Iterable[Any],
    *,
    returns_given: bool = True,
) -> _core.CallPlan | None:
    """Return the plan for an executable; None where a call needs Python.

    ``structure``, ``leaves``: how its results are nested, and the leaves, as ``numbered`` returns
    them; ``returns_given``: whether results that are arguments come back as the objects that the
    caller gave.
    """
    only, slots = executable.only_segment, executable.constants.slots
    if (
        executable.overwritten
        or only is None
        or slots is None
        or not executable.is_given_or_captured()
    ):
        return None
    form = _form(executable, structure, iter(leaves), returns_given)
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


def _form(
    executable: Executable, structure: tree.Structure, leaves: Iterator[Any], returns_given: bool
) -> tuple[Any, ...] | None:
    """Return the row of ``CallPlan`` for a part of the results; None if it has none."""
    if structure.is_leaf:
        return _leaf_form(executable, next(leaves), returns_given)
    kind, order = structure.kind, structure.order
    aux: Any = structure.aux
    rows = [_form(executable, child, leaves, returns_given) for child in structure.children]
    if None in rows:
        return None
    if kind is type(None):
        return ("object", None)
    if kind is tuple or kind is list:
        return (kind.__name__, rows)
    if kind is dict:
        by_name = dict(zip(aux, rows, strict=True))
        return ("dict", tuple(order), [by_name[name] for name in order])
    if hasattr(kind, "_fields"):
        return ("made", kind, rows)
    # Such as a module.
    return ("made", lambda *children: tree.closed(kind, aux, children, order), rows)


def _leaf_form(executable: Executable, value: Any, returns_given: bool) -> tuple[Any, ...] | None:
    if isinstance(value, _Result):
        register, dtype = executable.results[value.number], executable.result_dtypes[value.number]
        if returns_given and register < executable.n_given:
            return ("given", register)
        return ("array", register, dtype if dtype in dtypes.CARRIED else None)
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return ("object", value) if is_plain else None
