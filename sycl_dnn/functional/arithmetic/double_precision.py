# SPDX-License-Identifier: Apache-2.0
"""Exponentials of float64, which oneDNN lacks on CPUs and computes in float32 on GPUs: by dpnp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dpnp

from sycl_dnn.functional.shape.arrangement import spread
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor


def is_needed(x: Tensor) -> bool:
    """Whether a tensor is of float64."""
    return x.dtype == "float64"


def _called(function: Callable[..., Any], inputs: list[Tensor], shape: Any, rule: Any) -> Tensor:
    return inputs[0].trace.array_call(function, inputs, [Out(tuple(shape), "float64")], rule)[0]


def exponential(x: Tensor) -> Tensor:
    """Return e to the power of ``x``."""

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": _product(entry.outputs["0"], grads["0"])}

    return _called(dpnp.exp, [x], x.shape, rule)


def _product(a: Tensor, b: Tensor) -> Tensor:
    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": _product(grads["0"], b), "1": _product(grads["0"], a)}

    return _called(dpnp.multiply, [a, b], a.shape, rule)


def _negative(x: Tensor) -> Tensor:
    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": _negative(grads["0"])}

    return _called(dpnp.negative, [x], x.shape, rule)


def _difference(a: Tensor, b: Tensor) -> Tensor:
    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": grads["0"], "1": _negative(grads["0"])}

    return _called(dpnp.subtract, [a, b], a.shape, rule)


def _log_sum(x: dpnp.ndarray, axes: tuple[int, ...]) -> dpnp.ndarray:
    if not x.size:
        return dpnp.log(dpnp.sum(x, axis=axes, keepdims=True))
    highest = dpnp.max(x, axis=axes, keepdims=True)
    shift = dpnp.where(dpnp.isfinite(highest), highest, dpnp.zeros_like(highest))
    return dpnp.log(dpnp.sum(dpnp.exp(x - shift), axis=axes, keepdims=True)) + shift


def log_sum(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the logarithm of the sum of exponentials over axes, which stay with size 1."""
    along = tuple(axes)
    shape = tuple(1 if i in along else n for i, n in enumerate(x.shape))

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        shares = exponential(_difference(x, spread(entry.outputs["0"], x.shape)))
        return {"0": _product(shares, spread(grads["0"], x.shape))}

    return _called(lambda a: _log_sum(a, along), [x], shape, rule)
