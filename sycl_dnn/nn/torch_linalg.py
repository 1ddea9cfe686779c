# SPDX-License-Identifier: Apache-2.0
"""``torch.linalg``: its names that ``F.linalg`` lacks, as compositions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.linalg.matrix_parts import adjoint as adjoint_of
from sycl_dnn.functional.linalg.matrix_parts import turned
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.nn.torch_factorizations import Factors, eig, eigvals, lu_factor, permutation
from sycl_dnn.nn.torch_matrices import eye_like, matrix_exp
from sycl_dnn.onednn import dtypes

_TOLERANCES = {
    **dict.fromkeys(("tol", "rcond", "atol", "rtol"), "float or array (*), optional"),
    "hermitian": "bool\n    Whether the matrices are; only their lower triangles are read.",
}
_PIVOT = "bool\n    Whether rows are exchanged."


@described(
    "array\n    The common shape without the axis.",
    "The shapes do not broadcast.",
    module="linalg.",
    x="array (*)",
    y="array (*)",
)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Return the sums of products along an axis, the first factor conjugated."""
    x = F.conj(x) if F.is_complex(x) else x
    return F.sum(F.mul(x, y), dim, dtype=dtypes.promote(str(x.dtype), str(y.dtype)))


@described("array (*)", "The axis has another size, or shapes do not broadcast.", module="linalg.")
def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """Return the cross products of vectors of three elements along an axis."""
    return F.cross(input, other, dim)


def _least(name: str, s: Any, shape: Any, atol: Any, rtol: Any) -> Any:
    """Return the singular values below which others are taken as 0: (*, 1)."""
    for argument, value in (("atol", atol), ("rtol", rtol)):
        if value is not None and not hasattr(value, "shape") and not value >= 0:
            raise ValueError(f"{name}: {argument} must not be negative, got {value}")
    if rtol is None:
        eps = 2.0**-52 if str(s.dtype) == "float64" else 2.0**-23
        is_given = atol is not None and (hasattr(atol, "shape") or atol > 0)
        rtol = 0.0 if is_given and not hasattr(atol, "shape") else eps * max(shape[-2:])
        if hasattr(atol, "shape"):
            rtol = F.where(F.gt(atol, 0), 0.0, rtol)
    atol = 0.0 if atol is None else atol
    atol, rtol = (F.unsqueeze(v, -1) if hasattr(v, "shape") else v for v in (atol, rtol))
    return F.maximum(F.mul(F.amax(s, -1, True), rtol), atol)


@described("array (*) of int64", "A tolerance is negative.", module="linalg.", **_TOLERANCES)
def matrix_rank(
    A: Any, tol: Any = None, *, atol: Any = None, rtol: Any = None,  # noqa: N803 - torch's name
    hermitian: bool = False,
) -> Any:  # fmt: skip
    """Return the number of singular values above ``max(atol, rtol * largest)``, in int64."""
    if tol is not None:
        atol, rtol = tol, 0.0
    if not A.size:
        return F.zeros(*A.shape[:-2], dtype="int64", device=A.device)
    s = F.abs(F.linalg.eigvalsh(A)) if hermitian else F.linalg.svdvals(A)
    return F.sum(F.astype(F.gt(s, _least("matrix_rank", s, A.shape, atol, rtol)), "int64"), -1)


@described("array (*, n, m)", "A tolerance is negative.", module="linalg.", **_TOLERANCES)
def pinv(
    A: Any, rcond: Any = None, *, atol: Any = None, rtol: Any = None,  # noqa: N803 - torch's name
    hermitian: bool = False,
) -> Any:  # fmt: skip
    """Return the pseudoinverse, without singular values up to ``max(atol, rtol * largest)``.

    The gradient is that of a constant rank.
    """
    return _pinv(A, atol, rcond if rcond is not None else rtol, hermitian)


@operation
def _pinv(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:  # noqa: N803 - torch's name
    if not A.size:
        return adjoint_of(A)

    def body() -> Any:
        if hermitian:
            values, u = F.linalg.eigh(A)
            s, vh = F.abs(values), adjoint_of(u)
        else:
            u, s, vh = F.linalg.svd(A, full_matrices=False)
            values = s
        is_kept = F.gt(s, _least("pinv", s, A.shape, atol, rtol))
        inverse = F.where(is_kept, F.reciprocal(F.where(is_kept, values, 1.0)), 0.0)
        return F.matmul(F.mul(adjoint_of(vh), F.unsqueeze(inverse, -2)), adjoint_of(u))

    def rule(g: Any) -> dict[str, Any]:
        """By products alone: of singular values, equal ones have no derivatives of vectors."""
        ph, gh, dot = adjoint_of(p), adjoint_of(g), F.matmul
        if A.shape[-2] <= A.shape[-1]:
            k = dot(gh, p)
            inner, rest = dot(k, ph), dot(dot(ph, p), F.sub(gh, dot(k, A)))
            parts = F.sub(inner, dot(dot(A, p), inner)), rest, dot(p, k)
        else:
            k = dot(p, gh)
            inner, rest = dot(ph, k), dot(dot(F.sub(gh, dot(A, k)), p), ph)
            parts = F.sub(inner, dot(dot(inner, p), A)), rest, dot(k, p)
        return {"A": F.sub(F.add(parts[0], parts[1]), adjoint_of(parts[2]))}

    p = A.trace.closed({"A": A}, body, rule)
    return p


@described(
    "named tuple (P, L, U)\n    Shapes (*, m, m), (*, m, k) and (*, k, n); k is the smaller size.",
    module="linalg.",
    pivot=_PIVOT,
)
def lu(A: Any, *, pivot: bool = True) -> Factors:  # noqa: N803 - torch's name
    """Return a permutation and triangular matrices with ``A = P @ L @ U``."""
    packed, pivots = lu_factor(A, pivot=pivot)
    rows, columns = A.shape[-2:]
    k = min(rows, columns)
    lower = F.add(F.tril(F.narrow(packed, -1, 0, k), -1), eye_like(A, rows, k))
    upper = F.triu(F.narrow(packed, -2, 0, k))
    return Factors(permutation(pivots, n=rows, dtype=str(A.dtype)), lower, upper)


@described(
    "array (*, n, k) or (*, k, n)",
    "The shapes do not match.",
    module="linalg.",
    LU="array (*, n, n)",
    pivots="array (*, n) of int32",
    B="array (*, n, k), or (*, k, n) unless ``left``",
)
def lu_solve(
    LU: Any,
    pivots: Any,
    B: Any,
    *,
    left: bool = True,
    adjoint: bool = False,  # noqa: N803
) -> Any:
    """Return the solution of ``A @ X = B``, or of ``X @ A = B``, given ``lu_factor(A)``.

    ``adjoint`` has the adjoint of ``A`` in its place.
    """
    if not left:
        return adjoint_of(lu_solve(LU, pivots, adjoint_of(B), adjoint=not adjoint))
    rows = permutation(pivots, n=LU.shape[-1], dtype=str(LU.dtype))
    solve = F.linalg.solve_triangular
    if adjoint:
        half = solve(adjoint_of(LU), B, upper=False)
        return F.matmul(rows, solve(adjoint_of(LU), half, upper=True, unitriangular=True))
    half = solve(LU, F.matmul(turned(rows), B), upper=False, unitriangular=True)
    return solve(LU, half, upper=True)


#: ``torch.linalg``: its names here, and those of ``F.linalg``.
linalg = SimpleNamespace(
    **{name: getattr(F.linalg, name) for name in F.linalg.__all__},
    cross=cross, eig=eig, eigvals=eigvals, lu=lu, lu_factor=lu_factor, lu_solve=lu_solve,
    matrix_exp=matrix_exp, matrix_rank=matrix_rank, pinv=pinv, vecdot=vecdot,
    diagonal=lambda A, *, offset=0, dim1=-2, dim2=-1: F.diagonal(A, offset, dim1, dim2),  # noqa: N803
    matmul=F.matmul,
)  # fmt: skip
