# SPDX-License-Identifier: Apache-2.0
"""Generated float64 kernels: oneDNN lacks them on CPUs and computes in float32 on GPUs."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS, stepped
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.pointwise import is_binary
from sycl_dnn.trace.recording import computes_doubles
from sycl_dnn.trace.values import Tensor


def _pair(kind: A, a: Node, b: Node) -> Node:
    return PAIRS[kind](ops.cast(a, "float64"), ops.cast(b, "float64"))


@computes_doubles("fused")
def _fused(kind: A, a: Tensor, b: Tensor, *steps: tuple[Any, ...], dtype: str | None) -> Tensor:
    def definition(first: Node, second: Node, *operands: Node) -> Node:
        operand = None if a is b and kind is A.binary_max else second
        result = stepped(kind, first, operand, steps, operands, "float64")
        return ops.cast(result, dtype or a.dtype)

    return computed(definition, a, b, *[step[1] for step in steps if is_binary(step)])


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


@computes_doubles("convert")
def _convert(x: Tensor) -> Tensor:
    return computed(lambda node: ops.cast(node, "float64"), x)
