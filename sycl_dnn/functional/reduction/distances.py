# SPDX-License-Identifier: Apache-2.0
"""``cosine_similarity``, ``pairwise_distance`` and ``cdist``."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.arithmetic.operands import check_arrays, checked_operands
from sycl_dnn.functional.reduction.statistics import order_of
from sycl_dnn.functional.shape.reshaping import check_axis, unsqueeze
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import CLAMP, cast
from sycl_dnn.ops.reduction import NORM
from sycl_dnn.ops.shape import SUM, broadcast_to
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, expand_rank, reshape


@operation
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along an axis.

    Parameters
    ----------
    x1, x2 : arrays (*A, n, *B)
        Floating point; shapes broadcast.
    dim : int
        The vector axis, in the broadcast shape.
    eps : float
        Lower bound for the divisor.

    Returns
    -------
    array (*A, *B)

    Raises
    ------
    TypeError
        A dtype is not floating point.
    ValueError
        The shapes do not broadcast, or there is no such axis.

    Notes
    -----
    Differentiable to any order. Source: ``torch.nn.functional.cosine_similarity``.
    """
    name = "cosine_similarity"
    x1, x2 = checked_operands(name, x1=x1, x2=x2)
    check_float(name, x1=x1, x2=x2)
    dtype = dtypes.promote(x1.dtype, x2.dtype)
    shape = broadcast_shape(x1.shape, x2.shape)
    axis = check_axis(name, dim, len(shape))
    if not shape:
        return cosine_similarity(reshape(x1, (1,)), reshape(x2, (1,)), 0, eps)
    wide = dtypes.wide(dtype)

    def definition(*nodes: Node) -> Node:
        # Normalized before multiplying: products of long vectors would overflow.
        vectors = [broadcast_to(cast(x, wide), shape) for x in nodes]
        lengths = [NORM(x, axes=(axis,), order=2.0) for x in vectors]
        bounded = [CLAMP(n, low=float(eps), high=math.inf) for n in lengths]
        x, y = (x / n for x, n in zip(vectors, bounded, strict=True))
        return cast(SUM(x * y, axes=(axis,)), dtype)

    result = computed(definition, *[expand_rank(x, len(shape)) for x in (x1, x2)])
    return reshape(result, shape[:axis] + shape[axis + 1 :])


def _wide(x: Tensor, dtype: str) -> Tensor:
    return converted(x, dtypes.wide(dtype))


def _distances(name: str, a: Tensor, b: Tensor, p: Any, dtype: str, eps: float = 0.0) -> Tensor:
    """Record norms of differences, plus ``eps``, along the last axis, which is kept."""
    a, b = (x if x.ndim else reshape(x, (1,)) for x in (a, b))
    rank, order = max(a.ndim, b.ndim), order_of(name, p)
    if 0 in (a.shape[-1], b.shape[-1]):
        order = 1.0  # of no elements, 0 as all others

    def definition(x: Node, y: Node) -> Node:
        difference = x - y + eps if eps else x - y
        return NORM(difference, axes=(rank - 1,), order=order)

    # One function of nodes: differences of all pairs are not stored.
    return converted(
        computed(definition, *[expand_rank(_wide(x, dtype), rank) for x in (a, b)]), dtype
    )


@operation
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the norm of the difference of vectors along the last axis.

    Parameters
    ----------
    x1, x2 : arrays (*A, n)
        Floating point; shapes broadcast.
    p : float
        Order of the norm.
    eps : float
        Added to each difference.
    keepdim : bool
        Whether to keep the last axis with size 1.

    Returns
    -------
    array (*A), or (*A, 1)

    Raises
    ------
    TypeError
        A dtype is not floating point.
    ValueError
        The shapes do not broadcast.

    Notes
    -----
    Differentiable to any order. Source: ``torch.nn.functional.pairwise_distance``.
    """
    x1, x2 = checked_operands("pairwise_distance", x1=x1, x2=x2)
    check_float("pairwise_distance", x1=x1, x2=x2)
    dtype = dtypes.result_dtype(x1, x2)
    result = _distances("pairwise_distance", x1, x2, p, dtype, float(eps))
    return result if keepdim else reshape(result, result.shape[:-1])


@operation
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Return the distances between all pairs of rows of two matrices.

    Parameters
    ----------
    x1 : array (*A, n, k)
    x2 : array (*A, m, k)
        Floating point; batch axes broadcast.
    p : float
        Order of the norm.
    compute_mode : str
        Ignored: differences are always computed, which is accurate for close rows.

    Returns
    -------
    array (*A, n, m)

    Raises
    ------
    TypeError
        A dtype is not floating point.
    ValueError
        The shapes do not match.

    Notes
    -----
    The gradient is 0 where a distance is 0. Source: ``torch.cdist``.
    """
    operands = {"x1": x1, "x2": x2}
    check_arrays("cdist", **operands)
    for argument, x in operands.items():
        if x.ndim < 2:
            raise ValueError(f"cdist: {argument} must have at least 2 axes, got shape {x.shape}")
    check_float("cdist", **operands)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"cdist: x2 must have {x1.shape[-1]} columns, got shape {x2.shape}")
    dtype = dtypes.promote(x1.dtype, x2.dtype)
    a, b = checked_operands("cdist", x1=unsqueeze(x1, -2), x2=unsqueeze(x2, -3))
    result = _distances("cdist", a, b, p, dtype)
    return reshape(result, result.shape[:-1])
