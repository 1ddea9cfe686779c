# SPDX-License-Identifier: Apache-2.0
"""Local response normalization across channels."""

from __future__ import annotations

import math

import numpy as np

from sycl_dnn._core import algorithm, engine_kind
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import empty_like
from sycl_dnn.functional.product.product import product
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.arithmetic import CLAMP, ISNAN, SQUARE, where
from sycl_dnn.trace.pointwise import LARGEST, ROOT, chain, clip, fused, plus, power, scale, times
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

#: Larger squares count as infinite, and NaN as ``_NAN``: the product with a band matrix would
#: spread NaN to all channels.
_INFINITE, _NAN = 2.0**126, -LARGEST
#: Maps these values back to infinity, and multiplies others by 4. The clip keeps compiled
#: functions from merging that factor with the next one.
_MARKED = (scale(4), clip(-math.inf, math.inf))


def _marked(x: Node, largest: float) -> Node:
    """Return numbers in place of infinities and NaN."""
    return where(ISNAN(x), number(_NAN, x.dtype), CLAMP(x, low=_NAN, high=largest))


#: Wider windows have not been compared on GPUs.
_WIDEST = 15


def _by_kernel(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Normalize (N, C, H, W) in channels-last layout, the only fast one."""
    result = x.trace.primitive(
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
    return result["dst"]


def _has_sound_kernel(x: Tensor, size: int, beta: float) -> bool:
    """Whether oneDNN's fast implementation supports the window and exponent and is correct.

    On CPUs it gives 0 for large values, and wrong gradients for many channels and windows.
    """
    if x.trace.engine.kind is engine_kind.cpu:
        return False
    return beta == 0.75 and size % 2 == 1 and 3 <= size <= _WIDEST


def _by_products(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Normalize (N, C, H, W) in float32; window sums are products with a band matrix."""
    channels = x.shape[1]
    rows = reshape(transpose(x, (0, 2, 3, 1)), (-1, channels))
    distance = np.arange(channels)[:, None] - np.arange(channels)
    window = (distance >= -(size // 2)) & (distance <= (size - 1) // 2)

    def sums(values: Tensor, band: np.ndarray) -> Tensor:
        return values if size == 1 else product(values, x.trace.literal(band))

    def denominator() -> Tensor:
        """Return the square root of the base of the power."""
        squares = computed(lambda v: _marked(SQUARE(v), _INFINITE), rows)
        return chain(sums(squares, window), *_MARKED, scale(alpha / size / 4, k), ROOT)

    def divided(root: Tensor, values: Tensor, *more: Tensor) -> Tensor:
        steps = [times(t) for t in (values, *more)]
        if beta == 0.75:  # oneDNN vectorizes powers only for exponent 1/2
            return chain(root, ROOT, times(root), power(-1), *steps)
        return chain(root, power(-2 * beta), *steps)

    def body() -> Tensor:
        return divided(denominator(), rows)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        root = denominator()
        direct = divided(root, dy)
        # d(v ** -beta) = -beta v ** -beta / v dv, ordered so that nothing overflows.
        slope = chain(root, power(-1), times(rows))
        slope = fused(algorithm.binary_div, slope, root, times(direct))
        around = sums(computed(lambda v: _marked(v, LARGEST), slope), window.T)
        # Infinity times 0 is NaN.
        steps = (*_MARKED, scale(0), plus(around), times(rows))
        result = chain(around, *steps, scale(-2.0 * beta * alpha / size), plus(direct))
        return {"rows": result}

    result = x.trace.closed({"rows": rows}, body, rule)
    n, _, h, w = x.shape
    return transpose(reshape(result, (n, h, w, channels)), (0, 3, 1, 2))


@operation
def local_response_norm(
    input: Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
) -> Tensor:
    """Divide by a power of the mean square over adjacent channels.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; S has at least one axis.
    size : int
        Channels in a window: ``size // 2`` before the channel, the rest from the channel itself;
        zero-padded at the ends.
    alpha, beta, k : float
        ``x / (k + alpha * mean of squares) ** beta``.

    Returns
    -------
    array (N, C, *S)
        Same dtype as ``input``, channels-last in memory.

    Raises
    ------
    ValueError
        ``input`` has fewer than three axes, or ``size`` is not positive.
    TypeError
        The dtype is not floating point, or ``size`` is not an integer.

    Notes
    -----
    On CPUs window sums are matrix products: oneDNN's kernel is two to four times as fast but gives
    0 for inputs above about 1e9.

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
    if _has_sound_kernel(flat, size, beta):
        result = _by_kernel(flat, size, alpha, beta, k)
    else:
        result = _by_products(input.trace.convert(flat, "float32"), size, alpha, beta, k)
    return reshape(input.trace.convert(result, input.dtype), input.shape)
