# SPDX-License-Identifier: Apache-2.0
"""Normalizations and dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, checked_axis, operator


def _axis(call: Call, x: Any) -> int:
    return checked_axis(call, call.get("axis", -1), len(x.shape))


@operator("BatchNormalization")
def _batch_norm(call: Call, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    eps, momentum = call.get("epsilon", 1e-5), call.get("momentum", 0.9)
    narrow = name_of(x) == "float16"
    if call.get("training_mode", 0):
        variance, average = _statistics(x, (0, *range(2, len(x.shape))))
        normalized = F.batch_norm(x, None, None, scale, bias, True, eps=eps)
        return normalized, _mixed(mean, average, momentum), _mixed(var, variance, momentum)
    if call.run.training and call.node.n_outputs == 1:
        return F.batch_norm(x, mean, var, scale, bias, True, 1 - momentum, eps)
    if narrow and name_of(scale) == "float32":
        x = F.astype(x, "float32")
    return F.batch_norm(x, mean, var, scale, bias, eps=eps)


def _statistics(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    return F.var(x, axes, correction=0), F.mean(x, axes)


def _mixed(old: Any, new: Any, momentum: float) -> Any:
    return old * momentum + F.astype(new, name_of(old)) * (1 - momentum)


@operator("LayerNormalization", 17)
def _layer_norm(call: Call, x: Any, scale: Any, bias: Any = None) -> Any:
    axis, eps = _axis(call, x), call.get("epsilon", 1e-5)
    shape = tuple(x.shape[axis:])
    scale, bias = (v if v is None else F.broadcast_to(v, shape) for v in (scale, bias))
    normalized = F.layer_norm(x, shape, scale, bias, eps)
    if call.n_outputs == 1:
        return normalized
    axes = tuple(range(axis, len(x.shape)))
    wide = F.astype(x, "float32") if name_of(x) != "float64" else x
    mean, var = F.mean(wide, axes, True), F.var(wide, axes, correction=0, keepdim=True)
    return normalized, mean, F.rsqrt(var + eps)


operator("LayerNormalization", domain=MICROSOFT)(_layer_norm)


@operator("RMSNormalization", 23)
def _rms_norm(call: Call, x: Any, scale: Any) -> Any:
    shape = tuple(x.shape[_axis(call, x) :])
    scale = F.broadcast_to(scale, shape)
    return F.rms_norm(x, shape, scale, call.get("epsilon", 1e-5))


operator("SimplifiedLayerNormalization", domain=MICROSOFT)(_rms_norm)


@operator(["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"], domain=MICROSOFT)
def _skip_layer_norm(call: Call, x: Any, skip: Any, *weights: Any) -> Any:
    is_simple = call.op == "SkipSimplifiedLayerNormalization"
    gamma, *rest = weights
    beta = None if is_simple or not rest else rest.pop(0)
    total = x + skip
    if rest and rest[0] is not None:
        total = total + rest[0]
    shape, eps = tuple(x.shape[-1:]), call.get("epsilon", 1e-12)
    normalized = F.rms_norm(total, shape, gamma, eps) if is_simple else \
        F.layer_norm(total, shape, gamma, beta, eps)  # fmt: skip
    return normalized, None, None, total


@operator("InstanceNormalization")
def _instance_norm(call: Call, x: Any, scale: Any, bias: Any) -> Any:
    if math.prod(x.shape[2:]) == 1:  # which torch refuses
        shape = (1, -1, *x.shape[2:])
        return (x - x) * F.reshape(scale, shape) + F.reshape(bias, shape)
    return F.instance_norm(x, None, None, scale, bias, eps=call.get("epsilon", 1e-5))


@operator("GroupNormalization", 18)
def _group_norm(call: Call, x: Any, scale: Any, bias: Any) -> Any:
    groups = call.need("num_groups")
    if call.version < 21:  # one weight per group
        scale, bias = (F.repeat_interleave(v, x.shape[1] // groups) for v in (scale, bias))
    return F.group_norm(x, groups, scale, bias, call.get("epsilon", 1e-5))


@operator("MeanVarianceNormalization", 9)
def _mean_variance(call: Call, x: Any) -> Any:
    axes = tuple(call.get("axes", (0, 2, 3)))
    centred = x - F.mean(x, axes, True)
    return centred / (F.sqrt(F.mean(centred * centred, axes, True)) + 1e-9)


@operator("LRN")
def _lrn(call: Call, x: Any) -> Any:
    size = call.need("size")
    alpha, beta, bias = call.get("alpha", 1e-4), call.get("beta", 0.75), call.get("bias", 1.0)
    if size % 2:
        return F.local_response_norm(x, size, alpha, beta, bias)
    # Of an even number of channels, ONNX has one more after the channel, torch before it.
    return F.flip(F.local_response_norm(F.flip(x, (1,)), size, alpha, beta, bias), (1,))


@operator("LpNormalization")
def _lp_norm(call: Call, x: Any) -> Any:
    axis = _axis(call, x)
    length = F.norm(x, call.get("p", 2), axis, True)
    is_zero = F.eq(length, 0.0)
    return F.where(is_zero, F.full_like(x, 0.0), x / F.where(is_zero, length + 1.0, length))


operator("Dropout")(lambda call, x: _dropped(call, x, call.get("ratio", 0.5), call.run.training))


@operator("Dropout", 12, host=(1, 2))
def _dropout(call: Call, x: Any, ratio: Any = None, training: Any = None) -> Any:
    share = 0.5 if ratio is None else float(ratio.item())
    return _dropped(call, x, share, call.run.training or bool(training is not None and training))


def _dropped(call: Call, x: Any, ratio: float, training: bool) -> Any:
    ones = call.device(np.ones(tuple(x.shape), bool)) if call.n_outputs > 1 else None
    if not training or not ratio:
        return x, ones
    if call.n_outputs == 1:
        return F.dropout(x, ratio)
    factors = F.dropout(F.full_like(x, 1.0), ratio)
    return x * factors, F.ne(factors, 0.0)
