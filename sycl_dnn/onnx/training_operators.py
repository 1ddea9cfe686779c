# SPDX-License-Identifier: Apache-2.0
"""Losses, and the optimizers of ``ai.onnx.preview.training``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn.onnx.operator_registry import Call, F, operator

_NO_INDEX = -(2**31)


def _nll(call: Call, x: Any, target: Any, weight: Any) -> Any:
    ignored = call.get("ignore_index", _NO_INDEX)
    return F.nll_loss(
        x, F.astype(target, "int64"), weight, ignore_index=ignored,
        reduction=call.get("reduction", "mean"),
    )  # fmt: skip


@operator("NegativeLogLikelihoodLoss", 12)
def _negative_log_likelihood(call: Call, x: Any, target: Any, weight: Any = None) -> Any:
    return _nll(call, x, target, weight)


@operator("SoftmaxCrossEntropyLoss", 12)
def _softmax_cross_entropy(call: Call, x: Any, target: Any, weight: Any = None) -> Any:
    logarithms = F.log_softmax(x, 1)
    return _nll(call, logarithms, target, weight), logarithms


_DOMAIN = "ai.onnx.preview.training"


def _for_each(n_states: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Apply an update rule to each parameter; inputs and results are grouped by kind."""

    def decorate(rule: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
        def body(call: Call, rate: Any, step: Any, *groups: Any) -> Any:
            n = len(groups) // (2 + n_states)
            updated = [rule(call, rate, step, *groups[i::n]) for i in range(n)]
            return tuple(v for values in zip(*updated, strict=True) for v in values)

        return body

    return decorate


@operator("Momentum", domain=_DOMAIN)
@_for_each(1)
def _momentum(call: Call, rate: Any, step: Any, x: Any, g: Any, v: Any) -> tuple[Any, ...]:
    alpha, beta = call.need("alpha"), call.need("beta")
    beta = F.where(F.gt(step, 0), F.full_like(rate, beta), F.full_like(rate, 1.0))
    g = g + x * call.need("norm_coefficient")
    v = v * alpha + g * beta
    return x - rate * (g + v * alpha if call.need("mode") == "nesterov" else v), v


@operator("Adagrad", domain=_DOMAIN)
@_for_each(1)
def _adagrad(call: Call, rate: Any, step: Any, x: Any, g: Any, h: Any) -> tuple[Any, ...]:
    decay = F.astype(step, rate.dtype) * call.get("decay_factor", 0.0) + 1.0
    g = g + x * call.get("norm_coefficient", 0.0)
    h = h + g * g
    return x - rate / decay * g / (F.sqrt(h) + call.get("epsilon", 0.0)), h


@operator("Adam", domain=_DOMAIN)
@_for_each(2)
def _adam(call: Call, rate: Any, step: Any, x: Any, g: Any, v: Any, h: Any) -> tuple[Any, ...]:
    alpha, beta = call.get("alpha", 0.9), call.get("beta", 0.999)
    g = g + x * call.get("norm_coefficient", 0.0)
    v, h = v * alpha + g * (1 - alpha), h * beta + g * g * (1 - beta)
    count = F.astype(step, rate.dtype)
    bias = F.sqrt(1.0 - F.pow(beta, count)) / (1.0 - F.pow(alpha, count))
    rate = F.where(F.gt(step, 0), rate * bias, rate)
    x = x - rate * v / (F.sqrt(h) + call.get("epsilon", 0.0))
    return x * (1 - call.get("norm_coefficient_post", 0.0)), v, h
