# SPDX-License-Identifier: Apache-2.0
"""sum, mean, prod and trace, and the shared parts of reductions."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.call.complex_arguments import RULES
from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation, templated
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import by_nodes, check_unpacked
from sycl_dnn.functional.shape.axes import diagonal
from sycl_dnn.functional.shape.reshaping import check_axes
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.reduction import ALL as ALL_TRUE
from sycl_dnn.ops.reduction import ANY as ANY_TRUE
from sycl_dnn.ops.reduction import PROD
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

_DOC = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
dim : {dim}
    {which}
keepdim : bool
    Whether to keep reduced axes with size 1.
{parameters}
Returns
-------
{returns}

Raises
------
ValueError
    There is no such axis, or one is repeated{more}.

Notes
-----
{notes}

Source: oneDNN developer guide, "Reduction"; names and defaults are torch's.
"""
_DTYPE = """dtype : str or NumPy dtype, optional
    dtype of the result, to which ``input`` is converted first.
"""
_RETURNS = "dpnp.ndarray or Array"
ANY = "int or sequence of int, optional"
ALL = "Axes to reduce, all by default."


def documented(notes: str, **parts: str) -> Callable[..., Any]:
    """Complete the docstring of a reduction from its summary."""
    defaults = {"dim": ANY, "which": ALL, "parameters": "", "more": "", "returns": _RETURNS}
    return templated(_DOC, notes=notes, **(defaults | parts))


def axes_of(name: str, dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of ``dim``, all for None or an empty sequence."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    axes = check_axes(name, dim, ndim)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}: dim must name each axis once, got {tuple(dim)}")
    return tuple(axes) if ndim else ()


def drop_axes(x: Tensor, axes: Sequence[int], keepdim: bool) -> Tensor:
    """Drop the reduced axes of a tensor unless ``keepdim``."""
    return x if keepdim else reshape(x, [n for i, n in enumerate(x.shape) if i not in axes])


def has_kernel(*names: str) -> bool:
    """Whether generated kernels support these dtypes."""
    return builtins.all(name in REGISTERS for name in names)


def by_kernel(
    definition: Callable[..., Node],
    x: Tensor,
    axes: tuple[int, ...],
    keepdim: bool,
    *,
    wide: str = "",
    dtype: str,
    **attributes: Any,
) -> Tensor:
    """Record a reduction as a generated kernel, differentiable to any order.

    ``definition`` takes a node, sorted ``axes`` and the attributes, and keeps the axes with size 1.
    ``wide``: dtype to which elements are converted first, none by default; ``dtype``: that of the
    result.
    """
    axes = tuple(sorted(axes))
    result = of_elements(
        functools.partial(definition, axes=axes, **attributes), x, wide=wide, dtype=dtype
    )
    return drop_axes(result, axes, keepdim)


def of_elements(
    definition: Callable[..., Node], x: Tensor, *, wide: str = "", dtype: str
) -> Tensor:
    """Record a computation on one array as a generated kernel; dtypes as in ``by_kernel``."""
    check_unpacked("reduction", "input", x)
    source = x if has_kernel(str(x.dtype)) else converted(x, "float32")
    computed_dtype = dtype if has_kernel(dtype) else "float32"
    return converted(by_nodes(definition, source, wide=wide, dtype=computed_dtype), dtype)


def _of_integers(name: str, x: Tensor, axes: tuple[int, ...], keepdim: bool, dtype: str) -> Tensor:
    """Sum or multiply integers; bools are combined by or and and."""
    if dtype == "bool":
        return by_kernel(ANY_TRUE if name == "sum" else ALL_TRUE, x, axes, keepdim, dtype=dtype)
    operation = SUM if name == "sum" else PROD
    return by_kernel(operation, x, axes, keepdim, wide=dtype, dtype=dtype)


def _reduced(name: str, kind: algorithm, x: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """Sum or multiply by a generated kernel: narrow floats in float32, integers in 64 bits."""
    axes = axes_of(name, dim, x.ndim)
    dtype = dtypes.name_of(dtype) if dtype is not None else _wide(x)
    if dtypes.is_complex(dtype):
        return RULES[name](converted(x, dtype), dim, keepdim)
    if not dtypes.is_float(dtype):
        return _of_integers(name, x, axes, keepdim, dtype)
    return drop_axes(reduce(kind, converted(x, dtype), axes), axes, keepdim)


def _wide(x: Tensor) -> str:
    """Return the dtype of a sum: unchanged for floats, 64-bit for integers."""
    if x.is_float or x.dtype == "uint64":
        return x.dtype
    return "int64"


_INTEGERS = """Integers give int64, uint64 itself. bfloat16 is summed in float32."""


@operation
@documented(_INTEGERS, parameters=_DTYPE)
def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the sum over axes."""
    return _reduced("sum", algorithm.reduction_sum, input, dim, keepdim, dtype)


@operation
@documented("bfloat16 is summed in float32. The mean of no elements is NaN.", parameters=_DTYPE)
def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the mean over axes."""
    dtype = dtypes.name_of(dtype) if dtype is not None else input.dtype
    if not dtypes.is_float(dtype):
        raise TypeError(f"mean: input must have a floating-point dtype, got {dtype}")
    return _reduced("mean", algorithm.reduction_mean, input, dim, keepdim, dtype)


@operation
@documented(
    "Integers give int64, uint64 itself. The gradient is correct at zeros.", parameters=_DTYPE
)
def prod(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the product over axes."""
    return _reduced("prod", algorithm.reduction_mul, input, dim, keepdim, dtype)


@operation
@described_as_torch(
    returns="array\n    Without axes.", errors="``input`` has another number of axes.",
    types="``input`` is no array.", notes=SMOOTH,
)  # fmt: skip
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix.

    input : array (m, n)
    """
    if input.ndim != 2:
        raise ValueError(f"trace: input must have 2 axes, got shape {input.shape}")
    return sum(diagonal(input))
