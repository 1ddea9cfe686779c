# SPDX-License-Identifier: Apache-2.0
"""Layouts: tags as benchdnn writes them, and where a layout puts each element in memory.

Element positions are computed here from a descriptor's strides and blocks, so packing and
unpacking do not depend on oneDNN's reorders, which are themselves under test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn import onednn as dnnl
from sycl_dnn.verify import encoding

_LETTERS = "abcdefghijkl"


def expand_tag(tag: str, ndims: int) -> str:
    """Return a tag with the ``x`` of meta tags replaced by the letters that remain.

    ``axb`` is ``abcd`` with b last for four dimensions: ``acdb``; ``abx`` is row-major.
    """
    if "x" not in tag or tag in ("any", "undef"):
        return tag
    named = {c.lower() for c in tag if c.lower() in _LETTERS}
    highest = max((_LETTERS.index(c) for c in named), default=-1)
    if ndims <= highest:
        kept = _LETTERS[:ndims]
        return "".join(c for c in tag if c == "x" or c.lower() in kept).replace("x", "")
    rest = "".join(c for c in _LETTERS[:ndims] if c not in named)
    return tag.replace("x", rest)


def dense_strides(dims: tuple[int, ...], order: str) -> tuple[int, ...]:
    """Return the strides of a permutation such as ``acdb``."""
    strides, step = [0] * len(dims), 1
    for letter in reversed(order):
        axis = _LETTERS.index(letter)
        strides[axis] = step
        step *= max(dims[axis], 1)
    return tuple(strides)


def _is_permutation(tag: str, ndims: int) -> bool:
    return sorted(tag) == list(_LETTERS[:ndims])


def describe(dims: tuple[int, ...], dtype: str, tag: str | None, strides: Any = None) -> Any:
    """Return the MemoryDesc of a tensor.

    Parameters
    ----------
    dims, dtype : shape and name of the data type
    tag : a library name, a permutation of letters, a meta tag, ``any``; None is row-major
    strides : elements by dimension, in place of a tag
    """
    data_type = dnnl.data_type[dtype]
    if strides:
        return dnnl.MemoryDesc(dims, data_type, strides=strides)
    if tag is None:
        tag = "abx"
    tag = expand_tag(tag, len(dims))
    if _is_permutation(tag, len(dims)):
        if dnnl.RUNTIME_DIM_VAL in dims:
            return dnnl.MemoryDesc(dims, data_type, tag)
        return dnnl.MemoryDesc(dims, data_type, strides=dense_strides(dims, tag))
    return dnnl.MemoryDesc(dims, data_type, tag)


def _axis_positions(desc: Any, axis: int, count: int) -> np.ndarray:
    """Position of each index of one dimension, inside blocks and between them."""
    index = np.arange(count) + desc.padded_offsets[axis] if count else np.arange(0)
    position, step = np.zeros(count, dtype=np.int64), 1
    inner = list(zip(desc.inner_blks, desc.inner_idxs, strict=True))
    steps = []
    for block, _ in reversed(inner):
        steps.append(step)
        step *= block
    for (block, of), width in zip(reversed(inner), steps, strict=True):
        if of == axis:
            position += index % block * width
            index = index // block
    return position + index * desc.strides[axis]


def positions(desc: Any, dims: tuple[int, ...] | None = None) -> np.ndarray:
    """Return the element offset of every logical index: int64 of shape ``dims``."""
    dims = desc.dims if dims is None else dims
    total = np.full((1,) * len(dims), desc.submemory_offset, dtype=np.int64)
    for axis, count in enumerate(dims):
        shape = [1] * len(dims)
        shape[axis] = count
        total = total + _axis_positions(desc, axis, count).reshape(shape)
    return total


def is_open(desc: Any) -> bool:
    """Whether elements lie where strides and blocks say: no opaque or compensated layout."""
    if desc.format_kind is not dnnl.format_kind.blocked:
        return False
    if 0 in desc.dims or not desc.inner_nblks:
        return True
    last = int(sum((n // b - 1) * s for n, b, s in _outer(desc)))
    elements = last + int(np.prod(desc.inner_blks))
    # Compensation of int8 weights lies behind the elements.
    return desc.size * 8 <= elements * encoding.item_bits(desc.data_type.name) + 7


def _outer(desc: Any):
    blocks = [1] * desc.ndims
    for block, axis in zip(desc.inner_blks, desc.inner_idxs, strict=True):
        blocks[axis] *= block
    return zip(desc.padded_dims, blocks, desc.strides, strict=True)
