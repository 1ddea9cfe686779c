# SPDX-License-Identifier: Apache-2.0
"""Local response normalization over neighbouring channels."""

from __future__ import annotations

import dpnp
import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.fused import chain, fused, power, scale
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import mul
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Out
from sycl_dnn.dispatch.views import reshape, transpose
from sycl_dnn.functional.affine import empty_like
from sycl_dnn.functional.pointwise import check_float
from sycl_dnn.functional.product import product


def _symmetric(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Normalize (N, C, H, W) with a window of odd size, channels last: the one fast layout."""
    made = x.trace.primitive(
        "lrn_forward",
        {"src": x},
        {"dst": Out(x.shape, x.dtype, "channels_last")},
        ask={"src": "channels_last"},
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.lrn_across_channels,
        local_size=size,
        alpha=alpha,
        beta=beta,
        k=k,
    )
    return made["dst"]


def _window(channels: int, size: int) -> np.ndarray:
    """Return (C, C): 1 in row i of column c where c's window holds i."""
    distance = np.arange(channels)[:, None] - np.arange(channels)
    return (distance >= -(size // 2)) & (distance <= (size - 1) // 2)


def _of_any_size(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Normalize (N, C, H, W) in float32; the sums of windows are a product with a band of ones.

    oneDNN makes windows symmetric, so those of even size lose a channel.
    """
    trace, channels = x.trace, x.shape[1]
    rows = reshape(transpose(x, (0, 2, 3, 1)), (-1, channels))
    window = trace.literal(_window(channels, size))
    average = scale(alpha / size, k)

    def base() -> Tensor:
        return product(fused(algorithm.binary_mul, rows, rows), window)

    def body() -> Tensor:
        return fused(algorithm.binary_mul, chain(base(), average, power(-beta)), rows)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        sums = base()
        direct = fused(algorithm.binary_mul, chain(sums, average, power(-beta)), dy)
        # d(v ** -beta) = -beta v ** (-beta - 1) dv
        slope = chain(sums, average, power(-beta - 1.0), scale(-2.0 * beta * alpha / size))
        around = product(mul(mul(dy, rows), slope), trace.literal(_window(channels, size).T))
        return {"rows": fused(algorithm.binary_add, direct, mul(around, rows))}

    made = trace.closed({"rows": rows}, body, rule)
    n, _, h, w = x.shape
    return transpose(reshape(made, (n, h, w, channels)), (0, 3, 1, 2))


@operation
def local_response_norm(
    input: dpnp.ndarray | Array,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
) -> dpnp.ndarray | Array:
    """Divide by a power of the mean square of neighbouring channels.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; S has one axis or more.
    size : int
        Channels in a window: ``size // 2`` before, the rest from the channel itself on; beyond the
        ends they count as 0.
    alpha, beta, k : float
        ``x / (k + alpha * mean of squares) ** beta``.

    Returns
    -------
    array (N, C, *S)
        dtype of ``input``, channels last in memory.

    Raises
    ------
    ValueError
        ``input`` has fewer than three axes, or ``size`` is not positive.
    TypeError
        The dtype is not floating-point, or ``size`` is no integer.

    Notes
    -----
    Source: oneDNN developer guide, "Local Response Normalization"; Krizhevsky et al., "ImageNet
    Classification with Deep Convolutional Neural Networks", 2012.
    """
    name = "local_response_norm"
    check_float(name, input=input)
    if input.ndim < 3:
        raise ValueError(f"{name}: input must have shape (N, C, *S), got {input.shape}")
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"{name}: size must be an integer, got {size!r}")
    if size < 1:
        raise ValueError(f"{name}: size must be at least 1, got {size}")
    if not input.size:
        return empty_like(input)
    n, channels, *spatial = input.shape
    flat = input if input.ndim == 4 else reshape(input, (n, channels, spatial[0], -1))
    # In bfloat16, oneDNN's small gradients are wrong for other numbers of channels.
    is_wrong = flat.trace.training and channels % 16 and input.dtype == "bfloat16"
    wide = input.trace.convert(flat, "float32") if is_wrong or size % 2 == 0 else flat
    made = (_symmetric if size % 2 else _of_any_size)(wide, size, alpha, beta, k)
    return reshape(input.trace.convert(made, input.dtype), input.shape)
