# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions over one, two and three spatial axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.functional.transposed_convolution import conv_transpose

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


@operation
def conv_transpose1d(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
    stride: int | tuple[int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int] = 0,
    groups: int = 1,
    dilation: int | tuple[int] = 1,
) -> dpnp.ndarray | Array:
    """Spread signals (N, C, W) or (C, W) by kernels (C, O / groups, K).

    Parameters, results and errors are those of ``conv_transpose2d`` with one spatial axis.
    """
    return conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@operation
def conv_transpose2d(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
) -> dpnp.ndarray | Array:
    """Spread images by kernels: the gradient of ``conv2d`` in its input, as a layer.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 where the device has it.
    weight : array (C, O / groups, KH, KW)
        Same dtype. Frozen by ``sycl_dnn.freeze`` it is repacked once, else at every call.
    bias : array (O,), optional
    stride : int or tuple
        Distance of the windows that neighbouring elements are spread over.
    padding : int or tuple
        Elements cut off at both sides of the result; an entry may be a pair (before, after).
    output_padding : int or tuple
        Elements added after the end, less than ``stride`` or ``dilation``.
    groups : int
    dilation : int or tuple

    Returns
    -------
    array (N, O, T, U), or (O, T, U) for one image
        T = (H - 1) * stride - before - after + dilation * (KH - 1) + output_padding + 1.

    Raises
    ------
    ValueError
        Shapes, groups or padding do not fit.
    TypeError
        dtypes differ or are no floating-point types.

    Notes
    -----
    Source: oneDNN developer guide, "Convolution", section on deconvolution.
    """
    return conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@operation
def conv_transpose3d(
    input: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array,
    bias: dpnp.ndarray | Array | None = None,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int, int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int, int] = 1,
) -> dpnp.ndarray | Array:
    """Spread volumes (N, C, D, H, W) or (C, D, H, W) by kernels (C, O / groups, *K).

    Parameters, results and errors are those of ``conv_transpose2d`` with three spatial axes.
    """
    return conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip
