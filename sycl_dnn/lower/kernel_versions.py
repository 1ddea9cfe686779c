# SPDX-License-Identifier: Apache-2.0
"""Generated kernels in place of oneDNN's element-wise primitives.

In float64, which oneDNN lacks on CPUs and computes in float32 on GPUs; outside compiled functions,
which have nothing to append a primitive to; and conversions of all dtypes that oneDNN lacks.
"""

from __future__ import annotations

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.trace.recording import AS_KERNELS, version_in
from sycl_dnn.trace.values import Tensor


@version_in(AS_KERNELS, "binary")
def _binary(kind: A, a: Tensor, b: Tensor, dtype: str) -> Tensor:
    wide = dtypes.wide(dtypes.promote(dtypes.promote(a.dtype, b.dtype), dtype))

    def definition(*operands: Node) -> Node:
        return ops.cast(PAIRS[kind](*[ops.cast(x, wide) for x in operands]), dtype)

    return computed(definition, a, b)


@version_in(AS_KERNELS, "eltwise")
def _eltwise(x: Tensor, kind: A, alpha: float, beta: float) -> Tensor:
    def definition(node: Node) -> Node:
        wide = ops.cast(node, dtypes.wide(x.dtype))
        return ops.cast(FUNCTIONS[kind](wide, alpha, beta), x.dtype)

    return computed(definition, x)


@version_in(AS_KERNELS, "convert")
def _convert(x: Tensor, dtype: str) -> Tensor:
    return computed(lambda node: ops.cast(node, dtype), x)
