# SPDX-License-Identifier: Apache-2.0
"""Quantization to integers and back, by scales in the model or by the range of the values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn.onnx.delayed_values import Dequantized
from sycl_dnn.onnx.elementwise_operators import cast, name_of, numpy_dtype
from sycl_dnn.onnx.evaluation import fits_device, is_host
from sycl_dnn.onnx.integer_products import (
    LIMITS,
    dequantized,
    dynamically_quantized,
    rounded,
)
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, checked_axis, operator

_WIDE_LIMITS = {name: (np.iinfo(name).min, np.iinfo(name).max)
           for name in ("int8", "uint8", "int16", "uint16", "int32")}  # fmt: skip


def _along(call: Call, value: Any, x: Any) -> Any:
    """Return a scale or zero point in a shape that broadcasts to ``x``."""
    rank = len(x.shape)
    if not rank or math.prod(value.shape) == 1:
        return value.reshape(()) if is_host(value) else F.reshape(value, ())
    axis, block = checked_axis(call, call.get("axis", 1), rank), call.get("block_size", 0)
    if block:
        if len(value.shape) != rank or -(-x.shape[axis] // block) != value.shape[axis]:
            raise ValueError(f"scales of blocks must fit {tuple(x.shape)}, got {value.shape}")
        if is_host(value):
            return value.take(np.arange(x.shape[axis]) // block, axis)
        return F.narrow(F.repeat_interleave(value, block, axis), axis, 0, x.shape[axis])
    shape = [-1 if i == axis else 1 for i in range(rank)]
    return value.reshape(shape) if is_host(value) else F.reshape(value, shape)


def _rounded_wide(scaled: Any, zero: Any, dtype: str) -> Any:
    """Round floats half to even, add the zero point, and saturate to an integer type."""
    low, high = _WIDE_LIMITS[dtype]
    scaled = F.round(scaled)
    if zero is not None:
        scaled = scaled + F.astype(zero, name_of(scaled))
    return F.astype(F.astype(F.clamp(scaled, float(low), float(high)), "int32"), dtype)


@operator("QuantizeLinear", mixed=True, constants=(1,))
def _quantize(call: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    dtype = name_of(zero) if zero is not None else "uint8"
    if zero is None and call.get("output_dtype", 0):
        dtype = call.dtype(call.get("output_dtype"))
    if dtype not in _WIDE_LIMITS or not fits_device(scale.dtype):
        return _quantize_on_host(call, call.host(x), call.host(scale), zero, dtype)
    x = call.device(x)
    scale, zero = (v if v is None else _along(call, call.device(v), x) for v in (scale, zero))
    wide = "float32" if name_of(x) != "float64" else "float64"
    if name_of(x) == "int32" and dtype == "int32":
        wide = "float64"
    if dtype in LIMITS and wide == "float32":
        return rounded(F.astype(x, wide), F.astype(scale, wide), zero, dtype)
    return _rounded_wide(F.astype(x, wide) / F.astype(scale, wide), zero, dtype)


def _quantize_on_host(call: Call, x: Any, scale: Any, zero: Any, dtype: str) -> Any:
    """Quantize to types that the device lacks: floats of 8 and 4 bits, integers of 4 and 2."""
    scaled = x.astype(np.float32) / _along(call, scale.astype(np.float32), x)
    if "float" in dtype:
        return cast(call, scaled, dtype)
    bits, is_signed = int(dtype.lstrip("uint")), dtype.startswith("i")
    low = -(2 ** (bits - 1)) if is_signed else 0
    shift = 0 if zero is None else _along(call, call.host(zero).astype(np.float32), x)
    scaled = np.clip(np.rint(scaled) + shift, low, low + 2**bits - 1)
    return scaled.astype(np.int8).astype(numpy_dtype(dtype))


@operator("DequantizeLinear", mixed=True, constants=(1,))
def _dequantize(call: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    def make() -> Any:
        return _floats(call, x, scale, zero)

    if name_of(x) not in LIMITS or call.get("block_size", 0) or call.get("output_dtype", 0):
        return make()
    return Dequantized(make, x, scale, zero, call.get("axis", 1))


def _floats(call: Call, x: Any, scale: Any, zero: Any) -> Any:
    """Dequantize integers or narrow floats; constants are converted once."""
    dtype = call.get("output_dtype", 0)
    target = call.dtype(dtype) if dtype else name_of(scale)
    args = [x, scale] if zero is None else [x, scale, zero]
    if all(map(is_host, args)):
        return call.run.once("DequantizeLinear", args, lambda: _on_host(call, target, *args))
    if target == "float8_e8m0fnu" or (is_host(x) and not fits_device(x.dtype)):
        return call.device(_on_host(call, target, *map(call.host, args)))
    x = call.device(x)
    scale, zero = (v if v is None else _along(call, call.device(v), x) for v in (scale, zero))
    if name_of(x) not in LIMITS:
        x, zero = (v if v is None else F.astype(v, "int32") for v in (x, zero))
    return F.astype(dequantized(x, scale, zero), target)


def _on_host(call: Call, target: str, x: Any, scale: Any, zero: Any = None) -> Any:
    values = x.astype(np.float32)
    if zero is not None:
        values = values - _along(call, zero.astype(np.float32), x)
    return cast(call, values * _along(call, scale.astype(np.float32), x), target)


@operator("DynamicQuantizeLinear", 11)
def dynamic_quantize(call: Call, x: Any) -> Any:
    """Return an array as uint8, and the scale and zero point for its range."""
    return dynamically_quantized(x)


operator("QuantizeLinear", domain=MICROSOFT, mixed=True, constants=(1,))(_quantize)
operator("DequantizeLinear", domain=MICROSOFT, mixed=True, constants=(1,))(_dequantize)
