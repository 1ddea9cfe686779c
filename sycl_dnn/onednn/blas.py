# SPDX-License-Identifier: Apache-2.0
"""BLAS-like matrix products on the host: row-major and synchronous."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn._dpnp import host_view, is_readable
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onednn.memory import array_of

__all__ = ["gemm_s8s8s32", "gemm_u8s8s32", "sgemm"]


def _require(function: str, name: str, holds: bool, rule: str, actual: Any) -> None:
    if not holds:
        raise InvalidArguments(f"{function}: {name} must {rule}, got {actual}")


def _letter(function: str, name: str, value: Any, letters: str) -> str:
    is_known = isinstance(value, str) and len(value) == 1 and value.upper() in letters
    _require(function, name, is_known, f"be one of {', '.join(letters)}", repr(value))
    return value.upper()


def _integer(function: str, name: str, value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{function}: {name} must be an integer, got {value!r}")
    return value.__index__()


def _size(function: str, name: str, value: Any) -> int:
    number = _integer(function, name, value)
    _require(function, name, 0 <= number < 1 << 62, "not be negative or over 2**62", number)
    return number


def _on_host(function: str, name: str, array: Any) -> np.ndarray:
    """Wait for dpnp's work on the array's queue; return a NumPy array over the same memory."""
    if isinstance(array, np.ndarray):
        return array
    usm = array_of(array)
    if usm is None:
        raise TypeError(
            f"{function}: {name} must be a NumPy array or an array in USM, got "
            f"{type(array).__name__}"
        )
    device = usm.sycl_queue.sycl_device
    actual = f"{usm.usm_type} memory of {device.name}"
    _require(function, name, is_readable(usm), "be in memory that the host reads", actual)
    return host_view(usm)


def _matrix(
    function: str, name: str, array: Any, dtype: str, rows: int, columns: int, ld: int
) -> np.ndarray:
    """Validate a matrix with leading dimension ``ld``, and return it on the host."""
    result = _on_host(function, name, array)
    _require(function, name, result.dtype == np.dtype(dtype), f"have dtype {dtype}", result.dtype)
    _require(function, f"ld{name.lower()}", ld >= max(columns, 1), f"be {columns} at least", ld)
    itemsize = result.dtype.itemsize
    plain = all(n == 1 or s > 0 for n, s in zip(result.shape, result.strides, strict=True))
    dense = result.size == 0 or result.flags.c_contiguous
    padded = result.ndim == 2 and plain and result.strides == (ld * itemsize, itemsize)
    _require(
        function, name, dense or padded, "be contiguous, or have rows ld apart", result.strides
    )
    needed = (rows - 1) * ld + columns if rows and columns else 0
    n_elements = result.size
    if padded and result.size:
        n_elements = (result.shape[0] - 1) * ld + result.shape[1]
    _require(function, name, n_elements >= needed, f"hold {needed} elements", n_elements)
    return result


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _shared(function: str, c: np.ndarray, others: dict[str, np.ndarray]) -> None:
    for name, other in others.items():
        _require(
            function, "C", not np.may_share_memory(c, other), f"not share memory with {name}", name
        )


def _result(function: str, array: Any, dtype: str, m: int, n: int, ldc: int) -> np.ndarray:
    result = _matrix(function, "C", array, dtype, m, n, ldc)
    _require(function, "C", result.flags.writeable, "be writable", "a read-only array")
    return result


def sgemm(
    transa: str, transb: str, M: int, N: int, K: int, alpha: float, A: Any, lda: int, B: Any,
    ldb: int, beta: float, C: Any, ldc: int,
) -> None:  # fmt: skip
    """Compute ``C = alpha * op(A) @ op(B) + beta * C`` in float32 on the host, synchronously.

    Parameters
    ----------
    transa, transb : {"N", "T"}
        Whether ``op`` transposes.
    M, N, K : int
        ``op(A)`` is (M, K), ``op(B)`` (K, N), ``C`` (M, N).
    alpha, beta : float
    A, B, C : numpy.ndarray, dpnp.ndarray, usm_ndarray
        Row-major, in host-accessible memory. Work on the queue of a USM array is waited for first.
    lda, ldb, ldc : int
        Leading dimensions: elements from one row to the next.

    Raises
    ------
    InvalidArguments
        A dtype, size or layout is wrong, or ``C`` shares memory with an operand.

    Notes
    -----
    Source: oneDNN ``dnnl::sgemm``.
    """
    name = "sgemm"
    ta, tb = (_letter(name, w, v, "NT") for w, v in (("transa", transa), ("transb", transb)))
    m, n, k = (_size(name, w, v) for w, v in (("M", M), ("N", N), ("K", K)))
    la, lb, lc = (_size(name, w, v) for w, v in (("lda", lda), ("ldb", ldb), ("ldc", ldc)))
    a = _matrix(name, "A", A, "f4", *((m, k) if ta == "N" else (k, m)), la)
    b = _matrix(name, "B", B, "f4", *((k, n) if tb == "N" else (n, k)), lb)
    c = _result(name, C, "f4", m, n, lc)
    _shared(name, c, {"A": a, "B": b})
    _core._sgemm(ta, tb, m, n, k, alpha, _address(a), la, _address(b), lb, beta, _address(c), lc)


def _value(function: str, name: str, value: Any, dtype: str) -> int:
    limits = np.iinfo(dtype)
    number = _integer(function, name, value)
    rule = f"be in [{limits.min}, {limits.max}]"
    _require(function, name, limits.min <= number <= limits.max, rule, number)
    return number


def _offsets(function: str, offsetc: str, co: Any, m: int, n: int) -> np.ndarray:
    result = _on_host(function, "co", co)
    needed = {"F": 1, "C": max(m, 1), "R": max(n, 1)}[offsetc]
    _require(function, "co", result.dtype == np.dtype("i4"), "have dtype int32", result.dtype)
    fits = result.flags.c_contiguous and result.size >= needed
    _require(function, "co", fits, f"hold {needed} elements in a row", result.shape)
    return result


def _gemm_s32(function: str, dtype: str, arguments: tuple[Any, ...]) -> None:
    transa, transb, offsetc, M, N, K, alpha, A, lda, ao, B, ldb, bo, beta, C, ldc, co = arguments
    ta, tb = (_letter(function, w, v, "NT") for w, v in (("transa", transa), ("transb", transb)))
    oc = _letter(function, "offsetc", offsetc, "FCR")
    m, n, k = (_size(function, w, v) for w, v in (("M", M), ("N", N), ("K", K)))
    la, lb, lc = (_size(function, w, v) for w, v in (("lda", lda), ("ldb", ldb), ("ldc", ldc)))
    a = _matrix(function, "A", A, dtype, *((m, k) if ta == "N" else (k, m)), la)
    b = _matrix(function, "B", B, "i1", *((k, n) if tb == "N" else (n, k)), lb)
    c = _result(function, C, "i4", m, n, lc)
    offsets = _offsets(function, oc, co, m, n)
    _shared(function, c, {"A": a, "B": b, "co": offsets})
    ao, bo = _value(function, "ao", ao, dtype), _value(function, "bo", bo, "i1")
    places = (_address(a), la, ao, _address(b), lb, bo, beta, _address(c), lc, _address(offsets))
    getattr(_core, "_" + function)(ta, tb, oc, m, n, k, alpha, *places)


def gemm_u8s8s32(
    transa: str, transb: str, offsetc: str, M: int, N: int, K: int, alpha: float, A: Any, lda: int,
    ao: int, B: Any, ldb: int, bo: int, beta: float, C: Any, ldc: int, co: Any,
) -> None:  # fmt: skip
    """Compute ``C = alpha * (op(A) - ao) @ (op(B) - bo) + beta * C + co``, uint8 by int8 to int32.

    Parameters
    ----------
    offsetc : {"F", "C", "R"}
        Whether ``co`` is a single value (``"F"``), one per row (``"C"``, M values), or one per
        column (``"R"``, N values).
    ao, bo : int
        Zero points, in the dtypes of ``A`` and ``B``.
    co : array of int32
    transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc
        As in ``sgemm``, with ``A`` uint8, ``B`` int8 and ``C`` int32.

    Raises
    ------
    InvalidArguments
        As in ``sgemm``.

    Notes
    -----
    On CPUs without 8-bit dot products, sums of pairs saturate at 16 bits. Source: oneDNN
    ``dnnl::gemm_u8s8s32``.
    """
    arguments = (transa, transb, offsetc, M, N, K, alpha, A, lda, ao, B, ldb, bo, beta, C, ldc, co)
    _gemm_s32("gemm_u8s8s32", "u1", arguments)


def gemm_s8s8s32(
    transa: str, transb: str, offsetc: str, M: int, N: int, K: int, alpha: float, A: Any, lda: int,
    ao: int, B: Any, ldb: int, bo: int, beta: float, C: Any, ldc: int, co: Any,
) -> None:  # fmt: skip
    """Compute ``C = alpha * (op(A) - ao) @ (op(B) - bo) + beta * C + co``, int8 by int8 to int32.

    Parameters and errors are those of ``gemm_u8s8s32``, with ``A`` int8. Source: oneDNN
    ``dnnl::gemm_s8s8s32``.
    """
    arguments = (transa, transb, offsetc, M, N, K, alpha, A, lda, ao, B, ldb, bo, beta, C, ldc, co)
    _gemm_s32("gemm_s8s8s32", "i1", arguments)
