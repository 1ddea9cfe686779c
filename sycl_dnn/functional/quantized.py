# SPDX-License-Identifier: Apache-2.0
"""Products of quantised operands in integers: quantized_linear, quantized_matmul."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import PrimitiveAttr
from sycl_dnn._saturation import saturates
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import add, broadcast_shape, expand_rank, filled
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.product import product, recorded
from sycl_dnn.functional.quantization import dequantized
from sycl_dnn.functional.quantized_in_floats import in_floats, scaled
from sycl_dnn.functional.quantized_operands import (
    INTEGERS,
    Target,
    check_bias,
    check_weight_axis,
    per_tensor,
    result_dtype,
    set_scales,
)
from sycl_dnn.functional.quantized_tensor import QuantizedTensor, checked

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["quantized_linear", "quantized_matmul"]


def _signed(weight: QuantizedTensor) -> QuantizedTensor:
    """Return weights as int8; for uint8 oneDNN has its reference implementation only."""
    if weight.dtype == "int8":
        return weight
    trace, zero = weight.data.trace, weight.zero_point
    data = _less_128(weight.data, "int8")
    if zero is None:
        zero = filled(trace, -128, weight.scale.shape, "int32")
    else:
        zero = _less_128(zero, "int32")
    return weight._replace(data=data, zero_point=zero)


def _less_128(x: Tensor, dtype: str) -> Tensor:
    attr = PrimitiveAttr()
    given = {"src": x} | set_scales(attr, "src", None, filled(x.trace, 128, (1,), "int32"))
    return x.trace.primitive("reorder", given, {"dst": Out(x.shape, dtype, x)}, attr=attr)["dst"]


def integer_product(
    x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, target: Target
) -> Tensor:
    """Multiply (..., M, K) with (..., K, N); scales of ``weight`` for all or along N."""
    a, b = x.data, weight.data
    if not (a.size and b.size):
        made = product(dequantized(x, "float32"), dequantized(weight, "float32"))
        return target.of(made if bias is None else add(made, bias))
    rank = max(a.ndim, b.ndim)
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    if saturates(a.trace.engine):
        attr, inputs = scaled(x, weight, bias, rank, rank - 1)
        inputs["src"], inputs["weights"] = (expand_rank(in_floats(q), rank) for q in (x, weight))
        return target.of(recorded(inputs, Out(shape, "float32"), attr))
    weight = _signed(weight)
    a, b = expand_rank(a, rank), expand_rank(weight.data, rank)
    attr = PrimitiveAttr()
    inputs = {"src": a, "weights": b} | set_scales(attr, "src", x.scale, x.zero_point)
    mask = 0 if weight.axis is None else 1 << (rank - 1)
    inputs |= set_scales(attr, "weights", weight.scale, weight.zero_point, mask)
    inputs |= set_scales(attr, "dst", target.scale, target.zero)
    if bias is not None:
        inputs["bias"] = reshape(bias, (1,) * (rank - 1) + bias.shape)
    return recorded(inputs, Out(shape, target.dtype), attr)


@operation
def _linear(input, weight, bias, out_scale, out_zero_point, out_dtype):
    name = "quantized_linear"
    x = per_tensor(name, input)
    weight = checked(name, "weight", weight, INTEGERS)
    if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"{name}: weight must have shape (out_features, {x.shape[-1:]}), got {weight.shape}"
        )
    check_weight_axis(name, "weight", weight, 0)
    check_bias(name, bias, weight.shape[0])
    target = Target(name, out_dtype, out_scale, out_zero_point)
    rows = x._replace(data=reshape(x.data, (math.prod(x.shape[:-1]), x.shape[-1])))
    made = integer_product(rows, weight.turned(), bias, target)
    return reshape(made, (*x.shape[:-1], weight.shape[0]))


def _returned(data: Any, scale: Any, zero: Any) -> Any:
    return data if scale is None else QuantizedTensor(data, scale, zero)


def quantized_linear(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: dpnp.ndarray | None = None,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor:
    """Return ``input @ weight.T + bias``, multiplied and added up in integers.

    Parameters
    ----------
    input : QuantizedTensor (*, K)
        int8 or uint8, one scale for all elements.
    weight : QuantizedTensor (N, K)
        int8 or uint8 with one scale for all, or one for each output (``axis=0``). Its data may be
        frozen. uint8 is converted, at every call unless frozen.
    bias : dpnp.ndarray (N,), optional
        float32, in the unit of the result before it is quantised.
    out_scale, out_zero_point : dpnp.ndarray (), optional
        float32 and int32: how to quantise the result.
    out_dtype : {"float32", "bfloat16", "int8", "uint8"}, optional
        By default float32, with ``out_scale`` that of ``input``.

    Returns
    -------
    dpnp.ndarray or Array (*, N), with ``out_scale`` QuantizedTensor (*, N)

    Raises
    ------
    ValueError
        Shapes or scales do not fit.
    TypeError
        A dtype does not fit.

    Notes
    -----
    No gradient flows to integers. A CPU without VNNI multiplies in float32, where sums are exact
    up to 2**24: oneDNN's integers would saturate.

    Source: oneDNN developer guide, "Matrix Multiplication" and "Quantization".
    """
    dtype = result_dtype(out_dtype, out_scale, input)
    made = _linear(input, weight, bias, out_scale, out_zero_point, dtype)
    return _returned(made, out_scale, out_zero_point)


@operation
def _matmul(input, other, out_scale, out_zero_point, out_dtype):
    name = "quantized_matmul"
    x, weight = per_tensor(name, input), checked(name, "other", other, INTEGERS)
    fits = min(x.ndim, weight.ndim) >= 2 and x.shape[-1] == weight.shape[-2]
    rank = max(x.ndim, weight.ndim)
    a, b = ((1,) * (rank - len(t.shape)) + t.shape for t in (x, weight))
    if not fits or any(m != n and 1 not in (m, n) for m, n in zip(a[:-2], b[:-2], strict=True)):
        raise ValueError(
            f"{name}: other must have shape (*, {x.shape[-1:]}, N) with batch axes that fit those "
            f"of {x.shape}, got {weight.shape}"
        )
    check_weight_axis(name, "other", weight, weight.ndim - 1)
    target = Target(name, out_dtype, out_scale, out_zero_point)
    return integer_product(x, weight, None, target)


def quantized_matmul(
    input: QuantizedTensor,
    other: QuantizedTensor,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor:
    """Return the products of matrices, multiplied and added up in integers.

    Parameters
    ----------
    input : QuantizedTensor (*, M, K)
        As for ``quantized_linear``.
    other : QuantizedTensor (*, K, N)
        int8 or uint8 with one scale for all, or one for each column (``axis=-1``). Batch axes
        broadcast.
    out_scale, out_zero_point, out_dtype
        As for ``quantized_linear``.

    Returns
    -------
    dpnp.ndarray or Array (*, M, N), with ``out_scale`` QuantizedTensor (*, M, N)

    Raises
    ------
    ValueError
        Shapes or scales do not fit.
    TypeError
        A dtype does not fit.

    Notes
    -----
    As for ``quantized_linear``.

    Source: oneDNN developer guide, "Matrix Multiplication" and "Quantization".
    """
    dtype = result_dtype(out_dtype, out_scale, input)
    made = _matmul(input, other, out_scale, out_zero_point, dtype)
    return _returned(made, out_scale, out_zero_point)
