# SPDX-License-Identifier: Apache-2.0
"""cross: products of vectors of three elements."""

from __future__ import annotations

from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation
from sycl_dnn.functional.arithmetic.binary import mul, sub
from sycl_dnn.functional.arithmetic.operands import check_arrays, checked_operands
from sycl_dnn.functional.shape.arrangement import roll
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape


@operation
@described_as_torch(
    returns="array\n    The broadcast shape; torch's promoted dtype.",
    types="An operand is no array, or of bool.",
    errors="The axis does not have 3 elements, or shapes do not broadcast.", notes=SMOOTH,
)  # fmt: skip
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors of three elements along an axis.

    input, other : arrays (*A, 3, *B)
        Shapes broadcast.
    dim : int, optional
        By default the first axis with 3 elements.
    """
    name = "cross"
    check_arrays(name, input=input, other=other)
    checked_operands(name, input=input, other=other)
    if "bool" in (input.dtype, other.dtype):
        raise TypeError(f"{name}: input and other must not be bool")
    shape = broadcast_shape(input.shape, other.shape)
    if input.ndim != other.ndim:
        raise ValueError(f"{name}: other must have {input.ndim} axes, got shape {other.shape}")
    if dim is None and 3 not in shape:
        raise ValueError(f"{name}: input must have an axis of 3 elements, got shape {input.shape}")
    axis = shape.index(3) if dim is None else check_axis(name, dim, len(shape))
    for argument, x in (("input", input), ("other", other)):
        if not x.ndim or x.shape[axis] != 3:
            raise ValueError(
                f"{name}: {argument} must have 3 elements along axis {axis}, got shape {x.shape}"
            )
    products = [mul(roll(input, -k, axis), roll(other, k - 3, axis)) for k in (1, 2)]
    return sub(*products)
