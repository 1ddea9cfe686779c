# SPDX-License-Identifier: Apache-2.0
"""Generated float64 kernels: oneDNN lacks them on CPUs and computes in float32 on GPUs.

Conversions are those of all dtypes that oneDNN lacks.
"""

from __future__ import annotations

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.recording import OF_DOUBLES, version_in
from sycl_dnn.trace.values import Tensor


def _pair(kind: A, a: Node, b: Node) -> Node:
    return PAIRS[kind](ops.cast(a, "float64"), ops.cast(b, "float64"))


@version_in(OF_DOUBLES, "binary")
def _binary(kind: A, a: Tensor, b: Tensor, dtype: str) -> Tensor:
    return computed(lambda x, y: ops.cast(_pair(kind, x, y), dtype), a, b)


@version_in(OF_DOUBLES, "eltwise")
def _eltwise(x: Tensor, kind: A, alpha: float, beta: float) -> Tensor:
    return computed(lambda node: FUNCTIONS[kind](node, alpha, beta), x)


@version_in(OF_DOUBLES, "convert")
def _convert(x: Tensor, dtype: str) -> Tensor:
    return computed(lambda node: ops.cast(node, dtype), x)
