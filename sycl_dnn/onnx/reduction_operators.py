# SPDX-License-Identifier: Apache-2.0
"""Operators along axes: sums, extremes, softmax, cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.onnx.elementwise_operators import is_float, name_of
from sycl_dnn.onnx.operator_registry import Call, F, checked_axes, checked_axis, operator
from sycl_dnn.onnx.pool_operators import mean_of_images

Reduction = Callable[[Any, tuple[int, ...], bool], Any]


def _sum(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    return F.astype(F.sum(x, axes, keepdim), name_of(x))


def _extreme(function: Callable[..., Any]) -> Reduction:
    def reduce(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
        if name_of(x) == "bool":
            return F.astype(reduce(F.astype(x, "uint8"), axes, keepdim), "bool")
        if 0 in [x.shape[a] for a in axes]:
            return _identity_element(x, axes, keepdim, function is F.amin)
        return function(x, axes, keepdim)

    return reduce


def _identity_element(x: Any, axes: tuple[int, ...], keepdim: bool, is_least: bool) -> Any:
    """Return the identity element of minimum or maximum."""
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdim or i not in axes]
    info = np.finfo if is_float(x) else np.iinfo
    if is_float(x):
        fill: Any = math.inf if is_least else -math.inf
    else:
        fill = info(name_of(x)).max if is_least else info(name_of(x)).min
    return F.astype(F.broadcast_to(F.reshape(F.sum(x), (1,) * len(shape)) + fill, shape),
                    name_of(x))  # fmt: skip


def _mean(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    if is_float(x) and len(x.shape) > 3 and sorted(axes) == [*range(2, len(x.shape))]:
        mean = mean_of_images(x)
        return mean if keepdim else F.reshape(mean, tuple(x.shape[:2]))
    if is_float(x):
        return F.mean(x, axes, keepdim)
    n = math.prod(x.shape[a] for a in axes)
    return F.astype(F.div(F.sum(x, axes, keepdim), n, rounding_mode="trunc"), name_of(x))


def _log_sum_exp(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    if 0 in [x.shape[a] for a in axes]:
        return F.astype(F.log(_sum(F.exp(x), axes, keepdim)), name_of(x))
    return F.astype(F.logsumexp(x, axes, keepdim), name_of(x))


def _length(x: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    if is_float(x):
        return F.norm(x, 2, axes, keepdim)
    return F.astype(F.sqrt(_sum(x * x, axes, keepdim)), name_of(x))


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": lambda x, axes, keepdim: F.astype(F.prod(x, axes, keepdim), name_of(x)),
    "ReduceMax": _extreme(F.amax),
    "ReduceMin": _extreme(F.amin),
    "ReduceSumSquare": lambda x, axes, keepdim: _sum(x * x, axes, keepdim),
    "ReduceL1": lambda x, axes, keepdim: _sum(F.abs(x), axes, keepdim),
    "ReduceL2": _length,
    "ReduceLogSum": lambda x, axes, keepdim: F.astype(F.log(_sum(x, axes, keepdim)), name_of(x)),
    "ReduceLogSumExp": _log_sum_exp,
}


@operator(_REDUCTIONS, host=(1,))
def _reduce(call: Call, x: Any, axes: Any = None) -> Any:
    requested, reduction = call.get("axes", axes), _REDUCTIONS[call.op]
    rank, numbers = len(x.shape), [] if requested is None else call.ints(requested)
    if not numbers:
        if call.get("noop_with_empty_axes", 0):
            # Each element is reduced by itself.
            return reduction(F.unsqueeze(x, -1), (rank,), False)
        numbers = list(range(rank))
    if not rank:
        return reduction(F.reshape(x, (1,)), (0,), False)
    return reduction(x, checked_axes(call, numbers, rank), bool(call.get("keepdims", 1)))


@operator(["ArgMax", "ArgMin"])
def _arg(call: Call, x: Any) -> Any:
    axis = checked_axis(call, call.get("axis", 0), len(x.shape))
    function = F.argmax if call.op == "ArgMax" else F.argmin
    is_last = call.get("select_last_index", 0)
    index = function(F.flip(x, axis) if is_last else x, axis, bool(call.get("keepdims", 1)))
    index = F.astype(index, "int64")
    return x.shape[axis] - 1 - index if is_last else index


def _flat(function: Callable[..., Any], x: Any, axis: int) -> Any:
    """Apply a function to the flattened trailing axes, as until version 12."""
    axis = axis + len(x.shape) if axis < 0 else axis
    rows = F.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return F.reshape(function(rows, 1), tuple(x.shape))


def _hardmax(x: Any, axis: int) -> Any:
    n, rank = x.shape[axis], len(x.shape)
    one_hot = F.astype(F.one_hot(F.astype(F.argmax(x, axis), "int64"), n), name_of(x))
    return F.movedim(one_hot, rank - 1, axis % rank)


_SOFT = {"Softmax": F.softmax, "LogSoftmax": F.log_softmax, "Hardmax": _hardmax}


operator(_SOFT)(lambda call, x: _flat(_SOFT[call.op], x, call.get("axis", 1)))


@operator(_SOFT, 13)
def _softmax(call: Call, x: Any) -> Any:
    return _SOFT[call.op](x, checked_axis(call, call.get("axis", -1), len(x.shape)))


@operator(["CumSum", "CumProd"], 11, host=(1,))
def _cumulative(call: Call, x: Any, axis: Any) -> Any:
    place = checked_axis(call, int(np.asarray(axis).item()), len(x.shape))
    is_sum = call.op == "CumSum"
    if call.get("reverse", 0):
        x = F.flip(x, place)
    if call.get("exclusive", 0):
        first = F.full_like(F.narrow(x, place, 0, 1), 0 if is_sum else 1)
        x = F.cat([first, F.narrow(x, place, 0, x.shape[place] - 1)], place)
    cumulated = F.astype((F.cumsum if is_sum else F.cumprod)(x, place), name_of(x))
    return F.flip(cumulated, place) if call.get("reverse", 0) else cumulated
