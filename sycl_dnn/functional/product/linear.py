# SPDX-License-Identifier: Apache-2.0
"""Linear and bilinear maps of the last axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.product.product import check_same_dtype, product, swapped
from sycl_dnn.functional.quantized.quantize import QuantizedTensor
from sycl_dnn.functional.quantized.quantized_products import weight_only_product
from sycl_dnn.trace.pointwise import add, mul
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array
    from sycl_dnn.trace.frozen import Frozen


def _check_bias(name: str, bias: Tensor | None, shape: tuple[int, ...], dtype: str) -> None:
    if bias is None:
        return
    if bias.shape != shape:
        raise ValueError(f"{name}: bias must have shape {shape}, got {bias.shape}")
    if bias.dtype not in (dtype, "float32"):
        raise TypeError(f"{name}: bias must have dtype {dtype} or float32, got {bias.dtype}")


@operation
def linear(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array | Frozen | QuantizedTensor,
    bias: dpnp.ndarray | Array | Frozen | None = None,
) -> dpnp.ndarray | Array:
    """Return ``input @ weight.T + bias``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*, K)
        float32, bfloat16 or float16, float64 where the device has it.
    weight : dpnp.ndarray, Array or Frozen (N, K) or (K,), or QuantizedTensor (N, K)
        The dtype of ``input``. Quantised weights (int8, uint8, int4 or uint4) are multiplied as
        they lie and scaled on the way; they have no gradient.
    bias : dpnp.ndarray, Array or Frozen (N,) or (), optional
        The dtype of ``input`` or float32.

    Returns
    -------
    dpnp.ndarray or Array (*, N), (*) for a weight without N

    Raises
    ------
    ValueError
        The shapes do not fit.
    TypeError
        The dtypes do not fit.

    Notes
    -----
    Source: oneDNN developer guide, "Matrix Multiplication"; names and defaults are
    torch.nn.functional's.
    """
    check_float("linear", input=input)
    k = input.shape[-1] if input.ndim else 1
    if len(weight.shape) not in (1, 2) or not input.ndim or weight.shape[-1] != k:
        raise ValueError(
            f"linear: weight must have shape (out_features, {k}) or ({k},), got {weight.shape}"
        )
    n = weight.shape[:-1]
    _check_bias("linear", bias, n, input.dtype)
    rows = reshape(input, (math.prod(input.shape[:-1]), k))
    bias = bias if bias is None or n else reshape(bias, (1,))
    if isinstance(weight, QuantizedTensor):
        made = weight_only_product("linear", rows, weight, bias)
    else:
        check_same_dtype("linear", "input", "weight", input, weight)
        made = product(rows, swapped(reshape(weight, (-1 if k else math.prod(n), k))), bias)
    return reshape(made, (*input.shape[:-1], *n))


@operation
def bilinear(
    input1: dpnp.ndarray | Array,
    input2: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array:
    """Return ``input1 @ weight[n] @ input2`` for each n, and the bias added.

    Parameters
    ----------
    input1 : dpnp.ndarray or Array (*, K)
    input2 : dpnp.ndarray or Array (*, L)
    weight : dpnp.ndarray or Array (N, K, L)
    bias : dpnp.ndarray or Array (N,), optional

    Returns
    -------
    dpnp.ndarray or Array (*, N)

    Raises
    ------
    ValueError
        The shapes do not fit.
    TypeError
        The dtypes differ.

    Notes
    -----
    Between the two products lie N * L values for each row.

    Source: oneDNN developer guide, "Matrix Multiplication"; names and defaults are
    torch.nn.functional's.
    """
    check_float("bilinear", input1=input1)
    _check_bilinear(input1, input2, weight)
    n, k, m = weight.shape
    _check_bias("bilinear", bias, (n,), input1.dtype)
    rows, others = (reshape(t, (1, math.prod(t.shape[:-1]), t.shape[-1])) for t in (input1, input2))
    halfway = mul(product(rows, weight), others)
    summed = reduce(algorithm.reduction_sum, halfway, (2,))
    made = transpose(reshape(summed, (n, rows.shape[1])), (1, 0))
    made = made if bias is None else add(made, bias)
    return reshape(made, (*input1.shape[:-1], n))


def _check_bilinear(x: Tensor, y: Tensor, weight: Tensor) -> None:
    if x.shape[:-1] != y.shape[:-1] or not (x.ndim and y.ndim):
        raise ValueError(
            f"bilinear: input2 must have shape {x.shape[:-1]} but for its last axis, got {y.shape}"
        )
    if weight.ndim != 3 or weight.shape[1:] != (x.shape[-1], y.shape[-1]):
        raise ValueError(
            f"bilinear: weight must have shape (out_features, {x.shape[-1]}, {y.shape[-1]}), got "
            f"{weight.shape}"
        )
    check_same_dtype("bilinear", "input1", "input2", x, y)
    check_same_dtype("bilinear", "input1", "weight", x, weight)
