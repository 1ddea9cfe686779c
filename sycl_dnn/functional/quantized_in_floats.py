# SPDX-License-Identifier: Apache-2.0
"""Products of quantised operands in float32, for CPUs whose 8-bit products saturate.

Sums stay exact up to 2**24, which no product of up to 512 pairs goes beyond.
"""

from __future__ import annotations

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm
from sycl_dnn.dispatch.primitives import mul, sub
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.quantization import grouped_shape
from sycl_dnn.functional.quantized_tensor import QuantizedTensor


def in_floats(q: QuantizedTensor) -> Tensor:
    """Return the integers of a quantised tensor as float32, less their zero points."""
    made = q.data.trace.convert(q.data, "float32")
    if q.zero_point is None:
        return made
    shape = grouped_shape(q.shape, q.axis, q.group_size)[1]
    return sub(made, reshape(q.data.trace.convert(q.zero_point, "float32"), shape))


def scaled(
    x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, rank: int, axis: int
) -> tuple[PrimitiveAttr, dict[str, Tensor]]:
    """Return what turns a sum of products into its number, and the operands of that.

    Parameters
    ----------
    bias : Tensor (N,), optional
    rank, axis : int
        Of the result, and where its N outputs lie.
    """
    scale = mul(reshape(x.scale, (1,)), reshape(weight.scale, (-1,)))
    steps = [(algorithm.binary_mul, scale)]
    steps += [] if bias is None else [(algorithm.binary_add, bias)]
    attr, post_ops, inputs = PrimitiveAttr(), PostOps(), {}
    for number, (step, tensor) in enumerate(steps):
        operand = reshape(tensor, tuple(tensor.size if i == axis else 1 for i in range(rank)))
        post_ops.append_binary(step, operand.desc)
        inputs[f"attr_post_op_{number}_src_1"] = operand
    attr.set_post_ops(post_ops)
    return attr, inputs
