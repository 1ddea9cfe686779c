# SPDX-License-Identifier: Apache-2.0
"""Scans along an axis: cumulative sums, products, extremes, linear recurrences; and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn.call.complex_arguments import RULES
from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation, templated
from sycl_dnn.functional.arithmetic.binary import sub
from sycl_dnn.functional.arithmetic.comparison import ne
from sycl_dnn.functional.arithmetic.convert import converted, in_parts
from sycl_dnn.functional.arithmetic.operands import (
    broadcasts_to,
    check_arrays,
    checked_array,
    checked_operands,
    result_dtype,
)
from sycl_dnn.functional.reduction.extremes import ValuesAndIndices
from sycl_dnn.functional.shape.joining import cat, narrow
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import EQ, where
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.scan import (
    CUMMAX,
    CUMMIN,
    CUMPROD,
    CUMSUM,
    INDICES,
    LINEAR_RECURRENCE,
    LOGCUMSUMEXP,
)
from sycl_dnn.ops.shape import broadcast_shape, broadcast_to
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor

_TEXT = """{summary}

Parameters
----------
input : array of any shape{kinds}
dim : int
{parameters}
Returns
-------
{returns}

Raises
------
ValueError
    There is no such axis.
TypeError
    The dtype {refused}.

Notes
-----
Floats are accumulated in float64 on CPUs, and in compensated float32 on GPUs. Differentiable to any
order. {more}Source: ``torch.{name}``.
"""
_OF_NUMBERS = {
    "kinds": " and dtype",
    "parameters": "dtype : str or dtype, optional\n    The dtype to convert to first; by default "
    "int64 for integers and bool.\n",
    "returns": "array\n    Shape of ``input``.",
    "refused": "is bool",
}
_DIVIDED = """As in torch, the gradient of a row without zeros divides by its elements: infinities
give NaN. """
_OF_EXTREMES = {
    "kinds": " and real dtype",
    "parameters": "",
    "returns": "ValuesAndIndices\n    Named tuple (values, indices): of the dtype of ``input`` and"
    " int64.",
    "refused": "is complex or uint64",
    "more": "Of equal\nelements, and of NaNs, the last one is selected and gets the gradient. ",
}


def _converted(name: str, input: Tensor, dim: Any, dtype: Any) -> tuple[Tensor, int]:
    axis = check_axis(name, dim, input.ndim)
    if dtype is not None:
        dtype = dtypes.name_of(dtype)
    else:
        dtype = str(input.dtype) if input.is_float else "int64"
    if dtype == "bool":
        raise TypeError(f"{name}: dtype must not be bool, got bool")
    return converted(input, dtype), axis


def _scanned(operation: Operation, x: Tensor, axis: int) -> Tensor:
    """Record a scan of a tensor of any dtype; complex numbers are scanned as pairs."""
    if not (x.ndim and x.size):
        return x
    parts = in_parts(x)
    results = [
        computed(lambda node: operation(node, axis=axis, is_reversed=False), part)
        for part in parts.tensors
    ]
    return parts.joined(results)


@operation
@templated(_TEXT, more="", **_OF_NUMBERS)
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the cumulative sums along an axis."""
    x, axis = _converted("cumsum", input, dim, dtype)
    return _scanned(CUMSUM, x, axis)


@operation
@templated(_TEXT, more=_DIVIDED, **_OF_NUMBERS)
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the cumulative products along an axis."""
    x, axis = _converted("cumprod", input, dim, dtype)
    if dtypes.is_complex(x.dtype):
        return RULES["cumprod"](x, axis)
    return _scanned(CUMPROD, x, axis)


@operation
@templated(
    _TEXT, more="", kinds=" and floating-point dtype", parameters="", refused="is another one",
    returns=_OF_NUMBERS["returns"],
)  # fmt: skip
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Return the logarithm of the cumulative sum of exponentials along an axis."""
    axis = check_axis("logcumsumexp", dim, input.ndim)
    if not input.is_float:
        raise TypeError(f"logcumsumexp: input must have a floating-point dtype, got {input.dtype}")
    return _scanned(LOGCUMSUMEXP, input, axis)


def _extremes(name: str, operation: Operation, x: Tensor, dim: Any) -> ValuesAndIndices:
    axis = check_axis(name, dim, x.ndim)
    if x.dtype == "uint64":
        raise TypeError(f"{name}: input must have a real dtype but uint64, got {x.dtype}")
    if not (x.ndim and x.size):
        return ValuesAndIndices(x, zeros(x.trace, x.shape, "int64"))

    def definition(node: Node) -> tuple[Node, ...]:
        return tuple(
            [op(node, axis=axis, is_reversed=False) for op in (operation, INDICES[operation])]
        )

    parts = in_parts(x)
    values, indices = all_computed(definition, *parts.tensors)
    return ValuesAndIndices(parts.joined([values]), indices)


@operation
@templated(_TEXT, **_OF_EXTREMES)
def cummax(input: Tensor, dim: int) -> ValuesAndIndices:
    """Return the cumulative maximum along an axis, and its indices."""
    return _extremes("cummax", CUMMAX, input, dim)


@operation
@templated(_TEXT, **_OF_EXTREMES)
def cummin(input: Tensor, dim: int) -> ValuesAndIndices:
    """Return the cumulative minimum along an axis, and its indices."""
    return _extremes("cummin", CUMMIN, input, dim)


def _recurrence(axis: int, shape: tuple[int, ...]) -> Callable[..., Node]:
    def definition(factors: Node, terms: Node, initial: Node | None = None) -> Node:
        factors, terms = (broadcast_to(node, shape) for node in (factors, terms))
        if initial is not None:
            is_first = EQ(iota(shape[axis], axis, len(shape)), number(0, "int32"))
            # Both are 0 elsewhere: an infinite factor or state would make gradients NaN there.
            zero = number(0, terms.dtype)
            carried = where(is_first, factors, zero) * where(is_first, initial, zero)
            terms = where(is_first, terms + carried, terms)
        return LINEAR_RECURRENCE(factors, terms, axis=axis, is_reversed=False)

    return definition


@operation
def linear_recurrence(
    input: Tensor, other: Tensor, dim: int, initial: Tensor | None = None
) -> Tensor:
    """Return the states ``h[i] = input[i] * h[i - 1] + other[i]`` along an axis.

    It is the scan of state-space models and linear attention (Mamba, RWKV).

    Parameters
    ----------
    input, other : array of a floating-point dtype
        Factors and terms; shapes broadcast.
    dim : int
        An axis of the common shape.
    initial : array, optional
        The state before the first one, which broadcasts to the common shape with size 1 along
        ``dim``; 0 by default.

    Returns
    -------
    array
        The broadcast shape; torch's promoted dtype.

    Raises
    ------
    ValueError
        The shapes do not broadcast, or there is no such axis.
    TypeError
        The dtype is not floating point.

    Notes
    -----
    States are computed sequentially, many rows in parallel, in float64 on CPUs and in float32 on
    GPUs. Differentiable to any order.
    """
    check_arrays("linear_recurrence", input=input, other=other)
    checked_operands("linear_recurrence", input=input, other=other)
    shape, dtype = broadcast_shape(input.shape, other.shape), str(result_dtype(input, other))
    if not dtypes.is_float(dtype):
        raise TypeError(f"linear_recurrence: dtypes must be floating-point ones, got {dtype}")
    axis = check_axis("linear_recurrence", dim, len(shape))
    operands = [input, other]
    if initial is not None:
        operands.append(checked_array("linear_recurrence", "initial", initial))
        _check_initial(operands[-1].shape, shape, axis)
    if 0 in shape:
        return zeros(input.trace, shape, dtype)
    wide = dtype if dtype in ("float64", "float16", "bfloat16") else "float32"
    result = computed(_recurrence(axis, shape), *[converted(x, wide) for x in operands])
    return converted(result, dtype)


def _check_initial(initial: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """Raise ValueError unless the shape of a state broadcasts to ``shape`` without ``axis``."""
    expected = tuple([1 if k == axis else n for k, n in enumerate(shape)])
    if not broadcasts_to(initial, expected):
        raise ValueError(
            f"linear_recurrence: initial must broadcast to {expected}, got shape {initial}"
        )


@operation
@described_as_torch(
    returns="array\n    ``n`` elements fewer along the axis; bools give where neighbors differ.",
    errors="There is no such axis, ``n`` is negative, or shapes do not match.", notes=SMOOTH,
    types="``prepend`` or ``append`` is no array.",
)  # fmt: skip
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the differences of neighbors along an axis, ``n`` times.

    input : array (*A, m, *B)
    n : int
    dim : int
    prepend, append : arrays, optional
        Joined with ``input`` along the axis first.
    """
    if not input.ndim:
        raise ValueError("diff: input must have an axis, got shape ()")
    axis, n = check_axis("diff", dim, input.ndim), checked_int("diff", "n", n, 0)
    parts = [part for part in (prepend, input, append) if part is not None]
    check_arrays("diff", **{n: p for n, p in (("prepend", prepend), ("append", append))
                            if p is not None})  # fmt: skip
    x = input
    if n and len(parts) > 1:
        dtype = result_dtype(*parts)
        x = cat([converted(part, dtype) for part in parts], axis)
    for _ in range(min(n, x.shape[axis])):
        length = x.shape[axis] - 1
        after, before = narrow(x, axis, 1, length), narrow(x, axis, 0, length)
        x = ne(after, before) if x.dtype == "bool" else sub(after, before)
    return x
