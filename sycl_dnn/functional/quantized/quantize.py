# SPDX-License-Identifier: Apache-2.0
"""``QuantizedTensor``, ``quantize``, ``dequantize`` and ``quantize_dynamic``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sycl_dnn._core import PrimitiveAttr, algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.ir.node import number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import MAXIMUM, MINIMUM
from sycl_dnn.trace.pointwise import add, div, eltwise, linear_map, mul, sub, zeros
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

if TYPE_CHECKING:
    import dpnp


#: Value ranges of the integer dtypes.
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7), "uint4": (0, 15)}


class QuantizedTensor(NamedTuple):
    """Integers that represent ``scale * (data - zero_point)``.

    Created by ``quantize``, ``quantize_dynamic``, or directly from arrays. Any of the arrays may be
    frozen (``sycl_dnn.freeze``), so that packed weights are kept.

    Attributes
    ----------
    data : dpnp.ndarray of int8 or uint8, Array of int4 or uint4, or Frozen (*S)
    scale : dpnp.ndarray of float32
        () for one scale; (S[axis],) with ``axis``; with ``group_size`` the shape of ``data`` with
        S[axis] / group_size elements along ``axis``.
    zero_point : dpnp.ndarray of int32, optional
        Same shape as ``scale``; 0 by default. Products are summed in int32: a zero point times the
        sum of a row of weights must stay below 2**31. Other functions are exact below 2**24.
    axis : int, optional
    group_size : int, optional
        Number of adjacent elements along ``axis`` that share a scale.
    """

    data: Any
    scale: Any
    zero_point: Any = None
    axis: int | None = None
    group_size: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the data."""
        return self.data.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.data.shape)

    @property
    def dtype(self) -> str:
        """Name of the integer dtype."""
        return str(self.data.dtype)

    def turned(self) -> QuantizedTensor:
        """Return the transpose of a traced matrix."""
        is_grouped = self.group_size is not None
        scale, zero_point = (
            transpose(t, (1, 0)) if is_grouped and t is not None else t
            for t in (self.scale, self.zero_point)
        )
        axis = None if self.axis is None else 1 - self.axis % 2
        data = transpose(self.data, (1, 0))
        return QuantizedTensor(data, scale, zero_point, axis, self.group_size)


def scale_shape(
    name: str, shape: Sequence[int], axis: int | None, group_size: int | None
) -> tuple[int, ...]:
    """Return the required shape of the scales; raise ValueError for impossible groups."""
    if axis is None:
        if group_size is not None:
            raise ValueError(f"{name}: axis must be given with group_size, got None")
        return ()
    if group_size is None:
        return (shape[axis],)
    if group_size < 1 or shape[axis] % group_size:
        raise ValueError(
            f"{name}: group_size must divide the size of axis {axis}, {shape[axis]}, got "
            f"{group_size}"
        )
    return tuple(n // group_size if i == axis else n for i, n in enumerate(shape))


def checked(name: str, argument: str, q: Any, dtypes: Sequence[str] = tuple(RANGES)) -> Any:
    """Validate a quantized tensor and return it with a nonnegative axis."""
    if not isinstance(q, QuantizedTensor):
        raise TypeError(f"{name}: {argument} must be a QuantizedTensor, got {type(q).__name__}")
    if q.dtype not in dtypes:
        raise TypeError(f"{name}: {argument} must have dtype {' or '.join(dtypes)}, got {q.dtype}")
    if isinstance(q.scale, Tensor):
        # Lowered functions keep scales in float32.
        q = q._replace(scale=q.scale.trace.widened(q.scale))
    axis = q.axis
    if axis is not None:
        if not -q.ndim <= axis < q.ndim:
            raise ValueError(f"{name}: axis of {argument} must be below {q.ndim}, got {axis}")
        axis %= q.ndim
    expected = scale_shape(name, q.shape, axis, q.group_size)
    check_scales(name, expected, q.scale, q.zero_point, f" of {argument}")
    return q._replace(axis=axis)


def check_scales(
    name: str, expected: tuple[int, ...], scale: Any, zero_point: Any, of: str = ""
) -> None:
    """Validate shapes and dtypes of scales and zero points."""
    for argument, tensor, dtype in (
        ("scale", scale, "float32"),
        ("zero_point", zero_point, "int32"),
    ):
        if tensor is None and argument == "zero_point":
            continue
        shape = getattr(tensor, "shape", None)
        if shape != expected and not (expected == () and shape == (1,)):
            raise ValueError(f"{name}: {argument}{of} must have shape {expected}, got {shape}")
        if tensor.dtype != dtype:
            raise TypeError(f"{name}: {argument}{of} must have dtype {dtype}, got {tensor.dtype}")


# --- Quantization arithmetic


def grouped_shape(
    shape: Sequence[int], axis: int | None, group_size: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape with an axis for groups, and the shape of scales that broadcast to it."""
    if axis is None:
        return tuple(shape), (1,) * len(shape)
    if group_size is None:
        return tuple(shape), tuple(n if i == axis else 1 for i, n in enumerate(shape))
    n = shape[axis] // group_size
    wide = (*shape[:axis], n, group_size, *shape[axis + 1 :])
    return wide, tuple(1 if i == axis + 1 else m for i, m in enumerate(wide))


def set_scales(
    attr: PrimitiveAttr, argument: str, scale: Tensor | None, zero: Tensor | None, mask: int = 0
) -> dict[str, Tensor]:
    """Set scales and zero points of an argument; return them as execution arguments."""
    arguments = {}
    if scale is not None:
        attr.set_scales_mask(argument, mask)
        arguments[f"attr_scales_{argument}"] = reshape(scale, (-1,))
    if zero is not None:
        attr.set_zero_points_mask(argument, mask)
        arguments[f"attr_zero_points_{argument}"] = reshape(zero, (-1,))
    return arguments


def by_reorder(
    x: Tensor, side: str, scale: Tensor | None, zero: Tensor | None, mask: int, dtype: str
) -> Tensor:
    """Convert by a reorder with scales and zero points of ``side``, in the axis order of ``x``."""
    attr = PrimitiveAttr()
    inputs = {"src": x} | set_scales(attr, side, scale, zero, mask)
    return x.trace.primitive("reorder", inputs, {"dst": Out(x.shape, dtype, x)}, attr=attr)["dst"]


def _reorder_mask(
    shape: Sequence[int], scales_shape: Sequence[int], zero: Tensor | None, dtype: str
) -> int | None:
    """Return the mask of axes along which scales differ; None if reorders cannot be used.

    oneDNN's reorders use only the first of several zero points, misplace scales along non-adjacent
    axes, and do not support scales of 4-bit data.
    """
    axes = [i for i, n in enumerate(scales_shape) if n == shape[i] and n > 1]
    has_many_scales = math.prod(scales_shape) > 1
    has_gap = bool(axes) and axes[-1] - axes[0] >= len(axes)
    if dtype in dtypes.PACKED or has_gap or (has_many_scales and zero is not None):
        return None
    return sum(1 << i for i in axes)


def dequantized(q: QuantizedTensor, dtype: str) -> Tensor:
    """Dequantize a validated quantized tensor."""
    shape, scales_shape = grouped_shape(q.shape, q.axis, q.group_size)
    x = reshape(q.data, shape)
    if not x.size:
        return zeros(x.trace, q.shape, dtype)
    mask = _reorder_mask(shape, scales_shape, q.zero_point, q.dtype)
    if mask is not None:
        return reshape(by_reorder(x, "src", q.scale, q.zero_point, mask, dtype), q.shape)
    result = x.trace.convert(x, "float32")
    if q.zero_point is not None:
        result = sub(result, reshape(x.trace.convert(q.zero_point, "float32"), scales_shape))
    return converted(reshape(mul(result, reshape(q.scale, scales_shape)), q.shape), dtype)


def quantized(
    x: Tensor, scale: Tensor, zero: Tensor | None, dtype: str, axis: int | None, group: int | None
) -> Tensor:
    """Return the integers that represent ``x``."""
    shape, scales_shape = grouped_shape(x.shape, axis, group)
    grouped = reshape(x, shape)
    if not x.size:
        return zeros(x.trace, x.shape, dtype)
    mask = _reorder_mask(shape, scales_shape, zero, dtype)
    if mask is not None:
        return reshape(by_reorder(grouped, "dst", scale, zero, mask, dtype), x.shape)
    result = div(x.trace.convert(grouped, "float32"), reshape(scale, scales_shape))
    if zero is not None:
        result = add(result, reshape(x.trace.convert(zero, "float32"), scales_shape))
    result = reshape(result, x.shape)
    return converted(result, dtype) if dtype in dtypes.PACKED else x.trace.convert(result, dtype)


# --- quantize, dequantize, quantize_dynamic

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
    expected = scale_shape("quantize", input.shape, axis, group_size)
    check_scales("quantize", expected, scale, zero_point)
    return quantized(input, scale, zero_point, dtype, axis, group_size)


def quantize(
    input: Tensor,
    scale: dpnp.ndarray,
    zero_point: dpnp.ndarray | None = None,
    dtype: str = "int8",
    axis: int | None = None,
    group_size: int | None = None,
) -> QuantizedTensor:
    """Round ``input / scale + zero_point`` to integers.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*S)
        float32 or bfloat16.
    scale : dpnp.ndarray of float32
        () for one scale; (S[axis],) with ``axis``; with ``group_size`` the shape of ``input`` with
        S[axis] / group_size elements along ``axis``.
    zero_point : dpnp.ndarray of int32, optional
        Same shape as ``scale``.
    dtype : {"int8", "uint8", "int4", "uint4"}
    axis : int, optional
    group_size : int, optional
        Number of adjacent elements along ``axis`` that share a scale.

    Returns
    -------
    QuantizedTensor
        Values outside the range of ``dtype`` saturate.

    Raises
    ------
    ValueError
        The shape of ``scale`` or ``zero_point`` is wrong, or the last axis of a 4-bit result is
        odd.
    TypeError
        A dtype is wrong.

    Notes
    -----
    Ties are rounded so that the sum is even; torch rounds before adding the zero point.

    Source: oneDNN developer guide, "Reorder" and "Quantization".
    """
    data = _quantize(input, scale, zero_point, dtype, axis, group_size)
    axis = None if axis is None else axis % len(input.shape)
    return QuantizedTensor(data, scale, zero_point, axis, group_size)


@operation
def dequantize(input: QuantizedTensor, dtype: str = "float32") -> Tensor:
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
        The scales do not match the data, or ``dtype`` is not one of these.
    TypeError
        ``input`` is not quantized.

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
    scales_shape = scale_shape("quantize_dynamic", input.shape, axis, group_size)
    if not input.size:
        raise ValueError(f"quantize_dynamic: input must not be empty, got shape {input.shape}")
    shape, scales = grouped_shape(input.shape, axis, group_size)
    x = reshape(input.trace.convert(input, "float32"), shape)
    axes = [i for i, (n, m) in enumerate(zip(shape, scales, strict=True)) if n != m]
    scale_of = _symmetric_scale if symmetric else _asymmetric_scale
    scale, zero = scale_of(x, axes, dtype)
    scale = reshape(scale, scales_shape)
    zero = None if zero is None else reshape(zero, scales_shape)
    return quantized(input, scale, zero, dtype, axis, group_size), scale, zero


def _positive(scale: Tensor) -> Tensor:
    """Replace zero scales, so that division is safe."""
    return computed(lambda s: MAXIMUM(s, number(2.0**-120, s.dtype)), scale)


def _symmetric_scale(x: Tensor, axes: Sequence[int], dtype: str) -> tuple[Tensor, None]:
    highest = reduce(A.reduction_max, eltwise(x, A.eltwise_abs), axes)
    return _positive(linear_map(highest, 1.0 / RANGES[dtype][1])), None


def _asymmetric_scale(x: Tensor, axes: Sequence[int], dtype: str) -> tuple[Tensor, Tensor]:
    smallest, largest = RANGES[dtype]
    zero = number(0.0, str(x.dtype))
    low = computed(lambda v: MINIMUM(v, zero), reduce(A.reduction_min, x, axes))
    high = computed(lambda v: MAXIMUM(v, zero), reduce(A.reduction_max, x, axes))
    scale = _positive(linear_map(sub(high, low), 1.0 / (largest - smallest)))
    zero_point = linear_map(div(low, scale), -1.0, smallest)
    return scale, x.trace.convert(zero_point, "int32")


def quantize_dynamic(
    input: Tensor,
    dtype: str = "int8",
    axis: int | None = None,
    group_size: int | None = None,
    symmetric: bool | None = None,
) -> QuantizedTensor:
    """Quantize with scales computed from the range of the elements.

    Parameters
    ----------
    input : dpnp.ndarray or Array (*S)
        float32 or bfloat16; not empty.
    dtype, axis, group_size
        As for ``quantize``.
    symmetric : bool, optional
        True: zero points are 0, and the largest absolute value maps to the largest integer. False:
        the range of the elements, extended to include 0, maps to the range of the integers. By
        default, whether ``dtype`` is signed.

    Returns
    -------
    QuantizedTensor

    Raises
    ------
    ValueError
        ``input`` is empty; otherwise as ``quantize``.
    TypeError
        ``input`` is not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Quantization".
    """
    symmetric = dtype.startswith("int") if symmetric is None else bool(symmetric)
    data, scale, zero = _quantize_dynamic(input, dtype, axis, group_size, symmetric)
    axis = None if axis is None else axis % len(input.shape)
    return QuantizedTensor(data, scale, zero, axis, group_size)
