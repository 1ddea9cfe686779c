# SPDX-License-Identifier: Apache-2.0
"""torch functions of matrices and vectors as compositions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import stop_gradient
from sycl_dnn.functional.linalg.matrix_parts import adjoint
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions

det, inverse, slogdet, matrix_power = (
    getattr(F.linalg, _name) for _name in ("det", "inv", "slogdet", "matrix_power")
)


def eye_like(like: Any, n: int, m: int | None = None) -> Any:
    """Return a matrix with ones on the diagonal, of the dtype and on the device of an array."""
    return F.eye(n, m, dtype=str(like.dtype), device=like.device)


@described(
    "array (m, n)",
    "The shapes do not match.",
    input="array (m, n)",
    batch1="array (b, m, k)",
    batch2="array (b, k, n)",
)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Return ``beta * input + alpha *`` the sum of the products of matrices in two batches."""
    for argument, x in (("batch1", batch1), ("batch2", batch2)):
        if x.ndim != 3:
            raise ValueError(f"addbmm: {argument} must have 3 axes, got shape {tuple(x.shape)}")
    if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
        shapes = f"{tuple(batch1.shape)} and {tuple(batch2.shape)}"
        raise ValueError(f"addbmm: batch2 must match batch1, got shapes {shapes}")
    rows: Any = F.reshape(F.permute(batch1, (1, 0, 2)), (batch1.shape[1], -1 if batch1.size else 0))
    columns = F.reshape(batch2, (batch2.shape[0] * batch2.shape[1], batch2.shape[2]))
    return F.addmm(input, rows, columns, beta=beta, alpha=alpha)


@described(
    "array (*)",
    "``input`` has less than 2 axes, or ``p`` or ``maxnorm`` is out of its range.",
    p="float\n    Positive.",
    maxnorm="float\n    Not negative.",
)
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Scale the slices along an axis whose p-norm is above ``maxnorm`` down to it."""
    if input.ndim < 2 or not p > 0 or not maxnorm >= 0:
        rule = "input must have 2 axes at least, p be positive and maxnorm not negative"
        raise ValueError(f"renorm: {rule}, got {tuple(input.shape)}, {p}, {maxnorm}")
    axes = [i for i in range(input.ndim) if i != dim % input.ndim]
    sizes = F.abs(input) if F.is_complex(input) else input
    wide: Any = F.astype(sizes, dtypes.wide(str(sizes.dtype)))
    norms = F.linalg.vector_norm(wide, p, axes, True)
    is_long = F.gt(norms, maxnorm)
    factors = F.where(is_long, F.div(maxnorm, F.add(F.where(is_long, norms, 1.0), 1e-7)), 1.0)
    return F.mul(input, F.astype(factors, str(sizes.dtype)))


def pdist(input: Any, p: float = 2.0) -> Any:
    """Return the p-norms of the differences of all pairs of rows.

    Parameters
    ----------
    input : array (n, d)
        Floating point.
    p : float
        Order of the norm, not negative.

    Returns
    -------
    array (n * (n - 1) / 2,)
        dtype of ``input``: pairs (0, 1), (0, 2), ... (1, 2), ...

    Raises
    ------
    ValueError
        ``input`` has another number of axes, or ``p`` is negative.

    Notes
    -----
    Differentiable to any order. Source: ``torch.pdist``.
    """
    if input.ndim != 2:
        raise ValueError(f"pdist: input must have 2 axes, got shape {tuple(input.shape)}")
    if not p >= 0:
        raise ValueError(f"pdist: p must not be negative, got {p}")
    n = input.shape[0]
    rows, columns = np.triu_indices(n, 1)
    pairs = F.tensor(rows * n + columns, dtype="int64", device=input.device)
    return F.take(F.cdist(input, input, p), pairs)


@described(
    "array (*, n, k)",
    "The shapes do not match.",
    input="array (*, n, k)",
    L="array (*, n, n)",
    upper="bool\n    Whether the factor is the upper one.",
)
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:  # noqa: N803 - torch's name
    """Return the solution of ``A @ x = input``, given the Cholesky factor of ``A``."""
    lower = adjoint(L) if upper else L
    half = F.linalg.solve_triangular(lower, input, upper=False)
    return F.linalg.solve_triangular(adjoint(lower), half, upper=True)


class _Factors(NamedTuple):
    """The result of ``svd``."""

    U: Any
    S: Any
    V: Any


@described(
    "named tuple (U, S, V)",
    input="array (*, m, n)",
    some="bool\n    Whether only as many vectors as singular values.",
)
def svd(input: Any, some: bool = True) -> _Factors:
    """Return ``U``, ``S`` and ``V`` with ``input = U @ diag(S) @ V.mH``."""
    u, s, vh = F.linalg.svd(input, full_matrices=not some)
    return _Factors(u, s, adjoint(vh))


@described(
    "named tuple (Q, R)",
    input="array (*, m, n)",
    some="bool\n    Whether only as many columns as rows and columns allow.",
)
def qr(input: Any, some: bool = True) -> Any:
    """Return an orthogonal and an upper triangular factor."""
    return F.linalg.qr(input, "reduced" if some else "complete")


@described(
    "array (*, n, n)",
    "A matrix is not square.",
    input="array (*, n, n)\n    Positive definite.",
    upper="bool\n    Whether to return the upper factor.",
)
def cholesky(input: Any, upper: bool = False) -> Any:
    """Return the triangular factor of a symmetric matrix."""
    return F.linalg.cholesky(input, upper=upper)


@described("array (*)", "A matrix is not square.", input="array (*, n, n)")
def logdet(input: Any) -> Any:
    """Return the logarithm of the determinant; NaN if that is negative."""
    sign, logarithm = F.linalg.slogdet(input)
    return F.where(F.lt(sign, 0), math.nan, logarithm)


@described("array (m, n)", "The sizes do not match.", matrices="arrays (m, k), ..., (l, n)")
def chain_matmul(*matrices: Any) -> Any:
    """Return the product of matrices."""
    return F.linalg.multi_dot(matrices)


#: Terms of the series of the exponential for norms of at most 2.
_TERMS = {"float32": 14, "complex64": 14, "float64": 24, "complex128": 24}
_MOST_SQUARINGS = 24


@described(
    "array (*, n, n)",
    "The matrices are not square, or not of floating-point or complex numbers.",
    A="array (*, n, n)",
)
def matrix_exp(A: Any) -> Any:  # noqa: N803 - torch's name
    """Return the exponentials of matrices; NaN for norms above 2**25."""
    dtype, n = str(A.dtype), A.shape[-1] if A.ndim else 0
    is_number = dtypes.is_float(dtype) or dtypes.is_complex(dtype)
    if A.ndim < 2 or A.shape[-2] != n or not is_number:
        rule = "be square matrices of floating-point or complex numbers"
        raise ValueError(f"matrix_exp: A must {rule}, got {dtype} {tuple(A.shape)}")
    if not A.size:
        return A
    x = A if dtypes.is_complex(dtype) else F.astype(A, dtypes.wide(dtype))
    norm = stop_gradient(F.amax(F.sum(F.abs(x), -2, True), (-2, -1), True))
    halvings = F.clamp(F.sub(F.ceil(F.log2(norm)), 1.0), 0.0)
    x = F.mul(x, F.exp2(F.neg(halvings)))
    result = F.add(eye_like(norm, n), x)
    term = x
    for k in range(2, _TERMS[str(x.dtype)] + 1):
        term = F.mul(F.matmul(term, x), 1.0 / k)
        result = F.add(result, term)
    for k in range(_MOST_SQUARINGS):
        # Squares that are not needed might be infinite, and their gradients NaN.
        is_halved = F.gt(halvings, k)
        root = F.where(is_halved, result, 0.0)
        result = F.where(is_halved, F.matmul(root, root), result)
    # Comparisons with NaN are false.
    result = F.where(F.le(halvings, _MOST_SQUARINGS), result, math.nan)
    return F.astype(result, dtype)


#: Those that are methods of arrays in torch, too.
functions.add_methods({
    name: globals()[name] for name in (
        "addbmm", "cholesky", "cholesky_solve", "det", "inverse", "logdet", "matrix_exp",
        "matrix_power", "qr", "renorm", "slogdet", "svd",
    )
})  # fmt: skip
