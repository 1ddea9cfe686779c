# SPDX-License-Identifier: Apache-2.0
"""Gradients of what ``fused`` does in one pass: the same steps one by one, which have gradients."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.fused import IS_POSITIVE, SIGN, chain
from sycl_dnn.dispatch.gradients import Grads, rule_for
from sycl_dnn.dispatch.pointwise import binary, eltwise
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.selection import select
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

#: Steps that make -1, 0 and 1: flat, though each of them is steep.
_FLAT = (SIGN, IS_POSITIVE)


def _stepped(x: Tensor, steps: tuple[Any, ...]) -> Tensor:
    """Return ``x`` after ``steps``, each an operation of its own."""
    while steps:
        flat = next((f for f in _FLAT if steps[: len(f)] == f), None)
        if flat is not None:
            made = chain(x, *flat)
            x.trace.tape.pop()
            x, steps = made, steps[len(flat) :]
            continue
        (kind, *given), *rest = steps
        is_binary = bool(given) and isinstance(given[0], Tensor)
        x = binary(kind, x, given[0], x.dtype) if is_binary else eltwise(x, kind, *given)
        steps = tuple(rest)
    return x


def _reversed(trace: Trace, entry: Entry, made: Tensor, start: int, dy: Tensor) -> Grads:
    from sycl_dnn.dispatch.differentiated import propagate

    dy = trace.convert(dy, made.dtype)
    operands = {id(t): (n, t) for n, t in entry.inputs.items() if t.is_float}
    tensors = [t for _, t in operands.values()]
    found = propagate(trace, trace.tape[start:], {id(made): dy}, tensors)
    names = [n for n, _ in operands.values()]
    return {n: g for n, g in zip(names, found, strict=True) if g is not None}


@rule_for("fused")
def _fused(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    a, b, kind = entry.inputs["src_0"], entry.inputs["src_1"], entry.params["algorithm"]
    start = len(trace.tape)
    is_chain = kind is algorithm.binary_max and a is b
    made = _stepped(a if is_chain else binary(kind, a, b, a.dtype), entry.params["steps"])
    return _reversed(trace, entry, made, start, grads["dst"])


@rule_for("chosen")
def _chosen(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    yes, no, c = (entry.inputs[f"src_{i}"] for i in range(3))
    start = len(trace.tape)
    held = Tensor(trace, c.storage, c.desc, "bool", c.shape, c.offset, c.strides)
    made = _stepped(select(held, yes, no), entry.params["steps"])
    return _reversed(trace, entry, made, start, grads["dst"])
