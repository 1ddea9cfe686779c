# SPDX-License-Identifier: Apache-2.0
"""Products of matrices: matmul, mm, bmm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dpnp

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import broadcast_shape
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.pointwise import check_float
from sycl_dnn.functional.product import check_ranks, check_same_dtype, product, swapped
from sycl_dnn.functional.quantized_tensor import QuantizedTensor
from sycl_dnn.functional.weight_only import weight_only_product

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["bmm", "matmul", "mm", "product", "swapped"]


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
