# SPDX-License-Identifier: Apache-2.0
"""Generated float64 kernels: oneDNN lacks them on CPUs and computes in float32 on GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.pointwise import IS_POSITIVE, SIGN
from sycl_dnn.trace.recording import computes_doubles
from sycl_dnn.trace.values import Tensor

Steps = tuple[tuple[Any, ...], ...]

#: Step sequences with a float64 equivalent that avoids float32 constants.
_JOINT: tuple[tuple[Steps, Callable[[Node], Node]], ...] = (
    (SIGN, ops.SIGN),
    (IS_POSITIVE, lambda x: ops.cast(ops.GT(x, number(0, x.dtype)), x.dtype)),
)


def _pair(kind: A, a: Node, b: Node) -> Node:
    return PAIRS[kind](ops.cast(a, "float64"), ops.cast(b, "float64"))


def _stepped(x: Node, steps: Steps, operands: Sequence[Node]) -> Node:
    """Return ``x`` after steps; the operands are those of the binary steps, in order."""
    supply = iter(operands)
    while steps:
        joint = next(((s, f) for s, f in _JOINT if steps[: len(s)] == s), None)
        if joint is not None:
            x, steps = joint[1](x), steps[len(joint[0]) :]
            continue
        (kind, *given), *rest = steps
        if given and isinstance(given[0], Tensor):
            x = ops.cast(_pair(kind, x, next(supply)), "float64")
        else:
            alpha, beta = (*given, 0.0, 0.0)[:2]
            x = FUNCTIONS[kind](x, alpha, beta)
        steps = tuple(rest)
    return x


def _tensors_of(steps: Steps) -> list[Tensor]:
    return [step[1] for step in steps if len(step) == 2 and isinstance(step[1], Tensor)]


@computes_doubles("fused")
def _fused(kind: A, a: Tensor, b: Tensor, *steps: tuple[Any, ...], dtype: str | None) -> Tensor:
    def definition(first: Node, second: Node, *operands: Node) -> Node:
        # A maximum with itself only carries the steps.
        is_chain = a is b and kind is A.binary_max
        made = ops.cast(first, "float64") if is_chain else _pair(kind, first, second)
        made = ops.cast(made, "float64")
        return ops.cast(_stepped(made, steps, operands), dtype or a.dtype)

    return computed(definition, a, b, *_tensors_of(steps))


@computes_doubles("choose")
def _choose(condition: Tensor, yes: Tensor, no: Tensor, *steps: tuple[Any, ...]) -> Tensor:
    def definition(c: Node, x: Node, y: Node, *operands: Node) -> Node:
        chosen = ops.where(ops.cast(c, "bool"), ops.cast(x, "float64"), ops.cast(y, "float64"))
        return _stepped(chosen, steps, operands)

    return computed(definition, condition, yes, no, *_tensors_of(steps))


@computes_doubles("select")
def _select(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    def definition(c: Node, x: Node, y: Node) -> Node:
        return ops.where(c, ops.cast(x, "float64"), ops.cast(y, "float64"))

    return computed(definition, condition, a, b)


@computes_doubles("binary")
def _binary(kind: A, a: Tensor, b: Tensor, dtype: str) -> Tensor:
    return computed(lambda x, y: ops.cast(_pair(kind, x, y), dtype), a, b)


@computes_doubles("eltwise")
def _eltwise(x: Tensor, kind: A, alpha: float, beta: float) -> Tensor:
    return computed(lambda node: FUNCTIONS[kind](node, alpha, beta), x)


@computes_doubles("slope")
def _slope(kind: A, x: Tensor, dy: Tensor, alpha: float, beta: float) -> Tensor:
    def definition(node: Node, g: Node) -> Node:
        (made,) = pullback([FUNCTIONS[kind](node, alpha, beta)], [g], [node])
        assert made is not None
        return made

    return computed(definition, x, dy)


@computes_doubles("convert")
def _convert(x: Tensor) -> Tensor:
    return computed(lambda node: ops.cast(node, "float64"), x)
