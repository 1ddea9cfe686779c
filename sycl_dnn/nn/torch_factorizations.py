# SPDX-License-Identifier: Apache-2.0
"""Factorizations that oneMKL's SYCL interface lacks, computed by the host: LU and ``eig``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.operation import SMOOTH, operation
from sycl_dnn.functional.linalg.matrix_parts import (
    checked,
    identity,
    in_one_thread,
    recorded,
    turned,
)
from sycl_dnn.functional.linalg.solutions import solution
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.shape.arrangement import tril, triu
from sycl_dnn.ir.node import NotDifferentiable
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import add
from sycl_dnn.trace.steps import Out, on_host_or
from sycl_dnn.trace.values import Tensor


class Eigen(NamedTuple):
    """The result of ``eig``."""

    eigenvalues: Any
    eigenvectors: Any


def _of_host(
    name: str, function: Callable[[np.ndarray], tuple[np.ndarray, ...]], x: Tensor,
    outs: list[Out], rule: Callable[..., dict[str, Tensor]],
) -> list[Tensor]:  # fmt: skip
    """Record a function of NumPy; ``rule(results, grads)`` returns the gradient."""

    def by_numpy(a: np.ndarray) -> tuple[np.ndarray, ...]:
        try:
            return function(a)
        except np.linalg.LinAlgError as error:
            raise dpnp.linalg.LinAlgError(f"{name}: {error}") from None

    def by_copies(a: Any) -> Any:
        return tuple(dpnp.asarray(r, sycl_queue=a.sycl_queue) for r in by_numpy(dpnp.asnumpy(a)))

    call = on_host_or(by_copies, x.trace, name, in_one_thread(by_numpy))
    return recorded(call, [x], outs, rule)


def _of_general(name: str, x: Tensor, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """Record a function of ``numpy.linalg`` whose results are made complex."""
    checked(name, A=x, is_square=True, takes_complex=True)
    kind = dtypes.complex_of(str(x.dtype))

    def function(a: np.ndarray) -> tuple[np.ndarray, ...]:
        results = getattr(np.linalg, name)(a)
        results = results if isinstance(results, tuple) else (results,)
        return tuple([np.asarray(r, kind) for r in results])

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        raise NotDifferentiable(f"{name}: no gradient; symmetric matrices have that of eigh")

    return _of_host(name, function, x, [Out(shape, kind) for shape in shapes], rule)


_ON_HOST = "The host computes them. "


@operation
@described(
    "named tuple (eigenvalues, eigenvectors)\n    Complex, of shapes (*, n) and (*, n, n).",
    "The matrices are not square.",
    module="linalg.",
    A="array (*, n, n)",
    notes=_ON_HOST,
)
def eig(A: Tensor) -> Eigen:  # noqa: N803 - torch's name
    """Return complex eigenvalues and eigenvectors, in no order, without gradients."""
    return Eigen(*_of_general("eig", A, [A.shape[:-1], A.shape]))


@operation
@described(
    "array (*, n)\n    Complex.",
    "The matrices are not square.",
    module="linalg.",
    A="array (*, n, n)",
    notes=_ON_HOST,
)
def eigvals(A: Tensor) -> Tensor:  # noqa: N803 - torch's name
    """Return complex eigenvalues, in no order, without gradients."""
    return _of_general("eigvals", A, [A.shape[:-1]])[0]


class Packed(NamedTuple):
    """The result of ``lu_factor``."""

    LU: Any
    pivots: Any


class Factors(NamedTuple):
    """The result of ``lu``."""

    P: Any
    L: Any
    U: Any


def _eliminated(a: np.ndarray, pivot: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return both triangles in one matrix, and the row with which each one was exchanged."""
    x = a.copy()
    rows, columns = x.shape[-2:]
    flat = x.reshape(math.prod(x.shape[:-2]), rows, columns)
    batch, k = np.arange(len(flat)), min(rows, columns)
    pivots = np.zeros((len(flat), k), "int32")
    for i in range(k):
        best = i + np.argmax(abs(flat[:, i:, i]), 1) if pivot else np.full(len(flat), i)
        pivots[:, i] = best + 1
        flat[batch, i], flat[batch, best] = flat[batch, best], flat[batch, i].copy()
        with np.errstate(all="ignore"):
            divisor = np.where(flat[:, i, i] == 0, 1, flat[:, i, i]) if pivot else flat[:, i, i]
            flat[:, i + 1 :, i] /= divisor[:, None]
            flat[:, i + 1 :, i + 1 :] -= flat[:, i + 1 :, i, None] * flat[:, i, None, i + 1 :]
    return x, pivots.reshape(*x.shape[:-2], k)


@operation
@described(
    "named tuple (LU, pivots)\n    Of shapes (*, m, n) and (*, min(m, n)); pivots are int32.",
    module="linalg.",
    notes=_ON_HOST + SMOOTH,
    pivot="bool\n    Whether rows are exchanged; else a zero on the diagonal gives infinities.",
)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Packed:  # noqa: N803 - torch's name
    """Return both triangular factors in one matrix, and pivots counted from 1.

    Only those of square matrices have gradients.
    """
    checked("lu_factor", A=A)
    *batch, m, n = A.shape

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        if m != n:
            raise NotDifferentiable("lu_factor: A must be square for a gradient")
        lower, upper = add(tril(results[0], -1), identity(A)), triu(results[0])
        of_lower, of_upper = tril(grads[0], -1), triu(grads[0])
        inner = add(
            tril(matmul(turned(lower), of_lower), -1), triu(matmul(of_upper, turned(upper)))
        )
        side = solution(turned(lower), inner)
        side = turned(solution(upper, turned(side)))
        return {"0": matmul(permutation(results[1], n, str(A.dtype)), side)}

    outs = [Out(A.shape, str(A.dtype)), Out((*batch, min(m, n)), "int32")]
    return Packed(*_of_host("lu_factor", lambda a: _eliminated(a, pivot), A, outs, rule))


def permutation(pivots: Any, n: int, dtype: str) -> Any:
    """Return the permutation matrices ``P`` (*, n, n) of successive exchanges of rows."""
    numbers = F.arange(n, dtype="int32", device=pivots.sycl_queue)
    order = F.broadcast_to(numbers, (*pivots.shape[:-1], n))
    for i in range(pivots.shape[-1]):
        other = F.sub(F.narrow(pivots, -1, i, 1), 1)
        own, theirs = (
            F.narrow(order, -1, i, 1),
            F.take_along_dim(order, F.astype(other, "int64"), -1),
        )
        order = F.where(F.eq(numbers, other), own, order)
        order = F.where(F.eq(numbers, i), theirs, order)
    return F.astype(F.eq(F.unsqueeze(numbers, -1), F.unsqueeze(order, -2)), dtype)
