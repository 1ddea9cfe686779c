# SPDX-License-Identifier: Apache-2.0
"""Reductions of traced tensors as generated kernels."""

from __future__ import annotations

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.reduction import MAX, MEAN, MIN, PROD
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace.recording import AS_KERNELS, version_in
from sycl_dnn.trace.values import Tensor

_ROWS = {
    A.reduction_sum: SUM, A.reduction_mean: MEAN, A.reduction_max: MAX, A.reduction_min: MIN,
    A.reduction_mul: PROD,
}  # fmt: skip


@version_in(AS_KERNELS, "reduce")
def _reduced(kind: A, x: Tensor, axes: tuple[int, ...], dtype: str) -> Tensor:
    operand = x if str(x.dtype) in REGISTERS else x.trace.convert(x, "float32")
    result_dtype = dtype if dtype in REGISTERS else "float32"
    floats = [name for name in (str(operand.dtype), result_dtype) if dtypes.is_float(name)]
    wide = "float64" if "float64" in floats else "float32" if floats else result_dtype

    def definition(node: Node) -> Node:
        return cast(_ROWS[kind](cast(node, wide), axes=axes), result_dtype)

    return x.trace.convert(computed(definition, operand), dtype)
