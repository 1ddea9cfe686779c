# SPDX-License-Identifier: Apache-2.0
"""Maxima, minima and their indices: amax, amin, aminmax, max, min, argmax, argmin, all, any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import maximum, minimum
from sycl_dnn.functional.arithmetic.comparison import ne
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.reduction.sums import (
    ALL,
    axes_of,
    by_kernel,
    documented,
)
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.ir.node import Node, Operation
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import reduction as ops
from sycl_dnn.ops.selection import SCATTER_TO_ZEROS
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, untaped


def _check_not_empty(name: str, x: Tensor, axes: Sequence[int]) -> None:
    if 0 in [x.shape[a] for a in axes]:
        raise ValueError(f"{name}: input must not be empty along dim, got shape {x.shape}")


def _extreme(name: str, operation: Operation, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    axes = axes_of(name, dim, x.ndim)
    _check_not_empty(name, x, axes)
    return by_kernel(operation, x, axes, keepdim, dtype=str(x.dtype))


_TIES = "Ties share the gradient evenly. NaN propagates to the result and the gradient."
_EMPTY = ", or it is empty"


@operation
@documented(_TIES, more=_EMPTY)
def amax(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Return the maxima over axes."""
    return _extreme("amax", ops.MAX, input, dim, keepdim)


@operation
@documented(_TIES, more=_EMPTY)
def amin(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Return the minima over axes."""
    return _extreme("amin", ops.MIN, input, dim, keepdim)


class ValuesAndIndices(NamedTuple):
    """The result of ``max`` and ``min`` along an axis."""

    values: Any
    indices: Any


_ONE = {"dim": "int, optional", "which": "The axis to reduce, all by default.", "more": _EMPTY}


def _arg_extreme(name: str, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Return int64 indices of the extremes, the first one on ties."""
    axes = axes_of(name, None if dim is None else check_axis(name, dim, x.ndim), x.ndim)
    _check_not_empty(name, x, axes)
    return by_kernel(_ARG_EXTREMES[name], x, axes, keepdim, dtype="int64")


_ARG_EXTREMES = {"argmax": ops.ARGMAX, "argmin": ops.ARGMIN}
_FIRST_INDEX = "Ties, and several NaN, give the first index."


_INDEX = "dpnp.ndarray of int64\n    Into the flattened array without ``dim``."


@operation
@documented(_FIRST_INDEX, returns=_INDEX, **_ONE)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> dpnp.ndarray:
    """Return the indices of the maxima."""
    return _arg_extreme("argmax", input, dim, keepdim)


@operation
@documented(_FIRST_INDEX, returns=_INDEX, **_ONE)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> dpnp.ndarray:
    """Return the indices of the minima."""
    return _arg_extreme("argmin", input, dim, keepdim)


def _with_indices(
    name: str, operation: Operation, x: Tensor, dim: Any, keepdim: bool
) -> Tensor | ValuesAndIndices:
    if dim is None:
        shared = ops.MAX_OF_ALL if operation is ops.MAX else ops.MIN_OF_ALL
        return _extreme(name, shared, x, None, keepdim)
    axis = check_axis(name, dim, x.ndim)
    indices = _arg_extreme(f"arg{name}", x, dim, keepdim)
    with untaped(x.trace):
        values = _extreme(name, operation, x, axis, keepdim)
    values = values.view(values.shape, values.strides)
    rule = lambda g: _scattered(g, indices, x, axis if x.ndim else 0)  # noqa: E731
    return ValuesAndIndices(x.trace.view(x, values, rule), indices)


def _scattered(grad: Tensor, indices: Tensor, x: Tensor, axis: int) -> Tensor:
    """Scatter ``grad`` to the positions of the extremes."""
    shape = x.shape or (1,)
    keepdim_shape = tuple(1 if i == axis else n for i, n in enumerate(shape))

    def definition(g: Node, index: Node) -> Node:
        return SCATTER_TO_ZEROS(g, index, axis=axis, shape=shape)

    result = computed(definition, reshape(grad, keepdim_shape), reshape(indices, keepdim_shape))
    return reshape(result, x.shape)


def _logical(name: str, operation: Operation, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    reduces_none = isinstance(dim, (tuple, list)) and not dim  # unlike sums, as in torch
    axes = () if reduces_none else axes_of(name, dim, len(x.shape))
    dtype = "uint8" if x.dtype == "uint8" else "bool"
    if math.prod(x.shape[a] for a in axes) != 1:
        return by_kernel(operation, x, axes, keepdim, dtype=dtype)
    # Nothing to combine, which compilers of GPU kernels have got wrong for ``all``.
    kept = [n for a, n in enumerate(x.shape) if keepdim or a not in axes]
    return reshape(converted(ne(x, 0), dtype), tuple(kept))


_TRUTH = {
    "returns": "dpnp.ndarray\n    bool; uint8 for uint8.",
    "which": "Axes to reduce, all by default; none if empty.",
}


@operation
@documented("Nonzero numbers are true, and so is NaN.", **_TRUTH)
def all(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False
) -> dpnp.ndarray:
    """Return whether all elements are true."""
    return _logical("all", ops.ALL, input, dim, keepdim)


@operation
@documented("Nonzero numbers are true, and so is NaN.", **_TRUTH)
def any(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False
) -> dpnp.ndarray:
    """Return whether any element is true."""
    return _logical("any", ops.ANY, input, dim, keepdim)


_FIRST = """Along an axis the gradient goes to the selected element; otherwise ties share it evenly.
NaN propagates, with the index of the first one."""
_PAIR = "dpnp.ndarray or Array\n    With an axis as ``dim`` a named tuple (values, indices)."
_ONE_OR_OTHER = _ONE | {
    "dim": "int or dpnp.ndarray, optional",
    "which": "The axis to reduce, all by default; an array is the other operand, element by\n"
    "    element, without ``keepdim``.",
}


def _of_two(name: str, x: Tensor, other: Tensor, keepdim: bool) -> Tensor:
    """Return the larger or smaller elements of two arrays."""
    if keepdim:
        raise TypeError(f"{name}: keepdim must be False for two arrays, got {keepdim}")
    return (maximum if name == "max" else minimum)(x, other)


@operation
@documented(_FIRST, returns=_PAIR, **_ONE_OR_OTHER)
def max(
    input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False
) -> Tensor | ValuesAndIndices:
    """Return the maximum: of all elements, along an axis with its indices, or of two arrays."""
    if isinstance(dim, Tensor):
        return _of_two("max", input, dim, keepdim)
    return _with_indices("max", ops.MAX, input, dim, keepdim)


@operation
@documented(_FIRST, returns=_PAIR, **_ONE_OR_OTHER)
def min(
    input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False
) -> Tensor | ValuesAndIndices:
    """Return the minimum: of all elements, along an axis with its indices, or of two arrays."""
    if isinstance(dim, Tensor):
        return _of_two("min", input, dim, keepdim)
    return _with_indices("min", ops.MIN, input, dim, keepdim)


class MinAndMax(NamedTuple):
    """The result of ``aminmax``."""

    min: Any
    max: Any


@operation
@documented(
    "Ties share the gradient evenly. NaN propagates.", returns="named tuple (min, max)",
    more=", or it is empty", dim="int, optional", which=ALL,
)  # fmt: skip
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinAndMax:
    """Return the minimum and the maximum."""
    return MinAndMax(amin(input, dim, keepdim), amax(input, dim, keepdim))
