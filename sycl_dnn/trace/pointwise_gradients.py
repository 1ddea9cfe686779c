# SPDX-License-Identifier: Apache-2.0
"""First- and second-order gradients of element-wise operations; selection by a third tensor."""

from __future__ import annotations

from collections.abc import Callable

from sycl_dnn._core import algorithm
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.pointwise import binary, div, fast_grids, linear_map, mul, shown, sub, zeros
from sycl_dnn.trace.recording import OF_DOUBLES, Trace
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    axis_order,
    broadcast_shape,
    expand_rank,
    filled,
    laid_out,
    spread,
    untaped,
)


def select(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` where ``condition`` (bool) holds, else ``b``; all broadcast."""
    trace = a.trace
    shape = broadcast_shape(condition.shape, a.shape, b.shape)
    dtype = dtypes.promote(a.dtype, b.dtype)
    if dtype == "float64":
        return OF_DOUBLES["select"](condition, a, b)
    a, b = trace.convert(a, dtype), trace.convert(b, dtype)
    condition, a, b = (expand_rank(t, len(shape)) for t in (condition, a, b))
    with untaped(trace):
        is_empty = 0 in shape
        result = (
            zeros(trace, shape, dtype) if is_empty else _selected(condition, a, b, shape, dtype)
        )
    inputs = {"src_0": a, "src_1": b, "src_2": condition}
    trace.tape.append(Entry("select", inputs, {"dst": result}))
    return result


def _selected(c: Tensor, a: Tensor, b: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    full = [t for t in (a, b, c) if t.shape == shape]
    order = axis_order(full[0] if full else None, len(shape))
    a, c, b = spread(a, shape, order), spread(c, shape, order), laid_out(b, order)
    first, second = fast_grids(a, b, shape, order)
    sizes = first.shape
    flags = Tensor(c.trace, c.storage, layout.row_major(sizes, "int8"), "int8", sizes, c.offset)
    result = a.trace.primitive(
        "binary",
        {"src_0": first, "src_1": second, "src_2": flags},
        {"dst": Out(sizes, dtype)},
        algorithm=algorithm.binary_select,
    )["dst"]
    return shown(result, shape, order, dtype)


@rule_for("select")
def _select(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    dy, condition = grads["dst"], entry.inputs["src_2"]
    zero = filled(trace, 0.0, (1,) * dy.ndim, dy.dtype)
    gradients = {}
    if "src_0" in needed:
        gradients["src_0"] = sum_to(select(condition, dy, zero), entry.inputs["src_0"].shape)
    if "src_1" in needed:
        gradients["src_1"] = sum_to(select(condition, zero, dy), entry.inputs["src_1"].shape)
    return gradients


# --- Gradients of element-wise operations of two tensors

A = algorithm


def _weight_of_larger(a: Tensor, b: Tensor, kind: algorithm, dtype: str) -> Tensor:
    """Return 1 where ``a`` is the maximum (minimum), 0.5 where both are, else 0; 1 for NaN."""
    beaten = A.binary_lt if kind is A.binary_max else A.binary_gt
    lost, equal = (binary(k, a, b, dtype) for k in (beaten, A.binary_eq))
    return sub(linear_map(equal, -0.5, 1.0), lost)


#: By operation: the gradients of both operands from (dy, a, b, y), before broadcasting is undone.
_SLOPES: dict[algorithm, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    A.binary_add: (lambda g, a, b, y: g, lambda g, a, b, y: g),
    A.binary_sub: (lambda g, a, b, y: g, lambda g, a, b, y: linear_map(g, -1.0)),
    A.binary_mul: (lambda g, a, b, y: mul(g, b), lambda g, a, b, y: mul(g, a)),
    A.binary_div: (
        lambda g, a, b, y: div(g, b),
        lambda g, a, b, y: linear_map(div(mul(g, y), b), -1.0),
    ),
}


def _slopes(kind: algorithm) -> tuple[Callable[..., Tensor], Callable[..., Tensor]] | None:
    if kind not in (A.binary_max, A.binary_min):
        return _SLOPES.get(kind)
    return (
        lambda g, a, b, y: mul(g, _weight_of_larger(a, b, kind, g.dtype)),
        lambda g, a, b, y: mul(g, _weight_of_larger(b, a, kind, g.dtype)),
    )


@rule_for("binary")
def _binary(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    slopes = _slopes(entry.params["algorithm"])
    if slopes is None:
        return {}  # comparisons are flat
    gradients = {}
    a, b = entry.inputs["src_0"], entry.inputs["src_1"]
    for name, slope in zip(("src_0", "src_1"), slopes, strict=True):
        if name in needed:
            operand = entry.inputs[name]
            grad = sum_to(slope(grads["dst"], a, b, entry.outputs["dst"]), operand.shape)
            gradients[name] = trace.convert(grad, operand.dtype)
    return gradients
