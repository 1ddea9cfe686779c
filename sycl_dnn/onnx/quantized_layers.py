# SPDX-License-Identifier: Apache-2.0
"""Layers between ``DequantizeLinear`` and ``QuantizeLinear`` as integer products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.onnx.convolution_operators import placed_windows
from sycl_dnn.onnx.delayed_values import Dequantized, Product, opened
from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.integer_operators import weights_in_int8
from sycl_dnn.onnx.integer_products import LIMITS
from sycl_dnn.onnx.operator_registry import Call, F, delayed_form


class _Operands(NamedTuple):
    """Operands of functions of quantized arrays."""

    x: Any
    weight: Any
    bias: Any


def _number(call: Call, value: Any, dtype: str) -> Any:
    """Return a scale or zero point as an array without axes."""
    if is_host(value):
        return call.device(value.reshape(()).astype(dtype))
    return F.astype(F.reshape(value, ()), dtype)


def _operands(call: Call, x: Any, w: Any, bias: Any, axis: int) -> _Operands | None:
    """Return the operands of an integer product; None if there is none.

    ``axis`` is that of the weights' outputs.
    """
    if not (isinstance(x, Dequantized) and isinstance(w, Dequantized)):
        return None
    values, parts = call.device(x.x), w.x.ndim if hasattr(w.x, "ndim") else 0
    n = w.x.shape[axis] if parts else 0
    is_single = math.prod(x.scale.shape) == 1 and {name_of(s.scale) for s in (x, w)} == {"float32"}
    several = math.prod(w.scale.shape) > 1
    if not is_single or (several and (w.axis % parts != axis or w.scale.shape != (n,))):
        return None
    shape = tuple(-1 if i == axis else 1 for i in range(parts))
    integers = weights_in_int8(call, values, w.x, x.zero, w.zero, shape)
    if integers is None or integers[1] is not None:
        return None
    zero = None if x.zero is None else _number(call, x.zero, "int32")
    scale = F.reshape(call.device(w.scale), (-1,)) if several else _number(call, w.scale, "float32")
    quantized_x = F.QuantizedTensor(values, _number(call, x.scale, "float32"), zero)
    weight = F.QuantizedTensor(integers[0], scale, None, axis if several else None)
    bias = opened(bias)
    return _Operands(quantized_x, weight, None if bias is None else call.device(bias))


def _product(call: Call, function: Callable[..., Any]) -> Product:
    """Return the product that ``function(**out)`` computes."""

    def quantized(scale: Any, zero: Any, dtype: str) -> Any:
        zero = None if zero is None else _number(call, zero, "int32")
        scale = _number(call, scale, "float32")
        return function(out_scale=scale, out_zero_point=zero, out_dtype=dtype).data

    return Product(function, quantized)


@delayed_form("Conv")
def _convolution(call: Call, x: Any, w: Any, bias: Any = None) -> Product | None:
    operands = _operands(call, x, w, bias, 0)
    over = None if operands is None else placed_windows(call, operands.x.data, operands.weight.data)
    if operands is None or over is None:
        return None
    function = (F.quantized_conv1d, F.quantized_conv2d, F.quantized_conv3d)[len(over[0]) - 1]
    args = (*operands, *over, call.get("group", 1))
    return _product(call, lambda **out: function(*args, **out))


@delayed_form("MatMul")
def _matmul(call: Call, x: Any, w: Any) -> Product | None:
    is_quantized = isinstance(w, Dequantized)
    operands = _operands(call, x, w, None, len(w.x.shape) - 1) if is_quantized else None
    if operands is None or operands.weight.data.ndim != 2:
        return None
    return _product(call, lambda **out: _multiply_rows(operands.x, operands.weight, out))


def _multiply_rows(x: Any, weight: Any, out: dict[str, Any]) -> Any:
    """Multiply all rows of an array of any rank at once."""
    *lead, k = x.data.shape
    product = F.quantized_matmul(x._replace(data=F.reshape(x.data, (-1, k))), weight, **out)
    shape = (*lead, weight.data.shape[1])
    if out:
        return product._replace(data=F.reshape(product.data, shape))
    return F.reshape(product, shape)


@delayed_form("Gemm")
def _gemm(call: Call, x: Any, w: Any, bias: Any = None) -> Product | None:
    plain = call.get("alpha", 1.0) == call.get("beta", 1.0) == 1 and not call.get("transA", 0)
    operands = _operands(call, x, w, bias, 0) if plain and call.get("transB", 0) else None
    if operands is None or (operands.bias is not None and operands.bias.ndim != 1):
        return None
    return _product(call, lambda **out: F.quantized_linear(*operands, **out))


@delayed_form("QuantizeLinear")
def _quantize(call: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    dtype = "uint8" if zero is None else name_of(zero)
    parameters = [v for v in (scale, zero) if v is not None]
    single = all(isinstance(v, np.ndarray) and v.size == 1 for v in parameters)
    if not (isinstance(x, Product) and single and dtype in LIMITS) or name_of(scale) != "float32":
        return None
    if zero is None and call.get("output_dtype", 0):
        return None
    return x.quantized(scale, zero, dtype)
