# SPDX-License-Identifier: Apache-2.0
"""cholesky, eigh, eigvalsh, qr, svd and svdvals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import div, mul, sub
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import neg
from sycl_dnn.functional.complex_numbers.complex_parts import imag, real
from sycl_dnn.functional.linalg.matrix_parts import (
    adjoint,
    checked,
    columns_of,
    described,
    diagonal_matrix,
    factorized,
    identity,
    skewed,
    total,
)
from sycl_dnn.functional.linalg.solutions import triangular_solution
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.shape.arrangement import tril
from sycl_dnn.functional.shape.axes import diagonal
from sycl_dnn.functional.shape.joining import cat, narrow
from sycl_dnn.functional.shape.reshaping import unsqueeze
from sycl_dnn.ir.node import NotDifferentiable
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import add
from sycl_dnn.trace.values import Tensor

# --- Factorizations


@operation
@described(returns="array (*, n, n)")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:  # noqa: N803 - torch's name
    """Return the lower triangular ``L`` with ``A = L @ L.T``, of complex numbers ``L @ L.mH``.

    A : array (*, n, n)
        Symmetric or Hermitian, positive definite.
    upper : bool
        Return the adjoint instead.
    """
    checked("cholesky", A=A, is_square=True)

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        def solved(b: Tensor) -> Tensor:
            return triangular_solution(results[0], b, is_upper=False, is_adjoint=True)

        lower = tril(matmul(adjoint(results[0]), grads[0]))
        inner = mul(add(lower, adjoint(tril(lower, -1))), 0.5)
        return {"0": adjoint(solved(adjoint(solved(inner))))}

    lower = factorized("cholesky", [A], [A.shape], rule)[0]
    return adjoint(lower) if upper else lower


class Eigen(NamedTuple):
    """The result of ``eigh``."""

    eigenvalues: Any
    eigenvectors: Any


def _eigen(name: str, x: Tensor, uplo: str) -> Eigen:
    checked(name, A=x, is_square=True)
    if uplo not in ("L", "U"):
        raise ValueError(f"{name}: UPLO must be 'L' or 'U', got {uplo!r}")

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        (values, vectors), (of_values, of_vectors) = results, grads
        kind = str(vectors.dtype)
        inner = [] if of_values is None else [converted(diagonal_matrix(of_values), kind)]
        if of_vectors is not None:
            gaps = _off_diagonal(sub(columns_of(values), unsqueeze(values, -1)))
            turns = div(skewed(matmul(adjoint(vectors), of_vectors)), gaps)
            # Phases are arbitrary, so the part of the gradient that rotates a vector is removed.
            inner.append(mul(turns, sub(0.5, mul(identity(gaps), 0.5))))
        return {"0": matmul(matmul(vectors, total(inner)), adjoint(vectors))}

    kinds = [dtypes.part_of(x.dtype), str(x.dtype)]
    return Eigen(*factorized("eigh", [x], [x.shape[:-1], x.shape], rule, kinds, UPLO=uplo))


def _off_diagonal(gaps: Tensor) -> Tensor:
    """Return differences with 1 on the diagonal, for divisions."""
    return add(gaps, identity(gaps))


_SIGNS = "The {} of the vectors are arbitrary, and equal {}\nhave no gradients of vectors. "


@operation
@described(returns="named tuple (eigenvalues, eigenvectors)\n    Arrays (*, n), in ascending order,"
    " and (*, n, n).", notes=_SIGNS.format("signs or phases", "values"),
)  # fmt: skip
def eigh(A: Tensor, UPLO: str = "L") -> Eigen:  # noqa: N803 - torch's names
    """Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    A : array (*, n, n)
        Symmetric, or complex and Hermitian.
    UPLO : str
        "L" or "U": the triangle that is read.
    """
    return _eigen("eigh", A, UPLO)


@operation
@described(returns="array (*, n)")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803 - torch's names
    """Return the eigenvalues of symmetric or Hermitian matrices, in ascending order.

    A : array (*, n, n)
        Symmetric, or complex and Hermitian.
    UPLO : str
        "L" or "U": the triangle that is read.
    """
    return _eigen("eigvalsh", A, UPLO).eigenvalues


class QR(NamedTuple):
    """The result of ``qr``."""

    Q: Any
    R: Any


def _tall_qr(x: Tensor) -> list[Tensor]:
    """Return the reduced factors of matrices with at least as many rows as columns."""
    *batch, m, n = x.shape

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        (q, r), (of_q, of_r) = results, grads
        parts = [] if of_r is None else [matmul(r, adjoint(of_r))]
        if of_q is not None:
            parts.append(neg(matmul(adjoint(of_q), q)))
        inner = total(parts)
        own = converted(real(diagonal(inner, 0, -2, -1)), str(r.dtype))
        below = tril(inner, -1)
        mirrored = total([below, adjoint(below), diagonal_matrix(own)])
        rows = matmul(q, mirrored)
        rows = rows if of_q is None else add(of_q, rows)
        return {"0": adjoint(triangular_solution(r, adjoint(rows), is_upper=True))}

    return factorized("qr", [x], [(*batch, m, n), (*batch, n, n)], rule)


@operation
@described(returns='named tuple (Q, R)\n    Arrays (*, m, k) and (*, k, n); k = m for "complete".',
    notes='Tall matrices have no gradient for "complete". ',
)  # fmt: skip
def qr(A: Tensor, mode: str = "reduced") -> QR:  # noqa: N803 - torch's name
    """Return an orthogonal and an upper triangular factor.

    A : array (*, m, n)
    mode : str
        "reduced", "complete", or "r" for an empty ``Q``.
    """
    checked("qr", A=A)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    *batch, m, n = A.shape
    if mode == "complete" and m > n:
        message = "qr: mode 'complete' must not be differentiated for tall matrices"
        shapes = [(*batch, m, m), A.shape]
        return QR(*factorized("qr", [A], shapes, _refusing(message), mode="complete"))
    q, r = _tall_qr(narrow(A, -1, 0, min(m, n)))
    if m < n:
        r = cat([r, matmul(adjoint(q), narrow(A, -1, m, n - m))], -1)
    return QR(narrow(q, -1, 0, 0) if mode == "r" else q, r)


def _refusing(message: str) -> Callable[..., dict[str, Tensor]]:
    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        raise NotDifferentiable(message)

    return rule


class SVD(NamedTuple):
    """The result of ``svd``."""

    U: Any
    S: Any
    Vh: Any


def _svd_rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
    """Return the gradient of the reduced factors."""
    (u, s, vh), (of_u, of_s, of_vh) = results, grads
    v, rows, columns = adjoint(vh), unsqueeze(s, -1), columns_of(s)
    gaps = _off_diagonal(mul(sub(columns, rows), add(columns, rows)))
    inner = [] if of_s is None else [converted(diagonal_matrix(of_s), str(u.dtype))]
    outer = []

    def rotation(vectors: Tensor, g: Tensor) -> Tensor:
        return div(skewed(matmul(adjoint(vectors), g)), gaps)

    if of_u is not None:
        inner.append(mul(rotation(u, of_u), columns))
        if u.shape[-2] > u.shape[-1]:
            scaled = div(of_u, columns)
            outer.append(matmul(sub(scaled, matmul(u, matmul(adjoint(u), scaled))), vh))
    if of_vh is not None:
        of_v = adjoint(of_vh)
        inner.append(mul(rows, rotation(v, of_v)))
        if v.shape[-2] > v.shape[-1]:
            scaled = div(of_v, columns)
            rest = sub(scaled, matmul(v, matmul(vh, scaled)))
            outer.append(matmul(u, adjoint(rest)))
    if of_u is not None and of_vh is not None and dtypes.is_complex(u.dtype):
        phases = imag(diagonal(matmul(adjoint(u), of_u), 0, -2, -1))
        inner.append(diagonal_matrix(mul(div(phases, s), 1j)))
    if inner:
        outer.append(matmul(matmul(u, total(inner)), vh))
    return {"0": total(outer)}


def reduced_or_full(x: Tensor, is_full: bool) -> SVD:
    """Return singular values, and as many vectors, or all."""
    *batch, m, n = x.shape
    k, kinds = min(m, n), [str(x.dtype), dtypes.part_of(x.dtype), str(x.dtype)]
    if not is_full or m == n:
        shapes: list[tuple[int, ...]] = [(*batch, m, k), (*batch, k), (*batch, k, n)]
        return SVD(*factorized("svd", [x], shapes, _svd_rule, kinds, full_matrices=False))

    def rule(results: list[Tensor], grads: list[Any]) -> dict[str, Tensor]:
        if grads[0] is not None or grads[2] is not None:
            raise NotDifferentiable(
                "svd: full_matrices must be False for gradients of vectors of matrices that are "
                "not square, got True"
            )
        return _svd_rule(list(reduced_or_full(x, False)), [None, grads[1], None])

    shapes = [(*batch, m, m), (*batch, k), (*batch, n, n)]
    return SVD(*factorized("svd", [x], shapes, rule, kinds))


@operation
@described(returns="named tuple (U, S, Vh)\n    ``S`` (*, k) in descending order; with "
    "``full_matrices`` U (*, m, m)\n    and Vh (*, n, n), else U (*, m, k) and Vh (*, k, n).",
    notes=_SIGNS.format("signs", "singular values"),
)  # fmt: skip
def svd(A: Tensor, full_matrices: bool = True) -> SVD:  # noqa: N803 - torch's name
    """Return the singular value decomposition ``A = U @ diag(S) @ Vh``.

    A : array (*, m, n)
    full_matrices : bool
        Gradients of the vectors of matrices that are not square need False.
    """
    checked("svd", A=A)
    return reduced_or_full(A, full_matrices)


@operation
@described(returns="array (*, k)")
def svdvals(A: Tensor) -> Tensor:  # noqa: N803 - torch's name
    """Return the singular values, in descending order.

    A : array (*, m, n)
    """
    checked("svdvals", A=A)
    return reduced_or_full(A, False).S
