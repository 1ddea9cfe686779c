# SPDX-License-Identifier: Apache-2.0
"""Functions that cut a band out of the numbers: shrinkage and threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn.dispatch.fused import (
    ABS,
    IS_POSITIVE,
    SQUARE,
    TANH,
    chain,
    choose,
    clip,
    plus,
    scale,
    times,
)
from sycl_dnn.functional.pointwise import pointwise

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["hardshrink", "softshrink", "tanhshrink", "threshold"]


def _is_outside(band: float) -> tuple[Any, ...]:
    """Return the steps to 1 where ``abs(x) > band``, else 0."""
    return (ABS, scale(1, -band), *IS_POSITIVE)


@pointwise
def tanhshrink(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``x - tanh(x)``."""
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, TANH, scale(-1), plus(input)),
        lambda dy: {"x": chain(input, TANH, SQUARE, times(dy))},
    )


@pointwise
def softshrink(input: dpnp.ndarray | Array, lambd: float = 0.5) -> dpnp.ndarray | Array:
    """Return ``x`` moved towards 0 by ``lambd``, and 0 where it is nearer than that.

    lambd : float
        Not negative.
    """
    if not lambd >= 0:
        raise ValueError(f"softshrink: lambd must not be negative, got {lambd}")
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, clip(-lambd, lambd), scale(-1), plus(input)),
        lambda dy: {"x": chain(input, *_is_outside(lambd), times(dy))},
    )


@pointwise
def hardshrink(input: dpnp.ndarray | Array, lambd: float = 0.5) -> dpnp.ndarray | Array:
    """Return ``x`` where ``abs(x) > lambd``, else 0.

    lambd : float
    """
    return input.trace.closed(
        {"x": input},
        lambda: chain(input, *_is_outside(lambd), times(input)),
        lambda dy: {"x": chain(input, *_is_outside(lambd), times(dy))},
    )


@pointwise
def threshold(
    input: dpnp.ndarray | Array, threshold: float, value: float, inplace: bool = False
) -> dpnp.ndarray | Array:
    """Return ``x`` where ``x > threshold``, else ``value``.

    threshold, value : float
    """
    above = (scale(1, -threshold), *IS_POSITIVE)
    # The bounds drop infinities and NaN, which a product with 0 would not.
    constant = chain(input, clip(0, 0), scale(1, value))
    return input.trace.closed(
        {"x": input},
        lambda: choose(chain(input, *above, dtype="int8"), input, constant),
        lambda dy: {"x": chain(input, *above, times(dy))},
    )
