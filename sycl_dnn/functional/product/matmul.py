# SPDX-License-Identifier: Apache-2.0
"""Matrix products (matmul, mm, bmm, addmm, baddbmm) and linear and bilinear maps."""

from __future__ import annotations

import math

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic import binary
from sycl_dnn.functional.arithmetic.elementwise import check_float, check_same_dtype
from sycl_dnn.functional.arithmetic.operands import broadcasts_to, check_arrays
from sycl_dnn.functional.product.product import check_ranks, product, sum_of_products, swapped
from sycl_dnn.functional.quantized.quantize import QuantizedTensor
from sycl_dnn.functional.quantized.quantized_products import weight_only_product
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.trace.pointwise import add, linear_map, mul
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, reshape, transpose


@operation
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiply matrices, vectors, or batches of matrices.

    Parameters
    ----------
    input : dpnp.ndarray or Array (K,) or (*, M, K)
    other : dpnp.ndarray or Array (K,) or (*, K, N), or QuantizedTensor (K, N)
        Same dtype as ``input``. Batch axes broadcast.

    Returns
    -------
    dpnp.ndarray or Array (*, M, N)
        Without M or N if an operand is a vector.

    Raises
    ------
    ValueError
        The shapes do not match.
    TypeError
        The dtypes differ.

    Notes
    -----
    Integer products are computed modulo the width of the dtype.

    Source: oneDNN developer guide, "Matrix Multiplication"; names and defaults are torch's.
    """
    if isinstance(other, QuantizedTensor):
        return _by_quantized(input, other)
    _check_matmul(input, other)
    a = reshape(input, (1, -1)) if input.ndim == 1 else input
    b = reshape(other, (-1, 1)) if other.ndim == 1 else other
    shape = [*broadcast_shape(a.shape[:-2], b.shape[:-2])]
    shape += [a.shape[-2]] * (input.ndim > 1) + [b.shape[-1]] * (other.ndim > 1)
    if b.ndim == 2 and a.ndim > 2:
        a = reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))
    return reshape(_product(a, b), shape)


def _product(a: Tensor, b: Tensor) -> Tensor:
    is_dot = a.shape[:-1] == (1,) and b.shape[1:] == (1,) and a.dtype in REGISTERS
    return sum_of_products(a, b) if is_dot or not a.is_float else product(a, b)


def _by_quantized(x: Tensor, weight: QuantizedTensor) -> Tensor:
    check_float("matmul", input=x)
    if len(weight.shape) != 2 or not x.ndim or x.shape[-1] != weight.shape[0]:
        raise ValueError(f"matmul: other must have shape ({x.shape[-1:]}, N), got {weight.shape}")
    rows = reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    result = weight_only_product("matmul", rows, weight.turned(), None)
    return reshape(result, (*x.shape[:-1], weight.shape[1]))


def _check_matmul(a: Tensor, b: Tensor) -> None:
    if not (a.ndim and b.ndim):
        raise ValueError(
            f"matmul: input and other must have an axis at least, got {a.shape} and {b.shape}"
        )
    k = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != k:
        raise ValueError(
            f"matmul: other must have {a.shape[-1]} rows, as input has columns, got shape {b.shape}"
        )
    check_same_dtype("matmul", "input", "other", a, b)
    try:
        broadcast_shape(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(
            f"matmul: batch axes of other must broadcast with those of input, {a.shape}, got "
            f"{b.shape}"
        ) from None


_OF_RANK = """{summary}

Parameters
----------
{parameters}
Returns
-------
dpnp.ndarray or Array {shape}

Raises
------
ValueError, TypeError
    As {error}.
"""


@operation
@templated(_OF_RANK, shape="(M, N)", error="``matmul``; also if an operand is not a matrix")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices.

    input : dpnp.ndarray or Array (M, K)
    mat2 : dpnp.ndarray or Array (K, N)
    """
    check_ranks("mm", 2, input=input, mat2=mat2)
    return _product(input, mat2)


@operation
@templated(
    _OF_RANK, shape="(B, M, N)", error="``matmul``; also if an operand does not have three axes"
)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two batches of matrices.

    input : dpnp.ndarray or Array (B, M, K)
    mat2 : dpnp.ndarray or Array (B, K, N)
    """
    check_ranks("bmm", 3, input=input, mat2=mat2)
    return _product(input, mat2)


# --- addmm, baddbmm


def _plus_product(name: str, x: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
    """Return ``beta * x + alpha * (a @ b)``; if ``beta`` is 0, ``x`` is ignored, as in torch."""
    shape = (*a.shape[:-1], b.shape[-1])
    if not broadcasts_to(x.shape, shape):
        raise ValueError(f"{name}: input must broadcast to {shape}, got {x.shape}")
    check_same_dtype(name, "mat1", "input", a, x)
    if not a.is_float:
        return _plus_integers(name, x, sum_of_products(a, b), beta, alpha)
    if alpha == beta == 1 and x.shape == shape[-1:]:
        return product(a, b, x)
    result = product(a, b)
    result = result if alpha == 1 else linear_map(result, alpha)
    if beta == 0:
        return result
    return add(result, x if beta == 1 else linear_map(x, beta))


def _plus_integers(name: str, x: Tensor, result: Tensor, beta: float, alpha: float) -> Tensor:
    for argument, value in (("beta", beta), ("alpha", alpha)):
        if int(value) != value:
            raise TypeError(f"{name}: {argument} must be an integer for {x.dtype}, got {value}")
    result = binary.mul(result, int(alpha))
    return binary.add(result, binary.mul(x, int(beta))) if beta else result


@operation
@templated(_OF_RANK, shape="(M, N)", error="``mm``; also if ``input`` does not broadcast")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)``.

    input : dpnp.ndarray or Array
        Broadcasts to (M, N). If ``beta`` is 0 its values are ignored, even NaN.
    mat1 : dpnp.ndarray or Array (M, K)
    mat2 : dpnp.ndarray or Array (K, N)
    beta, alpha : number
    """
    check_ranks("addmm", 2, mat1=mat1, mat2=mat2)
    return _plus_product("addmm", input, mat1, mat2, beta, alpha)


@operation
@templated(_OF_RANK, shape="(B, M, N)", error="``bmm``; also if ``input`` does not broadcast")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Return ``beta * input + alpha * (batch1 @ batch2)``, as ``addmm`` for batches.

    input : dpnp.ndarray or Array
        Broadcasts to (B, M, N).
    batch1 : dpnp.ndarray or Array (B, M, K)
    batch2 : dpnp.ndarray or Array (B, K, N)
    beta, alpha : number
    """
    check_ranks("baddbmm", 3, batch1=batch1, batch2=batch2)
    return _plus_product("baddbmm", input, batch1, batch2, beta, alpha)


# --- linear, bilinear


def _check_bias(name: str, bias: Tensor | None, shape: tuple[int, ...], dtype: str) -> None:
    if bias is None:
        return
    if bias.shape != shape:
        raise ValueError(f"{name}: bias must have shape {shape}, got {bias.shape}")
    if bias.dtype not in (dtype, "float32"):
        choices = " or ".join(dict.fromkeys((dtype, "float32")))
        raise TypeError(f"{name}: bias must have dtype {choices}, got {bias.dtype}")


@operation
def linear(input: Tensor, weight: Tensor | QuantizedTensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*, K)
        float32, bfloat16 or float16; float64 if the device supports it.
    weight : dpnp.ndarray, Array or Frozen (N, K) or (K,), or QuantizedTensor (N, K)
        Same dtype as ``input``. Quantized weights (int8, uint8, int4 or uint4) are dequantized on
        the fly; they have no gradient.
    bias : dpnp.ndarray, Array or Frozen (N,) or (), optional
        Dtype of ``input``, or float32.

    Returns
    -------
    dpnp.ndarray or Array (*, N), (*) if the weight has no N

    Raises
    ------
    ValueError
        The shapes do not match.
    TypeError
        The dtypes are incompatible.

    Notes
    -----
    Source: oneDNN developer guide, "Matrix Multiplication"; names and defaults are
    torch.nn.functional's.
    """
    check_arrays("linear", input=input)
    if isinstance(weight, QuantizedTensor):
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
        result = weight_only_product("linear", rows, weight, bias)
    else:
        check_same_dtype("linear", "input", "weight", input, weight)
        columns = swapped(reshape(weight, (-1 if k else math.prod(n), k)))
        if input.is_float:
            result = product(rows, columns, bias)
        else:
            result = sum_of_products(rows, columns)
            result = result if bias is None else binary.add(result, bias)
    return reshape(result, (*input.shape[:-1], *n))


@operation
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input1 @ weight[n] @ input2 + bias[n]`` for each n.

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
        The shapes do not match.
    TypeError
        The dtypes differ.

    Notes
    -----
    The intermediate result has N * L values per row.

    Source: oneDNN developer guide, "Matrix Multiplication"; names and defaults are
    torch.nn.functional's.
    """
    check_float("bilinear", input1=input1)
    _check_bilinear(input1, input2, weight)
    n, k, m = weight.shape
    _check_bias("bilinear", bias, (n,), input1.dtype)
    rows, factors = (
        reshape(t, (1, math.prod(t.shape[:-1]), t.shape[-1])) for t in (input1, input2)
    )
    products = mul(product(rows, weight), factors)
    summed = reduce(algorithm.reduction_sum, products, (2,))
    result = transpose(reshape(summed, (n, rows.shape[1])), (1, 0))
    result = result if bias is None else add(result, bias)
    return reshape(result, (*input1.shape[:-1], n))


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
