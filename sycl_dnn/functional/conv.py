# SPDX-License-Identifier: Apache-2.0
"""Convolutions over one, two and three spatial axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.functional.convolution import convolve

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["conv1d", "conv2d", "conv3d"]


@operation
def conv1d(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
    stride: int | tuple[int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
) -> dpnp.ndarray | Array:
    """Convolve signals (N, C, W) or (C, W) with kernels (O, C / groups, K).

    Parameters, results and errors are those of ``conv2d`` with one spatial axis.
    """
    return convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@operation
def conv2d(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
    stride: int | tuple[int, int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> dpnp.ndarray | Array:
    """Convolve images with kernels (cross-correlation, as in PyTorch).

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 where the device has it.
    weight : array (O, C / groups, KH, KW)
        Same dtype. Frozen by ``sycl_dnn.freeze`` it is repacked once, else at every call.
    bias : array (O,), optional
        The dtype of ``input``; float32 beside bfloat16 or float16 too.
    stride : int or tuple
    padding : int, tuple, "valid" or "same"
        Zeros on both sides of each axis. Beyond PyTorch, an entry may be a pair (before, after):
        ``padding=((0, 1), (2, 2))``. ``"same"`` keeps the size and needs stride 1.
    dilation : int or tuple
        Distance between the elements that a kernel meets; 1 is dense.
    groups : int
        Channels are cut into so many groups that do not mix.

    Returns
    -------
    array (N, O, T, U), or (O, T, U) for one image
        T = (H + before + after - dilation * (KH - 1) - 1) // stride + 1. Its memory is
        channels-last: what follows takes it fastest so.

    Raises
    ------
    ValueError
        Shapes, groups or padding do not fit.
    TypeError
        dtypes differ or are no floating-point types.

    Notes
    -----
    Source: oneDNN developer guide, "Convolution".
    """
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@operation
def conv3d(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
    stride: int | tuple[int, int, int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
) -> dpnp.ndarray | Array:
    """Convolve volumes (N, C, D, H, W) or (C, D, H, W) with kernels (O, C / groups, *K).

    Parameters, results and errors are those of ``conv2d`` with three spatial axes.
    """
    return convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)
