# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of quantised numbers: from floats to integers and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn._core import PrimitiveAttr
from sycl_dnn.dispatch.primitives import add, div, mul, sub, zeros
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.convert import converted
from sycl_dnn.functional.quantized_tensor import QuantizedTensor
from sycl_dnn.onednn import dtypes


def grouped_shape(
    shape: Sequence[int], axis: int | None, group_size: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape with groups as an axis, and that of scales which broadcast to it."""
    if axis is None:
        return tuple(shape), (1,) * len(shape)
    if group_size is None:
        return tuple(shape), tuple(n if i == axis else 1 for i, n in enumerate(shape))
    n = shape[axis] // group_size
    wide = (*shape[:axis], n, group_size, *shape[axis + 1 :])
    return wide, tuple(1 if i == axis + 1 else m for i, m in enumerate(wide))


def _by_reorder(
    x: Tensor, side: str, scale: Tensor, zero: Tensor | None, mask: int, dtype: str
) -> Tensor:
    """Convert with the scales of a reorder's ``side``, in the order of axes of ``x``."""
    attr = PrimitiveAttr()
    attr.set_scales_mask(side, mask)
    given = {"src": x, f"attr_scales_{side}": reshape(scale, (-1,))}
    if zero is not None:
        attr.set_zero_points_mask(side, mask)
        given[f"attr_zero_points_{side}"] = reshape(zero, (-1,))
    return x.trace.primitive("reorder", given, {"dst": Out(x.shape, dtype, x)}, attr=attr)["dst"]


def _reorder_mask(
    shape: Sequence[int], of_scales: Sequence[int], zero: Tensor | None, dtype: str
) -> int | None:
    """Return the bits of the axes along which scales differ; None where reorders are no good.

    oneDNN's take only the first of many zero points, mistake scales along axes that are no
    neighbours, and know none at all for 4 bits.
    """
    axes = [i for i, n in enumerate(of_scales) if n == shape[i] and n > 1]
    is_many = math.prod(of_scales) > 1
    have_gap = bool(axes) and axes[-1] - axes[0] >= len(axes)
    if dtype in dtypes.PACKED or have_gap or (is_many and zero is not None):
        return None
    return sum(1 << i for i in axes)


def dequantized(q: QuantizedTensor, dtype: str) -> Tensor:
    """Return the numbers that a checked quantised tensor stands for."""
    shape, of_scales = grouped_shape(q.shape, q.axis, q.group_size)
    x = reshape(q.data, shape)
    if not x.size:
        return zeros(x.trace, q.shape, dtype)
    mask = _reorder_mask(shape, of_scales, q.zero_point, q.dtype)
    if mask is not None:
        return reshape(_by_reorder(x, "src", q.scale, q.zero_point, mask, dtype), q.shape)
    made = x.trace.convert(x, "float32")
    if q.zero_point is not None:
        made = sub(made, reshape(x.trace.convert(q.zero_point, "float32"), of_scales))
    return converted(reshape(mul(made, reshape(q.scale, of_scales)), q.shape), dtype)


def quantized(
    x: Tensor, scale: Tensor, zero: Tensor | None, dtype: str, axis: int | None, group: int | None
) -> Tensor:
    """Return the integers that stand for ``x``."""
    shape, of_scales = grouped_shape(x.shape, axis, group)
    wide = reshape(x, shape)
    if not x.size:
        return zeros(x.trace, x.shape, dtype)
    mask = _reorder_mask(shape, of_scales, zero, dtype)
    if mask is not None:
        return reshape(_by_reorder(wide, "dst", scale, zero, mask, dtype), x.shape)
    made = div(x.trace.convert(wide, "float32"), reshape(scale, of_scales))
    if zero is not None:
        made = add(made, reshape(x.trace.convert(zero, "float32"), of_scales))
    made = reshape(made, x.shape)
    return converted(made, dtype) if dtype in dtypes.PACKED else x.trace.convert(made, dtype)
