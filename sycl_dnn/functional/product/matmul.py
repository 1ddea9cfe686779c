# SPDX-License-Identifier: Apache-2.0
"""Products of matrices: matmul, mm, bmm, addmm, baddbmm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.product.product import check_ranks, check_same_dtype, product
from sycl_dnn.functional.quantized.quantize import QuantizedTensor
from sycl_dnn.functional.quantized.quantized_products import weight_only_product
from sycl_dnn.trace.pointwise import add, linear_map
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, reshape

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


@operation
def matmul(input: dpnp.ndarray | Array, other: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return the product of matrices, vectors, or batches of them.

    Parameters
    ----------
    input : dpnp.ndarray or Array (K,) or (*, M, K)
    other : dpnp.ndarray or Array (K,) or (*, K, N), or QuantizedTensor (K, N)
        The dtype of ``input``. Batch axes broadcast.

    Returns
    -------
    dpnp.ndarray or Array (*, M, N)
        Without M or N where an operand is a vector.

    Raises
    ------
    ValueError
        The shapes do not fit.
    TypeError
        The dtypes differ.

    Notes
    -----
    Integers are dpnp's work.

    Source: oneDNN developer guide, "Matrix Multiplication"; names and defaults are torch's.
    """
    if isinstance(other, QuantizedTensor):
        return _by_quantized(input, other)
    _check_matmul(input, other)
    if not input.is_float:
        return _integer_product(input, other)
    a = reshape(input, (1, -1)) if input.ndim == 1 else input
    b = reshape(other, (-1, 1)) if other.ndim == 1 else other
    shape = [*broadcast_shape(a.shape[:-2], b.shape[:-2])]
    shape += [a.shape[-2]] * (input.ndim > 1) + [b.shape[-1]] * (other.ndim > 1)
    if b.ndim == 2 and a.ndim > 2:
        a = reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))
    return reshape(product(a, b), shape)


def _by_quantized(x: Tensor, weight: QuantizedTensor) -> Tensor:
    check_float("matmul", input=x)
    if len(weight.shape) != 2 or not x.ndim or x.shape[-1] != weight.shape[0]:
        raise ValueError(f"matmul: other must have shape ({x.shape[-1:]}, N), got {weight.shape}")
    rows = reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    made = weight_only_product("matmul", rows, weight.turned(), None)
    return reshape(made, (*x.shape[:-1], weight.shape[1]))


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


def _integer_product(a: Tensor, b: Tensor) -> Tensor:
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    shape = (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
    return a.trace.array_call(dpnp.matmul, [a, b], [Out(shape, a.dtype)], lambda e, g: {})[0]


@operation
def mm(input: dpnp.ndarray | Array, mat2: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return the product of two matrices.

    Parameters
    ----------
    input : dpnp.ndarray or Array (M, K)
    mat2 : dpnp.ndarray or Array (K, N)

    Returns
    -------
    dpnp.ndarray or Array (M, N)

    Raises
    ------
    ValueError, TypeError
        As ``matmul``; also where an operand is no matrix.
    """
    check_ranks("mm", 2, input=input, mat2=mat2)
    return product(input, mat2)


@operation
def bmm(input: dpnp.ndarray | Array, mat2: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return the products of two batches of matrices.

    Parameters
    ----------
    input : dpnp.ndarray or Array (B, M, K)
    mat2 : dpnp.ndarray or Array (B, K, N)

    Returns
    -------
    dpnp.ndarray or Array (B, M, N)

    Raises
    ------
    ValueError, TypeError
        As ``matmul``; also where an operand has not three axes.
    """
    check_ranks("bmm", 3, input=input, mat2=mat2)
    return product(input, mat2)


# --- Products of matrices added to a third: addmm, baddbmm


def _added(name: str, x: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float) -> Tensor:
    """Return ``beta * x + alpha * (a @ b)``; with ``beta`` 0 whatever is in ``x``, as torch."""
    shape = (*a.shape[:-1], b.shape[-1])
    try:
        fits = broadcast_shape(x.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name}: input must broadcast to {shape}, got {x.shape}")
    check_same_dtype(name, "mat1", "input", a, x)
    if alpha == beta == 1 and x.shape == shape[-1:]:
        return product(a, b, x)
    made = product(a, b)
    made = made if alpha == 1 else linear_map(made, alpha)
    if beta == 0:
        return made
    return add(made, x if beta == 1 else linear_map(x, beta))


@operation
def addmm(
    input: dpnp.ndarray | Array,
    mat1: dpnp.ndarray | Array,
    mat2: dpnp.ndarray | Array,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> dpnp.ndarray | Array:
    """Return ``beta * input + alpha * (mat1 @ mat2)``.

    Parameters
    ----------
    input : dpnp.ndarray or Array
        Broadcasts to (M, N). With ``beta`` 0 its values do not count, NaN neither.
    mat1 : dpnp.ndarray or Array (M, K)
    mat2 : dpnp.ndarray or Array (K, N)
    beta, alpha : number

    Returns
    -------
    dpnp.ndarray or Array (M, N)

    Raises
    ------
    ValueError, TypeError
        As ``mm``; also where ``input`` does not fit.
    """
    check_ranks("addmm", 2, mat1=mat1, mat2=mat2)
    return _added("addmm", input, mat1, mat2, beta, alpha)


@operation
def baddbmm(
    input: dpnp.ndarray | Array,
    batch1: dpnp.ndarray | Array,
    batch2: dpnp.ndarray | Array,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> dpnp.ndarray | Array:
    """Return ``beta * input + alpha * (batch1 @ batch2)``, as ``addmm`` for batches.

    Parameters
    ----------
    input : dpnp.ndarray or Array
        Broadcasts to (B, M, N).
    batch1 : dpnp.ndarray or Array (B, M, K)
    batch2 : dpnp.ndarray or Array (B, K, N)
    beta, alpha : number

    Returns
    -------
    dpnp.ndarray or Array (B, M, N)

    Raises
    ------
    ValueError, TypeError
        As ``bmm``; also where ``input`` does not fit.
    """
    check_ranks("baddbmm", 3, batch1=batch1, batch2=batch2)
    return _added("baddbmm", input, batch1, batch2, beta, alpha)
