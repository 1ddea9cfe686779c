# SPDX-License-Identifier: Apache-2.0
"""Gradients of element-wise operations of two tensors."""

from __future__ import annotations

from collections.abc import Callable

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.gradients import Grads, rule_for
from sycl_dnn.dispatch.pointwise import add, binary, div, linear_map, mul
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.reductions import sum_to
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

A = algorithm


def _weight_of_larger(a: Tensor, b: Tensor, kind: algorithm, dtype: str) -> Tensor:
    """Return 1 where ``a`` is the maximum (minimum), 0.5 where both are, else 0."""
    strict, loose = (
        (A.binary_gt, A.binary_ge) if kind is A.binary_max else (A.binary_lt, A.binary_le)
    )
    return linear_map(add(binary(strict, a, b, dtype), binary(loose, a, b, dtype)), 0.5)


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
        lambda g, a, b, y: mul(g, linear_map(_weight_of_larger(a, b, kind, g.dtype), -1.0, 1.0)),
    )


@rule_for("binary")
def _binary(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    slopes = _slopes(entry.params["algorithm"])
    if slopes is None:
        return {}  # comparisons are flat
    found = {}
    a, b = entry.inputs["src_0"], entry.inputs["src_1"]
    for name, slope in zip(("src_0", "src_1"), slopes, strict=True):
        if name in needed:
            operand = entry.inputs[name]
            grad = sum_to(slope(grads["dst"], a, b, entry.outputs["dst"]), operand.shape)
            found[name] = trace.convert(grad, operand.dtype)
    return found
