# SPDX-License-Identifier: Apache-2.0
"""Kernels that move elements by their coordinates as operations of a host task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sycl_dnn.kernels.expression import Expression
from sycl_dnn.kernels.forms import Form
from sycl_dnn.kernels.launching import launch_of
from sycl_dnn.lower.host_post_ops import Operation
from sycl_dnn.lower.step_graph import Node

#: Elements that one thread copies faster than a launch and the next primitive's threads begin.
_MAX_ELEMENTS = 1 << 18
#: Least elements that follow each other, on average; and most of a row of results.
_SHORT_RUN, _MAX_ROW = 2, 1 << 12

_Array = np.ndarray[Any, Any]
#: Operations on coordinates, by term.
_OPERATIONS: dict[str, Callable[..., _Array]] = {
    "abs": np.abs, "add": np.add, "eq": np.equal, "ge": np.greater_equal, "gt": np.greater,
    "le": np.less_equal, "logical_and": np.logical_and, "logical_not": np.logical_not,
    "logical_or": np.logical_or, "lt": np.less, "maximum": np.maximum, "minimum": np.minimum,
    "mul": np.multiply, "ne": np.not_equal, "neg": np.negative, "sub": np.subtract,
    "where": np.where,
}  # fmt: skip


def gather_of(node: Node) -> Operation | None:
    """Return a kernel whose result is a gather at indices that depend on an axis each; else None.

    Such are paddings by the array's own elements, flips and rolls.
    """
    launch = launch_of(node.primitive)
    if launch is None or not isinstance(launch.form, Form) or len(node.outputs) > 1:
        return None
    expression, classes, _ = launch.form
    if len(expression.sources) != 1 or expression.inputs:
        return None
    last = expression.terms[-1]
    is_gather = last.operation == "gather" and expression.results == (len(expression.terms) - 1,)
    if not is_gather or last.dtype != "float32":
        return None
    (dst,) = node.outputs.values()
    if dst.size > _MAX_ELEMENTS:
        return None
    supply = iter(launch.numbers[2:])  # after the units
    sizes = [next(supply) for _ in classes[0]]
    strides = [[next(supply) if c == "n" else int(c) for c in kinds] for kinds in classes]
    passed = [next(supply) for _ in range(expression.n_passed)]
    reached = [(next(supply), next(supply)) for _ in last.operands]
    source, *places, result = strides
    offsets = _offsets(expression, sizes, [source, *places], passed, reached)
    if offsets is None or result[-1] != 1:
        return None
    while len(sizes) > 1 and result[-2] == sizes[-1] and sizes[-2] * sizes[-1] <= _MAX_ROW:
        # Pixels may follow each other.
        row = offsets.pop()
        offsets[-1] = np.add.outer(offsets[-1], row).ravel()
        sizes[-2:], result[-2:] = [len(offsets[-1])], [1]
    runs = list(_runs(offsets[-1]))
    if len(runs) * _SHORT_RUN > sizes[-1]:
        return None
    tables = [int(n) for of_axis in offsets[:-1] for n in of_axis]
    flat = [n for run in runs for n in run]
    data = (len(sizes), *sizes, *result, *tables, *flat), (), ()
    return Operation("gather", (*node.inputs.values(),), (*node.outputs.values(),), data)


#: Terms of a gather of rows, with NaN for indices outside of the table, and of one at indices
#: that may count from the end.
_ROWS = (
    ("number", ()), ("ge", (0, 1)), ("number", ()), ("lt", (0, 3)), ("logical_and", (2, 4)),
    ("gather", (0,)), ("number", ()), ("where", (5, 6, 7)),
)  # fmt: skip
_ROWS_FROM_THE_END = (
    ("number", ()), ("lt", (0, 1)), ("number", ()), ("add", (0, 3)), ("where", (2, 4, 0)),
    ("ge", (5, 1)), ("lt", (5, 3)), ("logical_and", (6, 7)), ("gather", (5,)), ("number", ()),
    ("where", (8, 9, 10)),
)  # fmt: skip


def rows_of(node: Node) -> Operation | None:
    """Return a kernel that gathers rows of a table at indices, as of embeddings; else None."""
    launch = launch_of(node.primitive)
    if launch is None or not isinstance(launch.form, Form) or len(node.outputs) > 1:
        return None
    expression, classes, _ = launch.form
    terms = expression.terms
    found = tuple((t.operation, t.operands) for t in terms)
    if found not in (_ROWS, _ROWS_FROM_THE_END) or len(classes[0]) != 2:
        return None
    (dst,), indices, table = node.outputs.values(), *node.inputs.values()
    is_typed = table.dtype == dst.dtype == "float32" and indices.dtype in ("int32", "int64")
    is_nan = dict(terms[-2].attributes).get("value") == ("hex", "nan")
    if not (is_typed and is_nan) or dst.size > _MAX_ELEMENTS:
        return None
    supply = iter(launch.numbers[2:])  # after the units
    sizes = [next(supply) for _ in classes[0]]
    of_indices, of_table, of_dst = (
        [next(supply) if c == "n" else int(c) for c in kinds] for kinds in classes
    )
    passed = [next(supply) for _ in range(expression.n_passed)]
    n_rows, row_step = next(supply), next(supply)
    compared = [passed[n] for i in (0, 2) for name, n in terms[i].attributes if name == "passed"]
    if compared != [0, n_rows] or (of_indices[1], of_table, of_dst[1]) != (0, [0, 1], 1):
        return None
    is_from_end = int(found == _ROWS_FROM_THE_END)
    n_bytes = int(indices.dtype[3:]) // 8
    of_rows = of_indices[0], n_bytes, n_rows, row_step, is_from_end
    data = ((*sizes, *of_rows, of_dst[0]), (), ())
    return Operation("rows", (indices, table), (dst,), data)


def _offsets(
    expression: Expression, sizes: Sequence[int], strides: Sequence[Sequence[int]],
    passed: Sequence[int], reached: Sequence[tuple[int, int]],
) -> list[_Array] | None:  # fmt: skip
    """Return by axis the elements before those at each place; None if indices depend on several."""
    source, *places = strides
    values: list[tuple[_Array, set[int]]] = []
    for term in expression.terms[:-1]:
        attributes = dict(term.attributes)
        if term.operation == "number":
            (name, number), *_ = term.attributes
            values.append((np.int64(passed[number] if name == "passed" else number), set()))
        elif term.operation == "iota":
            along = places[attributes["place"]]
            axes = [a for a, step in enumerate(along) if step and sizes[a] > 1]
            if len(axes) > 1:
                return None
            n = sizes[axes[0]] if axes else 1
            step = along[axes[0]] if axes else 1
            values.append((np.arange(n, dtype=np.int64) * step, {*axes}))
        elif term.operation in _OPERATIONS and not attributes:
            operands = [values[n] for n in term.operands]
            computed = _OPERATIONS[term.operation](*(v for v, _ in operands))
            values.append((computed, set().union(*(a for _, a in operands))))
        else:
            return None
    offsets = [np.arange(n, dtype=np.int64) * s for n, s in zip(sizes, source, strict=True)]
    for operand, (size, stride) in zip(expression.terms[-1].operands, reached, strict=True):
        index, axes_of_index = values[operand]
        if len(axes_of_index) > 1:
            return None
        axis = next(iter(axes_of_index), 0)
        offsets[axis] = offsets[axis] + np.clip(index, 0, size - 1) * stride
    return offsets


def _runs(offsets: _Array) -> Iterator[tuple[int, int]]:
    """Yield first offset and length of the runs of elements that follow each other."""
    ends = [0, *(np.flatnonzero(np.diff(offsets) != 1) + 1), len(offsets)]
    for first, end in itertools.pairwise(ends):
        yield int(offsets[first]), int(end - first)
