# SPDX-License-Identifier: Apache-2.0
"""Local response normalization over neighbouring channels."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from sycl_dnn._core import algorithm, engine_kind, lrn_backward, lrn_forward
from sycl_dnn.call.operation import operation
from sycl_dnn.errors import Unimplemented
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import empty_like
from sycl_dnn.functional.product.product import product
from sycl_dnn.trace import layout
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.descriptors import is_slow_reference
from sycl_dnn.trace.pointwise import chain, fused, mul, power, scale
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

#: oneDNN's fast implementation takes no more channels.
_WIDEST = 15


def _by_kernel(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Normalize (N, C, H, W) with channels last, the one layout that is fast."""
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


def _has_sound_kernel(x: Tensor, size: int, beta: float) -> bool:
    """Whether oneDNN's fast implementation takes the window and exponent and is right.

    Windows are symmetric there, those of one channel crash, and backward is wrong for wide ones
    (bfloat16: for any) unless whole vectors of 16 channels fill the last axis.
    """
    if beta != 0.75 or size % 2 == 0 or not 3 <= size <= _WIDEST:
        return False
    is_narrow = size <= 5 and x.dtype != "bfloat16"
    is_sound = not x.trace.training or is_narrow or x.shape[1] % 16 == 0
    return is_sound and _is_compiled(x, size)


def _is_compiled(x: Tensor, size: int) -> bool:
    """Whether a CPU has a kernel for channels last: without AVX-512 there is the reference."""
    if x.trace.engine.kind is not engine_kind.cpu:
        return True
    for dtype in (x.dtype, "float32"):  # where it falls back to
        try:
            return not any(is_slow_reference("lrn", n) for n in _kernels(x, dtype, size))
        except Unimplemented:
            continue
    return False


def _kernels(x: Tensor, dtype: str, size: int) -> list[str]:
    """Return the names of the implementations, with the gradient's where one follows."""
    desc, engine = layout.channels_last(x.shape, dtype), x.trace.engine
    given: dict[str, Any] = {"algorithm": algorithm.lrn_across_channels, "local_size": size}
    given |= {"alpha": 1.0, "beta": 0.75, "k": 1.0}
    pd = lrn_forward(engine, prop_kind=x.trace.forward_kind, src=desc, dst=desc, **given)
    if not x.trace.training:
        return [pd.impl_info]
    back = lrn_backward(engine, diff_src=desc, diff_dst=desc, src=desc, hint_fwd_pd=pd, **given)
    return [pd.impl_info, back.impl_info]


def _by_products(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Normalize (N, C, H, W) in float32; sums over windows are products with a band of ones."""
    channels = x.shape[1]
    rows = reshape(transpose(x, (0, 2, 3, 1)), (-1, channels))
    distance = np.arange(channels)[:, None] - np.arange(channels)
    window = (distance >= -(size // 2)) & (distance <= (size - 1) // 2)
    average = scale(alpha / size, k)

    def sums(values: Tensor, band: np.ndarray) -> Tensor:
        return values if size == 1 else product(values, x.trace.literal(band))

    def body() -> Tensor:
        squares = sums(fused(algorithm.binary_mul, rows, rows), window)
        return fused(algorithm.binary_mul, chain(squares, average, power(-beta)), rows)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        squares = sums(fused(algorithm.binary_mul, rows, rows), window)
        direct = fused(algorithm.binary_mul, chain(squares, average, power(-beta)), dy)
        # d(v ** -beta) = -beta v ** (-beta - 1) dv
        slope = chain(squares, average, power(-beta - 1.0), scale(-2.0 * beta * alpha / size))
        around = sums(mul(mul(dy, rows), slope), window.T)
        return {"rows": fused(algorithm.binary_add, direct, mul(around, rows))}

    made = x.trace.closed({"rows": rows}, body, rule)
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
    if _has_sound_kernel(flat, size, beta):
        made = _by_kernel(flat, size, alpha, beta, k)
    else:
        made = _by_products(input.trace.convert(flat, "float32"), size, alpha, beta, k)
    return reshape(input.trace.convert(made, input.dtype), input.shape)
