# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and sorting operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.operator_registry import Call, F, checked_axis, operator


def positive(index: Any, size: int) -> Any:
    """Resolve negative indices and convert to int64."""
    index = F.astype(index, "int64")
    return F.where(F.lt(index, 0), F.add(index, size), index)


@operator("Gather", mixed=True)
def _gather(call: Call, x: Any, index: Any) -> Any:
    axis = checked_axis(call, call.get("axis", 0), len(x.shape))
    x, size = call.device(x), x.shape[axis]
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    if is_host(index):
        if index.size and not (-size <= index.min() and index.max() < size):
            raise ValueError(f"indices must be in [{-size}, {size - 1}]")
        index = np.where(index < 0, index + size, index).astype(np.int64)
        if index.ndim == 0:
            return F.select(x, axis, int(index))
        chosen = call.device(index.ravel())
    else:
        chosen = F.reshape(positive(index, size), (-1,))
    return F.reshape(F.index_select(x, axis, chosen), shape)


@operator("GatherElements")
def _gather_elements(call: Call, x: Any, index: Any) -> Any:
    axis = checked_axis(call, call.get("axis", 0), len(x.shape))
    return F.gather(x, axis, positive(index, x.shape[axis]))


#: Reductions, and their names in scatter_reduce.
_REDUCTIONS = {"none": "", "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _reduction_of(call: Call) -> str:
    name = call.get("reduction", "none")
    if name not in _REDUCTIONS:
        call.refuse(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {name}")
    return _REDUCTIONS[name]


def _reduced(x: Any, axis: int, index: Any, updates: Any, reduce: str) -> Any:
    """Reduce elements and updates, also of bool, by an index."""
    if name_of(x) != "bool":
        return F.scatter_reduce(x, axis, index, updates, reduce)
    x, updates = F.astype(x, "int32"), F.astype(updates, "int32")
    return F.astype(F.scatter_reduce(x, axis, index, updates, reduce), "bool")


@operator(["ScatterElements", "Scatter"])
def _scatter_elements(call: Call, x: Any, index: Any, updates: Any) -> Any:
    axis = checked_axis(call, call.get("axis", 0), len(x.shape))
    index = positive(index, x.shape[axis])
    reduce = _reduction_of(call)
    if not reduce:
        return F.scatter(x, axis, index, updates)
    return _reduced(x, axis, index, updates, reduce)


def _index_per_axis(index: Any, x: Any, first: int = 0) -> tuple[Any, ...]:
    """Split the last axis of an index into one index per axis of ``x``."""
    n = index.shape[-1]
    return tuple(positive(F.select(index, -1, i), x.shape[first + i]) for i in range(n))


@operator("GatherND")
def _gather_nd(call: Call, x: Any, index: Any) -> Any:
    n = call.get("batch_dims", 0)
    if not n:
        return x[_index_per_axis(index, x)]
    batch, rest = tuple(x.shape[:n]), index.shape[n:-1]
    grid = np.indices(batch).reshape(n, *batch, *(1,) * len(rest))
    places = [call.device(np.ascontiguousarray(np.broadcast_to(g, (*batch, *rest)))) for g in grid]
    indices = (*places, *_index_per_axis(index, x, n))
    return x[indices]


@operator("ScatterND")
def _scatter_nd(call: Call, x: Any, index: Any, updates: Any) -> Any:
    reduce = _reduction_of(call)
    if reduce in ("", "sum"):
        return F.index_put(x, _index_per_axis(index, x), updates, accumulate=bool(reduce))
    sizes, flat, is_inside = x.shape[: index.shape[-1]], 0, True
    for at, n in zip(_index_per_axis(index, x), sizes, strict=True):
        is_inside = F.logical_and(F.logical_and(F.ge(at, 0), F.lt(at, n)), is_inside)
        flat = at + flat * n
    n_rows, n_columns = math.prod(sizes), math.prod(x.shape[len(sizes) :])
    flat = F.reshape(F.where(is_inside, flat, -1), (-1, 1))
    shape = (flat.shape[0], n_columns)
    rows = F.reshape(x, (n_rows, n_columns))
    index, updates = F.broadcast_to(flat, shape), F.reshape(updates, shape)
    return F.reshape(_reduced(rows, 0, index, updates, reduce), tuple(x.shape))


@operator("TensorScatter", 24)
def _tensor_scatter(call: Call, past: Any, update: Any, index: Any = None) -> Any:
    axis = checked_axis(call, call.get("axis", -2), len(past.shape))
    n, size, length = past.shape[0], past.shape[axis], update.shape[axis]
    start = call.device(np.zeros(n, np.int64)) if index is None else F.astype(index, "int64")
    steps = F.reshape(start, (n, 1)) + call.device(np.arange(length).reshape(1, -1))
    if call.get("mode", "linear") == "circular":
        steps = F.remainder(steps, size)
    shape = [1] * len(past.shape)
    shape[0], shape[axis] = n, length
    places = F.broadcast_to(F.reshape(steps, shape), tuple(update.shape))
    return F.scatter(past, axis, F.astype(places, "int64"), update)


@operator("ReverseSequence", 10, host=(1,))
def _reverse_sequence(call: Call, x: Any, lengths: Any) -> Any:
    time, batch = call.get("time_axis", 0), call.get("batch_axis", 1)
    steps = np.arange(x.shape[time])
    index = np.stack([np.where(steps < n, n - 1 - steps, steps) for n in call.ints(lengths)])
    index = index if batch < time else index.T
    index = index.reshape(index.shape + (1,) * (len(x.shape) - 2))
    index = np.ascontiguousarray(np.broadcast_to(index, tuple(x.shape)))
    return F.gather(x, time, call.device(index.astype(np.int64)))


@operator("TopK", host=(1,))
def _top_k(call: Call, x: Any, k: Any = None) -> Any:
    axis = checked_axis(call, call.get("axis", -1), len(x.shape))
    count = int(np.asarray(call.get("k", k)).item())
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"k must be in [0, {x.shape[axis]}], got {count}")
    return tuple(F.topk(x, count, axis, bool(call.get("largest", 1))))


# --- Results with value-dependent shapes


@operator("NonZero", step=True)
def _non_zero(call: Call, x: Any) -> Any:
    return np.stack(np.nonzero(np.atleast_1d(call.host(x)))).astype(np.int64)


@operator("Compress", step=True)
def _compress(call: Call, x: Any, condition: Any) -> Any:
    axis, keep = call.get("axis"), np.flatnonzero(call.host(condition)).astype(np.int64)
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    return F.index_select(x, axis, call.device(keep))


@operator("Unique", step=True)
def _unique(call: Call, x: Any) -> Any:
    axis = call.get("axis")
    _, first, inverse, counts = np.unique(call.host(x), True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not call.get("sorted", 1):
        order = np.argsort(first)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    values = F.index_select(x, axis, call.device(first.astype(np.int64)))
    return (values, *(v.astype(np.int64) for v in (first, inverse, counts)))


@operator("NonMaxSuppression", host=(2, 3, 4), step=True)
def _nms(
    call: Call, boxes: Any, scores: Any, limit: Any = None, overlap: Any = None, least: Any = None
) -> Any:
    count = 0 if limit is None else int(limit.item())
    bound = 0.0 if overlap is None else float(overlap.item())
    corners, values = call.host(boxes), call.host(scores)
    if call.get("center_point_box", 0):
        centre, size = corners[..., :2], corners[..., 2:] / 2
        corners = np.concatenate([centre - size, centre + size], -1)
    chosen = [
        (n, c, int(i))
        for n, c in np.ndindex(*values.shape[:2])
        for i in _selected(corners[n], values[n, c], count, bound, least)
    ]
    return np.array(chosen, np.int64).reshape(-1, 3)


def _selected(boxes: Any, scores: Any, count: int, bound: float, least: Any) -> Any:
    """Return the indices of the boxes that non-maximum suppression keeps."""
    # Most boxes of a detector have no object: only the others are sorted.
    found = np.arange(scores.size) if least is None else np.flatnonzero(scores > least.item())
    order = found[np.argsort(-scores[found], kind="stable")]
    ranked = boxes[order]
    # The first corner may be any.
    low = np.minimum(ranked[:, :2], ranked[:, 2:])
    high = np.maximum(ranked[:, :2], ranked[:, 2:])
    return order[_core.kept_boxes(np.concatenate([low, high], 1), bound, max(count, 0))]
