# SPDX-License-Identifier: Apache-2.0
"""Reshaping and permutation: reshape, permute, transpose, pixel and channel shuffles."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

from sycl_dnn.call.operation import operation
from sycl_dnn.trace import layout, views
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import viewable_strides


def checked_int(name: str, argument: str, value: Any, minimum: int | None = None) -> int:
    """Return an integer argument; raise TypeError for others, ValueError below ``minimum``."""
    try:
        if isinstance(value, bool):  # an int to Python, not to torch
            raise TypeError
        number = operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise  # a traced value, which has its own message
        raise TypeError(f"{name}: {argument} must be an int, got {value!r}") from None
    if minimum is not None and number < minimum:
        raise ValueError(f"{name}: {argument} must be at least {minimum}, got {number}")
    return number


def check_axis(name: str, dim: Any, ndim: int, argument: str = "dim") -> int:
    """Return an axis counted from the front; a 0-d array counts as 1-d.

    Raises TypeError unless ``dim`` is an integer, ValueError if there is no such axis.
    """
    rank = max(ndim, 1)
    axis = checked_int(name, argument, dim)
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: {argument} must be in [{-rank}, {rank - 1}], got {axis}")
    return axis % rank


def check_axes(name: str, dims: Any, ndim: int, argument: str = "dim") -> list[int]:
    """Return one or several axes counted from the front; errors as for ``check_axis``."""
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    return [check_axis(name, dim, ndim, argument) for dim in dims]


# --- Views


@operation
def reshape(input: Tensor, shape: int | Sequence[int]) -> Tensor:
    """Reshape an array.

    Parameters
    ----------
    input : array of any shape and dtype
    shape : int or sequence of int
        One size may be -1; it is inferred.

    Returns
    -------
    array (*shape)
        Row-major copy; a view in a traced function if the strides allow it.

    Raises
    ------
    ValueError
        ``shape`` does not have as many elements as ``input``.
    """
    return views.reshape(input, _inferred("reshape", shape, input.size))


def _inferred(name: str, shape: int | Sequence[int], size: int) -> tuple[int, ...]:
    """Return the shape for ``size`` elements, with -1 replaced by the inferred size."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = [checked_int(name, "shape", n, -1) for n in sizes]
    n_fixed = math.prod(n for n in sizes if n != -1)
    n_inferred = sizes.count(-1)
    if n_inferred > 1:
        raise ValueError(f"{name}: shape must have at most one -1, got {tuple(sizes)}")
    fits = bool(n_fixed) and size % n_fixed == 0 if n_inferred else n_fixed == size
    if not fits:
        raise ValueError(f"{name}: shape must have {size} elements, got {tuple(sizes)}")
    return tuple(size // n_fixed if n == -1 else n for n in sizes)


@operation
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
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
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split an axis into several.

    Parameters
    ----------
    input : array (*A, n, *B)
    dim : int
    sizes : sequence of int
        One size may be -1; it is inferred.

    Returns
    -------
    array (*A, *sizes, *B)

    Raises
    ------
    ValueError
        ``sizes`` does not have ``n`` elements.
    """
    axis = check_axis("unflatten", dim, input.ndim)
    shape = input.shape
    inner = _inferred("unflatten", sizes, shape[axis])
    return views.reshape(input, (*shape[:axis], *inner, *shape[axis + 1 :]))


@operation
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Permute the axes.

    Parameters
    ----------
    input : array of any shape and dtype
    dims : sequence of int
        Axis ``i`` of the result is axis ``dims[i]`` of ``input``.

    Returns
    -------
    array
        A view: only the strides are permuted.

    Raises
    ------
    ValueError
        ``dims`` is not a permutation of the axes.
    """
    axes = [check_axis("permute", d, input.ndim, "dims") for d in dims]
    if sorted(axes) != list(range(input.ndim)):
        raise ValueError(f"permute: dims must name {input.ndim} axes once each, got {dims}")
    return views.transpose(input, axes)


@operation
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two axes.

    Parameters
    ----------
    input : array of any shape and dtype
    dim0, dim1 : int

    Returns
    -------
    array
        A view: only the strides are exchanged.

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
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove all axes of size 1, or those among ``dim``.

    Parameters
    ----------
    input : array of any shape and dtype
    dim : int or sequence of int, optional
        Axes of other sizes are kept.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        There is no such axis.
    """
    axes = range(input.ndim) if dim is None else check_axes("squeeze", dim, input.ndim)
    shape = tuple(n for i, n in enumerate(input.shape) if n != 1 or i not in axes)
    return views.reshape(input, shape)


@operation
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert an axis of size 1 at ``dim``.

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


# --- Shuffles: channel_shuffle, pixel_shuffle, pixel_unshuffle


Shape = tuple[int, ...]


def regroup(x: Tensor, split_shape: Shape, order: Sequence[int], shape: Shape) -> Tensor:
    """Split axes, permute them and merge them again, in one copy that keeps the layout.

    ``order`` is that of the axes of ``split_shape`` in the result, which merges them to ``shape``.
    """
    trace, plain = x.trace, x.trace.plain(x)
    if not x.size:
        result = trace.zeros(layout.row_major(shape, x.dtype), shape, x.dtype)
    else:
        result = trace.new(layout.like(plain.desc, x.dtype, shape), shape, x.dtype)
        source = plain.view(split_shape, viewable_strides(plain, split_shape))
        permuted = tuple(split_shape[a] for a in order)
        source = source.view(permuted, tuple(source.strides[a] for a in order))
        target = result.view(permuted, viewable_strides(result, permuted))
        trace.written_into(result, target, source)
    inverse = [list(order).index(i) for i in range(len(order))]
    permuted = tuple(split_shape[a] for a in order)
    return trace.view(
        x, result, partial(regroup, split_shape=permuted, order=inverse, shape=x.shape)
    )


@operation
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of all groups.

    Parameters
    ----------
    input : array (N, C, *S)
    groups : int
        Must divide C.

    Returns
    -------
    array (N, C, *S)
        Channel ``i * groups + g`` was channel ``g * (C / groups) + i``. The layout is kept.

    Raises
    ------
    ValueError
        ``input`` has fewer than 3 axes, or ``groups`` does not divide C.

    Notes
    -----
    Source: Zhang et al., "ShuffleNet", arXiv:1707.01083.
    """
    groups = checked_int("channel_shuffle", "groups", groups, 1)
    shape = input.shape
    if len(shape) < 3:
        raise ValueError(f"channel_shuffle: input must have at least 3 axes, got shape {shape}")
    if shape[1] % groups:
        raise ValueError(
            f"channel_shuffle: groups must divide the {shape[1]} channels, got {groups}"
        )
    split_shape = (shape[0], groups, shape[1] // groups, *shape[2:])
    return regroup(input, split_shape, (0, 2, 1, *range(3, len(split_shape))), shape)


@operation
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange channels into a finer grid of pixels.

    Parameters
    ----------
    input : array (*B, C * r * r, H, W)
    upscale_factor : int
        ``r``.

    Returns
    -------
    array (*B, C, H * r, W * r)
        The layout is kept.

    Raises
    ------
    ValueError
        ``input`` has fewer than 3 axes, or ``r * r`` does not divide its channels.

    Notes
    -----
    Source: Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient
    Sub-Pixel Convolutional Neural Network", arXiv:1609.05158.
    """
    r = checked_int("pixel_shuffle", "upscale_factor", upscale_factor, 1)
    *batch, channels, h, w = _image("pixel_shuffle", input)
    if channels % (r * r):
        raise ValueError(
            f"pixel_shuffle: input must have channels in multiples of {r * r}, got {channels}"
        )
    b, c = len(batch), channels // (r * r)
    order = (*range(b), b, b + 3, b + 1, b + 4, b + 2)
    return regroup(input, (*batch, c, r, r, h, w), order, (*batch, c, h * r, w * r))


@operation
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange squares of pixels into channels: the inverse of ``pixel_shuffle``.

    Parameters
    ----------
    input : array (*B, C, H * r, W * r)
    downscale_factor : int
        ``r``.

    Returns
    -------
    array (*B, C * r * r, H, W)
        The layout is kept.

    Raises
    ------
    ValueError
        ``input`` has fewer than 3 axes, or ``r`` does not divide its height and width.
    """
    r = checked_int("pixel_unshuffle", "downscale_factor", downscale_factor, 1)
    *batch, c, height, width = _image("pixel_unshuffle", input)
    if height % r or width % r:
        raise ValueError(
            f"pixel_unshuffle: downscale_factor must divide height and width {(height, width)}, "
            f"got {r}"
        )
    b, h, w = len(batch), height // r, width // r
    order = (*range(b), b, b + 2, b + 4, b + 1, b + 3)
    return regroup(input, (*batch, c, h, r, w, r), order, (*batch, c * r * r, h, w))


def _image(name: str, x: Tensor) -> Shape:
    if x.ndim < 3:
        raise ValueError(f"{name}: input must have at least 3 axes (*, C, H, W), got {x.shape}")
    return x.shape
