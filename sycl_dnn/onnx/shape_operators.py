# SPDX-License-Identifier: Apache-2.0
"""Operators for shapes, rearrangement and array creation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sycl_dnn.onnx.delayed_values import Padded
from sycl_dnn.onnx.elementwise_operators import name_of, numpy_dtype
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.group_normalizations import grouped, sizes_of
from sycl_dnn.onnx.model_graph import check_host_size, check_size
from sycl_dnn.onnx.one_hot_rows import OneHot
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, checked_axes, checked_axis, operator


@operator("Shape", mixed=True)
def _shape(call: Call, x: Any) -> Any:
    rank = len(x.shape)
    start, end = call.get("start", 0), call.get("end", rank)
    return np.array(x.shape, np.int64)[start:end]


operator("Size", mixed=True)(lambda call, x: np.array(math.prod(x.shape), np.int64))


def reshaped(x: Any, shape: Sequence[int]) -> Any:
    """Reshape a value."""
    return x.reshape(shape) if is_host(x) else F.reshape(x, tuple(shape))


@operator("Reshape", host=(1,), mixed=True)
def _reshape(call: Call, x: Any, shape: Any = None) -> Any:
    sizes = sizes_of(call, x.shape, shape)
    make = functools.partial(reshaped, x, sizes)
    return make() if is_host(x) else grouped(x, sizes, make)


@operator("Flatten", mixed=True)
def _flatten(call: Call, x: Any) -> Any:
    axis = call.get("axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    return reshaped(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@operator("Transpose", mixed=True)
def _transpose(call: Call, x: Any) -> Any:
    order = call.get("perm", list(range(len(x.shape)))[::-1])
    return np.transpose(x, order) if is_host(x) else F.permute(x, tuple(order))


@operator("Squeeze", host=(1,), mixed=True)
def _squeeze(call: Call, x: Any, axes: Any = None) -> Any:
    requested = call.get("axes", axes)
    if requested is None:
        return reshaped(x, [n for n in x.shape if n != 1])
    dropped = checked_axes(call, call.ints(requested), len(x.shape))
    if any(x.shape[i] != 1 for i in dropped):
        raise ValueError(f"axes must have size 1, got {dropped} of shape {tuple(x.shape)}")
    return reshaped(x, [n for i, n in enumerate(x.shape) if i not in dropped])


@operator("Unsqueeze", host=(1,), mixed=True)
def _unsqueeze(call: Call, x: Any, axes: Any = None) -> Any:
    requested = call.ints(call.get("axes", axes))
    rank = len(x.shape) + len(requested)
    new, sizes = checked_axes(call, requested, rank), iter(x.shape)
    return reshaped(x, [1 if i in new else next(sizes) for i in range(rank)])


@operator("Concat", mixed=True)
def _concat(call: Call, *xs: Any) -> Any:
    axis = checked_axis(call, call.get("axis", 1), len(xs[0].shape))
    filled = [call.device(x) for x in xs if 0 not in x.shape]
    if not filled:
        return call.device(np.concatenate([np.zeros(x.shape, name_of(x)) for x in xs], axis))
    return filled[0] if len(filled) == 1 else F.cat(filled, axis)


@operator("Split", host=(1,))
def _split(call: Call, x: Any, sizes: Any = None) -> Any:
    axis = checked_axis(call, call.get("axis", 0), len(x.shape))
    requested, n = call.get("split", sizes), x.shape[axis]
    if requested is not None:
        parts = call.ints(requested)
        if sum(parts) != n or min(parts, default=0) < 0:
            raise ValueError(f"split must add up to {n}, got {parts}")
    else:
        count = call.get("num_outputs", call.n_outputs)
        if count != len(call.node.outputs):
            raise ValueError(f"num_outputs must be {len(call.node.outputs)}, got {count}")
        step = -(-n // count)
        parts = [max(min(step, n - i * step), 0) for i in range(count)]
    starts = np.cumsum([0, *parts])
    return tuple(F.narrow(x, axis, int(s), k) for s, k in zip(starts, parts, strict=False))


def _bounds(size: int, start: int, stop: int, step: int) -> range:
    """Return the indices selected by ONNX's start, end and step."""
    if step == 0:
        raise ValueError("steps must not be 0")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start, stop = (v + size if v < 0 else v for v in (start, stop))
    return range(min(max(start, 0 if step > 0 else -1), high), min(max(stop, low), high), step)


@operator("Slice", host=(1, 2, 3, 4), mixed=True)
def _slice(
    call: Call, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
) -> Any:
    first, last = (call.ints(call.get(n, v)) for n, v in (("starts", starts), ("ends", ends)))
    chosen = call.get("axes", axes)
    chosen = range(len(first)) if chosen is None else call.ints(chosen)
    places = checked_axes(call, chosen, len(x.shape))
    strides = [1] * len(first) if steps is None else call.ints(steps)
    if not len(first) == len(last) == len(places) == len(strides):
        raise ValueError("starts, ends, axes and steps must be of one length")
    index: list[Any] = [slice(None)] * len(x.shape)
    for axis, *bounds in zip(places, first, last, strides, strict=True):
        index[axis] = _bounds(x.shape[axis], *bounds)
    if is_host(x):
        return x[tuple(i if isinstance(i, slice) else _as_slice(i) for i in index)]
    return _sliced(call, x, index)


def _as_slice(indices: range) -> slice:
    if not len(indices):
        return slice(0, 0)
    stop = indices.stop if indices.stop >= 0 else None
    return slice(indices.start, stop, indices.step)


def _sliced(call: Call, x: Any, index: list[Any]) -> Any:
    for axis, indices in enumerate(index):
        if isinstance(indices, slice) or indices.step > 0:
            continue
        if len(indices) == x.shape[axis] and indices.step == -1:
            x = F.flip(x, axis)
        else:
            x = F.index_select(x, axis, call.device(np.array(indices, np.int64)))
        index[axis] = slice(None)
    forward = [i if isinstance(i, slice) else slice(i.start, max(i.stop, i.start), i.step)
               for i in index]  # fmt: skip
    return x if all(i == slice(None) for i in forward) else x[tuple(forward)]


@operator("Expand", host=(1,))
def _expand(call: Call, x: Any, shape: Any) -> Any:
    new_shape = np.broadcast_shapes(tuple(x.shape), tuple(call.ints(shape)))
    check_size(new_shape)
    return F.broadcast_to(x, new_shape)


@operator("Tile", host=(1,))
def _tile(call: Call, x: Any, repeats: Any) -> Any:
    times = call.ints(repeats)
    check_size([n * k for n, k in zip(x.shape, times, strict=True)])
    return F.tile(x, times)


# --- Padding


def _reflected(positions: np.ndarray, size: int) -> np.ndarray:
    period = max(2 * size - 2, 1)
    return np.minimum(positions % period, -positions % period)


#: Elements that an axis repeats at positions outside of it, by mode.
_REPEATED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "reflect": _reflected,
    "edge": lambda positions, size: np.clip(positions, 0, size - 1),
    "wrap": lambda positions, size: positions % size,
}
_MODES_OF_TORCH = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def widths(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return padding in torch's order, last axis first."""
    return [n for pair in reversed(pairs) for n in pair]


@operator("Pad", host=(1, 2, 3))
def _pad(call: Call, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    rank = len(x.shape)
    amounts = call.ints(call.get("pads", call.get("paddings", pads)))
    places = range(rank) if axes is None else checked_axes(call, call.ints(axes), rank)
    if len(amounts) != 2 * len(places):
        raise ValueError(f"pads must have {2 * len(places)} numbers, got {len(amounts)}")
    pairs = [(0, 0)] * rank
    for i, axis in enumerate(places):
        pairs[axis] = (amounts[i], amounts[i + len(places)])
    check_size([n + low + high for n, (low, high) in zip(x.shape, pairs, strict=True)])
    mode = call.get("mode", "constant")
    if mode == "constant":
        fill = call.get("value", 0.0) if value is None else np.asarray(value).item()
        if not any(map(any, pairs)):
            return x
        make = functools.partial(F.pad, x, widths(pairs), value=fill)
        is_around_pixels = rank > 2 and not any(map(any, pairs[:2])) and min(map(min, pairs)) >= 0
        return Padded(make, x, pairs[2:]) if is_around_pixels and not fill else make()
    repeats, torch_mode = _REPEATED[mode], _MODES_OF_TORCH[mode]
    is_around_pixels = 2 < rank < 6 and not any(map(any, pairs[:2]))
    reach = {"reflect": [n - 1 for n in x.shape], "circular": x.shape}.get(torch_mode)
    is_within = all(min(p) >= 0 and (not reach or max(p) <= reach[k]) for k, p in enumerate(pairs))
    if is_around_pixels and is_within and x.size:
        return F.pad(x, widths(pairs[2:]), torch_mode)  # one kernel
    for axis, pair in enumerate(pairs):
        x = _padded_by_index(call, x, axis, pair, repeats)
    return x


def _padded_by_index(call: Call, x: Any, axis: int, pair: tuple[int, int], repeated: Any) -> Any:
    if not any(pair):
        return x
    low, high = pair
    # Removed elements are not repeated.
    first, last = max(-low, 0), x.shape[axis] - max(-high, 0)
    if last <= first and max(pair) > 0:
        raise ValueError(f"pads must leave elements to repeat on axis {axis}, got {pair}")
    check_host_size((max(last - first, 0) + max(low, 0) + max(high, 0),))
    positions = np.arange(-max(low, 0), last - first + max(high, 0))
    index = first + repeated(positions, last - first)
    return F.index_select(x, axis, call.device(index.astype(np.int64)))


@operator("CenterCropPad", host=(1,))
def _center_crop_pad(call: Call, x: Any, shape: Any) -> Any:
    axes = checked_axes(call, call.get("axes", range(len(x.shape))), len(x.shape))
    pairs, sizes = [(0, 0)] * len(x.shape), call.ints(shape)
    check_size(sizes)
    for axis, size in zip(axes, sizes, strict=True):
        growth = size - x.shape[axis]
        if growth < 0:
            x = F.narrow(x, axis, -growth // 2, size)
        else:
            pairs[axis] = (growth // 2, growth - growth // 2)
    return F.pad(x, widths(pairs)) if any(map(any, pairs)) else x


# --- Blocks of pixels


@operator("DepthToSpace")
def _depth_to_space(call: Call, x: Any) -> Any:
    b, (n, c, h, w) = call.need("blocksize"), x.shape
    if call.get("mode", "DCR") == "CRD":
        split = F.permute(F.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    else:
        split = F.permute(F.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
    return F.reshape(split, (n, c // b**2, h * b, w * b))


@operator("SpaceToDepth")
def _space_to_depth(call: Call, x: Any) -> Any:
    b, (n, c, h, w) = call.need("blocksize"), x.shape
    split = F.reshape(x, (n, c, h // b, b, w // b, b))
    order = (0, 1, 3, 5, 2, 4) if call.get("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    return F.reshape(F.permute(split, order), (n, c * b**2, h // b, w // b))


# --- Array creation


@operator("Constant", mixed=True)
def _constant(call: Call) -> Any:
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64,
             "value_ints": np.int64}  # fmt: skip
    for name, value in call.node.attributes.items():
        if name in kinds:
            return np.array(value, kinds[name])
        if name in ("value", "sparse_value"):
            return value
    return call.refuse("its value must be a tensor of numbers")


@operator("ConstantOfShape", host=(0,))
def _constant_of_shape(call: Call, shape: Any) -> Any:
    value = call.get("value", np.zeros(1, np.float32))
    check_size(call.ints(shape))
    if math.prod(call.ints(shape)) > 2**16:
        dtype = call.run.float_dtype if name_of(value) == "float32" else name_of(value)
        return F.full(tuple(call.ints(shape)), value.item(), dtype=dtype, device=call.run.queue)
    return np.full(call.ints(shape), value.reshape(-1)[0], value.dtype)


@operator("Range", 11, host=(0, 1, 2))
def _range(call: Call, start: Any, limit: Any, delta: Any) -> Any:
    n = max(math.ceil((limit.item() - start.item()) / delta.item()), 0)
    check_host_size((n,))
    return (start + np.arange(n, dtype=start.dtype) * delta).astype(start.dtype).reshape(n)


@operator("EyeLike", mixed=True)
def _eye_like(call: Call, x: Any) -> Any:
    dtype = call.dtype(call.get("dtype")) if call.get("dtype") else name_of(x)
    rows, columns = x.shape
    return np.eye(rows, columns, call.get("k", 0)).astype(numpy_dtype(dtype))


@operator("OneHot", host=(1,), mixed=True, constants=(2,))
def _one_hot(call: Call, indices: Any, depth: Any, values: Any) -> Any:
    n, rank = int(np.asarray(depth).item()), len(indices.shape) + 1
    check_host_size((n,))
    check_size((*indices.shape, n))
    index = F.astype(call.device(indices), "int64")
    index = F.where(F.lt(index, 0), index + n, index)
    axis = call.get("axis", -1) % rank
    if is_host(values) and list(values) == [0, 1] and axis == rank - 1:
        return OneHot(lambda: _equals(call, index, n, values, axis), index, n, name_of(values))
    return _equals(call, index, n, values, axis)


def _equals(call: Call, index: Any, n: int, values: Any, axis: int) -> Any:
    """Return the second value where an index is on a new axis, the first elsewhere."""
    rank = len(index.shape) + 1
    steps = call.device(np.arange(n).reshape((1,) * (rank - 1) + (n,)))
    is_on = F.eq(F.unsqueeze(index, -1), steps)
    off, on = (F.select(call.device(values), 0, i) for i in range(2))
    return F.movedim(F.where(is_on, on, off), rank - 1, axis)


@operator("Trilu", host=(1,), domain=MICROSOFT)
@operator("Trilu", host=(1,))
def _trilu(call: Call, x: Any, k: Any = None) -> Any:
    diagonal = 0 if k is None else int(np.asarray(k).item())
    rows, columns = x.shape[-2:]
    keep = np.tri(rows, columns, diagonal - 1 if call.get("upper", 1) else diagonal, dtype=bool)
    keep = ~keep if call.get("upper", 1) else keep
    return F.where(call.device(keep), x, F.full_like(x, 0))
