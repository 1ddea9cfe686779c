# SPDX-License-Identifier: Apache-2.0
"""Results that oneDNN computes from NaN and infinities unlike PyTorch, made to match PyTorch.

It takes additional passes over the data, so it is optional: ``sycl_dnn.set_nan("propagate")``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sycl_dnn._core import algorithm
from sycl_dnn.trace.pointwise import (
    ROOT,
    add,
    binary,
    chain,
    clip,
    eltwise,
    fused,
    linear_map,
    mul,
    plus,
    scale,
    slope,
    sub,
)
from sycl_dnn.trace.pointwise_gradients import select
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, untaped

A = algorithm
#: Steps from 1 to NaN and from 0 to 0.
_TO_NAN = (scale(-1), ROOT)


def is_asked_for(x: Tensor) -> bool:
    """Whether NaN and infinities must propagate as in PyTorch."""
    return x.trace.policy.nan == "propagate"


def kept(x: Tensor, y: Tensor) -> Tensor:
    """Return ``y`` of the shape and dtype of ``x``, but NaN where ``x`` is NaN; not on the tape."""
    with untaped(x.trace):
        return fused(A.binary_ne, x, x, *_TO_NAN, plus(y))


def number(x: Tensor, value: float) -> Tensor:
    """Return a number to compare ``x`` with."""
    return filled(x.trace, value, (), x.dtype)


def masked(x: Tensor, kind: algorithm, bound: float, dy: Tensor) -> Tensor:
    """Return ``dy``, but 0 where this comparison of ``x`` with ``bound`` holds; never for NaN."""
    return select(binary(kind, x, number(x, bound), "bool"), number(dy, 0.0), dy)


def relu(x: Tensor, y: Callable[[], Tensor]) -> Tensor:
    """Return the value ``y()`` of relu, with its gradient."""
    return x.trace.closed(
        {"x": x}, lambda: kept(x, y()), lambda dy: {"x": masked(x, A.binary_le, 0.0, dy)}
    )


def bounded(x: Tensor, low: float, high: float, y: Callable[[], Tensor]) -> Tensor:
    """Return the value ``y()`` of a function with bounds, with the gradient of hardtanh."""

    def rule(dy: Tensor) -> dict[str, Tensor]:
        return {"x": masked(x, A.binary_le, low, masked(x, A.binary_ge, high, dy))}

    return x.trace.closed({"x": x}, lambda: kept(x, y()), rule)


def inside(x: Tensor, low: float, high: float, dy: Tensor) -> Tensor:
    """Return ``dy`` where ``low < x < high``, else 0, also for NaN."""
    is_in = mul(
        binary(A.binary_gt, x, number(x, low), dy.dtype),
        binary(A.binary_lt, x, number(x, high), dy.dtype),
    )
    is_out = binary(A.binary_eq, is_in, number(is_in, 0.0), "bool")
    return select(is_out, number(dy, 0.0), dy)


def hardsigmoid(x: Tensor) -> Tensor:
    """Return ``min(max(x / 6 + 1/2, 0), 1)``."""

    def rule(dy: Tensor) -> dict[str, Tensor]:
        return {"x": inside(x, -3.0, 3.0, linear_map(dy, 1 / 6))}

    steps = ((A.eltwise_hardsigmoid, 1 / 6, 0.5),)
    return x.trace.closed({"x": x}, lambda: kept(x, chain(x, *steps)), rule)


def leaky(x: Tensor, slope: float) -> Tensor:
    """Return ``x`` where it is positive, else ``slope * x``."""

    def scaled(dy: Tensor) -> Tensor:
        is_positive = binary(A.binary_gt, x, number(x, 0.0), "bool")
        return select(is_positive, dy, linear_map(dy, slope))

    return x.trace.closed({"x": x}, lambda: scaled(x), lambda dy: {"x": scaled(dy)})


def mish(x: Tensor) -> Tensor:
    """Return ``x * tanh(softplus(x))``, with a gradient that is correct for large numbers."""

    def rule(dy: Tensor) -> dict[str, Tensor]:
        # Beyond these it is 1 and 0. An infinity times 0 is NaN, as in PyTorch.
        near = kept(x, chain(x, clip(-80.0, 80.0)))
        made = slope(A.eltwise_mish, near, dy)
        return {"x": add(made, mul(x, number(x, 0.0)))}

    value = partial(eltwise, x, A.eltwise_mish)
    return x.trace.closed({"x": x}, value, rule, composed=value)


def exponential(x: Tensor, y: Callable[[], Tensor]) -> Tensor:
    """Return the value ``y()`` of the exponential function, with its gradient."""
    made: list[Tensor] = []

    def body() -> Tensor:
        made[:] = [kept(x, y())]
        return made[0]

    return x.trace.closed({"x": x}, body, lambda dy: {"x": mul(made[0], dy)})


def absolute(x: Tensor, y: Callable[[], Tensor]) -> Tensor:
    """Return the value ``y()`` of abs, whose gradient at NaN is 0."""
    return x.trace.closed({"x": x}, y, lambda dy: {"x": mul(sign(x, dy.dtype), dy)})


def sign(x: Tensor, dtype: str) -> Tensor:
    """Return -1, 0 or 1; 0 for NaN."""
    above, below = (binary(kind, x, number(x, 0.0), dtype) for kind in (A.binary_gt, A.binary_lt))
    return sub(above, below)
