# SPDX-License-Identifier: Apache-2.0
"""Between floating-point arrays and quantised ones: quantize, dequantize, quantize_dynamic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import binary, div, filled, linear_map, reduce, sub
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.axes import check_axis
from sycl_dnn.functional.pointwise import check_float, eltwise
from sycl_dnn.functional.quantization import dequantized, grouped_shape, quantized
from sycl_dnn.functional.quantized_tensor import (
    RANGES,
    QuantizedTensor,
    check_scales,
    checked,
    scale_shape,
)
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["QuantizedTensor", "dequantize", "quantize", "quantize_dynamic"]

A = algorithm


def _check_target(name: str, dtype: str, shape: Sequence[int]) -> None:
    if dtype not in RANGES:
        raise ValueError(f"{name}: dtype must be one of {', '.join(RANGES)}, got {dtype!r}")
    if dtype in dtypes.PACKED and (not shape or shape[-1] % 2):
        raise ValueError(
            f"{name}: the last axis must be even for {dtype}, got shape {tuple(shape)}"
        )


@operation
def _quantize(input, scale, zero_point, dtype, axis, group_size):
    check_float("quantize", input=input)
    _check_target("quantize", dtype, input.shape)
    axis = None if axis is None else check_axis("quantize", axis, input.ndim, "axis")
    wanted = scale_shape("quantize", input.shape, axis, group_size)
    check_scales("quantize", wanted, scale, zero_point)
    return quantized(input, scale, zero_point, dtype, axis, group_size)


def quantize(
    input: dpnp.ndarray | Array,
    scale: dpnp.ndarray,
    zero_point: dpnp.ndarray | None = None,
    dtype: str = "int8",
    axis: int | None = None,
    group_size: int | None = None,
) -> QuantizedTensor:
    """Return the nearest integers to ``input / scale + zero_point``.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*S)
        float32 or bfloat16.
    scale : dpnp.ndarray of float32
        () for all elements alike; (S[axis],) with ``axis``; with ``group_size`` the shape of
        ``input`` where ``axis`` has S[axis] / group_size elements.
    zero_point : dpnp.ndarray of int32, optional
        The shape of ``scale``.
    dtype : {"int8", "uint8", "int4", "uint4"}
    axis : int, optional
    group_size : int, optional
        Neighbours along ``axis`` that share a scale.

    Returns
    -------
    QuantizedTensor
        Values out of the range of ``dtype`` become its least or largest.

    Raises
    ------
    ValueError
        The shape of ``scale`` or ``zero_point`` does not fit; 4 bits and an odd last axis.
    TypeError
        A dtype does not fit.

    Notes
    -----
    Ties go to the even sum, where torch rounds before it adds the zero point.

    Source: oneDNN developer guide, "Reorder" and "Quantization".
    """
    data = _quantize(input, scale, zero_point, dtype, axis, group_size)
    axis = None if axis is None else axis % len(input.shape)
    return QuantizedTensor(data, scale, zero_point, axis, group_size)


@operation
def dequantize(input: QuantizedTensor, dtype: str = "float32") -> dpnp.ndarray | Array:
    """Return ``scale * (data - zero_point)``.

    Parameters
    ----------
    input : QuantizedTensor (*S)
    dtype : {"float32", "bfloat16"}

    Returns
    -------
    dpnp.ndarray or Array (*S)

    Raises
    ------
    ValueError
        Scales do not fit the integers; ``dtype`` is another one.
    TypeError
        ``input`` is not quantised.

    Notes
    -----
    Source: oneDNN developer guide, "Reorder" and "Quantization".
    """
    if dtype not in ("float32", "bfloat16"):
        raise ValueError(f"dequantize: dtype must be 'float32' or 'bfloat16', got {dtype!r}")
    return dequantized(checked("dequantize", "input", input), dtype)


@operation
def _quantize_dynamic(input, dtype, axis, group_size, symmetric):
    check_float("quantize_dynamic", input=input)
    _check_target("quantize_dynamic", dtype, input.shape)
    axis = None if axis is None else check_axis("quantize_dynamic", axis, input.ndim, "axis")
    of_scales = scale_shape("quantize_dynamic", input.shape, axis, group_size)
    if not input.size:
        raise ValueError(f"quantize_dynamic: input must not be empty, got shape {input.shape}")
    shape, wide = grouped_shape(input.shape, axis, group_size)
    x = reshape(input.trace.convert(input, "float32"), shape)
    axes = [i for i, (n, m) in enumerate(zip(shape, wide, strict=True)) if n != m]
    make = _symmetric_scale if symmetric else _asymmetric_scale
    scale, zero = make(x, axes, dtype)
    scale = reshape(scale, of_scales)
    zero = None if zero is None else reshape(zero, of_scales)
    return quantized(input, scale, zero, dtype, axis, group_size), scale, zero


def _positive(scale: Tensor) -> Tensor:
    """Return scales that one can divide by."""
    return binary(A.binary_max, scale, filled(scale.trace, 2.0**-120, (), scale.dtype))


def _symmetric_scale(x: Tensor, axes: Sequence[int], dtype: str) -> tuple[Tensor, None]:
    highest = reduce(A.reduction_max, eltwise(x, A.eltwise_abs), axes)
    return _positive(linear_map(highest, 1.0 / RANGES[dtype][1])), None


def _asymmetric_scale(x: Tensor, axes: Sequence[int], dtype: str) -> tuple[Tensor, Tensor]:
    least, most = RANGES[dtype]
    nothing = filled(x.trace, 0.0, (), x.dtype)
    low = binary(A.binary_min, reduce(A.reduction_min, x, axes), nothing)
    high = binary(A.binary_max, reduce(A.reduction_max, x, axes), nothing)
    scale = _positive(linear_map(sub(high, low), 1.0 / (most - least)))
    zero = linear_map(div(low, scale), -1.0, least)
    return scale, x.trace.convert(zero, "int32")


def quantize_dynamic(
    input: dpnp.ndarray | Array,
    dtype: str = "int8",
    axis: int | None = None,
    group_size: int | None = None,
    symmetric: bool | None = None,
) -> QuantizedTensor:
    """Quantise with scales from the least and largest elements.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*S)
        float32 or bfloat16, not empty.
    dtype, axis, group_size
        As for ``quantize``.
    symmetric : bool, optional
        True: zero points are 0 and the largest absolute value becomes the largest integer.
        False: least and largest value become least and largest integer, 0 being among them.
        Default: whether ``dtype`` is signed.

    Returns
    -------
    QuantizedTensor

    Raises
    ------
    ValueError
        ``input`` is empty; otherwise as ``quantize``.
    TypeError
        ``input`` is not floating-point.

    Notes
    -----
    Source: oneDNN developer guide, "Quantization".
    """
    symmetric = dtype.startswith("int") if symmetric is None else bool(symmetric)
    data, scale, zero = _quantize_dynamic(input, dtype, axis, group_size, symmetric)
    axis = None if axis is None else axis % len(input.shape)
    return QuantizedTensor(data, scale, zero, axis, group_size)
