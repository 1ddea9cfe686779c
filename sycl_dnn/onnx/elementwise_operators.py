# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators: arithmetic, comparisons, activations, casts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.evaluation import fits_device, is_host
from sycl_dnn.onnx.gaussian_units import scaled
from sycl_dnn.onnx.model_graph import dtype_name
from sycl_dnn.onnx.one_hot_rows import equal
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, operator


def name_of(value: Any) -> str:
    """Return the name of the data type of a value."""
    return str(value.dtype.name) if is_host(value) else dtypes.name_of(value.dtype)


def is_float(value: Any) -> bool:
    """Whether a value is floating point."""
    return "float" in name_of(value)


# --- Unary

_UNARY: dict[str, Callable[[Any], Any]] = {
    name: getattr(F, name.lower())
    for name in (
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf",
        "Exp", "Floor", "HardSwish", "IsNaN", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round",
        "Sigmoid", "Sign", "Sin", "Sinh", "Softsign", "Sqrt", "Tan", "Tanh",
    )
}  # fmt: skip
_UNARY |= {
    # As in NumPy, and unlike torch's, the sign of NaN is NaN.
    "Sign": lambda x: F.where(F.isnan(x), x, F.sign(x)) if is_float(x) else F.sign(x),
    "Relu": lambda x: F.relu(x) if is_float(x) else F.clamp(x, 0),
}
_UNARY |= {"Not": F.logical_not, "BitwiseNot": F.bitwise_not, "Identity": lambda x: x}


@operator(_UNARY)
def _unary(call: Call, x: Any) -> Any:
    result = _UNARY[call.op](x)
    return result if name_of(result) in ("bool", name_of(x)) else F.astype(result, name_of(x))


operator("Identity", 14, mixed=True)(lambda call, x: x)


@operator("Softplus")
def _softplus(call: Call, x: Any) -> Any:
    return F.logaddexp(x, F.full_like(x, 0.0)) if name_of(x) == "float64" else F.softplus(x)


@operator("IsInf")
def _is_inf(call: Call, x: Any) -> Any:
    signs = (math.inf, call.get("detect_positive", 1)), (-math.inf, call.get("detect_negative", 1))
    tests = [F.eq(x, value) for value, is_detected in signs if is_detected]
    return functools.reduce(F.logical_or, tests) if tests else F.ne(x, x) & F.eq(x, x)


# --- Activations with parameters


def _alpha(function: Callable[[Any, float], Any], default: float) -> Callable[[Call, Any], Any]:
    return lambda call, x: function(x, call.get("alpha", default))


for _name, _body in {
    "Elu": _alpha(F.elu, 1.0),
    "Celu": _alpha(F.celu, 1.0),
    "LeakyRelu": _alpha(F.leaky_relu, 0.01),
    "ThresholdedRelu": _alpha(lambda x, alpha: F.where(F.gt(x, alpha), x, 0.0), 1.0),
    "Swish": _alpha(lambda x, alpha: x * F.sigmoid(x * alpha), 1.0),
}.items():
    operator(_name)(_body)


@operator("Selu")
def _selu(call: Call, x: Any) -> Any:
    alpha = call.get("alpha", 1.67326319217681884765625)
    return F.elu(x, alpha) * call.get("gamma", 1.05070102214813232421875)


@operator("HardSigmoid")
def _hard_sigmoid(call: Call, x: Any) -> Any:
    return F.clamp(x * call.get("alpha", 0.2) + call.get("beta", 0.5), 0.0, 1.0)


operator("Gelu", 20)(lambda call, x: F.gelu(x, approximate=call.get("approximate", "none")))


@operator("Shrink")
def _shrink(call: Call, x: Any) -> Any:
    bound, bias = call.get("lambd", 0.5), call.get("bias", 0.0)
    wide = x if is_float(x) else F.astype(x, "float32")
    zero = F.full_like(wide, 0.0)
    shrunk = F.where(F.lt(wide, -bound), wide + bias, F.where(F.gt(wide, bound), wide - bias, zero))
    return F.astype(shrunk, name_of(x))


@operator("PRelu")
def _prelu(call: Call, x: Any, slope: Any) -> Any:
    if call.version < 7 and len(slope.shape) == 1 and slope.shape[0] > 1:
        slope = F.reshape(slope, (-1,) + (1,) * (len(x.shape) - 2))
    sizes = (1,) * (len(x.shape) - len(slope.shape)) + tuple(slope.shape)
    if is_float(x) and len(sizes) > 1 and all(n == 1 for k, n in enumerate(sizes) if k != 1):
        # A slope for each channel, which a convolution may apply.
        return F.prelu(x, F.reshape(slope, (-1,)))
    return F.where(F.lt(x, 0), x * slope, x)


@operator("SwiGLU")
def _swiglu(call: Call, gate: Any, x: Any) -> Any:
    alpha = call.get("alpha", 1.0)
    return (F.silu(gate) if alpha == 1 else gate * F.sigmoid(gate * alpha)) * x


for _name in ("Gelu", "FastGelu", "QuickGelu", "BiasGelu"):

    @operator(_name, domain=MICROSOFT)
    def _gelu_of_microsoft(call: Call, x: Any, bias: Any = None) -> Any:
        x = x if bias is None else x + bias
        if call.op == "QuickGelu":
            return x * F.sigmoid(x * call.get("alpha", 1.702))
        return F.gelu(x, approximate="tanh" if call.op == "FastGelu" else "none")


# --- Binary and variadic

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": F.add, "Sub": F.sub, "Equal": F.eq, "Less": F.lt, "LessOrEqual": F.le,
    "Greater": F.gt, "GreaterOrEqual": F.ge, "And": F.logical_and, "Or": F.logical_or,
    "Xor": F.logical_xor, "BitwiseAnd": F.bitwise_and, "BitwiseOr": F.bitwise_or,
    "BitwiseXor": F.bitwise_xor,
}  # fmt: skip


def operand(call: Call, value: Any, other: Any) -> Any:
    """Return a value on the device, or a host float as a Python number."""
    is_number = is_host(value) and value.size == 1 and value.dtype.kind == "f"
    if is_number and not is_host(other) and value.ndim <= len(other.shape):
        return float(value.item())
    return call.device(value)


@operator(_BINARY, mixed=True)
def _binary(call: Call, x: Any, y: Any) -> Any:
    if call.version < 7 and call.get("broadcast", 0):
        y = _aligned(call, x, y)

    def make() -> Any:
        return _BINARY[call.op](operand(call, x, y), operand(call, y, x))

    return equal(x, y, make) if call.op == "Equal" else make()


def _aligned(call: Call, x: Any, y: Any) -> Any:
    """Align the second operand to ``axis``, as in early operator versions."""
    axis = call.get("axis", len(x.shape) - len(y.shape)) % max(len(x.shape), 1)
    shape = (*y.shape, *(1,) * (len(x.shape) - axis - len(y.shape)))
    return F.reshape(call.device(y), shape)


@operator("Mul", mixed=True)
def _mul(call: Call, x: Any, y: Any) -> Any:
    if call.version < 7 and call.get("broadcast", 0):
        y = _aligned(call, x, y)
    a, b = operand(call, x, y), operand(call, y, x)
    if isinstance(a, float):
        a, b = b, a
    return scaled(a, b, lambda: F.mul(a, b)) if isinstance(b, float) else F.mul(a, b)


@operator("Div", mixed=True)
def _div(call: Call, x: Any, y: Any) -> Any:
    if call.version < 7 and call.get("broadcast", 0):
        y = _aligned(call, x, y)
    if is_float(x):
        a, b = operand(call, x, y), operand(call, y, x)
        return scaled(a, 1 / b, lambda: F.div(a, b)) if isinstance(b, float) and b else F.div(a, b)
    x, y = call.device(x), call.device(y)
    return F.astype(F.div(x, y, rounding_mode="trunc"), name_of(x))


@operator("Pow", mixed=True)
def _pow(call: Call, x: Any, y: Any) -> Any:
    x, dtype = call.device(x), name_of(x)
    if is_host(y) and y.size == 1 and y.ndim <= len(x.shape) and is_float(x):
        return F.pow(x, float(y.item()))
    y = call.device(y)
    if name_of(y) == dtype:
        return F.pow(x, y)
    wide = "float64" if "float" not in dtype else dtype
    return F.astype(F.pow(F.astype(x, wide), F.astype(y, wide)), dtype)


operator("Mod")(lambda call, x, y: (F.fmod if call.get("fmod", 0) else F.remainder)(x, y))


@operator(["Max", "Min", "Sum", "Mean"])
def _over_all(call: Call, *xs: Any) -> Any:
    function = {"Max": F.maximum, "Min": F.minimum}.get(call.op, F.add)
    combined = functools.reduce(function, xs)
    return combined / len(xs) if call.op == "Mean" else combined


@operator("BitShift")
def _bit_shift(call: Call, x: Any, y: Any) -> Any:
    is_left = call.need("direction") == "LEFT"
    return (F.bitwise_left_shift if is_left else F.bitwise_right_shift)(x, y)


operator("Where", mixed=True)(lambda call, *values: F.where(*map(call.device, values)))


@operator("Clip", host=(1, 2))
def _clip(call: Call, x: Any, low: Any = None, high: Any = None) -> Any:
    bounds = [call.get(n, v) for n, v in (("min", low), ("max", high))]
    kind = float if is_float(x) else int
    first, last = (None if b is None else kind(np.asarray(b).item()) for b in bounds)
    if first is None and last is None:
        return x
    if first is not None and last is not None and first > last:
        first = last
    return F.clamp(x, first, last)


# --- Casts


def cast(call: Call, x: Any, dtype: str) -> Any:
    """Convert to another data type by ONNX's rounding rules."""
    source = name_of(x)
    if source == dtype:
        return x
    if is_host(x) or not fits_device(numpy_dtype(dtype)):
        return _cast_on_host(call, call.host(x), dtype)
    if dtype == "bool":
        return F.ne(x, 0)
    if "float" in source and "int" in dtype:
        x = F.trunc(x)
    return F.astype(x, dtype)


def _cast_on_host(call: Call, x: np.ndarray, dtype: str) -> np.ndarray:
    target = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) if x.dtype.kind == "V" or x.dtype.name[:3] in ("flo", "bfl") \
            and x.dtype.kind != "f" else x  # fmt: skip
        if dtype == "float8_e8m0fnu":
            return _power_of_two(call, wide.astype(np.float32), target)
        if dtype.startswith("float8") and call.get("saturate", 1):
            return _saturated(wide.astype(np.float32), target)
        if target.itemsize == 1 and target.name in _NARROW:
            low, high = _NARROW[target.name]
            n = high - low + 1
            return (
                ((np.asarray(wide).astype(np.int64) - low) % n + low).astype(np.int8).astype(target)
            )
        return np.asarray(wide.astype(target))


#: Integers with fewer than 8 bits; out-of-range values wrap.
_NARROW = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def numpy_dtype(name: str) -> np.dtype:
    """Return the dtype of a name, including those of ml_dtypes."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, None) or name)


def _saturated(x: np.ndarray, target: np.dtype) -> np.ndarray:
    import ml_dtypes

    largest = float(ml_dtypes.finfo(target).max)  # type: ignore[no-untyped-call]
    clipped = np.where(np.isnan(x), x, np.clip(x, -largest, largest))
    if target.name.endswith("uz"):
        clipped = np.where(np.isinf(x), np.copysign(largest, x), clipped)
    return clipped.astype(target)


def _power_of_two(call: Call, x: np.ndarray, target: np.dtype) -> np.ndarray:
    mantissa, exponent = np.frexp(np.abs(x.astype(np.float64)))  # in [0.5, 1)
    bound = {"up": 0.5, "down": 1.0}.get(call.get("round_mode", "up"))
    is_up = mantissa >= 0.75 if bound is None else mantissa > bound
    power = np.where(x == 0, -127, exponent - 1 + is_up)
    powers = np.exp2(np.clip(power, -127, 127).astype(np.float64))
    return np.where(np.isfinite(x), powers, np.nan).astype(target)


operator("Cast", mixed=True)(lambda call, x: cast(call, x, call.dtype(int(call.need("to")))))
operator("CastLike", mixed=True)(lambda call, x, like: cast(call, x, name_of(like)))


@operator("BitCast", 26, mixed=True)
def _bit_cast(call: Call, x: Any) -> Any:
    target = numpy_dtype(dtype_name(int(call.need("to"))))
    return (x if is_host(x) else call.host(x)).view(target)
