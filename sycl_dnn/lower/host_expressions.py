# SPDX-License-Identifier: Apache-2.0
"""Element-wise kernels over float32 as operations of a host task."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from sycl_dnn._core import algorithm as A
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.expression import Expression, Term, number_of
from sycl_dnn.kernels.fused_elementwise import Form
from sycl_dnn.kernels.launching import launch_of
from sycl_dnn.lower.host_post_ops import Operation
from sycl_dnn.lower.step_graph import Node
from sycl_dnn.trace import layout

#: Operations of csrc/program/host_terms.inc, and the elements of a sum that take as long as one.
_COST = dict.fromkeys(
    (
        "abs", "add", "eq", "ge", "gt", "le", "logical_and", "logical_not", "logical_or", "lt",
        "maximum", "minimum", "mul", "ne", "neg", "number", "square", "sub", "where",
    ), 1,
) | {"div": 2, "reciprocal": 2, "exp": 8, "sigmoid": 10, "tanh": 12}  # fmt: skip
#: Elements of sums up to which one thread was faster than a launch on two.
_MAX_ELEMENTS = 1 << 16

#: Algorithms of binary primitives as operations.
_BINARY = {
    A.binary_add: "add", A.binary_sub: "sub", A.binary_mul: "mul", A.binary_div: "div",
    A.binary_max: "maximum", A.binary_min: "minimum",
}  # fmt: skip

_Term = tuple[str, tuple[int, int, int], float]


def expression_of(node: Node, factor: int) -> Operation | None:
    """Return an element-wise kernel as an operation; None if it is large or of other kinds."""
    launch = launch_of(node.primitive)
    if launch is None or not isinstance(launch.form, Form):
        return None
    expression, classes, _ = launch.form
    n_axes = len(classes[0])
    supply = iter(launch.numbers[2:])  # after the units
    sizes = tuple(itertools.islice(supply, n_axes))
    strides = [tuple(next(supply) if c == "n" else int(c) for c in kinds) for kinds in classes]
    if expression.n_places or expression.sources or not _is_float(expression):
        return None
    cost = sum(_COST.get(term.operation, math.inf) for term in expression.terms)
    if cost * math.prod(sizes) > factor * _MAX_ELEMENTS:
        return None
    terms = list(_terms(expression, list(supply)))
    data = sizes, strides, terms, expression.results
    return Operation("expression", (*node.inputs.values(),), (*node.outputs.values(),), data)


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
    terms = [(operation, (0, 1, 0), 0.0)]
    return Operation("expression", inputs, (node.dst,), (grid.sizes, grid.strides, terms, (2,)))


def _is_float(expression: Expression) -> bool:
    """Whether all arrays have elements in float32, and other values at most truth values."""
    dtypes = [*expression.inputs, *map(expression.dtype_of, expression.results)]
    is_float = {*dtypes} == {"float32"}
    return is_float and all(_is_of_float(expression, term) for term in expression.terms)


def _is_of_float(expression: Expression, term: Term) -> bool:
    """Whether a term has values in float32, or compares or combines such."""
    if term.operation == "number":
        return term.dtype == "float32"
    read = {expression.dtype_of(n) for n in term.operands}
    return not term.attributes and {term.dtype, *read} <= {"float32", "bool"}


def _terms(expression: Expression, passed: list[int]) -> Iterator[_Term]:
    """Yield the terms as ``_core.Kernel.sequence`` reads them, some numbers by their bits."""
    for operation, _, operands, attributes in expression.terms:
        number = 0.0
        if operation == "number":
            (name, value), *_ = attributes
            passed_number = np.int32(passed[value]) if name == "passed" else None
            number = number_of(value) if passed_number is None else passed_number.view(np.float32)
        # Those that it lacks are not read.
        a, b, c = (*operands, *operands[:1] * 3, 0, 0, 0)[:3]
        yield operation, (a, b, c), float(number)
