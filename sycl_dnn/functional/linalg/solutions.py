# SPDX-License-Identifier: Apache-2.0
"""inv, solve, solve_triangular, det and slogdet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import neg
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.complex_numbers.complex_parts import conj, imag
from sycl_dnn.functional.linalg import host_matrices
from sycl_dnn.functional.linalg.matrix_parts import (
    adjoint,
    checked,
    described,
    factorized,
    identity,
    is_hosted,
    recorded,
    total,
    turned,
)
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.shape.arrangement import spread, tril, triu
from sycl_dnn.functional.shape.reshaping import unsqueeze
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import add
from sycl_dnn.trace.steps import OnHost, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, reshape

# --- Solutions


def inverse(x: Tensor) -> Tensor:
    """Record the inverse of matrices."""

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        side = adjoint(results[0])
        return {"0": neg(matmul(matmul(side, grads[0]), side))}

    return factorized("inv", [x], [x.shape], rule)[0]


def solution(a: Tensor, b: Tensor) -> Tensor:
    """Return the solution of ``a @ x = b`` for matrices in equal batches."""
    if is_hosted(a.trace) and not host_matrices.is_small(a.shape):
        return _by_factors(a, b)

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        of_b = solution(adjoint(a), grads[0])
        return {"0": neg(matmul(of_b, adjoint(results[0]))), "1": of_b}

    return factorized("solve", [a, b], [b.shape], rule)[0]


def _by_factors(
    a: Tensor, b: Tensor, factors: Sequence[Tensor] = (), is_adjoint: bool = False
) -> Tensor:
    """Record a solution whose gradients of any order use its factors, or given ones, again."""

    def call(a: np.ndarray, b: np.ndarray, *factors: np.ndarray) -> Any:
        if factors:
            return host_matrices.solved(*factors, b, is_adjoint)  # type: ignore[call-arg, arg-type]
        packed, pivots, is_singular = host_matrices.factors(a)
        if is_singular.any():
            raise dpnp.linalg.LinAlgError("solve: Singular matrix")
        return host_matrices.solved(packed, pivots, b), packed, pivots

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        known = factors or results[1:]
        of_b = _by_factors(a, grads[0], known, not is_adjoint)
        return {"0": _of_matrix(of_b, results[0], is_adjoint), "1": of_b}

    dtype = str(b.dtype)
    outs = [Out(b.shape, dtype), Out(a.shape, dtype), Out(a.shape[:-1], "int64")]
    inputs = [a, b, *factors]
    return recorded(OnHost("solve", call), inputs, outs[:1] if factors else outs, rule)[0]


def _of_matrix(of_b: Tensor, x: Tensor, is_adjoint: bool) -> Tensor:
    """Return the gradient of the matrix of a solution, or of the adjoint one's."""
    left, right = (x, of_b) if is_adjoint else (of_b, x)
    return neg(matmul(left, adjoint(right)))


def triangular_solution(
    a: Tensor, b: Tensor, is_upper: bool, is_unit: bool = False, is_adjoint: bool = False
) -> Tensor:
    """Return the solution of a system with a triangle of ``a``, or with its adjoint.

    ``is_unit``: the diagonal is taken as 1. Batches are equal.
    """
    side = int(is_unit)

    def triangle(x: Tensor) -> Tensor:
        return triu(x, side) if is_upper else tril(x, -side)

    if not is_hosted(a.trace):
        part = add(triangle(a), identity(a)) if is_unit else triangle(a)
        return solution(adjoint(part) if is_adjoint else part, b)

    def call(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return host_matrices.solved_triangle(a, b, is_upper, is_unit, is_adjoint)

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        of_b = triangular_solution(a, grads[0], is_upper, is_unit, not is_adjoint)
        return {"0": triangle(_of_matrix(of_b, results[0], is_adjoint)), "1": of_b}

    return recorded(OnHost("solve_triangular", call), [a, b], [Out(b.shape, str(b.dtype))], rule)[0]


def _spread(name: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both sides of a system in equal batches."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{name}: B must have {a.shape[-1]} rows for A, got shape {b.shape}")
    try:
        batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    except ValueError:
        shapes = f"{a.shape} and {b.shape}"
        raise ValueError(f"{name}: batches must broadcast, got shapes {shapes}") from None
    return spread(a, (*batch, *a.shape[-2:])), spread(b, (*batch, *b.shape[-2:]))


@operation
@described(returns="array (*, n, n)")
def inv(A: Tensor) -> Tensor:  # noqa: N803 - torch's name
    """Return the inverse.

    A : array (*, n, n)
    """
    checked("inv", A=A, is_square=True)
    return inverse(A)


@operation
@described(returns="array (*, n, k) or (*, n)")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:  # noqa: N803 - torch's names
    """Return the solution ``X`` of ``A @ X = B``, or of ``X @ A = B``.

    A : array (*, n, n)
    B : array (*, n, k), or (*, n) for vectors
        Same dtype; batches broadcast.
    left : bool
        Whether ``A`` is on the left.
    """
    checked("solve", A=A, is_square=True)
    check_arrays("solve", B=B)
    if B.dtype != A.dtype:
        raise TypeError(f"solve: B must have dtype {A.dtype}, got {B.dtype}")
    if B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]):
        if not left:
            raise ValueError("solve: left must be True for vectors, got False")
        column = solution(*_spread("solve", A, unsqueeze(B, -1)))
        return reshape(column, column.shape[:-1])
    checked("solve", B=B)
    if left:
        return solution(*_spread("solve", A, B))
    return turned(solution(*_spread("solve", turned(A), turned(B))))


@operation
@described(returns="array (*, n, k)")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True,  # noqa: N803 - torch's names
    unitriangular: bool = False,
) -> Tensor:  # fmt: skip
    """Return the solution of a system whose other triangle is taken as 0.

    On CPUs, zeros on the diagonal give infinities and NaN, as in torch.

    A : array (*, n, n)
    B : array (*, n, k)
        Same dtype; batches broadcast.
    upper : bool
        Which triangle of ``A`` is read.
    left : bool
        Whether ``A`` is on the left of the solution.
    unitriangular : bool
        Whether the diagonal is taken as 1.
    """
    checked("solve_triangular", A=A, is_square=True)
    checked("solve_triangular", B=B)
    if B.dtype != A.dtype:
        raise TypeError(f"solve_triangular: B must have dtype {A.dtype}, got {B.dtype}")
    if left:
        return triangular_solution(*_spread("solve_triangular", A, B), upper, unitriangular)
    a, b = _spread("solve_triangular", adjoint(A), adjoint(B))
    return adjoint(triangular_solution(adjoint(a), b, upper, unitriangular, is_adjoint=True))


# --- Determinants


class SignAndLogarithm(NamedTuple):
    """The result of ``slogdet``."""

    sign: Any
    logabsdet: Any


_SINGULAR = "Gradients of singular matrices raise an error. "


@operation
@described(returns="array (*)", notes=_SINGULAR)
def det(A: Tensor) -> Tensor:  # noqa: N803 - torch's name
    """Return the determinant.

    A : array (*, n, n)
    """
    checked("det", A=A, is_square=True)

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        scale = reshape(mul(grads[0], conj(results[0])), (*A.shape[:-2], 1, 1))
        return {"0": mul(scale, adjoint(inverse(A)))}

    return factorized("det", [A], [A.shape[:-2]], rule)[0]


@operation
@described(
    returns="named tuple (sign, logabsdet) of arrays (*)",
    notes=f"A singular matrix has sign 0 and logarithm -inf. {_SINGULAR}",
)
def slogdet(A: Tensor) -> SignAndLogarithm:  # noqa: N803 - torch's name
    """Return the sign and the logarithm of the absolute value of the determinant.

    A : array (*, n, n)
    """
    checked("slogdet", A=A, is_square=True)

    is_complex = dtypes.is_complex(A.dtype)

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        parts = [] if grads[1] is None else [converted(grads[1], str(A.dtype))]
        if is_complex and grads[0] is not None:  # of the angle
            parts.append(mul(imag(mul(conj(grads[0]), results[0])), -1j))
        if not parts:
            return {}
        return {"0": mul(reshape(total(parts), (*A.shape[:-2], 1, 1)), adjoint(inverse(A)))}

    kinds = [str(A.dtype), dtypes.part_of(A.dtype)]
    return SignAndLogarithm(*factorized("slogdet", [A], [A.shape[:-2]] * 2, rule, kinds))
