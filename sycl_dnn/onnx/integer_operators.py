# SPDX-License-Identifier: Apache-2.0
"""Quantization, and exact integer products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.onnx.convolution_operators import convolve
from sycl_dnn.onnx.elementwise_operators import cast, name_of, numpy_dtype
from sycl_dnn.onnx.evaluation import fits_device, is_host
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, checked_axis, operator

#: Integers up to this are exact in float32.
_EXACT = 2**24
_LIMITS = {name: (np.iinfo(name).min, np.iinfo(name).max)
           for name in ("int8", "uint8", "int16", "uint16", "int32")}  # fmt: skip


# --- Conversions


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
            return np.repeat(value, block, axis).take(range(x.shape[axis]), axis)
        return F.narrow(F.repeat_interleave(value, block, axis), axis, 0, x.shape[axis])
    shape = [-1 if i == axis else 1 for i in range(rank)]
    return value.reshape(shape) if is_host(value) else F.reshape(value, shape)


def _rounded(call: Call, made: Any, zero: Any, dtype: str) -> Any:
    """Round floats to an integer type: halves to even, add the zero point, saturate."""
    low, high = _LIMITS[dtype]
    made = F.round(made)
    if zero is not None:
        made = made + F.astype(zero, name_of(made))
    return F.astype(F.astype(F.clamp(made, float(low), float(high)), "int32"), dtype)


@operator("QuantizeLinear", mixed=True)
def _quantize(call: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    dtype = name_of(zero) if zero is not None else "uint8"
    if zero is None and call.get("output_dtype", 0):
        dtype = call.dtype(call.get("output_dtype"))
    if dtype not in _LIMITS or not fits_device(scale.dtype):
        return _quantize_on_host(call, call.host(x), call.host(scale), zero, dtype)
    x = call.device(x)
    scale, zero = (v if v is None else _along(call, call.device(v), x) for v in (scale, zero))
    wide = "float32" if name_of(x) != "float64" else "float64"
    if name_of(x) == "int32" and dtype == "int32":
        wide = "float64"
    return _rounded(call, F.astype(x, wide) / F.astype(scale, wide), zero, dtype)


def _quantize_on_host(call: Call, x: Any, scale: Any, zero: Any, dtype: str) -> Any:
    """Quantize to types that the device lacks: 8- and 4-bit floats, 4- and 2-bit integers."""
    made = x.astype(np.float32) / _along(call, scale.astype(np.float32), x)
    if "float" in dtype:
        return cast(call, made, dtype)
    bits, is_signed = int(dtype.lstrip("uint")), dtype.startswith("i")
    low = -(2 ** (bits - 1)) if is_signed else 0
    shift = 0 if zero is None else _along(call, call.host(zero).astype(np.float32), x)
    made = np.clip(np.rint(made) + shift, low, low + 2**bits - 1)
    return made.astype(np.int8).astype(numpy_dtype(dtype))


@operator("DequantizeLinear", mixed=True)
def _dequantize(call: Call, x: Any, scale: Any, zero: Any = None) -> Any:
    dtype = call.get("output_dtype", 0)
    target = call.dtype(dtype) if dtype else name_of(scale)
    if target == "float8_e8m0fnu" or (is_host(x) and not fits_device(x.dtype)):
        made = x.astype(np.float32)
        if zero is not None:
            made = made - _along(call, call.host(zero).astype(np.float32), x)
        made = made * _along(call, call.host(scale).astype(np.float32), x)
        return call.device(cast(call, made, target))
    x = call.device(x)
    scale, zero = (v if v is None else _along(call, call.device(v), x) for v in (scale, zero))
    made = F.astype(x, "int32")
    if zero is not None:
        made = made - F.astype(zero, "int32")
    return F.astype(F.astype(made, name_of(scale)) * scale, target)


@operator("DynamicQuantizeLinear", 11)
def _dynamic(call: Call, x: Any) -> Any:
    low = F.clamp(F.amin(x, tuple(range(len(x.shape)))), None, 0.0)
    high = F.clamp(F.amax(x, tuple(range(len(x.shape)))), 0.0, None)
    scale = (high - low) / 255.0
    scale = F.where(F.eq(scale, 0.0), F.full_like(scale, 1.0), scale)
    zero = _rounded(call, (low * -1.0) / scale, None, "uint8")
    return _rounded(call, x / scale, zero, "uint8"), F.reshape(scale, ()), F.reshape(zero, ())


# --- Products


def _shifted(x: Any, zero: Any, shape: tuple[int, ...] = ()) -> Any:
    """Subtract the zero point from 8-bit integers, as exact float32."""
    made = F.astype(x, "float32")
    if zero is None:
        return made
    zero = F.astype(zero, "float32")
    return made - (F.reshape(zero, shape) if shape and math.prod(zero.shape) > 1 else zero)


def _columns(zero: Any, rank: int) -> tuple[int, ...]:
    """Return the shape of a per-row zero point of the first operand."""
    return () if zero is None or len(zero.shape) != 1 else (-1, 1)


def _parts(n: int, others: int = 1) -> list[tuple[int, int]]:
    """Split a sum over ``n`` times ``others`` products so that each part is exact."""
    step = max(_EXACT // (255 * 255 * others), 1)
    return [(i, min(step, n - i)) for i in range(0, n, step)]


def integer_product(a: Any, b: Any) -> Any:
    """Multiply matrices of integers below 256, given as float32; exact, as int32."""
    last = len(a.shape) - 1
    made = [
        F.astype(F.matmul(F.narrow(a, last, i, n), F.narrow(b, max(len(b.shape) - 2, 0), i, n)),
                 "int32")
        for i, n in _parts(a.shape[-1])
    ]  # fmt: skip
    return _total(made)


def _total(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _product(call: Call, a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    return integer_product(_shifted(a, a_zero, _columns(a_zero, len(a.shape))), _shifted(b, b_zero))


@operator("MatMulInteger", 10)
def _matmul_integer(call: Call, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return _product(call, a, b, a_zero, b_zero)


def _convolution(call: Call, x: Any, w: Any, x_zero: Any, w_zero: Any) -> Any:
    """Convolve exactly, splitting channels so that sums fit float32."""
    x = _shifted(x, x_zero)
    w = _shifted(w, w_zero, (-1,) + (1,) * (len(w.shape) - 1))
    groups, channels = call.get("group", 1), w.shape[1]
    parts = _parts(channels, math.prod(w.shape[2:]))
    if len(parts) == 1:
        return F.astype(convolve(call, x, w), "int32")
    grouped = F.reshape(x, (x.shape[0], groups, channels, *x.shape[2:]))
    made = []
    for start, n in parts:
        part = F.narrow(grouped, 2, start, n)
        part = F.reshape(part, (x.shape[0], groups * n, *x.shape[2:]))
        made.append(F.astype(convolve(call, part, F.narrow(w, 1, start, n)), "int32"))
    return _total(made)


@operator("ConvInteger", 10)
def _conv_integer(call: Call, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    return _convolution(call, x, w, x_zero, w_zero)


@operator("QLinearConv", 10)
def _qlinear_conv(
    call: Call, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any,
    y_scale: Any, y_zero: Any, bias: Any = None,
) -> Any:  # fmt: skip
    made = _convolution(call, x, w, x_zero, w_zero)
    shape = (-1,) + (1,) * (len(x.shape) - 2)
    if bias is not None:
        made = made + F.reshape(bias, shape)
    factor = x_scale * w_scale / y_scale
    factor = F.reshape(factor, shape) if math.prod(factor.shape) > 1 else factor
    return _rounded(call, F.astype(made, "float32") * factor, y_zero, name_of(y_zero))


def _rows(call: Call, scale: Any) -> Any:
    return F.reshape(scale, (-1, 1)) if len(scale.shape) == 1 and scale.shape[0] > 1 else scale


@operator("QLinearMatMul", 10)
def _qlinear_matmul(
    call: Call, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any,
    y_scale: Any, y_zero: Any,
) -> Any:  # fmt: skip
    made = F.astype(_product(call, a, b, a_zero, b_zero), "float32")
    scales = [F.astype(s, "float32") for s in (a_scale, b_scale, y_scale)]
    factor = _rows(call, scales[0]) * scales[1] / scales[2]
    return _rounded(call, made * factor, y_zero, name_of(y_zero))


# --- Microsoft's operators


@operator("MatMulIntegerToFloat", domain=MICROSOFT)
def _matmul_to_float(
    call: Call, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None,
    b_zero: Any = None, bias: Any = None,
) -> Any:  # fmt: skip
    made = F.astype(_product(call, a, b, a_zero, b_zero), "float32") * (a_scale * b_scale)
    return made if bias is None else made + bias


@operator("DynamicQuantizeMatMul", domain=MICROSOFT)
def _dynamic_matmul(
    call: Call, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None
) -> Any:
    values, scale, zero = _dynamic(call, a)
    return _matmul_to_float(call, values, b, scale, b_scale, zero, b_zero, bias)


Quantised = tuple[Any, Any, Any]


def _wide(given: Quantised) -> Any:
    values, scale, zero = given
    made = F.astype(values, "int32")
    made = made if zero is None else made - F.astype(zero, "int32")
    return F.astype(made, "float32") * scale


def _narrow(call: Call, made: Any, scale: Any, zero: Any, like: Any) -> Any:
    return _rounded(call, made / scale, zero, name_of(like if zero is None else zero))


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "QLinearAdd": lambda a, b: a + b, "QLinearMul": lambda a, b: a * b
}  # fmt: skip


@operator(_BINARY, domain=MICROSOFT)
def _qlinear_binary(call: Call, *given: Any) -> Any:
    a, b, (scale, zero) = given[:3], given[3:6], (*given[6:], None)[:2]
    return _narrow(call, _BINARY[call.op](_wide(a), _wide(b)), scale, zero, a[0])


_UNARY: dict[str, Callable[[Call, Any], Any]] = {
    "QLinearSigmoid": lambda call, x: F.sigmoid(x),
    "QLinearLeakyRelu": lambda call, x: F.leaky_relu(x, call.get("alpha", 0.01)),
    "QLinearSoftmax": lambda call, x: F.softmax(x, call.get("axis", -1)),
    "QLinearGlobalAveragePool": lambda call, x: F.mean(x, tuple(range(2, len(x.shape))), True),
}


@operator(_UNARY, domain=MICROSOFT)
def _qlinear_unary(call: Call, *given: Any) -> Any:
    if call.get("channels_last", 0):
        call.refuse("channels_last must be 0")
    scale, zero = (*given[3:], None)[:2]
    return _narrow(call, _UNARY[call.op](call, _wide(given[:3])), scale, zero, given[0])


@operator("QLinearConcat", domain=MICROSOFT)
def _qlinear_concat(call: Call, scale: Any, zero: Any, *given: Any) -> Any:
    parts = [_wide(given[i : i + 3]) for i in range(0, len(given), 3)]
    return _narrow(call, F.cat(parts, call.need("axis")), scale, zero, given[0])


operator("QuantizeLinear", domain=MICROSOFT, mixed=True)(_quantize)
operator("DequantizeLinear", domain=MICROSOFT, mixed=True)(_dequantize)
