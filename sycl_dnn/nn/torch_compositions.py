# SPDX-License-Identifier: Apache-2.0
"""torch functions composed of a few in ``sycl_dnn.functional``, under torch's names.

They accept arrays and traced values. Those that return Python values, or shapes that depend on
values, wait for the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn._dpnp import array_maker, view
from sycl_dnn.call.operation import named
from sycl_dnn.functional.shape import arrangement
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions
from sycl_dnn.trace.array import Array
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


@described(
    "array (*)", types="``data`` is none of these.", notes="",
    data="array, traced value, numpy.ndarray, number or list", device="ignored for arrays",
)  # fmt: skip
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """Return an array, with torch's methods in a traced function; convert numbers and lists."""
    if not hasattr(data, "shape") or isinstance(data, np.ndarray):
        return with_methods(F.tensor(data, dtype=dtype, device=device))
    array, trace = data if dtype is None else F.astype(data, dtype), running_trace()
    return array if trace is None or isinstance(array, Tensor) else trace.capture(array)


@described("array (*)", memory_format="ignored")
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """Return a copy, with the gradient of the original."""
    return input.copy() if isinstance(input, Tensor) else with_methods(arrangement.copied(input))


@described("int")
def numel(input: Any) -> int:
    """Return the number of elements."""
    return int(input.size)


@described("bool")
def is_floating_point(input: Any) -> bool:
    """Whether an array has a floating-point dtype."""
    return dtypes.is_float(str(input.dtype))


@described("str", type1="str or NumPy dtype", type2="str or NumPy dtype", types="One is no dtype.")
def promote_types(type1: Any, type2: Any) -> str:
    """Return the dtype that holds numbers of both dtypes."""
    return dtypes.promote(str(type1), str(type2))


@described("array (k, number of axes) of int64")
def argwhere(input: Any) -> Any:
    """Return the indices of elements other than zero, (k, number of axes)."""
    return F.nonzero(input)


@described("bool")
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

    summary = f"Return arrays with axes of one element, at least {rank} in all."
    function = named(function, f"atleast_{rank}d", summary)
    return described("array, or tuple of arrays", tensors="arrays, or a sequence of them")(function)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


@described("tuple of arrays", "The shapes do not broadcast.")
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Return arrays of the shape that all of them broadcast to."""
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in tensors))
    return tuple(F.broadcast_to(x, shape) for x in tensors)


@described(
    "array (n, *)",
    "Shapes differ along another axis than the second.",
    tensors="list of arrays (n,) or (n, *)",
)
def column_stack(tensors: Sequence[Any]) -> Any:
    """Join arrays along the second axis, vectors as columns."""
    return F.cat([F.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in tensors], 1)


@described(
    "array (m, n, *)", "Shapes differ along another axis than the third.", tensors="list of arrays"
)
def dstack(tensors: Sequence[Any]) -> Any:
    """Join arrays along the third axis."""
    return F.cat([atleast_3d(x) for x in tensors], 2)


@described("array (*)", "``input`` has less than 2 axes.")
def fliplr(input: Any) -> Any:
    """Reverse the second axis."""
    _check("fliplr", "input", "have at least 2 axes", input.ndim >= 2, input)
    return F.flip(input, (1,))


@described("array (*)", "``input`` has no axis.")
def flipud(input: Any) -> Any:
    """Reverse the first axis."""
    _check("flipud", "input", "have an axis", input.ndim > 0, input)
    return F.flip(input, (0,))


@described("array (*, n, n)", input="array (*, k)", dim1="int", dim2="int")
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices over two axes, with the last axis of the array as their diagonals."""
    n, rows = input.shape[-1], F.unsqueeze(input, -1)
    square = F.where(F.eye(n, dtype="bool", device=input.device), rows, F.zeros_like(rows))
    left, top = max(offset, 0), max(-offset, 0)
    matrix = F.pad(square, (left, top, top, left)) if offset else square
    return matrix if (dim1, dim2) == (-2, -1) else F.movedim(matrix, (-2, -1), (dim1, dim2))


@described("array (sum of m, sum of n)", tensors="arrays (m, n), (n,) or ()")
def block_diag(*tensors: Any) -> Any:
    """Return a block-diagonal matrix."""
    blocks = [atleast_2d(x) for x in tensors]
    width, start, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        rows.append(F.pad(block, (start, width - start - block.shape[1])))
        start += block.shape[1]
    return F.cat(rows, 0)


@described(
    "array (product of sizes, number of vectors), or of one vector itself", tensors="arrays (n,)"
)
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

    function = named(function, name, f"Return the indices of {what} triangles.")
    about = {"types": "A number is no integer.", "dtype": "str or NumPy dtype"}
    return described("array (2, count) of int64", **about)(function)


tril_indices, triu_indices = _indices("tril_indices"), _indices("triu_indices")


# --- Arithmetic


@described(
    "array (*, *)", "The sizes of the last axes differ.", input="array (*, n)", other="array (*, n)"
)
def inner(input: Any, other: Any) -> Any:
    """Return the sums of products along the last axes; the product with an array without axes."""
    if not (input.ndim and other.ndim):
        return F.mul(input, other)
    return F.tensordot(input, other, ([input.ndim - 1], [other.ndim - 1]))


@described("array ()", "The sizes differ.", input="array (n,)", other="array (n,)")
def vdot(input: Any, other: Any) -> Any:
    """Return the sum of products of two vectors, the first one conjugated."""
    return F.dot(F.conj(input), other)


@described("array\n    Each size is the product of those of both.", other="array (*)")
def kron(input: Any, other: Any) -> Any:
    """Return the Kronecker product."""
    rank = max(input.ndim, other.ndim)
    a, b = ([1] * (rank - x.ndim) + list(x.shape) for x in (input, other))
    product = F.mul(
        F.reshape(input, [n for size in a for n in (size, 1)]),
        F.reshape(other, [n for size in b for n in (1, size)]),
    )
    return F.reshape(product, [m * n for m, n in zip(a, b, strict=True)])


@described(
    "array (steps,)",
    types="A number is none.",
    start="number",
    end="number",
    dtype="str or NumPy dtype, optional\n    float32 by default.",
)
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


@described("array (n, m), (n,) or ()", "``input`` has more axes.", input="array (m, n), (n,) or ()")
def t(input: Any) -> Any:
    """Return a matrix with its axes exchanged; an array of fewer axes unchanged."""
    _check("t", "input", "have at most 2 axes", input.ndim <= 2, input)
    return F.transpose(input, 0, 1) if input.ndim == 2 else input


@described("array (n, n)")
def diagflat(input: Any, offset: int = 0) -> Any:
    """Return a matrix with the elements on a diagonal."""
    return F.diag(ravel(input), offset)


@described(
    "array (*)",
    "``src`` has another shape than the diagonal.",
    src="array\n    The shape of ``diagonal``.",
)
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


@described("array (n,)")
def ravel(input: Any) -> Any:
    """Return the elements along one axis."""
    return F.reshape(input, (-1,))


@described("array (*)")
def positive(input: Any) -> Any:
    """Return the array itself."""
    return input


resolve_conj = resolve_neg = positive


@described("array (*)")
def sgn(input: Any) -> Any:
    """Return the sign; of complex numbers ``input / abs(input)``, and 0 for 0."""
    if not F.is_complex(input):
        return F.sign(input)
    size = F.abs(input)
    is_zero = F.eq(size, 0)
    return F.mul(input, F.where(is_zero, 0, F.reciprocal(F.where(is_zero, 1, size))))


@described(
    "tuple of int",
    "The shapes do not broadcast.",
    types="A size is no integer.",
    shapes="tuples of int",
)
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape to which arrays of these shapes are broadcast."""
    return tuple(np.broadcast_shapes(*shapes))


@described(
    "array (*size), or the common shape of the parameters",
    types="``size`` is missing though both parameters are numbers.",
    mean="array (*) or number",
    std="array (*) or number",
    size="sequence of int, optional",
)
def normal(mean: Any, std: Any = 1.0, size: Any = None, **options: Any) -> Any:
    """Return normally distributed numbers of a mean and a standard deviation: numbers or arrays."""
    if size is None:
        size = np.broadcast_shapes(*(tuple(getattr(x, "shape", ())) for x in (mean, std)))
        given = mean if hasattr(mean, "sycl_queue") else std
        if not hasattr(given, "sycl_queue"):
            raise TypeError("normal: size must be given if mean and std are numbers")
        options = {"dtype": str(given.dtype), "device": given.sycl_queue, **options}
    return with_methods(F.add(F.mul(F.randn(*size, **options), std), mean))


def _windows(input: Any, dimension: int, size: int, step: int) -> Any:
    """Return ``x.unfold(dimension, size, step)``, windows along an axis.

    In a trace, windows that overlap or are cut off are a copy; writes to these are refused.
    """
    if not input.ndim:
        input = F.reshape(input, (1,))
        return F.reshape(_windows(input, dimension, size, step), (size,))
    dim = dimension % input.ndim
    n = input.shape[dim]
    if not 0 <= size <= n or step < 1:
        raise ValueError(f"unfold: size must be in [0, {n}] and step positive, got {size}, {step}")
    firsts = range(0, n - size + 1, step)
    if not isinstance(input, Tensor) and str(input.dtype) not in dtypes.PACKED:
        usm = input.get_array()
        shape = (*input.shape[:dim], len(firsts), *input.shape[dim + 1 :], size)
        strides = (*usm.strides[:dim], usm.strides[dim] * step, *usm.strides[dim + 1 :])
        strides = (*strides, usm.strides[dim])
        windows = array_maker()(view(usm, shape, usm.dtype, strides))
        return Array(windows, input.dtype) if isinstance(input, Array) else windows
    if size <= step and len(firsts) * step <= n:
        rows = F.narrow(input, dim, 0, len(firsts) * step)
        rows = F.unflatten(rows, dim, (len(firsts), step))
        return F.movedim(F.narrow(rows, dim + 1, 0, size), dim + 1, -1)
    parts = [F.narrow(input, dim, start, size) for start in firsts]
    # A view in torch: reading one after a write to the other is refused.
    return alias(input, F.movedim(F.stack(parts, dim), dim + 1, -1))


#: Those that are methods of arrays in torch, too.
functions.add_methods({
    **{name: globals()[name] for name in (
        "absolute", "adjoint", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
        "arctanh", "argwhere", "clip", "conj_physical", "diag_embed", "diagflat",
        "divide", "equal", "fix", "fliplr", "flipud", "ger", "greater", "greater_equal", "inner",
        "kron", "less", "less_equal", "moveaxis", "multiply",
        "negative", "not_equal", "positive", "ravel", "resolve_conj", "resolve_neg", "sgn",
        "split_with_sizes", "subtract", "t", "true_divide", "vdot",
    )},
    "unfold": _windows,
})  # fmt: skip
