# SPDX-License-Identifier: Apache-2.0
"""lstsq."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import mul, sub
from sycl_dnn.functional.arithmetic.convert import astype
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.complex_numbers.complex_parts import conj, real
from sycl_dnn.functional.linalg.factorizations import qr
from sycl_dnn.functional.linalg.matrix_parts import adjoint, checked, described
from sycl_dnn.functional.linalg.solutions import solve
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.reduction.sums import sum
from sycl_dnn.functional.shape.joining import narrow
from sycl_dnn.functional.shape.reshaping import flatten, squeeze, unsqueeze
from sycl_dnn.trace.values import Tensor


class LeastSquares(NamedTuple):
    """The result of ``lstsq``."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@operation
@described(
    returns="tuple of solution (*, n, k) or (*, n), residuals, rank and singular_values",
    notes="Residuals (*, k) are the sums of squares of ``A @ X - b``, and have no elements unless "
    "``m > n``; rank and singular values have none, as with torch's ``driver='gels'``. ",
)
def lstsq(
    A: Tensor, b: Tensor, rcond: float | None = None, *,  # noqa: N803 - torch's names
    driver: str | None = None,
) -> LeastSquares:  # fmt: skip
    """Return ``X`` with the least squares of ``A @ X - b``, of several the smallest.

    A : array (*, m, n)
        Of full rank: else the result is not defined.
    b : array (*, m, k), or (*, m) for vectors
        Same dtype; batches broadcast.
    rcond : float, optional
        Has no effect: the rank is not determined.
    driver : {"gels", "gelsy", "gelsd", "gelss"}, optional
        Has no effect: QR factorization computes the solution.
    """
    checked("lstsq", A=A)
    check_arrays("lstsq", b=b)
    if b.dtype != A.dtype:
        raise TypeError(f"lstsq: b must have dtype {A.dtype}, got {b.dtype}")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"lstsq: driver must be one of LAPACK's four, got {driver!r}")
    is_vector = b.ndim == 1 or (b.ndim == A.ndim - 1 and b.shape == A.shape[:-1])
    right = unsqueeze(b, -1) if is_vector else b
    rows, columns = A.shape[-2:]
    if right.shape[-2] != rows:
        raise ValueError(f"lstsq: b must have {rows} rows for A, got shape {b.shape}")
    if rows >= columns:
        q, r = qr(A)
        x = solve(r, matmul(adjoint(q), right))
    else:
        q, r = qr(adjoint(A))
        x = matmul(q, solve(adjoint(r), right))
    error = sub(matmul(A, x), right)
    squares = sum(real(mul(error, conj(error))), -2)
    nothing = narrow(flatten(squares), 0, 0, 0)
    solution = squeeze(x, -1) if is_vector else x
    residuals = squares if rows > columns else nothing
    return LeastSquares(solution, residuals, astype(nothing, "int64"), nothing)
