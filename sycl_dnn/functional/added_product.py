# SPDX-License-Identifier: Apache-2.0
"""Products of matrices added to a third: addmm, baddbmm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dpnp

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import add, broadcast_shape, linear_map
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.product import check_ranks, check_same_dtype, product

if TYPE_CHECKING:
    from sycl_dnn.dispatch.array import Array

__all__ = ["addmm", "baddbmm"]


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
