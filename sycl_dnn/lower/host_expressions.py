# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of few elements as operations of a host task."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sycl_dnn._core import algorithm as A
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.expression import REDUCTIONS, Expression, Term, number_of
from sycl_dnn.kernels.forms import Form, ReductionForm
from sycl_dnn.kernels.joined_kernels import Launch
from sycl_dnn.kernels.launching import launches_of
from sycl_dnn.lower.host_post_ops import Operation
from sycl_dnn.lower.step_graph import Node
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import is_kernel

#: Types of csrc/program/host_rows.hpp.
_TYPES = {"float32": "f", "int32": "i", "int64": "l", "bool": "b"}
_COMPARISONS = frozenset(("eq", "ge", "gt", "le", "lt", "ne"))
_LOGICAL = frozenset(("logical_and", "logical_not", "logical_or", "logical_xor"))
#: Operations of csrc/program/host_terms.inc on float32, and the elements of a sum that take as long
#: as one.
_OF_FLOATS = dict.fromkeys(
    ("abs", "add", "isnan", "maximum", "minimum", "mul", "neg", "square", "stop_gradient", "sub"), 1
) | dict.fromkeys(("ceil", "cos", "floor", "log", "log1p", "round", "sin"), 16) | {
    "div": 2, "reciprocal": 2, "exp": 8, "exp_nonpositive": 8, "expm1": 8, "sigmoid": 10,
    "sqrt": 8, "tanh": 12,
}  # fmt: skip
#: Those of csrc/program/host_typed_terms.inc on integers; a comparison takes as long as a sum.
_OF_INTEGERS = dict.fromkeys(
    (
        "abs", "add", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "maximum",
        "minimum", "mul", "neg", "stop_gradient", "sub",
    ), 3,
) | dict.fromkeys(("div", "floor_divide", "fmod", "remainder", "trunc_divide"), 16)  # fmt: skip
#: Types of what is reduced, and of the results.
_REDUCED = {
    "sum": ("ff", "ii", "il", "ll"), "max": ("ff", "ii", "ll"), "min": ("ff", "ii", "ll"),
    "any": ("bb",), "all": ("bb",), "argmax": ("fl", "ll"), "argmin": ("fl", "ll"),
}  # fmt: skip
_ZERO = (("value", ("hex", "0x0.0p+0")),)
_COST_OF_GATHER, _COST_OF_INTEGERS = 8, 3
#: Elements along the reduced axes of which there may be a block, times those of a register.
_MAX_REDUCED = 1 << 14
#: Elements of sums up to which one thread was faster than a launch on two.
_MAX_ELEMENTS = 1 << 16

#: Algorithms of binary primitives as operations.
_BINARY = {
    A.binary_add: "add", A.binary_sub: "sub", A.binary_mul: "mul", A.binary_div: "div",
    A.binary_max: "maximum", A.binary_min: "minimum",
}  # fmt: skip

#: Operation, type, operands, number, array, and sizes and strides of the axes that it indexes.
_Term = tuple[str, str, tuple[int, ...], float, int, tuple[tuple[int, int], ...]]


def expression_of(node: Node, factor: int) -> Operation | None:
    """Return a generated kernel as an operation; None if it is large or of other kinds."""
    launches = launches_of(node.primitive)
    if not launches or not are_few([node], factor):
        return None
    n_read = [len(x.form.expression.inputs) + len(x.form.expression.sources) for x in launches]
    n_written = [len(launch.form.expression.results) for launch in launches]
    of_inputs = itertools.accumulate(n_read[:-1], initial=0)
    of_results = itertools.accumulate(n_written[:-1], initial=sum(n_read))
    data = tuple(map(_data_of, launches, of_inputs, of_results))
    return Operation("expression", (*node.inputs.values(),), (*node.outputs.values(),), (data,))


def are_few(nodes: Sequence[Node], factor: int) -> bool:
    """Whether the host computes generated kernels before they could be launched, times a factor."""
    kernels = [node.primitive for node in nodes if is_kernel(node.primitive)]
    launches = [launch for kernel in kernels for launch in launches_of(kernel)]
    return sum(map(_cost_of, launches)) <= factor * _MAX_ELEMENTS


def _cost_of(launch: Launch) -> float:
    """Return the elements of a sum that take as long; infinity of what the host lacks."""
    form, sizes = launch.form, _sizes_of(launch)
    expression = form.expression
    is_known = isinstance(form, (Form, ReductionForm)) and form.schedule.part < 0
    arrays = [*expression.inputs, *(source.dtype for source in expression.sources)]
    if not is_known or not {*arrays, *(t.dtype for t in expression.terms)} <= _TYPES.keys():
        return math.inf
    kinds = _kinds_of(form)
    n_reduced = math.prod(n for n, kind in zip(sizes, kinds, strict=True) if kind == "r")
    width = min(sizes[-1], 16) if kinds[-1] == "k" else 1
    # Places count along one axis.
    has_places = any(t.operation.startswith("arg") for t in expression.terms)
    n_axes = sum(n > 1 for n, kind in zip(sizes, kinds, strict=True) if kind == "r")
    if n_reduced * width > _MAX_REDUCED or (has_places and n_axes > 1):
        return math.inf
    # What is copied takes as long as a sum.
    cost = 1 + sum(_cost_of_term(expression, term) for term in expression.terms)
    return cost * math.prod(sizes)


def _cost_of_term(expression: Expression, term: Term) -> float:
    operation, to = term.operation, _TYPES[term.dtype]
    read = "".join(_TYPES[expression.dtype_of(n)] for n in term.operands)
    if operation == "number":
        return 0
    if operation == "gather":
        return _COST_OF_GATHER * max(1, len(read)) if {*read} <= {"i", "l"} else math.inf
    if operation == "iota":
        return 1 if to in "il" else math.inf
    if operation == "cast":
        return 1
    if term.attributes:
        return math.inf
    if operation in REDUCTIONS:
        return 1 if read + to in _REDUCED.get(operation, ()) else math.inf
    if operation in _LOGICAL:
        return 1 if {*read} == {"b"} else math.inf
    if operation == "where":
        cost = _COST_OF_INTEGERS if to in "il" else 1
        return cost if read == "b" + 2 * to else math.inf
    if len({*read}) != 1:
        return math.inf
    if operation in _COMPARISONS:
        cost = _COST_OF_INTEGERS if read[0] in "il" else 1
        return cost if read[0] != "b" or operation in ("eq", "ne") else math.inf
    return {"f": _OF_FLOATS, "b": {}}.get(read[0], _OF_INTEGERS).get(operation, math.inf)


def _sizes_of(launch: Launch) -> tuple[int, ...]:
    return launch.numbers[2 : 2 + len(launch.form.classes[0])]  # after the units


def _kinds_of(form: Form | ReductionForm) -> str:
    return form.kinds if isinstance(form, ReductionForm) else "k" * len(form.classes[0])


def _data_of(launch: Launch, first_input: int, first_result: int) -> tuple[Any, ...]:
    """Return a launch as ``_core.Kernel.sequence`` reads it.

    ``first_input`` and ``first_result`` are the positions of its arrays among the operation's.
    """
    form, sizes = launch.form, _sizes_of(launch)
    expression = form.expression
    supply = iter(launch.numbers[2 + len(sizes) :])
    known = {"0": 0, "1": 1, "t": 1}
    steps = [
        tuple(next(supply) if kind == "n" else known[kind] for kind in kinds)
        for kinds in form.classes
    ]
    passed = [next(supply) for _ in range(expression.n_passed)]
    reached = [
        tuple((next(supply), next(supply)) for _ in range(source.n_indices))
        for source in expression.sources
    ]
    read = [*expression.inputs, *(source.dtype for source in expression.sources)]
    results = [expression.dtype_of(n) for n in expression.results]
    dtypes = [*read, *["int64"] * expression.n_places, *results]
    positions = (
        *range(first_input, first_input + len(read)), *[-1] * expression.n_places,
        *range(first_result, first_result + len(results)),
    )  # fmt: skip
    arrays = tuple((_TYPES[d], of) for d, of in zip(dtypes, steps, strict=True))
    terms = tuple(_terms(expression, passed, reached))
    kinds, n_inputs = _kinds_of(form), len(expression.inputs)
    return positions, sizes, kinds, arrays, n_inputs, terms, expression.results


def binary_expression(node: Node) -> Operation | None:
    """Return a binary primitive over arrays in any plain layout as an operation."""
    operation = _BINARY.get(node.params["algorithm"])
    inputs = node.inputs["src_0"], node.inputs["src_1"]
    descs = [t.desc for t in (*inputs, node.dst)]
    if operation is None or node.attr.calls or not all(d.is_plain for d in descs):
        return None
    dims = node.dst.desc.dims
    axes = layout.axes_in_order(dims, node.dst.desc.strides)
    strides = [[d.strides[a] if d.dims[a] > 1 else 0 for a in axes] for d in descs]
    grid = grid_of([dims[a] for a in axes], strides)
    sizes, arrays = tuple(grid.sizes), tuple(("f", tuple(of)) for of in grid.strides)
    terms = ((operation, "f", (0, 1), 0.0, 0, ()),)
    launch = (0, 1, 2), sizes, "k" * len(sizes), arrays, 2, terms, (2,)
    return Operation("expression", inputs, (node.dst,), ((launch,),))


def _terms(
    expression: Expression, passed: Sequence[int], reached: Sequence[tuple[tuple[int, int], ...]]
) -> Iterator[_Term]:
    """Yield the terms as ``_core.Kernel.sequence`` reads them."""
    for term in _with_relu(expression):
        kind, array = _TYPES[term.dtype], 0
        number: float = 0
        of_axes: tuple[tuple[int, int], ...] = ()
        if term.operation == "number":
            number = _number(term, passed)
        elif term.operation in ("gather", "iota"):
            array = expression.array_of(term)
        if term.operation == "gather":
            of_axes = reached[array - len(expression.inputs)]
        yield term.operation, kind, term.operands, number, array, of_axes


def _with_relu(expression: Expression) -> tuple[Term, ...]:
    """Return the terms, those of 0 or x, whichever is greater, as one that selects nothing."""
    n_inputs, terms = len(expression.inputs), list(expression.terms)
    n_readers = Counter(n for term in terms for n in term.operands)
    n_readers.update(expression.results)
    for place, term in enumerate(terms):
        if term.operation != "where" or term.operands[0] < n_inputs:
            continue
        at = term.operands[0] - n_inputs
        (compared, zero), operation = (*terms[at].operands, 0, 0)[:2], terms[at].operation
        if operation != "le" or term.operands[1:] != (zero, compared) or zero < n_inputs:
            continue
        number = terms[zero - n_inputs]
        if term.dtype == "float32" and number.attributes[:1] == _ZERO:
            terms[place] = Term("relu", "float32", (compared,), ())
            if n_readers[at + n_inputs] == 1:
                terms[at] = Term("number", "bool", (), (("value", 0),))
    return tuple(terms)


def _number(term: Term, passed: Sequence[int]) -> float:
    """Return the number of a term, some of which are passed by their bits."""
    (name, value), *_ = term.attributes
    if name != "passed":
        number = number_of(value)
    elif term.dtype == "float32":
        number = np.int32(passed[value]).view(np.float32)
    else:
        number = passed[value]
    return float(number) if term.dtype == "float32" else int(number)
