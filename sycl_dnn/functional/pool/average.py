# SPDX-License-Identifier: Apache-2.0
"""Average pooling and Lp pooling over one to three spatial axes."""

from __future__ import annotations

import math

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.functional.arithmetic.comparison import eq, where
from sycl_dnn.functional.conv.windows import (
    Axis,
    Sizes,
    batched,
    by_rank,
    per_axis,
    unbatched,
    whole_number,
)
from sycl_dnn.functional.pool.windowed import check_dtype, plain_runs, pool_windows, pooled
from sycl_dnn.trace.pointwise import eltwise, linear_map, mul
from sycl_dnn.trace.values import Tensor


def _without_overhang(result: Tensor, axes: list[Axis], counts: Sizes) -> Tensor:
    """Rescale averages that oneDNN divides by full windows: PyTorch stops at the padding's end."""
    factor = np.ones(())
    for axis, count in zip(axes, counts, strict=True):
        starts = np.arange(count) * axis.stride
        ends = np.minimum(starts + axis.kernel, axis.size + axis.left + axis.right)
        factor = factor[..., None] * (axis.kernel / (ends - starts))
    if (factor == 1).all():
        return result
    literal = result.trace.literal(factor[None, None])
    return mul(result, result.trace.convert(literal, result.dtype))


def avg_pool(
    name: str,
    rank: int,
    input: Tensor,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the average of each window.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it.
    kernel_size : int or tuple
    stride : int or tuple, optional
        Distance between windows; the kernel size by default.
    padding : int or tuple
        Zeros on both sides of each axis, at most half the kernel.
    ceil_mode : bool
        Whether the last window may extend past the end.
    count_include_pad : bool
        Whether to divide by the number of elements including padding, or by those of the input
        only.
    divisor_override : int, optional
        Divides all sums instead.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image; channels-last in memory
        T = (H + 2 * padding - KH) // stride + 1, rounded up with ``ceil_mode`` unless the last
        window would start past the input.

    Raises
    ------
    ValueError
        Sizes are inconsistent.
    TypeError
        The dtype is not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Pooling".
    """
    check_dtype(name, input)
    x = batched(name, input, rank)
    axes, counts = pool_windows(name, x, kernel_size, stride, padding, 1, ceil_mode)
    runs = [plain_runs(a, n) for a, n in zip(axes, counts, strict=True)]
    if divisor_override is not None:
        divisor = whole_number(divisor_override)
        if not divisor:
            raise ValueError(
                f"{name}: divisor_override must be a whole number other than 0, got "
                f"{divisor_override!r}"
            )
        result, _ = pooled(x, algorithm.pooling_avg_include_padding, runs)
        return unbatched(linear_map(result, math.prod(a.kernel for a in axes) / divisor), input)
    if not count_include_pad:
        return unbatched(pooled(x, algorithm.pooling_avg_exclude_padding, runs)[0], input)
    result, _ = pooled(x, algorithm.pooling_avg_include_padding, runs)
    return unbatched(_without_overhang(result, axes, counts), input)


avg_pool1d, avg_pool2d, avg_pool3d = by_rank(avg_pool, absent_from_1d="divisor_override")


# --- lp_pool1d, lp_pool2d, lp_pool3d


def _power(x: Tensor, power: float) -> Tensor:
    if power == 1:
        return x
    special = {2.0: algorithm.eltwise_square, 0.5: algorithm.eltwise_sqrt}
    if power in special:
        return eltwise(x, special[power])
    return eltwise(x, algorithm.eltwise_pow, 1.0, power)


def lp_pool(
    name: str,
    rank: int,
    input: Tensor,
    norm_type: float,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it.
    norm_type : float
        As in PyTorch, absolute values are not taken: odd orders require positive sums. The
        gradient of a window whose sum is 0 is 0.
    kernel_size : int or tuple
    stride : int or tuple, optional
        Distance between windows; the kernel size by default.
    ceil_mode : bool
        Whether the last window may extend past the end; its norm is scaled to a full window.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image; channels-last in memory

    Raises
    ------
    ValueError
        Sizes are inconsistent, or ``norm_type`` is 0 or infinite.
    TypeError
        The dtype is not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Pooling" and "Eltwise".
    """
    power = float(norm_type)
    if not power or not math.isfinite(power):
        raise ValueError(f"{name}: norm_type must be finite and not 0, got {norm_type!r}")
    raised = _power(input, power)
    mean = avg_pool(name, rank, raised, kernel_size, stride, 0, ceil_mode)
    kernel = per_axis(name, "kernel_size", kernel_size, rank)
    # The slope of a root at 0 is infinite: as in torch, windows with the sum 0 have no gradient.
    is_zero = eq(mean, 0)
    root = _power(linear_map(where(is_zero, 1.0, mean), math.prod(kernel)), 1 / power)
    return where(is_zero, 0.0 if power > 0 else math.inf, root)


lp_pool1d, lp_pool2d, lp_pool3d = by_rank(lp_pool)
