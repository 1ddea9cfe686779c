# SPDX-License-Identifier: Apache-2.0
"""Shapes, slicing and indexing as ONNX's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn.onnx.exported_arithmetic import operand
from sycl_dnn.onnx.written_graph import Ints, Recording, Row, Rows, Value, unsupported

ROWS = Rows()
row = ROWS.row
#: Larger than any size; ONNX clamps the limits of slices like Python.
_END, _BEFORE = 2**63 - 1, -(2**63)


def sliced(g: Recording, x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """Write a part of an axis."""
    return g.node("Slice", x, Ints((start,)), Ints((stop,)), Ints((axis,)), Ints((step,)))


ROWS |= {
    "reshape": lambda g, a, out: g.reshaped(a.input, out[0].shape),
    "flatten": lambda g, a, out: g.reshaped(a.input, out[0].shape),
    "unflatten": lambda g, a, out: g.reshaped(a.input, out[0].shape),
    "unsqueeze": lambda g, a, out: g.node("Unsqueeze", a.input, Ints((a.dim,))),
    "permute": lambda g, a, out: g.node(
        "Transpose", a.input, perm=[d % a.input.ndim for d in a.dims]
    ),
    "transpose": lambda g, a, out: _exchanged(g, a.input, a.dim0, a.dim1),
    "swapaxes": lambda g, a, out: _exchanged(g, a.input, a.axis0, a.axis1),
    "expand": lambda g, a, out: g.node("Expand", a.input, Ints(out[0].shape)),
    "broadcast_to": lambda g, a, out: g.node("Expand", a.input, Ints(out[0].shape)),
    "select": lambda g, a, out: g.node(
        "Gather", a.input, np.asarray(a.index, np.int64), axis=a.dim
    ),
    "index_select": lambda g, a, out: g.node("Gather", a.input, a.index, axis=a.dim),
    "gather": lambda g, a, out: g.node("GatherElements", a.input, a.index, axis=a.dim),
}


@row("squeeze")
def _squeeze(g: Recording, a: Any, outputs: list[Value]) -> Any:
    x, dim = a.input, a.dim
    axes = range(x.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return g.node("Squeeze", x, Ints(d % x.ndim for d in axes if x.shape[d] == 1))


def _exchanged(g: Recording, x: Value, first: int, second: int) -> Any:
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return g.node("Transpose", x, perm=order)


@row("movedim")
def _movedim(g: Recording, a: Any, outputs: list[Value]) -> Any:
    numbered = np.moveaxis(np.empty(range(1, a.input.ndim + 1)), a.source, a.destination)
    return g.node("Transpose", a.input, perm=[n - 1 for n in numbered.shape])


@row("tile")
def _tile(g: Recording, a: Any, outputs: list[Value]) -> Any:
    counts = tuple(a.dims)
    lead = len(counts) - a.input.ndim
    x = g.node("Unsqueeze", a.input, Ints(range(lead))) if lead > 0 else a.input
    return g.node("Tile", x, Ints((1,) * -lead + counts))


@row("flip")
def _flip(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dims = a.dims if isinstance(a.dims, (tuple, list)) else (a.dims,)
    n = len(dims)
    return g.node("Slice", a.input, Ints((-1,) * n), Ints((_BEFORE,) * n), Ints(dims),
                  Ints((-1,) * n))  # fmt: skip


@row("roll")
def _roll(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.dims is None:
        raise unsupported("roll", "dims must be given")
    pairs = [v if isinstance(v, (tuple, list)) else (v,) for v in (a.shifts, a.dims)]
    x: Any = a.input
    for shift, dim in zip(*pairs, strict=True):
        distance = shift % a.input.shape[dim]
        if distance:
            parts = sliced(g, x, dim, -distance, _END), sliced(g, x, dim, 0, -distance)
            x = g.node("Concat", *parts, axis=dim)
    return x if x is not a.input else g.node("Identity", x)


@row("narrow")
def _narrow(g: Recording, a: Any, outputs: list[Value]) -> Any:
    start = a.start % max(a.input.shape[a.dim], 1)
    return sliced(g, a.input, a.dim, start, start + a.length)


def _split(g: Recording, x: Value, dim: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    if len(sizes) == 1:
        return (g.node("Identity", x),)
    return tuple(g.node("Split", x, Ints(sizes), outputs=len(sizes), axis=dim))


@row("chunk", "split")
def _parts(g: Recording, a: Any, outputs: list[Value]) -> Any:
    x = a.input if hasattr(a, "input") else a.tensor
    return _split(g, x, a.dim, [m.shape[a.dim] for m in outputs])


@row("unbind")
def _unbind(g: Recording, a: Any, outputs: list[Value]) -> Any:
    parts = _split(g, a.input, a.dim, [1] * len(outputs))
    return tuple(g.node("Squeeze", part, Ints((a.dim,))) for part in parts)


@row("cat")
def _cat(g: Recording, a: Any, outputs: list[Value]) -> Any:
    tensors = [t for t in a.tensors if t.shape != (0,)] or a.tensors
    arrays = [g.cast(t, outputs[0].dtype) for t in tensors]
    return g.node("Concat", *arrays, axis=a.dim)


@row("stack")
def _stack(g: Recording, a: Any, outputs: list[Value]) -> Any:
    axis = a.dim % outputs[0].ndim
    arrays = [g.node("Unsqueeze", g.cast(t, outputs[0].dtype), Ints((axis,))) for t in a.tensors]
    return g.node("Concat", *arrays, axis=axis)


def _trilu(upper: int) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        return g.node("Trilu", a.input, np.asarray(a.diagonal, np.int64), upper=upper)

    return write


ROWS |= {"tril": _trilu(0), "triu": _trilu(1)}


@row("pixel_shuffle")
def _pixel_shuffle(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.input.ndim != 4:
        raise unsupported("pixel_shuffle", f"input must have 4 axes, got {a.input.ndim}")
    return g.node("DepthToSpace", a.input, blocksize=a.upscale_factor, mode="CRD")


@row("pixel_unshuffle")
def _pixel_unshuffle(g: Recording, a: Any, outputs: list[Value]) -> Any:
    *lead, c, h, w = a.input.shape
    n, r = len(lead), a.downscale_factor
    apart = g.reshaped(a.input, (*lead, c, h // r, r, w // r, r))
    order = [*range(n), *(n + i for i in (0, 2, 4, 1, 3))]
    return g.reshaped(g.node("Transpose", apart, perm=order), outputs[0].shape)


@row("channel_shuffle")
def _channel_shuffle(g: Recording, a: Any, outputs: list[Value]) -> Any:
    n, c, *sizes = a.input.shape
    apart = g.reshaped(a.input, (n, a.groups, c // a.groups, *sizes))
    order = [0, 2, 1, *range(3, 3 + len(sizes))]
    return g.reshaped(g.node("Transpose", apart, perm=order), outputs[0].shape)


def _like(value: float) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        number = getattr(a, "fill_value", value)
        return g.node("Expand", g.number(number, outputs[0].dtype), Ints(outputs[0].shape))

    return write


ROWS |= {"zeros_like": _like(0), "ones_like": _like(1), "empty_like": _like(0),
         "full_like": _like(0)}  # fmt: skip


# --- Elements by index


@row("taken_from")
def _taken(g: Recording, a: Any, outputs: list[Value]) -> Any:
    """Write ``x[key]``: slices first, then numbers and one array, then new axes."""
    items, x = [i for i in a.items if i is not None], a.x
    ranges = [(axis, i) for axis, i in enumerate(items)
              if isinstance(i, slice) and i != slice(None)]  # fmt: skip
    if ranges:
        limits = [_limits(i) for _, i in ranges]
        starts, stops, steps = (Ints(v) for v in zip(*limits, strict=True))
        x = g.node("Slice", x, starts, stops, Ints(axis for axis, _ in ranges), steps)
    arrays = [i for i in items if not isinstance(i, slice)]
    if len(arrays) > 1 and not all(isinstance(i, int) for i in arrays):
        raise unsupported("an index", "there must be one array at most, and no numbers with it")
    for axis, item in reversed(list(enumerate(items))):
        if not isinstance(item, slice):
            number = np.asarray(item, np.int64) if isinstance(item, int) else item
            x = g.node("Gather", x, number, axis=axis)
    new, place = [], 0
    for item in a.items:
        if item is None:
            new.append(place)
        place += 0 if isinstance(item, int) else getattr(item, "ndim", 1)
    x = g.node("Unsqueeze", x, Ints(new)) if new else x
    return g.node("Identity", x) if isinstance(x, Value) else x


def _limits(item: slice) -> tuple[int, int, int]:
    step = 1 if item.step is None else item.step
    ends = (0, _END) if step > 0 else (_END, _BEFORE)
    start, stop = (
        e if v is None else v for v, e in zip((item.start, item.stop), ends, strict=True)
    )
    return start, stop, step


@row("embedding")
def _embedding(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.max_norm is not None:
        raise unsupported("embedding", "max_norm must be None")
    return g.node("Gather", a.weight, a.input, axis=0)


@row("take_along_dim")
def _take_along(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.dim is None or a.input.ndim != a.indices.ndim:
        raise unsupported("take_along_dim", "dim must be given, and ranks must be equal")
    dim = a.dim % a.input.ndim
    shape = [n if i != dim else a.input.shape[dim] for i, n in enumerate(outputs[0].shape)]
    x = g.node("Expand", a.input, Ints(shape))
    return g.node(
        "GatherElements", x, g.node("Expand", a.indices, Ints(outputs[0].shape)), axis=dim
    )


def _scatter(reduction: str | None) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        values = a.src
        if not isinstance(values, Value):
            values = g.node("Expand", operand(g, values, outputs[0].dtype), Ints(a.index.shape))
        elif values.shape != a.index.shape:
            n = a.index.ndim
            values = g.node("Slice", values, Ints((0,) * n), Ints(a.index.shape), Ints(range(n)))
        return g.node("ScatterElements", a.input, a.index, values, axis=a.dim, reduction=reduction)

    return write


ROWS |= {"scatter": _scatter(None), "scatter_add": _scatter("add")}
