# SPDX-License-Identifier: Apache-2.0
"""inv, solve, solve_triangular, det and slogdet."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.elementwise import neg
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.linalg.matrix_parts import checked, described, factorized, identity, turned
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.shape.arrangement import spread, tril, triu
from sycl_dnn.functional.shape.reshaping import unsqueeze
from sycl_dnn.trace.pointwise import add
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, reshape

# --- Solutions


def inverse(x: Tensor) -> Tensor:
    """Record the inverse of matrices."""

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        side = turned(results[0])
        return {"0": neg(matmul(matmul(side, grads[0]), side))}

    return factorized("inv", [x], [x.shape], rule)[0]


def solution(a: Tensor, b: Tensor, if_singular: float | None = None) -> Tensor:
    """Return the solution of ``a @ x = b`` for matrices in equal batches."""

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        of_b = solution(turned(a), grads[0], if_singular)
        return {"0": neg(matmul(of_b, turned(results[0]))), "1": of_b}

    return factorized("solve", [a, b], [b.shape], rule, if_singular=if_singular)[0]


def _solved(name: str, a: Tensor, b: Tensor, left: bool) -> Tensor:
    if not left:
        return turned(_solved(name, turned(a), turned(b), True))
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{name}: B must have {a.shape[-1]} rows for A, got shape {b.shape}")
    try:
        batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    except ValueError:
        shapes = f"{a.shape} and {b.shape}"
        raise ValueError(f"{name}: batches must broadcast, got shapes {shapes}") from None
    return solution(spread(a, (*batch, *a.shape[-2:])), spread(b, (*batch, *b.shape[-2:])))


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
        column = _solved("solve", A, unsqueeze(B, -1), True)
        return reshape(column, column.shape[:-1])
    checked("solve", B=B)
    return _solved("solve", A, B, left)


@operation
@described(returns="array (*, n, k)")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True,  # noqa: N803 - torch's names
    unitriangular: bool = False,
) -> Tensor:  # fmt: skip
    """Return the solution of a system whose other triangle is taken as 0.

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
    side = int(unitriangular)
    triangle = triu(A, side) if upper else tril(A, -side)
    if unitriangular:
        triangle = add(triangle, identity(A))
    return _solved("solve_triangular", triangle, B, left)


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
        scale = reshape(mul(grads[0], results[0]), (*A.shape[:-2], 1, 1))
        return {"0": mul(scale, turned(inverse(A)))}

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

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        if grads[1] is None:
            return {}
        return {"0": mul(reshape(grads[1], (*A.shape[:-2], 1, 1)), turned(inverse(A)))}

    return SignAndLogarithm(*factorized("slogdet", [A], [A.shape[:-2]] * 2, rule))
