# SPDX-License-Identifier: Apache-2.0
"""norm, vector_norm, matrix_norm, cond, matrix_power and multi_dot."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import div, mul
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import abs
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.linalg.factorizations import reduced_or_full
from sycl_dnn.functional.linalg.matrix_parts import checked, described, identity
from sycl_dnn.functional.linalg.solutions import inverse
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.reduction.extremes import amax, amin
from sycl_dnn.functional.reduction.statistics import norm as p_norm
from sycl_dnn.functional.reduction.sums import sum
from sycl_dnn.functional.shape.reshaping import check_axes, checked_int, permute, unsqueeze
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

# --- Norms and products


@operation
def vector_norm(
    x: Tensor, ord: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return the norm of vectors along axes.

    Parameters
    ----------
    x : array (*)
        Floating point.
    ord : number
        Order, also inf, -inf and 0.
    dim : int or sequence of int, optional
        All axes by default.
    keepdim : bool
    dtype : str or NumPy dtype, optional
        To which ``x`` is converted first.

    Returns
    -------
    array
        Without the axes, or with one element along each.

    Raises
    ------
    TypeError
        ``x`` is not an array of a floating-point dtype, or ``ord`` is not a number.
    ValueError
        An axis is out of range, or there twice.

    Notes
    -----
    Differentiable to any order. Source: ``torch.linalg.vector_norm``.
    """
    if isinstance(ord, str):
        raise TypeError(f"vector_norm: ord must be a number, got {ord!r}")
    x = x if dtype is None else converted(x, dtypes.name_of(dtype))
    return p_norm(x, float(ord), dim, keepdim)


@operation
@described(returns="array")
def matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1),  # noqa: N803
    keepdim: bool = False, *, dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return the norm of matrices.

    A : array of two or more axes
    ord : number or str
        "fro", "nuc", or 1, -1, 2, -2, inf or -inf.
    dim : sequence of two int
    keepdim : bool
    dtype : str or NumPy dtype, optional
        To which ``A`` is converted first.
    """
    name = "matrix_norm"
    check_arrays(name, A=A)
    x = A if dtype is None else converted(A, dtypes.name_of(dtype))
    checked(name, A=x)
    axes = check_axes(name, dim, x.ndim)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"{name}: dim must be two different axes, got {tuple(dim)}")
    if ord == "fro":
        return p_norm(x, 2.0, tuple(axes), keepdim)
    rest = [a for a in range(x.ndim) if a not in axes]
    matrices = permute(x, [*rest, *axes])
    sizes = {"nuc": None, 2: None, -2: None, 1: -2, -1: -2, math.inf: -1, -math.inf: -1}
    if ord not in sizes:
        raise ValueError(f"{name}: ord must be one of 'fro', {list(sizes)}, got {ord!r}")
    along = sizes[ord]
    values = reduced_or_full(matrices, False).S if along is None else sum(abs(matrices), along)
    reduced = sum if ord == "nuc" else amax if float(ord) > 0 else amin
    result = reduced(values, -1)
    shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
    return reshape(result, shape) if keepdim else result


@operation
@described(returns="array")
def norm(
    A: Tensor, ord: float | str | None = None,  # noqa: N803
    dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return the norm of vectors or matrices: ``vector_norm`` or ``matrix_norm``.

    A : array (*)
    ord : number or str, optional
        As those; by default the norm of all elements is their 2-norm.
    dim : int or sequence of one or two int, optional
        One axis for vectors, two for matrices. By default all axes; with ``ord`` there must be one
        or two.
    keepdim : bool
    dtype : str or NumPy dtype, optional
        To which ``A`` is converted first.
    """
    check_arrays("norm", A=A)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    axes = list(range(A.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if len(axes) not in (1, 2):
        raise ValueError(f"norm: dim must name one or two axes if ord is given, got {tuple(axes)}")
    if len(axes) == 2:
        return matrix_norm(A, ord, axes, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise ValueError(f"norm: ord must be a number for vectors, got {ord!r}")
    return vector_norm(A, ord, axes, keepdim, dtype=dtype)


@operation
@described(returns="array (*)")
def cond(A: Tensor, p: float | str | None = None) -> Tensor:  # noqa: N803 - torch's name
    """Return condition numbers: the norm of matrices times that of their inverses.

    A : array (*, m, n)
        Square, unless ``p`` is 2 or -2.
    p : number or str, optional
        The order, as of ``matrix_norm``; 2 by default: the ratio of singular values.
    """
    checked("cond", A=A)
    if p in (None, 2, -2):
        values = reduced_or_full(A, False).S
        largest, smallest = amax(values, -1), amin(values, -1)
        return div(smallest, largest) if p == -2 else div(largest, smallest)
    checked("cond", A=A, is_square=True)
    return mul(matrix_norm(A, p), matrix_norm(inverse(A), p))


@operation
@described(returns="array (*, n, n)")
def matrix_power(A: Tensor, n: int) -> Tensor:  # noqa: N803 - torch's name
    """Return the product of ``n`` equal matrices, of inverses for negative ``n``.

    A : array (*, n, n)
    n : int
    """
    checked("matrix_power", A=A, is_square=True)
    count = checked_int("matrix_power", "n", n)
    if not count:
        return identity(A)
    square = inverse(A) if count < 0 else A
    count, result = (-count if count < 0 else count), None
    while count:
        if count & 1:
            result = square if result is None else matmul(result, square)
        count >>= 1
        square = matmul(square, square) if count else square
    assert result is not None
    return result


@operation
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Multiply matrices in the order that needs the fewest multiplications.

    Parameters
    ----------
    tensors : sequence of two or more arrays
        Matrices; the first and the last may be vectors.

    Returns
    -------
    array

    Raises
    ------
    TypeError
        An item is not an array.
    ValueError
        There are too few arrays, or the shapes do not match.

    Notes
    -----
    Differentiable to any order. Source: ``torch.linalg.multi_dot``.
    """
    if not isinstance(tensors, (list, tuple)) or len(tensors) < 2:
        raise ValueError("multi_dot: tensors must be at least 2 arrays")
    check_arrays("multi_dot", **{f"tensors[{n}]": x for n, x in enumerate(tensors)})
    parts, last = list(tensors), len(tensors) - 1
    for n, x in enumerate(parts):
        if x.ndim != 2 and not (x.ndim == 1 and n in (0, last)):
            raise ValueError(f"multi_dot: tensors[{n}] must have 2 axes, got shape {x.shape}")
    is_row, is_column = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = unsqueeze(parts[0], 0) if is_row else parts[0]
    parts[-1] = unsqueeze(parts[-1], 1) if is_column else parts[-1]
    sizes = [parts[0].shape[0], *(x.shape[1] for x in parts)]
    if any(x.shape[0] != n for x, n in zip(parts, sizes, strict=False)):
        shapes = [x.shape for x in tensors]
        raise ValueError(f"multi_dot: tensors must have matching shapes, got {shapes}")

    @functools.cache
    def best(first: int, end: int) -> tuple[int, int]:
        """Return the number of multiplications, and where to split."""
        return min(
            (best(first, k)[0] + best(k, end)[0] + sizes[first] * sizes[k] * sizes[end], k)
            for k in range(first + 1, end)
        ) if end > first + 1 else (0, 0)  # fmt: skip

    def product(first: int, end: int) -> Tensor:
        if end == first + 1:
            return parts[first]
        split = best(first, end)[1]
        return matmul(product(first, split), product(split, end))

    result = product(0, len(parts))
    shape = [n for n, is_dropped in zip(result.shape, (is_row, is_column), strict=True)
             if not is_dropped]  # fmt: skip
    return reshape(result, shape)
