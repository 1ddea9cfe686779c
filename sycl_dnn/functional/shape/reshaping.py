# SPDX-License-Identifier: Apache-2.0
"""Views of an array: reshape, flatten, permute, transpose, squeeze; checks of axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn.call.operation import operation
from sycl_dnn.trace import views
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


def checked_int(name: str, argument: str, value: Any, least: int | None = None) -> int:
    """Return an integer argument.

    Raises
    ------
    TypeError
        ``value`` is no integer.
    ValueError
        It is less than ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise  # its own words: values are not known
        raise TypeError(f"{name}: {argument} must be an int, got {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{name}: {argument} must be at least {least}, got {number}")
    return number


def check_axis(name: str, dim: Any, ndim: int, argument: str = "dim") -> int:
    """Return an axis counted from the front; an array without axes counts as one with one.

    Raises
    ------
    TypeError
        ``dim`` is no integer.
    ValueError
        There is no such axis.
    """
    rank = max(ndim, 1)
    axis = checked_int(name, argument, dim)
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: {argument} must be in [{-rank}, {rank - 1}], got {axis}")
    return axis % rank


# --- Other looks at an array: reshape, flatten, permute, transpose, squeeze


@operation
def reshape(input: dpnp.ndarray | Array, shape: int | Sequence[int]) -> dpnp.ndarray | Array:
    """Return the elements in another shape.

    Parameters
    ----------
    input : array of any shape and dtype
    shape : int or sequence of int
        One size may be -1; it follows from the others.

    Returns
    -------
    array (*shape)
        Row-major; a copy. Inside a traced function a view where the strides allow one.

    Raises
    ------
    ValueError
        ``shape`` has not as many elements as ``input``.
    """
    return views.reshape(input, _filled("reshape", shape, input.size))


def _filled(name: str, shape: int | Sequence[int], size: int) -> tuple[int, ...]:
    """Return a shape of ``size`` elements with -1 replaced."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = [checked_int(name, "shape", n, -1) for n in sizes]
    known = math.prod(n for n in sizes if n != -1)
    n_open = sizes.count(-1)
    if n_open > 1:
        raise ValueError(f"{name}: shape must have at most one -1, got {tuple(sizes)}")
    fits = bool(known) and size % known == 0 if n_open else known == size
    if not fits:
        raise ValueError(f"{name}: shape must have {size} elements, got {tuple(sizes)}")
    return tuple(size // known if n == -1 else n for n in sizes)


@operation
def flatten(
    input: dpnp.ndarray | Array, start_dim: int = 0, end_dim: int = -1
) -> dpnp.ndarray | Array:
    """Merge the axes from ``start_dim`` to ``end_dim`` into one.

    Parameters
    ----------
    input : array (*A, *M, *B)
    start_dim, end_dim : int
        First and last axis of M.

    Returns
    -------
    array (*A, product of M, *B)

    Raises
    ------
    ValueError
        ``start_dim`` comes after ``end_dim``, or there is no such axis.
    """
    start = check_axis("flatten", start_dim, input.ndim, "start_dim")
    end = check_axis("flatten", end_dim, input.ndim, "end_dim")
    if start > end:
        raise ValueError(f"flatten: start_dim must not come after end_dim, got {start} and {end}")
    shape = input.shape
    merged = math.prod(shape[start : end + 1])
    return views.reshape(input, (*shape[:start], merged, *shape[end + 1 :]))


@operation
def unflatten(input: dpnp.ndarray | Array, dim: int, sizes: Sequence[int]) -> dpnp.ndarray | Array:
    """Split an axis into several.

    Parameters
    ----------
    input : array (*A, n, *B)
    dim : int
    sizes : sequence of int
        One may be -1; it follows from the others.

    Returns
    -------
    array (*A, *sizes, *B)

    Raises
    ------
    ValueError
        ``sizes`` has not ``n`` elements.
    """
    axis = check_axis("unflatten", dim, input.ndim)
    shape = input.shape
    inner = _filled("unflatten", sizes, shape[axis])
    return views.reshape(input, (*shape[:axis], *inner, *shape[axis + 1 :]))


@operation
def permute(input: dpnp.ndarray | Array, dims: Sequence[int]) -> dpnp.ndarray | Array:
    """Put the axes into another order.

    Parameters
    ----------
    input : array of any shape and dtype
    dims : sequence of int
        Axis ``i`` of the result is axis ``dims[i]`` of ``input``.

    Returns
    -------
    array
        With the elements where they lie: its strides are permuted.

    Raises
    ------
    ValueError
        ``dims`` does not name every axis once.
    """
    axes = [check_axis("permute", d, input.ndim, "dims") for d in dims]
    if sorted(axes) != list(range(input.ndim)):
        raise ValueError(f"permute: dims must name {input.ndim} axes once each, got {dims}")
    return views.transpose(input, axes)


@operation
def transpose(input: dpnp.ndarray | Array, dim0: int, dim1: int) -> dpnp.ndarray | Array:
    """Exchange two axes.

    Parameters
    ----------
    input : array of any shape and dtype
    dim0, dim1 : int

    Returns
    -------
    array
        With the elements where they lie: its strides are exchanged.

    Raises
    ------
    ValueError
        There is no such axis.
    """
    axes = list(range(input.ndim))
    first = check_axis("transpose", dim0, input.ndim, "dim0")
    second = check_axis("transpose", dim1, input.ndim, "dim1")
    if not axes:
        return input
    axes[first], axes[second] = second, first
    return views.transpose(input, axes)


@operation
def squeeze(
    input: dpnp.ndarray | Array, dim: int | Sequence[int] | None = None
) -> dpnp.ndarray | Array:
    """Leave out axes of size 1: all, or those among ``dim``.

    Parameters
    ----------
    input : array of any shape and dtype
    dim : int or sequence of int, optional
        Axes of other sizes than 1 stay.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        There is no such axis.
    """
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    axes = {check_axis("squeeze", d, input.ndim) for d in dims}
    kept = tuple(n for i, n in enumerate(input.shape) if n != 1 or i not in axes)
    return views.reshape(input, kept)


@operation
def unsqueeze(input: dpnp.ndarray | Array, dim: int) -> dpnp.ndarray | Array:
    """Put an axis of size 1 at ``dim``.

    Parameters
    ----------
    input : array (*A, *B)
    dim : int

    Returns
    -------
    array (*A, 1, *B)

    Raises
    ------
    ValueError
        ``dim`` is out of range.
    """
    axis = check_axis("unsqueeze", dim, input.ndim + 1)
    return views.reshape(input, (*input.shape[:axis], 1, *input.shape[axis:]))
