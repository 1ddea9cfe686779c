# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions as ONNX's operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.written_graph import Ints, Recording, Row, Rows, Value, unsupported

ROWS = Rows()
row = ROWS.row


def operand(g: Recording, value: Any, dtype: str) -> Any:
    """Return a value or a number in a data type, as the input of a node."""
    return g.cast(value, dtype) if isinstance(value, Value) else g.number(value, dtype)


def common(*values: Any) -> str:
    """Return the dtype in which values and numbers are compared."""
    kinds = [v.dtype for v in values if isinstance(v, Value)]
    numbers = [v for v in values if not isinstance(v, Value)]
    floats = [k for k in kinds if dtypes.is_float(k)]
    if len(set(floats)) > 1:
        return "float64" if "float64" in floats else "float32"
    if floats:
        return floats[0]
    if any(isinstance(n, float) for n in numbers):
        return "float32"
    if set(kinds) == {"bool"} and not all(isinstance(n, bool) for n in numbers):
        return "int64"
    return np.result_type(*map(np.dtype, kinds)).name


# --- Of one value

#: Equivalent operators of ONNX.
_SAME = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf",
    "exp": "Exp", "floor": "Floor", "hardswish": "HardSwish", "log": "Log",
    "logical_not": "Not", "mish": "Mish", "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu",
    "selu": "Selu", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh",
    "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip


def _same_operator(op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        return g.node(op, g.cast(a.input, outputs[0].dtype))

    return write


ROWS |= {name: _same_operator(op) for name, op in _SAME.items()}


#: Formulas of a value ``x``; ``n(number)`` is a constant of its dtype.
_FORMULAS: dict[str, Callable[..., Any]] = {
    "erfc": lambda g, x, n: g.node("Sub", n(1), g.node("Erf", x)),
    "exp2": lambda g, x, n: g.node("Pow", n(2), x),
    # Exact for small numbers, unlike the exponential less 1.
    "expm1": lambda g, x, n: g.node(
        "Mul", g.node("Tanh", g.node("Mul", x, n(0.5))), g.node("Add", g.node("Exp", x), n(1))
    ),
    "log1p": lambda g, x, n: _log1p(g, x, n),
    "log2": lambda g, x, n: g.node("Div", g.node("Log", x), n(math.log(2))),
    "log10": lambda g, x, n: g.node("Div", g.node("Log", x), n(math.log(10))),
    "logsigmoid": lambda g, x, n: g.node("Neg", g.node("Softplus", g.node("Neg", x))),
    "relu6": lambda g, x, n: g.node("Clip", x, n(0), n(6)),
    "rsqrt": lambda g, x, n: g.node("Reciprocal", g.node("Sqrt", x)),
    "silu": lambda g, x, n: g.node("Mul", x, g.node("Sigmoid", x)),
    "square": lambda g, x, n: g.node("Mul", x, x),
    "tanhshrink": lambda g, x, n: g.node("Sub", x, g.node("Tanh", x)),
    "trunc": lambda g, x, n: g.node("Mul", g.node("Sign", x), g.node("Floor", g.node("Abs", x))),
}


def _log1p(g: Recording, x: Any, n: Callable[[float], Any]) -> Any:
    """Write 2 artanh(x / (x + 2)), which is exact for small numbers, up to 1."""
    near = g.node("Atanh", g.node("Div", x, g.node("Add", x, n(2))))
    far = g.node("Log", g.node("Add", x, n(1)))
    return g.node("Where", g.node("Less", x, n(1)), g.node("Mul", near, n(2)), far)


def _formula(function: Callable[..., Any]) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        dtype = outputs[0].dtype
        return function(g, g.cast(a.input, dtype), lambda value: g.number(value, dtype))

    return write


ROWS |= {name: _formula(function) for name, function in _FORMULAS.items()}

#: Operators with attributes: from names of arguments.
_WITH_ATTRIBUTES = {
    "celu": ("Celu", {"alpha": "alpha"}), "elu": ("Elu", {"alpha": "alpha"}),
    "gelu": ("Gelu", {"approximate": "approximate"}),
    "leaky_relu": ("LeakyRelu", {"alpha": "negative_slope"}),
    "hardshrink": ("Shrink", {"lambd": "lambd"}),
    "softshrink": ("Shrink", {"lambd": "lambd", "bias": "lambd"}),
    "isnan": ("IsNaN", {}), "isinf": ("IsInf", {}), "stop_gradient": ("Identity", {}),
}  # fmt: skip


def _with_attributes(op: str, names: dict[str, str]) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        attributes: dict[str, Any] = {ours: getattr(a, name) for ours, name in names.items()}
        attributes = {n: v if isinstance(v, str) else float(v) for n, v in attributes.items()}
        return g.node(op, a.input, **attributes)

    return write


ROWS |= {name: _with_attributes(*args) for name, args in _WITH_ATTRIBUTES.items()}


ROWS |= {
    "isfinite": lambda g, a, out: g.node(
        "Not", g.node("Or", g.node("IsNaN", a.input), g.node("IsInf", a.input))
    ),
    "hardsigmoid": lambda g, a, out: g.node("HardSigmoid", a.input, alpha=1 / 6, beta=0.5),
    "clamp": lambda g, a, out: _clamped(g, a.input, a.min, a.max, out[0].dtype),
    "clamp_min": lambda g, a, out: _clamped(g, a.input, a.min, None, out[0].dtype),
    "clamp_max": lambda g, a, out: _clamped(g, a.input, None, a.max, out[0].dtype),
    "ne": lambda g, a, out: g.node("Not", ROWS["eq"](g, a, out)),
}


@row("round")
def _round(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if not a.decimals:
        return g.node("Round", a.input)
    scale = g.number(10.0**a.decimals, outputs[0].dtype)
    return g.node("Div", g.node("Round", g.node("Mul", a.input, scale)), scale)


@row("softplus")
def _softplus(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    beta = g.number(a.beta, dtype)
    scaled = a.input if a.beta == 1 else g.node("Mul", a.input, beta)
    result = g.node("Softplus", scaled)
    result = result if a.beta == 1 else g.node("Div", result, beta)
    if a.threshold >= 20:  # from there on it is the input
        return result
    is_linear = g.node("Greater", scaled, g.number(a.threshold, dtype))
    return g.node("Where", is_linear, a.input, result)


@row("hardtanh")
def _hardtanh(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    return g.node("Clip", a.input, g.number(a.min_val, dtype), g.number(a.max_val, dtype))


def _clamped(g: Recording, x: Value, low: Any, high: Any, dtype: str) -> Any:
    clamped: Any = g.cast(x, dtype)
    limits = [v if v is None else operand(g, v, dtype) for v in (low, high)]
    if not any(v is None or isinstance(v, Value) for v in (low, high)):  # Clip bounds infinities
        return g.node("Clip", clamped, *limits)
    for op, limit in zip(("Max", "Min"), limits, strict=True):
        clamped = clamped if limit is None else g.node(op, clamped, limit)
    return clamped


@row("threshold")
def _threshold(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    above = g.node("Greater", a.input, g.number(a.threshold, dtype))
    return g.node("Where", above, a.input, g.number(a.value, dtype))


@row("prelu")
def _prelu(g: Recording, a: Any, outputs: list[Value]) -> Any:
    slope = a.weight
    if slope.shape and slope.shape[0] > 1:
        slope = g.node("Unsqueeze", slope, Ints(range(1, a.input.ndim - 1)))
    return g.node("PRelu", a.input, slope)


@row("glu")
def _glu(g: Recording, a: Any, outputs: list[Value]) -> Any:
    first, second = g.node("Split", a.input, outputs=2, axis=a.dim, num_outputs=2)
    return g.node("Mul", first, g.node("Sigmoid", second))


@row("_astype")
def _astype(g: Recording, a: Any, outputs: list[Value]) -> Any:
    return g.cast(a.input, outputs[0].dtype)


# --- Of several values

_BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "maximum": "Max", "minimum": "Min",
    "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
}  # fmt: skip


def _binary(op: str, first: str = "input", second: str = "other") -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        dtype, right = outputs[0].dtype, getattr(a, second)
        right = operand(g, right, dtype)
        if getattr(a, "alpha", 1) != 1:
            right = g.node("Mul", right, g.number(a.alpha, dtype))
        return g.node(op, operand(g, getattr(a, first), dtype), right)

    return write


ROWS |= {name: _binary(op) for name, op in _BINARY.items()}
ROWS["pow"] = _binary("Pow", second="exponent")
_COMPARISONS = {"eq": "Equal", "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less",
                "le": "LessOrEqual"}  # fmt: skip


def _comparison(op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        dtype = common(a.input, a.other)
        return g.node(op, operand(g, a.input, dtype), operand(g, a.other, dtype))

    return write


ROWS |= {name: _comparison(op) for name, op in _COMPARISONS.items()}


@row("div", "floor_divide")
def _div(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype, mode = outputs[0].dtype, getattr(a, "rounding_mode", "floor")
    quotient = g.node("Div", operand(g, a.input, dtype), operand(g, a.other, dtype))
    name = "div" if hasattr(a, "rounding_mode") else "floor_divide"
    return quotient if mode is None else _rounded_quotient(g, quotient, mode, dtype, name)


def _rounded_quotient(g: Recording, quotient: Any, mode: str, dtype: str, name: str) -> Any:
    if not dtypes.is_float(dtype):
        if mode == "trunc":
            return quotient
        raise unsupported(name, "integers are divided towards zero")
    if mode == "floor":
        return g.node("Floor", quotient)
    truncated = g.node("Floor", g.node("Abs", quotient))
    return g.node("Mul", g.node("Sign", quotient), truncated)


@row("fmod")
def _fmod(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    return g.node("Mod", operand(g, a.input, dtype), operand(g, a.other, dtype), fmod=1)


@row("remainder")
def _remainder(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    x, y = operand(g, a.input, dtype), operand(g, a.other, dtype)
    if not dtypes.is_float(dtype):
        return g.node("Mod", x, y)
    return g.node("Sub", x, g.node("Mul", y, g.node("Floor", g.node("Div", x, y))))


@row("where")
def _where(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    condition = operand(g, a.condition, "bool")
    return g.node("Where", condition, operand(g, a.input, dtype), operand(g, a.other, dtype))


@row("masked_fill")
def _masked_fill(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype = outputs[0].dtype
    return g.node("Where", a.mask, operand(g, a.value, dtype), g.cast(a.input, dtype))


@row("lerp")
def _lerp(g: Recording, a: Any, outputs: list[Value]) -> Any:
    difference = g.node("Sub", a.end, a.input)
    return g.node("Add", a.input, g.node("Mul", difference, operand(g, a.weight, outputs[0].dtype)))


def _add_scaled(op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        change = g.node(op, a.tensor1, a.tensor2)
        if a.value != 1:
            change = g.node("Mul", change, g.number(a.value, outputs[0].dtype))
        return g.node("Add", a.input, change)

    return write


ROWS |= {"addcmul": _add_scaled("Mul"), "addcdiv": _add_scaled("Div")}
