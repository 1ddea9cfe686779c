# SPDX-License-Identifier: Apache-2.0
"""torch functions composed of a few in ``sycl_dnn.functional``, under torch's names.

They accept arrays and traced values. Those that return Python values, or shapes that depend on
values, wait for the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn._dpnp import array_maker, view
from sycl_dnn.functional.shape import arrangement
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions
from sycl_dnn.trace.module_arrays import with_methods
from sycl_dnn.trace.torch_methods import adjoint as adjoint
from sycl_dnn.trace.torch_methods import alias
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

clip, concat, concatenate, moveaxis = F.clamp, F.cat, F.cat, F.movedim
conj_physical = F.conj
absolute, negative, multiply, divide, true_divide, subtract = (
    F.abs,
    F.neg,
    F.mul,
    F.div,
    F.div,
    F.sub,
)
greater, greater_equal, less, less_equal, not_equal, fix = F.gt, F.ge, F.lt, F.le, F.ne, F.trunc
arccos, arcsin, arctan, arctan2 = F.acos, F.asin, F.atan, F.atan2
arccosh, arcsinh, arctanh, ger, row_stack = F.acosh, F.asinh, F.atanh, F.outer, F.vstack
swapdims = F.transpose
det, inverse, slogdet, matrix_power = (
    F.linalg.det,
    F.linalg.inv,
    F.linalg.slogdet,
    F.linalg.matrix_power,
)
detach, split_with_sizes = sycl_dnn.stop_gradient, F.split
#: Matrices are dense here, and the product of a sparse and a dense one has this name in torch.
spmm = F.mm


def _check(name: str, argument: str, rule: str, is_right: bool, x: Any) -> None:
    if not is_right:
        raise ValueError(f"{name}: {argument} must {rule}, got {x.dtype} {tuple(x.shape)}")


def _check_rank(name: str, rank: int, **arguments: Any) -> None:
    for argument, x in arguments.items():
        _check(name, argument, f"have {rank} axes", x.ndim == rank, x)


# --- Arrays and facts about them


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """Return an array, with torch's methods in a traced function; convert numbers and lists."""
    if not hasattr(data, "shape") or isinstance(data, np.ndarray):
        return with_methods(F.tensor(data, dtype=dtype, device=device))
    array, trace = data if dtype is None else F.astype(data, dtype), running_trace()
    return array if trace is None or isinstance(array, Tensor) else trace.capture(array)


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """Return a copy, with the gradient of the original."""
    return input.copy() if isinstance(input, Tensor) else with_methods(arrangement.copied(input))


def numel(input: Any) -> int:
    """Return the number of elements."""
    return int(input.size)


def is_floating_point(input: Any) -> bool:
    """Whether an array has a floating-point dtype."""
    return dtypes.is_float(str(input.dtype))


def promote_types(type1: Any, type2: Any) -> str:
    """Return the dtype that holds numbers of both dtypes."""
    return dtypes.promote(str(type1), str(type2))


def argwhere(input: Any) -> Any:
    """Return the indices of elements other than zero, (k, number of axes)."""
    return F.nonzero(input)


def equal(input: Any, other: Any) -> bool:
    """Whether two arrays have the same shape and elements."""
    return input.shape == other.shape and bool(F.all(F.eq(input, other)))


# --- Shapes


def _at_least(rank: int) -> Any:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tuple(tensors[0])
        arrays = []
        for x in tensors:
            front = int(x.ndim < min(rank, 2))
            behind = max(rank - x.ndim - front, 0)
            arrays.append(F.reshape(x, (1,) * front + tuple(x.shape) + (1,) * behind))
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    function.__name__ = f"atleast_{rank}d"
    function.__doc__ = f"Return arrays with axes of one element, at least {rank} in all."
    return function


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Return arrays of the shape that all of them broadcast to."""
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in tensors))
    return tuple(F.broadcast_to(x, shape) for x in tensors)


def column_stack(tensors: Sequence[Any]) -> Any:
    """Join arrays along the second axis, vectors as columns."""
    return F.cat([F.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in tensors], 1)


def dstack(tensors: Sequence[Any]) -> Any:
    """Join arrays along the third axis."""
    return F.cat([atleast_3d(x) for x in tensors], 2)


def fliplr(input: Any) -> Any:
    """Reverse the second axis."""
    _check("fliplr", "input", "have at least 2 axes", input.ndim >= 2, input)
    return F.flip(input, (1,))


def flipud(input: Any) -> Any:
    """Reverse the first axis."""
    _check("flipud", "input", "have an axis", input.ndim > 0, input)
    return F.flip(input, (0,))


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices over two axes, with the last axis of the array as their diagonals."""
    n, rows = input.shape[-1], F.unsqueeze(input, -1)
    square = F.where(F.eye(n, dtype="bool", device=input.device), rows, F.zeros_like(rows))
    left, top = max(offset, 0), max(-offset, 0)
    matrix = F.pad(square, (left, top, top, left)) if offset else square
    return matrix if (dim1, dim2) == (-2, -1) else F.movedim(matrix, (-2, -1), (dim1, dim2))


def block_diag(*tensors: Any) -> Any:
    """Return a block-diagonal matrix."""
    blocks = [atleast_2d(x) for x in tensors]
    width, start, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        rows.append(F.pad(block, (start, width - start - block.shape[1])))
        start += block.shape[1]
    return F.cat(rows, 0)


def cartesian_prod(*tensors: Any) -> Any:
    """Return all tuples of elements of vectors, as rows."""
    if len(tensors) == 1:
        return tensors[0]
    return F.stack([F.reshape(g, (g.size,)) for g in F.meshgrid(*tensors, indexing="ij")], 1)


def _indices(name: str) -> Any:
    of_numpy, what = getattr(np, name), name.removesuffix("_indices")

    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = "int64", **options: Any
    ) -> Any:
        indices = np.stack(of_numpy(row, offset, col)).astype(np.int64)
        return F.astype(F.from_numpy(indices), dtype)

    function.__name__ = name
    function.__doc__ = f"Return the indices of {what} triangles as (2, count)."
    return function


tril_indices, triu_indices = _indices("tril_indices"), _indices("triu_indices")


# --- Arithmetic


def inner(input: Any, other: Any) -> Any:
    """Return the sums of products along the last axes; the product with an array without axes."""
    if not (input.ndim and other.ndim):
        return F.mul(input, other)
    return F.tensordot(input, other, ([input.ndim - 1], [other.ndim - 1]))


def vdot(input: Any, other: Any) -> Any:
    """Return the sum of products of two vectors, the first one conjugated."""
    return F.dot(F.conj(input), other)


def kron(input: Any, other: Any) -> Any:
    """Return the Kronecker product."""
    rank = max(input.ndim, other.ndim)
    a, b = ([1] * (rank - x.ndim) + list(x.shape) for x in (input, other))
    product = F.mul(
        F.reshape(input, [n for size in a for n in (size, 1)]),
        F.reshape(other, [n for size in b for n in (1, size)]),
    )
    return F.reshape(product, [m * n for m, n in zip(a, b, strict=True)])


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, **options: Any
) -> Any:
    """Return powers of a base whose exponents are equally spaced; of integers they are cut off."""
    dtype = str(dtype or "float32")
    if dtypes.is_float(dtype) or dtypes.is_complex(dtype):
        exponents = F.linspace(start, end, steps, dtype=dtype, **options)
        return with_methods(F.pow(base, exponents))
    exponents = np.linspace(int(start), int(end), steps)
    return with_methods(F.tensor(np.power(float(base), exponents), dtype=dtype, **options))


# --- Statistics


class _Factors(NamedTuple):
    """The result of ``svd``."""

    U: Any
    S: Any
    V: Any


def svd(input: Any, some: bool = True) -> _Factors:
    """Return ``U``, ``S`` and ``V`` with ``input = U @ diag(S) @ V.mT``."""
    u, s, vh = F.linalg.svd(input, full_matrices=not some)
    return _Factors(u, s, F.transpose(vh, -2, -1))


def qr(input: Any, some: bool = True) -> Any:
    """Return an orthogonal and an upper triangular factor."""
    return F.linalg.qr(input, "reduced" if some else "complete")


def cholesky(input: Any, upper: bool = False) -> Any:
    """Return the triangular factor of a symmetric matrix."""
    return F.linalg.cholesky(input, upper=upper)


def logdet(input: Any) -> Any:
    """Return the logarithm of the determinant; NaN if that is negative."""
    sign, logarithm = F.linalg.slogdet(input)
    return F.where(F.lt(sign, 0), math.nan, logarithm)


def chain_matmul(*matrices: Any) -> Any:
    """Return the product of matrices."""
    return F.linalg.multi_dot(matrices)


def t(input: Any) -> Any:
    """Return a matrix with its axes exchanged; an array of fewer axes unchanged."""
    _check("t", "input", "have at most 2 axes", input.ndim <= 2, input)
    return F.transpose(input, 0, 1) if input.ndim == 2 else input


def diagflat(input: Any, offset: int = 0) -> Any:
    """Return a matrix with the elements on a diagonal."""
    return F.diag(ravel(input), offset)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return the array with ``src`` in place of its diagonal over two axes."""
    shape = tuple(F.diagonal(input, offset, dim1, dim2).shape)
    _check("diagonal_scatter", "src", f"have shape {shape}", tuple(src.shape) == shape, src)
    if 0 in shape:
        return clone(input)
    x = F.movedim(input, (dim1, dim2), (-2, -1))
    (height, width), n = x.shape[-2:], shape[-1]
    top, left = max(-offset, 0), max(offset, 0)
    values = F.pad(diag_embed(src), (left, width - n - left, top, height - n - top))
    is_written = F.tril(F.triu(F.ones_like(x), offset), offset) != 0
    result = F.where(is_written, F.astype(values, str(x.dtype)), x)
    return F.movedim(result, (-2, -1), (dim1, dim2))


def ravel(input: Any) -> Any:
    """Return the elements along one axis."""
    return F.reshape(input, (-1,))


def positive(input: Any) -> Any:
    """Return the array itself."""
    return input


resolve_conj = resolve_neg = positive


def sgn(input: Any) -> Any:
    """Return the sign; of complex numbers ``input / abs(input)``, and 0 for 0."""
    if not F.is_complex(input):
        return F.sign(input)
    size = F.abs(input)
    is_zero = F.eq(size, 0)
    return F.mul(input, F.where(is_zero, 0, F.reciprocal(F.where(is_zero, 1, size))))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape to which arrays of these shapes are broadcast."""
    return tuple(np.broadcast_shapes(*shapes))


def normal(mean: Any, std: Any = 1.0, size: Any = None, **options: Any) -> Any:
    """Return normally distributed numbers of a mean and a standard deviation: numbers or arrays."""
    if size is None:
        size = np.broadcast_shapes(*(tuple(getattr(x, "shape", ())) for x in (mean, std)))
        given = mean if hasattr(mean, "sycl_queue") else std
        if not hasattr(given, "sycl_queue"):
            raise TypeError("normal: size must be given if mean and std are numbers")
        options = {"dtype": str(given.dtype), "device": given.sycl_queue, **options}
    return with_methods(F.add(F.mul(F.randn(*size, **options), std), mean))


def get_default_dtype() -> str:
    """Return float32, the dtype of arrays made from Python's numbers."""
    return "float32"


def set_default_dtype(d: Any) -> None:
    """Do nothing for float32, the dtype of arrays made from Python's numbers.

    Raises
    ------
    TypeError
        ``d`` is another dtype.
    """
    if str(d) != "float32":
        raise TypeError(
            f"set_default_dtype: d must be float32, got {d}; give dtype={str(d)!r} to what makes "
            "arrays, and convert modules: net.double()"
        )


def set_float32_matmul_precision(precision: str) -> None:
    """Do nothing: float32 is multiplied in float32, which no setting makes less precise."""


def set_printoptions(**options: Any) -> None:
    """Do nothing: arrays are printed as NumPy's, by ``numpy.set_printoptions``."""


class distributed:  # noqa: N801 - torch's name
    """``torch.distributed`` for code that checks it; ``sycl_dnn.distributed`` trains in groups."""

    @staticmethod
    def is_available() -> bool:
        """Return False."""
        return False

    is_initialized = is_available


def _windows(input: Any, dimension: int, size: int, step: int) -> Any:
    """Return ``x.unfold(dimension, size, step)``, windows along an axis; a copy in a trace."""
    if not input.ndim:
        input = F.reshape(input, (1,))
        return F.reshape(_windows(input, dimension, size, step), (size,))
    dim = dimension % input.ndim
    n = input.shape[dim]
    if not 0 <= size <= n or step < 1:
        raise ValueError(f"unfold: size must be in [0, {n}] and step positive, got {size}, {step}")
    firsts = range(0, n - size + 1, step)
    if isinstance(input, dpnp.ndarray) and not hasattr(input, "marks"):  # outside of traces
        usm = input.get_array()
        shape = (*input.shape[:dim], len(firsts), *input.shape[dim + 1 :], size)
        strides = (*usm.strides[:dim], usm.strides[dim] * step, *usm.strides[dim + 1 :])
        strides = (*strides, usm.strides[dim])
        return array_maker()(view(usm, shape, input.dtype, strides))
    parts = [F.narrow(input, dim, start, size) for start in firsts]
    # A view in torch: reading one after a write to the other is refused.
    return alias(input, F.movedim(F.stack(parts, dim), dim + 1, -1))


def autocast(
    device_type: str, dtype: Any = "bfloat16", enabled: bool = True, cache_enabled: bool = True
) -> AbstractContextManager[None]:
    """Return ``sycl_dnn.autocast`` of a dtype."""
    return sycl_dnn.autocast(str(dtype), enabled)


class amp:  # noqa: N801 - torch's name
    """``torch.amp``."""

    autocast = staticmethod(autocast)


#: Those that are methods of arrays in torch, too.
functions.add_methods({
    **{name: globals()[name] for name in (
        "absolute", "adjoint", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
        "arctanh", "argwhere", "cholesky", "clip", "conj_physical", "det", "diag_embed", "diagflat",
        "divide", "equal", "fix", "fliplr", "flipud", "ger", "greater", "greater_equal", "inner",
        "inverse", "kron", "less", "less_equal", "logdet", "matrix_power", "moveaxis", "multiply",
        "negative", "not_equal", "positive", "qr", "ravel", "resolve_conj", "resolve_neg", "sgn",
        "slogdet", "split_with_sizes", "subtract", "svd", "t", "true_divide", "vdot",
    )},
    "unfold": _windows,
})  # fmt: skip
