# SPDX-License-Identifier: Apache-2.0
"""Recognition of GELU written as ``x * (1 + erf(x / sqrt(2))) / 2``, in any order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn.onnx.delayed_values import Delayed, as_written
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.operator_registry import Call, F, delayed_form


class Scaled(Delayed):
    """A number times ``x``, where the number occurs in GELU: 1 / 2 or 1 / sqrt(2)."""

    def __init__(self, make: Callable[[], Any], x: Any, factor: float) -> None:
        super().__init__(make)
        self.x, self.factor = x, factor


class _Erf(Delayed):
    """``erf(x / sqrt(2))``."""

    def __init__(self, make: Callable[[], Any], x: Any) -> None:
        super().__init__(make)
        self.x = x


class _Weighted(Delayed):
    """``factor * (1 + erf(x / sqrt(2)))``, times ``x`` if ``has_x``."""

    def __init__(self, make: Callable[[], Any], x: Any, factor: float, has_x: bool) -> None:
        super().__init__(make)
        self.x, self.factor, self.has_x = x, factor, has_x


def scaled(x: Any, factor: float, make: Callable[[], Any]) -> Any:
    """Return ``make()``, which computes ``x * factor``; delayed if it may be part of GELU."""
    is_part = not is_host(x) and any(_is_close(factor, of) for of in (0.5, math.sqrt(0.5)))
    return Scaled(make, x, factor) if is_part else make()


def _is_close(value: float | None, expected: float) -> bool:
    return value is not None and math.isclose(value, expected, rel_tol=1e-6)


def _number(value: Any) -> float | None:
    return float(value.item()) if is_host(value) and value.size == 1 and not value.ndim else None


@delayed_form("Erf")
def _erf(call: Call, x: Any) -> Any:
    if isinstance(x, Scaled) and _is_close(x.factor, math.sqrt(0.5)):
        return _Erf(as_written(call, x), x.x)
    return None


@delayed_form("Add")
def _add(call: Call, a: Any, b: Any) -> Any:
    for erf, summand in ((a, b), (b, a)):
        if isinstance(erf, _Erf) and _is_close(_number(summand), 1.0):
            return _Weighted(as_written(call, a, b), erf.x, 1.0, False)
    return None


@delayed_form("Mul")
def _mul(call: Call, a: Any, b: Any) -> Any:
    for weight, other in ((a, b), (b, a)):
        if isinstance(weight, _Weighted):
            return _product(weight, other, as_written(call, a, b))
    return None


def _product(weight: _Weighted, other: Any, make: Callable[[], Any]) -> Any:
    factor, has_x, number = weight.factor, weight.has_x, _number(other)
    if number is not None:
        factor *= number
    elif not has_x and other is weight.x:
        has_x = True
    elif not has_x and isinstance(other, Scaled) and other.x is weight.x:
        factor, has_x = factor * other.factor, True
    else:
        return None
    if has_x and _is_close(factor, 0.5):
        return F.gelu(weight.x)
    return _Weighted(make, weight.x, factor, has_x)
