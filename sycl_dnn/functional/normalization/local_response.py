# SPDX-License-Identifier: Apache-2.0
"""Local response normalization across channels."""

from __future__ import annotations

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import empty_like
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import POWER, RSQRT, SQRT, SQUARE, cast
from sycl_dnn.ops.selection import WINDOW_SUMS, pad
from sycl_dnn.trace.values import Tensor


def _by_nodes(x: Node, dtype: str, size: int, alpha: float, beta: float, k: float) -> Node:
    """Normalize (N, C, *S)."""
    x = cast(x, dtypes.wide(dtype))
    widths = [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (x.ndim - 2)]
    base = WINDOW_SUMS(SQUARE(pad(x, widths)), axis=1, size=size) * (alpha / size) + k
    # Roots are faster than a power, which takes a logarithm.
    factor = RSQRT(base) * RSQRT(SQRT(base)) if beta == 0.75 else POWER(base, exponent=-beta)
    return cast(x * factor, dtype)


@operation
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by a power of the mean square over adjacent channels.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; float64 if the device supports it. S has at least one axis.
    size : int
        Channels in a window: ``size // 2`` before the channel, the rest from the channel itself;
        zero-padded at the ends.
    alpha, beta, k : float
        ``x / (k + alpha * mean of squares) ** beta``.

    Returns
    -------
    array (N, C, *S)
        Same dtype and order of axes as ``input``.

    Raises
    ------
    ValueError
        ``input`` has fewer than three axes, or ``size`` is not positive.
    TypeError
        The dtype is not floating point, or ``size`` is not an integer.

    Notes
    -----
    It is a generated kernel: oneDNN's primitive gives 0 for inputs above about 1e9 on CPUs.

    Source: Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks",
    2012.
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
    most = 2 * input.shape[1] - 1  # with which a window has all channels
    if size > most:
        size, alpha = most, alpha * most / size
    dtype = str(input.dtype)
    return computed(lambda x: _by_nodes(x, dtype, size, alpha, beta, k), input)
