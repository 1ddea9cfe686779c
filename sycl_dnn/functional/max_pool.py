# SPDX-License-Identifier: Apache-2.0
"""Maxima over windows of one, two and three spatial axes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.pool_windows import check_dtype, pool_windows
from sycl_dnn.functional.pooling import plain_runs, pooled
from sycl_dnn.functional.window import batched, unbatched

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["max_pool1d", "max_pool2d", "max_pool3d"]

#: Integers that maxima can be taken of.
INTEGERS = ("int8", "uint8", "int32")


def _max_pool(
    name: str,
    rank: int,
    input: Tensor,
    windows: tuple[Any, ...],
    return_indices: bool,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maxima of a function's arguments, checked, and their indices if wanted."""
    check_dtype(name, input, INTEGERS)
    x = batched(name, input, rank)
    axes, counts = pool_windows(name, x, *windows)
    runs = [plain_runs(a, n) for a, n in zip(axes, counts, strict=True)]
    if any(r.source.length < 1 for r in itertools.chain(*runs)):
        raise ValueError(f"{name}: dilation must leave every window an element of the input")
    return maxima(input, x, runs, return_indices)


def maxima(input: Tensor, x: Tensor, runs: Any, with_indices: bool) -> Any:
    """Return the maxima over runs of ``x`` and their indices, batched as ``input`` is."""
    # With indices, bytes have the reference implementation only; float32 holds them exactly.
    wide = x.trace.convert(x, "float32") if with_indices and x.dtype in INTEGERS[:2] else x
    made, indices = pooled(wide, algorithm.pooling_max, runs, bool(with_indices))
    made = unbatched(x.trace.convert(made, x.dtype), input)
    return made if indices is None else (made, unbatched(indices, input))


@operation
def max_pool1d(
    input: dpnp.ndarray | Array,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window of signals (N, C, W) or (C, W).

    Parameters, results and errors are those of ``max_pool2d`` with one spatial axis.
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool1d", 1, input, windows, return_indices)


@operation
def max_pool2d(
    input: dpnp.ndarray | Array,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16, float64 where the device has it; without a gradient also
        int8, uint8 and int32.
    kernel_size : int or tuple
    stride : int or tuple, optional
        Distance of the windows; None is the kernel's size.
    padding : int or tuple
        Places on both sides of each axis, at most half of what a window reaches over. They are
        never the maximum.
    dilation : int or tuple
        Distance between the elements of a window.
    ceil_mode : bool
        Whether a last window may hang over the end.
    return_indices : bool
        Whether to return where the maxima stand, too.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image; channels-last in memory
        T = (H + 2 * padding - dilation * (KH - 1) - 1) // stride + 1, rounded up instead with
        ``ceil_mode``, unless the last window would start behind the input.
    indices : int64 array of the same shape, if wanted
        h * W + w of each maximum; of equal ones the first.

    Raises
    ------
    ValueError
        Sizes do not fit, or a window would hold padding only.
    TypeError
        The dtype has no maxima here.

    Notes
    -----
    Source: oneDNN developer guide, "Pooling". Windows with gaps are pooled as interleaved dense
    ones, since oneDNN's own are slow.
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool2d", 2, input, windows, return_indices)


@operation
def max_pool3d(
    input: dpnp.ndarray | Array,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    dilation: int | tuple[int, int, int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of each window of volumes (N, C, D, H, W) or (C, D, H, W).

    Parameters, results and errors are those of ``max_pool2d`` with three spatial axes.
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool3d", 3, input, windows, return_indices)
