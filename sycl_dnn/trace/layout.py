# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors of the layouts that arrays have here: row-major and channels-last.

Complex numbers are described as pairs along one more axis: oneDNN has no type for them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from sycl_dnn._core import MemoryDesc, data_type, format_kind
from sycl_dnn._core import canonical_strides as canonical
from sycl_dnn.onednn.dtypes import COMPLEX, DATA_TYPES, NAMES, bits_of

Shape = tuple[int, ...]


def row_major_strides(shape: Sequence[int]) -> Shape:
    """Return the strides, in elements, of a dense array with the last axis innermost."""
    return permuted_strides(shape, range(len(shape)))


@functools.lru_cache(4096)
def canonical_strides(shape: Shape, strides: Shape) -> Shape:
    """Return equivalent strides for a descriptor.

    Strides of axes with at most one element are those of a dense array; an array may have any.
    """
    return tuple(canonical(shape, strides))


def permuted_strides(shape: Sequence[int], order: Sequence[int]) -> Shape:
    """Return the strides of a dense array whose axes are in ``order``, outermost first."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def channels_last_strides(shape: Sequence[int]) -> Shape:
    """Return the strides of (N, C, *S) with the channels innermost."""
    rank = len(shape)
    return permuted_strides(shape, (0, *range(2, rank), 1) if rank > 2 else range(rank))


def strided(shape: Sequence[int], dtype: str, strides: Sequence[int]) -> MemoryDesc:
    """Return a descriptor with these strides; shape () counts as (1,)."""
    dtype = str(dtype)  # names of arrays' dtypes compare in Python
    part = COMPLEX.get(dtype)
    if part is not None:
        return _described((*shape, 2), DATA_TYPES[part], (*[2 * s for s in strides], 1))
    if dtype not in DATA_TYPES:
        raise TypeError(f"dtype must be one of {', '.join((*DATA_TYPES, *COMPLEX))}, got {dtype}")
    if not shape:
        return MemoryDesc((1,), DATA_TYPES[dtype], strides=(1,))
    return _described(tuple(shape), DATA_TYPES[dtype], tuple(strides))


def is_describable(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether strides are positive, and a step along an axis skips all elements of inner axes.

    ``x[:, ::2]`` of 7 columns has four of them 2 apart, and rows only 7 apart.
    """
    if 0 in shape:
        return True  # any strides will do
    end = 1
    for stride, n in sorted(zip(strides, shape, strict=True)):
        if n == 1:
            continue
        if stride < end:
            return False
        end = stride * n
    return True


# Layers of one kind request the same descriptors, which are immutable.
@functools.lru_cache(4096)
def _described(shape: Shape, kind: data_type, strides: Shape) -> MemoryDesc:
    return MemoryDesc(shape, kind, strides=strides)


def row_major(shape: Sequence[int], dtype: str) -> MemoryDesc:
    """Return the descriptor of a dense array with the last axis innermost."""
    return strided(shape, dtype, row_major_strides(shape))


def channels_last(shape: Sequence[int], dtype: str) -> MemoryDesc:
    """Return the descriptor of (N, C, *S) with the channels innermost."""
    return strided(shape, dtype, channels_last_strides(shape))


def any_layout(shape: Sequence[int], dtype: str) -> MemoryDesc:
    """Return the descriptor that leaves the layout to the primitive."""
    return MemoryDesc(tuple(shape) or (1,), DATA_TYPES[dtype], "any")


@functools.lru_cache(4096)
def is_dense(desc: MemoryDesc) -> bool:
    """Whether the elements of a plain layout fill one span of memory without gaps."""
    if not desc.is_plain:
        return False
    n, name = math.prod(desc.dims), NAMES.get(desc.data_type)
    return n == 0 or (name is not None and 8 * desc.extent == n * bits_of(name))


def is_channels_last(desc: MemoryDesc) -> bool:
    """Whether a tensor of rank 3 to 5 already has its channels innermost."""
    dims, strides = desc.dims, desc.strides
    if not desc.is_plain or len(dims) < 3:
        return False
    expected = channels_last_strides(dims)
    return all(n == 1 or a == b for n, a, b in zip(dims, strides, expected, strict=True))


def like(desc: MemoryDesc, dtype: str, shape: Sequence[int] | None = None) -> MemoryDesc:
    """Return a dense descriptor with the axis order of ``desc``."""
    if dtype in COMPLEX:
        return _like_pairs(desc, dtype, shape)
    dims = desc.dims
    shape = dims if shape is None else tuple(shape)
    # An array without axes has a descriptor with one.
    if desc.format_kind is not format_kind.blocked or not desc.is_plain or not shape:
        return row_major(shape, dtype)
    return strided(shape, dtype, permuted_strides(shape, axes_in_order(dims, desc.strides)))


def _like_pairs(desc: MemoryDesc, dtype: str, shape: Sequence[int] | None) -> MemoryDesc:
    dims, strides = desc.dims[:-1], desc.strides[:-1]
    shape = dims if shape is None else tuple(shape)
    return strided(shape, dtype, permuted_strides(shape, axes_in_order(dims, strides)))


def strides_of(desc: MemoryDesc, dtype: str, rank: int) -> Shape:
    """Return the strides of an array of ``dtype``, in its elements."""
    if dtype in COMPLEX:
        return tuple([s // 2 for s in desc.strides[:rank]])
    return tuple(desc.strides[:rank])


def dtype_of(desc: MemoryDesc, like: str) -> str:
    """Return the dtype of a copy with a descriptor, which shows some dtypes as others."""
    is_same = like in COMPLEX or DATA_TYPES.get(like) == desc.data_type
    return str(like) if is_same else NAMES[desc.data_type]


@functools.lru_cache(4096)
def axes_in_order(dims: Shape, strides: Shape) -> Shape:
    """Return the axes of a plain layout in memory order, outermost first."""
    return tuple(sorted(range(len(dims)), key=lambda a: (-strides[a], -dims[a], a)))
