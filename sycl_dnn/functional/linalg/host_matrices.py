# SPDX-License-Identifier: Apache-2.0
"""Factorizations and solutions in the memory of a CPU's arrays, by NumPy or oneMKL.

Functions take and return NumPy arrays of matrices in batches. NumPy's are faster for small
matrices; for others its BLAS would use several threads, which wait for each other busily.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_double, c_float
from typing import Any, TypeVar, cast

import numpy as np

from sycl_dnn.functional.onemkl import by_reference, by_value, one_thread

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Product of a matrix's sizes and the smaller one up to which NumPy's LAPACK uses one thread.
_MAX_OF_NUMPY = 64**3
#: The same, of all matrices, up to which one thread of oneMKL is as fast as two.
_MAX_OF_ONE_THREAD = 256**3
#: LAPACK's letters of data types.
_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
# Names and values of mkl_cblas.h and mkl_lapacke.h.
_ROW_MAJOR, _LEFT = 101, 141
_NO_TRANS, _ADJOINT, _UPPER, _LOWER, _NON_UNIT, _UNIT = 111, 113, 121, 122, 131, 132


def _on_few_threads(function: _Function) -> _Function:
    """Let a function of matrices use one thread where a second one would come too late."""

    @functools.wraps(function)
    def call(a: np.ndarray, *arguments: Any, **options: Any) -> Any:
        if a.size * min(a.shape[-2:]) > _MAX_OF_ONE_THREAD:
            return function(a, *arguments, **options)
        with one_thread():
            return function(a, *arguments, **options)

    return cast("_Function", call)


def _letter(a: np.ndarray) -> str:
    """Return LAPACK's letter of an array's dtype."""
    return _LETTERS[a.dtype.str[1:]]


def _copied(a: np.ndarray) -> np.ndarray:
    return np.array(a, order="C")


def _turned(a: np.ndarray) -> np.ndarray:
    """Return a copy of the transposed matrices."""
    return _copied(np.swapaxes(a, -1, -2))


def _each(matrices: np.ndarray, *others: np.ndarray) -> Iterator[Any]:
    """Return the parts of row-major arrays for each matrix of a batch."""
    batch = matrices.shape[:-2]
    n, axes = math.prod(batch), len(batch)
    arrays = (matrices, *others)
    return zip(*(a.reshape(n, *a.shape[axes:]) for a in arrays), strict=True)


def _lapack(name: str, like: np.ndarray, *arguments: Any) -> None:
    """Call a function of LAPACK on a row-major matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        It found no result.
    """
    if by_value(f"LAPACKE_{_letter(like)}{name}", _ROW_MAJOR, *arguments):
        raise np.linalg.LinAlgError(_MESSAGES[name])


_MESSAGES = dict.fromkeys(["getrf", "getri"], "Singular matrix") | {
    "potrf": "Matrix is not positive definite", "gesdd": "SVD did not converge",
} | dict.fromkeys(["syevd", "heevd", "geev"], "Eigenvalues did not converge")  # fmt: skip


# --- Solutions


@_on_few_threads
def factors(a: np.ndarray, pivot: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return triangular factors in column-major order, pivots, and which matrices are singular.

    Pivots are int64 and counted from 1; without ``pivot`` no rows are exchanged.
    """
    packed, (*batch, m, n) = _turned(a), a.shape
    pivots = np.zeros((*batch, min(m, n)), np.int64)
    info = np.zeros(batch, np.int64)
    if not pivot:
        pivots[...] = np.arange(1, min(m, n) + 1)
    if a.size:
        name = "getrf_batch_strided" if pivot else "getrfnp_batch_strided"
        rows = [pivots, min(m, n)] if pivot else []
        by_reference(f"{_letter(a)}{name}", m, n, packed, m, m * n, *rows, math.prod(batch), info)
    return packed, pivots, info


@_on_few_threads
def solved(
    packed: np.ndarray, pivots: np.ndarray, b: np.ndarray, is_adjoint: bool = False
) -> np.ndarray:
    """Return the solution for ``factors(a)``, or the same of the adjoint matrices."""
    x, (n, k) = _turned(b), b.shape[-2:]
    if x.size:
        batch, mode = math.prod(b.shape[:-2]), b"C" if is_adjoint else b"N"
        by_reference(f"{_letter(b)}getrs_batch_strided", mode, n, k, packed, n, n * n, pivots, n,
                     x, n, n * k, batch, np.zeros(batch, np.int64))  # fmt: skip
    return np.swapaxes(x, -1, -2)


@_on_few_threads
def solved_triangle(
    a: np.ndarray, b: np.ndarray, is_upper: bool, is_unit: bool, is_adjoint: bool
) -> np.ndarray:
    """Return the solution of systems with one triangle of ``a``, or with its adjoint."""
    a, x, (n, k) = np.ascontiguousarray(a), _copied(b), b.shape[-2:]
    if x.size:
        # Complex numbers are passed by address.
        one = {"s": c_float(1), "d": c_double(1)}.get(_letter(a), np.ones(1, a.dtype))
        by_value(f"cblas_{_letter(a)}trsm_batch_strided", _ROW_MAJOR, _LEFT,
                 _UPPER if is_upper else _LOWER, _ADJOINT if is_adjoint else _NO_TRANS,
                 _UNIT if is_unit else _NON_UNIT, n, k, one, a, n, n * n, x, k, n * k,
                 math.prod(b.shape[:-2]))  # fmt: skip
    return x


# --- Factorizations of larger matrices


def _cholesky(a: np.ndarray) -> np.ndarray:
    lower, n = np.tril(a), a.shape[-1]
    for (matrix,) in _each(lower):
        _lapack("potrf", a, b"L", n, matrix, n)
    return lower


def _eigh(a: np.ndarray, UPLO: str = "L") -> tuple[np.ndarray, np.ndarray]:  # noqa: N803 - NumPy's
    vectors, n = _copied(a), a.shape[-1]
    values = np.empty(a.shape[:-1], a.real.dtype)
    name = "heevd" if a.dtype.kind == "c" else "syevd"
    for matrix, row in _each(vectors, values):
        _lapack(name, a, b"V", UPLO.encode(), n, matrix, n, row)
    return values, vectors


def _inv(a: np.ndarray) -> np.ndarray:
    inverse, n = _copied(a), a.shape[-1]
    pivots = np.empty(n, np.int64)
    for (matrix,) in _each(inverse):
        _lapack("getrf", a, n, n, matrix, n, pivots)
        _lapack("getri", a, n, matrix, n, pivots)
    return inverse


def _signs_and_diagonals(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sign of each matrix's exchanges of rows, and the diagonal of its upper factor."""
    packed, pivots, _ = factors(a)
    is_exchanged = pivots != np.arange(1, a.shape[-1] + 1)
    diagonals = np.diagonal(packed, axis1=-2, axis2=-1)
    return 1 - 2 * (is_exchanged.sum(-1) % 2).astype(a.dtype), diagonals


def _det(a: np.ndarray) -> np.ndarray:
    signs, diagonals = _signs_and_diagonals(a)
    with np.errstate(all="ignore"):
        wide = np.result_type(a.dtype, np.float64)
        return np.asarray(signs * diagonals.prod(-1, dtype=wide), a.dtype)


def _slogdet(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    signs, diagonals = _signs_and_diagonals(a)
    sizes = abs(diagonals)
    with np.errstate(divide="ignore"):
        logarithms = np.log(sizes).sum(-1)
    return signs * (diagonals / np.where(sizes == 0, 1, sizes)).prod(-1), logarithms


def _qr(a: np.ndarray, mode: str = "reduced") -> tuple[np.ndarray, np.ndarray]:
    packed, (*batch, m, n) = _copied(a), a.shape
    k = m if mode == "complete" else min(m, n)
    second = "ungqr" if a.dtype.kind == "c" else "orgqr"
    q, scales = np.zeros((*batch, m, k), a.dtype), np.empty(min(m, n), a.dtype)
    for matrix, vectors in _each(packed, q):
        _lapack("geqrf", a, m, n, matrix, n, scales)
        vectors[:, : min(m, n)] = matrix[:, :k]
        _lapack(second, a, m, k, len(scales), vectors, k, scales)
    return q, np.triu(packed[..., :k, :])


def _svd(a: np.ndarray, full_matrices: bool = True) -> tuple[np.ndarray, ...]:
    *batch, m, n = a.shape
    k, letters = min(m, n), b"A" if full_matrices else b"S"
    rows, columns = (m, n) if full_matrices else (k, k)
    u, s = np.empty((*batch, m, rows), a.dtype), np.empty((*batch, k), a.real.dtype)
    vh = np.empty((*batch, columns, n), a.dtype)
    for matrix, *parts in _each(_copied(a), u, s, vh):
        _lapack("gesdd", a, letters, m, n, matrix, n, parts[1], parts[0], rows, parts[2], n)
    return u, s, vh


def _eig(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    is_complex, n = a.dtype.kind == "c", a.shape[-1]
    right, kind = np.empty_like(a), np.result_type(a.dtype, np.complex64)
    values, vectors = np.empty(a.shape[:-1], kind), np.empty(a.shape, kind)
    for matrix, columns, row, result in _each(_copied(a), right, values, vectors):
        parts = [row] if is_complex else [np.empty(n, a.dtype) for _ in range(2)]
        _lapack("geev", a, b"N", b"V", n, matrix, n, *parts, np.empty(1, a.dtype), n, columns, n)
        result[...] = columns
        if not is_complex:
            row.real, row.imag = parts
            first = np.flatnonzero(parts[1] > 0)  # pairs: real and imaginary parts are neighbors
            result[:, first] += 1j * columns[:, first + 1]
            result[:, first + 1] = result[:, first].conj()
    return values, vectors


_BY_ONEMKL = {
    f.__name__[1:]: _on_few_threads(f)
    for f in (_cholesky, _det, _eig, _eigh, _inv, _qr, _slogdet, _svd)
}


def is_small(shape: Sequence[int]) -> bool:
    """Whether NumPy is faster for matrices of a shape."""
    rows, columns = shape[-2:]
    return rows * columns * min(rows, columns) <= _MAX_OF_NUMPY


def function_of(name: str, shape: Sequence[int]) -> Callable[..., Any]:
    """Return a function of ``numpy.linalg``; for large matrices, oneMKL computes it."""
    by_name = vars(np.linalg) if is_small(shape) else _BY_ONEMKL
    return by_name[name]
