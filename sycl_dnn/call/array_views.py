# SPDX-License-Identifier: Apache-2.0
"""Views of arrays with torch's methods: writes to one are seen by the other, as in torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dpnp

from sycl_dnn import tree
from sycl_dnn._dpnp import array_maker, view
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import layout
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.recording import Trace


class _Part(NamedTuple):
    """A part of an array: offset and strides in elements."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]


def views(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the results of a function of ``VIEWS`` as views of its first argument.

    The function is traced over a dense array of the same shape: where the trace moves nothing, its
    results are parts of that, and correspond to parts of the argument.

    ``NotImplemented``: some result is not a part of the argument's memory as it is.
    """
    array = args[0]
    if type(array) not in (dpnp.ndarray, Array) or array.dtype in dtypes.PACKED:
        return NotImplemented
    data = array.bits if type(array) is Array else array
    strides = data.get_array().strides
    is_dense = tuple(strides) == tuple(layout.row_major_strides(array.shape))
    dense = data if is_dense else dpnp.empty_like(data, order="C")
    trace = Trace(place_of(array.sycl_queue)[0].engine)
    try:
        of_dense = (_like(array, dense), *args[1:])
        result = operation.traced(trace, of_dense, kwargs)
    finally:
        trace.end()
    leaves, structure = tree.flatten(result)
    parts = [_part_of(leaf, array.dtype, data, strides) for leaf in leaves]
    if None in parts:
        return NotImplemented
    taken = [view(data.get_array(), p.shape, data.dtype, p.strides, p.offset) for p in parts if p]
    return tree.unflatten(structure, [_like(array, array_maker()(part)) for part in taken])


def _like(array: Any, data: Any) -> Any:
    return Array(data, array.dtype) if type(array) is Array else data


def _part_of(value: Any, dtype: Any, data: Any, strides: Sequence[int]) -> _Part | None:
    """Return the part of an array that a result is; None for others."""
    storage = getattr(value, "storage", None)
    if storage is None or storage.argument != 0 or value.dtype != str(dtype):
        return None
    part = _Part(tuple(value.shape), value.offset // data.itemsize, tuple(value.strides))
    return _corresponding(part, data.shape, strides)


def _corresponding(part: _Part, shape: Sequence[int], strides: Sequence[int]) -> _Part | None:
    """Return the part of an array of other strides that a part of a dense one stands for.

    None if one axis of it would need several strides.
    """
    if 0 in shape or 0 in part.shape:
        return part._replace(offset=0)
    axes = _joined_axes(shape, strides)
    sizes, steps = [n for n, _ in axes], [step for _, step in axes]
    first = _coordinates(part.offset, sizes)
    lowest, highest, moved = list(first), list(first), []
    for n, stride in zip(part.shape, part.strides, strict=True):
        if n == 1:
            moved.append(0)
            continue
        reached = _coordinates(part.offset + stride, sizes)
        moves = [b - a for a, b in zip(first, reached, strict=True)]
        for axis, move in enumerate(moves):
            lowest[axis] += min(move * (n - 1), 0)
            highest[axis] += max(move * (n - 1), 0)
        moved.append(_product(moves, steps))
    if any(low < 0 for low in lowest) or any(h >= n for h, n in zip(highest, sizes, strict=True)):
        return None
    return _Part(part.shape, _product(first, steps), tuple(moved))


def _joined_axes(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Return sizes and strides of axes, where those that follow each other in memory are one."""
    axes: list[tuple[int, int]] = []
    for n, stride in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if axes and axes[-1][1] == stride * n:
            axes[-1] = (axes[-1][0] * n, stride)
        else:
            axes.append((n, stride))
    return axes


def _coordinates(offset: int, sizes: Sequence[int]) -> list[int]:
    """Return the coordinates of an element; the first may be out of range."""
    coordinates = []
    for n in reversed(sizes[1:]):
        offset, rest = divmod(offset, n)
        coordinates.append(rest)
    return [*([offset] if sizes else []), *reversed(coordinates)]


def _product(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True))
