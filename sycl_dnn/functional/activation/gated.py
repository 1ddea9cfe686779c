# SPDX-License-Identifier: Apache-2.0
"""Activations of two operands: ``glu`` and ``prelu``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.trace import layout, nan_kept
from sycl_dnn.trace.gradients import Grads, composed_rule
from sycl_dnn.trace.pointwise import (
    binary,
    broadcast_to,
    chain,
    eltwise,
    fused,
    linear_map,
    mul,
    scale,
    times,
    zeros,
)
from sycl_dnn.trace.pointwise_gradients import select
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, narrow, reshape

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


def _halves(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    half = x.shape[axis] // 2
    return narrow(x, axis, 0, half), narrow(x, axis, half, half)


@operation
def glu(input: dpnp.ndarray | Array, dim: int = -1) -> dpnp.ndarray | Array:
    """Return ``a * sigmoid(b)``, where a and b are the halves of the input along an axis.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*, 2 n, *)
        float32, bfloat16 or float16; float64 if the device supports it.
    dim : int
        The axis, of even size; negative counts from the end.

    Returns
    -------
    dpnp.ndarray or Array (*, n, *)

    Raises
    ------
    TypeError
        The dtype is not floating point.
    ValueError
        There is no axis ``dim``, or its size is odd.

    Notes
    -----
    Source: Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017; oneDNN
    developer guide, "Eltwise" and "Binary".
    """
    check_float("glu", input=input)
    if not input.ndim:
        raise ValueError("glu: input must have an axis, got shape ()")
    axis = check_axis("glu", dim, input.ndim)
    if input.shape[axis] % 2:
        raise ValueError(f"glu: input must have an even size along {axis}, got {input.shape}")
    kept: list[Tensor] = []

    def value() -> Tensor:
        a, b = _halves(input, axis)
        gate = eltwise(b, algorithm.eltwise_logistic)
        kept[:] = gate, fused(algorithm.binary_mul, a, gate)
        return kept[1]

    def gradient(dy: Tensor) -> dict[str, Tensor]:
        gate, y = kept
        whole = input.trace.new(layout.like(input.desc, input.dtype), input.shape)
        a, b = _halves(whole, axis)
        input.trace.written_into(whole, a, fused(algorithm.binary_mul, dy, gate))
        input.trace.written_into(whole, b, chain(gate, scale(-1, 1), times(dy), times(y)))
        return {"x": whole}

    def composed() -> Tensor:
        a, b = _halves(input, axis)
        return mul(a, eltwise(b, algorithm.eltwise_logistic))

    return input.trace.closed({"x": input}, value, gradient, composed)


def _factored(n: int) -> tuple[int, int]:
    """Factorize ``n``, with the first factor as close to its square root as possible."""
    first = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)
    return (first, n // first) if first > 1 else (n, 1)


@composed_rule("prelu_backward")
def _prelu_backward(entry: Entry) -> Grads:
    x, slopes, dy = (entry.inputs[n] for n in ("src", "weights", "diff_dst"))
    nothing = filled(x.trace, 0.0, (1,) * x.ndim, x.dtype)
    is_positive = binary(algorithm.binary_gt, x, nothing, "bool")
    below = select(is_positive, nothing, x)
    return {
        "diff_src": mul(dy, select(is_positive, filled(x.trace, 1.0, (1,) * x.ndim), slopes)),
        "diff_weights": sum_to(mul(dy, below), slopes.shape),
    }


def _slopes(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return views of both with compiled kernels: one slope for each of many channels."""
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.size == 1 and x.size > 1 and (channels == 1 or x.ndim > 5):
        shape: tuple[int, ...] = (1, *_factored(x.size))
    elif x.ndim > 5:
        shape = (x.shape[0], channels, x.size // max(x.shape[0] * channels, 1))
    else:
        shape = x.shape if x.ndim > 1 else (1, x.size)
    x = reshape(x, shape)
    weight = broadcast_to(reshape(weight, (weight.size,)), (shape[1],))
    return x, reshape(weight, (1, shape[1]) + (1,) * (len(shape) - 2))


def _prelu_of_nothing(x: Tensor, weight: Tensor) -> Tensor:
    def gradient(dy: Tensor) -> dict[str, Tensor]:
        return {"x": dy, "weight": zeros(weight.trace, weight.shape, weight.dtype)}

    return x.trace.closed({"x": x, "weight": weight}, lambda: linear_map(x, 1.0), gradient)


def _prelu_with_nan(x: Tensor, slopes: Tensor) -> Tensor:
    nothing = nan_kept.number(x, 0.0)
    is_positive = binary(algorithm.binary_gt, x, nothing, "bool")
    return select(is_positive, x, mul(slopes, select(is_positive, nothing, x)))


@operation
def prelu(input: dpnp.ndarray | Array, weight: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Return ``x`` where it is positive, else ``weight * x``.

    At NaN the gradient is 0, and a NaN weight turns positive inputs into NaN too, unless
    ``set_nan("propagate")``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (N, C, *) or any shape
        float32, bfloat16 or float16; float64 if the device supports it.
    weight : dpnp.ndarray or Array (C,) or (1,) or ()
        One slope per channel, or one for all; dtype of the input.

    Returns
    -------
    dpnp.ndarray or Array
        Shape of the input.

    Raises
    ------
    TypeError
        The dtypes are not floating point, or differ.
    ValueError
        ``weight`` has another shape.

    Notes
    -----
    Source: oneDNN developer guide, "PReLU"; He et al., "Delving Deep into Rectifiers", 2015.
    """
    check_float("prelu", input=input)
    if weight.dtype != input.dtype:
        raise TypeError(
            f"prelu: weight must have the dtype of input, {input.dtype}, got {weight.dtype}"
        )
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or weight.size not in (1, channels):
        raise ValueError(f"prelu: weight must have shape (1,) or ({channels},), got {weight.shape}")
    if not input.size:
        return _prelu_of_nothing(input, weight)
    x, slopes = _slopes(input, weight)
    if nan_kept.is_asked_for(x):
        return reshape(_prelu_with_nan(x, slopes), input.shape)
    # Other axis orders have no compiled kernel.
    order = "channels_last" if layout.is_channels_last(x.desc) else "row_major"
    made = x.trace.primitive(
        "prelu_forward",
        {"src": x, "weights": slopes},
        {"dst": Out(x.shape, x.dtype, order)},
        ask={"src": order, "weights": slopes},
        prop_kind=x.trace.forward_kind,
    )
    return reshape(made["dst"], input.shape)
