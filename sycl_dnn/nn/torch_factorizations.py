# SPDX-License-Identifier: Apache-2.0
"""Factorizations that oneMKL's SYCL interface lacks, computed by the host: LU and ``eig``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn.call.operation import SMOOTH, operation
from sycl_dnn.functional.linalg.host_matrices import factors, function_of
from sycl_dnn.functional.linalg.matrix_parts import (
    adjoint,
    checked,
    identity,
    named_errors,
    recorded,
)
from sycl_dnn.functional.linalg.solutions import triangular_solution
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
    """Record a function of NumPy arrays; ``rule(results, grads)`` returns the gradient."""
    by_numpy = named_errors(name, function)

    def by_copies(a: Any) -> Any:
        return tuple(dpnp.asarray(r, sycl_queue=a.sycl_queue) for r in by_numpy(dpnp.asnumpy(a)))

    return recorded(on_host_or(by_copies, x.trace, name, by_numpy), [x], outs, rule)


def _of_general(name: str, x: Tensor, shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """Record a function of ``numpy.linalg`` whose results are made complex."""
    checked(name, A=x, is_square=True)
    kind = dtypes.complex_of(str(x.dtype))

    def function(a: np.ndarray) -> tuple[np.ndarray, ...]:
        results = function_of("eig", a.shape)(a)[: len(shapes)]
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


def _packed(a: np.ndarray, pivot: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return both triangles in one matrix, and the row with which each one was exchanged."""
    packed, pivots, is_singular = factors(a, pivot)
    if not pivot:
        packed[is_singular > 0] = np.nan
    return np.swapaxes(packed, -1, -2), pivots.astype(np.int32)


@operation
@described(
    "named tuple (LU, pivots)\n    Of shapes (*, m, n) and (*, min(m, n)); pivots are int32.",
    module="linalg.",
    notes=_ON_HOST + SMOOTH,
    pivot="bool\n    Whether rows are exchanged; else a zero on the diagonal gives NaN.",
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
        packed, of_lower, of_upper = results[0], tril(grads[0], -1), triu(grads[0])
        lower, upper = add(tril(packed, -1), identity(A)), triu(packed)
        inner = add(
            tril(matmul(adjoint(lower), of_lower), -1), triu(matmul(of_upper, adjoint(upper)))
        )
        side = triangular_solution(packed, inner, False, is_unit=True, is_adjoint=True)
        side = adjoint(triangular_solution(packed, adjoint(side), True))
        return {"0": matmul(permutation(results[1], n=n, dtype=str(A.dtype)), side)}

    outs = [Out(A.shape, str(A.dtype)), Out((*batch, min(m, n)), "int32")]
    return Packed(*_of_host("lu_factor", lambda a: _packed(a, pivot), A, outs, rule))


@operation
def permutation(pivots: Tensor, *, n: int, dtype: str) -> Tensor:
    """Return the permutation matrices ``P`` (*, n, n) of successive exchanges of rows."""

    def matrices(pivots: np.ndarray) -> tuple[np.ndarray, ...]:
        rows = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
        batch, order = np.arange(len(rows)), np.tile(np.arange(n), (len(rows), 1))
        for i, others in enumerate(rows.T - 1):
            order[batch, i], order[batch, others] = order[batch, others], order[batch, i].copy()
        equal = np.arange(n)[:, None] == order[:, None, :]
        return (equal.reshape(*pivots.shape[:-1], n, n),)

    outs = [Out((*pivots.shape[:-1], n, n), dtype)]
    return _of_host("permutation", matrices, pivots, outs, lambda *_: {})[0]
