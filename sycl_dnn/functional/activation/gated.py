# SPDX-License-Identifier: Apache-2.0
"""Activations of two operands: ``glu`` and ``prelu``."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float, check_same_dtype
from sycl_dnn.functional.arithmetic.operands import by_nodes
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.lower.appendable import is_appendable
from sycl_dnn.lower.node_lowering import computed, meaning
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.activation import PRELU
from sycl_dnn.ops.arithmetic import SIGMOID
from sycl_dnn.ops.selection import narrow
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import broadcast_to
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    from sycl_dnn.ir.node import Node


@operation
def glu(input: Tensor, dim: int = -1) -> Tensor:
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
    return by_nodes(
        partial(_gated, axis=axis), input, wide=dtypes.wide(input.dtype), dtype=input.dtype
    )


def _gated(x: Node, axis: int) -> Node:
    half = x.shape[axis] // 2
    return narrow(x, axis, 0, half) * SIGMOID(narrow(x, axis, half, half))


def _two_factors(n: int) -> tuple[int, int]:
    """Factorize ``n``, with the first factor as close to its square root as possible."""
    first = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)
    return (first, n // first) if first > 1 else (n, 1)


def _slopes(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return views of both for which oneDNN has compiled kernels: one slope for each channel."""
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.size == 1 and x.size > 1 and (channels == 1 or x.ndim > 5):
        shape: tuple[int, ...] = (1, *_two_factors(x.size))
    elif x.ndim > 5:
        shape = (x.shape[0], channels, x.size // max(x.shape[0] * channels, 1))
    else:
        shape = x.shape if x.ndim > 1 else (1, x.size)
    x = reshape(x, shape)
    weight = broadcast_to(reshape(weight, (weight.size,)), (shape[1],))
    return x, reshape(weight, (1, shape[1]) + (1,) * (len(shape) - 2))


@operation
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return ``x`` where it is positive, else ``weight * x``.

    In a compiled function oneDNN may fuse it into a convolution or a product, where a NaN weight
    gives NaN for positive inputs too.

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
    check_same_dtype("prelu", "input", "weight", input, weight)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or weight.size not in (1, channels):
        raise ValueError(f"prelu: weight must have shape (1,) or ({channels},), got {weight.shape}")
    # One slope for each index of axis 1, or for all elements.
    shape = () if weight.size == 1 else (channels,) + (1,) * (input.ndim - 2)
    operands: list[Any] = [input, reshape(weight, shape)]
    if not is_appendable(input):
        return computed(PRELU, *operands)
    return meaning(PRELU, operands, lambda: _by_primitive(input, weight))


def _by_primitive(input: Tensor, weight: Tensor) -> Tensor:
    x, slopes = _slopes(input, weight)
    # oneDNN has no compiled kernel for other axis orders.
    order = "channels_last" if layout.is_channels_last(x.desc) else "row_major"
    result = x.trace.primitive(
        "prelu_forward",
        {"src": x, "weights": slopes},
        {"dst": Out(x.shape, x.dtype, order)},
        ask={"src": order, "weights": slopes},
        prop_kind=x.trace.forward_kind,
    )
    return reshape(result["dst"], input.shape)
