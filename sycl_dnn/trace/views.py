# SPDX-License-Identifier: Apache-2.0
"""Views of a tensor's elements and shapes that broadcast, with their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from sycl_dnn._dpnp import array_in
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.memory import Memory
from sycl_dnn.ops.shape import broadcast_shape as broadcast_shape
from sycl_dnn.trace import functions, layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.slices import WHOLE, Slice
from sycl_dnn.trace.values import Storage, Tensor


def row_major(x: Tensor) -> Tensor:
    """Return the tensor dense with its last axis innermost, copied if it is not."""
    desc = layout.row_major(x.shape, x.dtype)
    return x if x.desc == desc else x.trace.reorder(x, desc)


def viewable_strides(x: Tensor, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return strides that view ``x`` in another shape; None if that needs a copy."""
    if not x.desc.is_plain:
        return None
    old = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n != 1]
    new = [n for n in shape if n != 1]
    viewed_strides: list[int] = []
    while old:
        # Take axes from both sides until both have the same number of elements.
        old_group, new_group = [old.pop(0)], [new.pop(0)]
        while (n := math.prod(t[0] for t in old_group)) != (m := math.prod(new_group)):
            if m < n:
                new_group.append(new.pop(0))
            else:
                old_group.append(old.pop(0))
        gaps = zip(old_group, old_group[1:], strict=False)
        if any(outer[1] != inner[0] * inner[1] for outer, inner in gaps):
            return None
        steps = layout.row_major_strides(new_group)
        viewed_strides += [s * old_group[-1][1] for s in steps]
    strides = tuple(1 if n == 1 else viewed_strides.pop(0) for n in shape)
    return layout.canonical_strides(tuple(shape), strides)


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the elements in another shape; one size may be -1."""
    shape = tuple(shape)
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple(x.size // max(rest, 1) if n == -1 else n for n in shape)
    if math.prod(shape) != x.size:
        raise ValueError(f"reshape: shape must have {x.size} elements, got {shape}")
    if shape == x.shape:
        return x
    strides = viewable_strides(x, shape) if x.size else layout.row_major_strides(shape)
    source = x
    if strides is None:
        source, strides = row_major(x), layout.row_major_strides(shape)
    return x.trace.view(x, source.view(shape, strides), partial(reshape, shape=x.shape))


def transpose(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return a view with permuted axes."""
    axes = tuple(a % x.ndim for a in axes)
    back = tuple(axes.index(i) for i in range(x.ndim))
    plain = x.trace.plain(x)
    view = plain.view(tuple(plain.shape[a] for a in axes), tuple(plain.strides[a] for a in axes))
    return x.trace.view(x, view, partial(transpose, axes=back))


def narrow(x: Tensor, axis: int, start: int, length: int, step: int = 1) -> Tensor:
    """Return a view of ``length`` elements along an axis, from ``start``.

    A copy if rows interleave, which oneDNN cannot describe.
    """
    axis %= x.ndim
    plain = x.trace.plain(x)
    shape = tuple(length if i == axis else n for i, n in enumerate(plain.shape))
    strides = tuple(s * step if i == axis else s for i, s in enumerate(plain.strides))
    try:
        view = plain.view(shape, strides, start * plain.strides[axis])
    except InvalidArguments:
        return functions.index_select(x, axis, _numbers(x.trace, start, length, step))  # type: ignore[no-any-return]
    cuts = tuple((start, step, length) if i == axis else WHOLE for i in range(x.ndim))
    return x.trace.view(x, view, Slice(cuts))


def _numbers(trace: Trace, start: int, length: int, step: int) -> Tensor:
    """Return the indices of a slice."""
    return trace.literal(np.arange(start, start + length * step, step), "int64")


# --- Shapes that broadcast, and few dense axes in place of many, as oneDNN's fast kernels require


def expand_rank(x: Tensor, rank: int) -> Tensor:
    """Return ``x`` with axes of size 1 in front."""
    return x if x.ndim == rank else reshape(x, (1,) * (rank - x.ndim) + x.shape)


def readable(x: Tensor, rank: int) -> Tensor:
    """Return ``x`` in a layout that kernels read, with axes of size 1 in front."""
    return expand_rank(x.trace.plain(x), rank)


def spread_strides(x: Tensor, left_out: Sequence[int] = ()) -> list[int]:
    """Return the strides of a tensor that is repeated along axes of size 1, and others."""
    along = enumerate(zip(x.shape, x.strides, strict=True))
    return [0 if n == 1 or k in left_out else s for k, (n, s) in along]


class untaped:
    """A context that records steps of an operation that has a gradient rule as a whole."""

    __slots__ = ("_tape", "_trace")

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._tape, self._trace.tape = self._trace.tape, []

    def __exit__(self, *error: object) -> None:
        self._trace.tape = self._tape


def axis_order(x: Tensor | None, rank: int) -> tuple[int, ...]:
    """Return the axes of ``x``, outermost first; in order for None or oneDNN's own layouts."""
    if x is None or x.strides is None:
        return tuple(range(rank))
    return layout.axes_in_order(x.shape, x.strides)


def note_repeated(copy: Tensor, source: Tensor) -> None:
    """Note that a new array repeats the elements of ``source``, for ``repeated``.

    Not in compiled functions, whose passes move and drop steps: they fuse the copy instead.
    """
    storage = copy.storage
    is_apart = not copy.trace.is_compiled and storage is not source.storage
    is_whole = not copy.offset and copy.desc == storage.desc  # no part of a concatenation
    if is_apart and is_whole and not dtypes.is_complex(copy.dtype):
        storage.source = source


def repeated(x: Tensor) -> Tensor | None:
    """Return the tensor whose elements ``x`` repeats along axes; None if there is none to read."""
    source, storage = x.storage.source, x.storage
    if source is None or x.offset or x.desc != storage.desc:
        return None
    written = {storage for storage, _ in x.trace.written}
    return source if written.isdisjoint((source.storage, storage)) else None


def laid_out(x: Tensor, order: Sequence[int], dtype: str | None = None) -> Tensor:
    """Return ``x`` dense with its axes in ``order``, copied if it is not."""
    dtype = dtype or x.dtype
    strides = layout.permuted_strides(x.shape, order)
    if x.strides is not None and dtype == x.dtype:
        pairs = zip(x.shape, x.strides, strides, strict=True)
        if all(n == 1 or s == dense_stride for n, s, dense_stride in pairs):
            return x
    return x.trace.reorder(x, layout.strided(x.shape, dtype, strides))


def grid(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return a dense tensor as if its axes, in memory order, were ``sizes``."""
    sizes = tuple(sizes)
    return x.view(sizes, layout.row_major_strides(sizes))


def spread(x: Tensor, shape: tuple[int, ...], order: Sequence[int]) -> Tensor:
    """Return ``x`` repeated along its axes of size 1, dense with its axes in ``order``."""
    if x.shape == shape:
        return laid_out(x, order)
    x = x.trace.plain(x)
    # A copy from strides of 0 is one pass of oneDNN's compiled reorder.
    steps = zip(x.shape, shape, x.strides, strict=True)
    repeated = x.view(shape, tuple(s if n == m else 0 for n, m, s in steps))
    strides = layout.permuted_strides(shape, order)
    return x.trace.reorder(repeated, layout.strided(shape, x.dtype, strides))


# --- Tensors of one value, known while tracing; their buffers are shared

#: By engine, dtype and the bits of the value; values other than 1 are mostly scalars.
_buffers: dict[tuple[Any, str, bytes], Any] = {}
_MAX_BUFFERS = 256


def pattern(value: float, dtype: str) -> Any:
    """Return a NumPy scalar with the bits of ``value``, rounded to nearest even."""
    if dtype == "bfloat16":
        bits = int(np.float32(value).view(np.uint32))
        return np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if value == value else 0x7FC0)
    return dtypes.array_dtype(dtype).type(value).view(dtypes.described_dtype(dtype))


def _buffer(engine: Any, value: float, dtype: str, size: int) -> Any:
    bits = pattern(value, dtype)
    key = (engine, dtype, bits.tobytes())
    buffer = _buffers.get(key)
    if buffer is None or buffer.size < size:
        if len(_buffers) >= _MAX_BUFFERS:
            _buffers.clear()
        size = 1 << (size - 1).bit_length()
        values = np.full(size, bits)
        buffer = _buffers[key] = array_in(values, None, sycl_queue=engine.sycl_queue)
    return buffer


def filled(trace: Trace, value: float, shape: tuple[int, ...], dtype: str = "float32") -> Tensor:
    """Return a tensor that holds ``value`` everywhere."""
    desc = layout.row_major(shape, dtype)
    memory = Memory(desc, trace.engine, _buffer(trace.engine, value, dtype, math.prod(shape)))
    storage = Storage(desc, memory=memory)
    storage.constant = False  # only frozen arrays keep packed copies
    return Tensor(trace, storage, desc, dtype, shape)


def number(x: Tensor, value: float) -> Tensor:
    """Return a number to combine with ``x``."""
    return filled(x.trace, value, (), x.dtype)
