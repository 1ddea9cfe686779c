# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators of exported graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import stop_gradient

#: Operators with the same arguments as the function of the same name.
_SAME = (
    "abs", "acos", "acosh", "addcdiv", "addcmul", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "ceil",
    "celu", "clamp", "clamp_max", "clamp_min", "cos", "cosh", "eq", "erf", "erfc", "exp", "exp2",
    "expm1", "floor", "floor_divide", "fmod", "ge", "gelu", "glu", "gt", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "isfinite", "isinf", "isnan", "le", "leaky_relu",
    "lerp", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logit", "lt", "masked_fill", "maximum", "minimum", "mish", "mul",
    "nan_to_num", "ne", "neg", "prelu", "reciprocal", "relu", "relu6", "remainder", "round",
    "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softshrink", "sqrt",
    "square", "tan", "tanh", "threshold", "trunc", "where",
    "add", "copysign", "deg2rad", "digamma", "div", "erfinv", "float_power", "fmax", "fmin", "frac",
    "heaviside", "hypot", "lgamma", "logaddexp2", "rad2deg", "signbit", "sinc", "sub", "xlogy",
)  # fmt: skip


def _power(x: Any, exponent: Any) -> Any:
    if isinstance(x, float) and "int" in str(exponent.dtype):
        exponent = F.astype(exponent, "float32")
    return F.pow(F.full_like(exponent, x) if isinstance(x, (int, float)) else x, exponent)


def _elu(x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if input_scale != 1:
        raise NotImplementedError("elu: input_scale must be 1")
    result = F.elu(x, alpha)
    return result if scale == 1 else F.mul(result, scale)


def _copied(x: Any, *_: Any, dtype: str | None = None, **options: Any) -> Any:
    return x if dtype is None else F.astype(x, dtype)


def _unchanged(x: Any, *_: Any, **options: Any) -> Any:
    return x


def _nothing(*_: Any, **options: Any) -> None:
    return None


def _filled(x: Any, value: Any) -> Any:
    if isinstance(value, (int, float)):
        return F.full_like(x, value)
    return F.expand(F.astype(value, str(x.dtype)), x.shape)


def _drawn(x: Any, p: float | None = None, **options: Any) -> Any:
    return F.bernoulli(x if p is None else F.full_like(x, p))


ROWS: dict[str, Callable[..., Any]] = {
    **{name: getattr(F, name) for name in _SAME},
    "__lshift__": F.bitwise_left_shift,
    "__rshift__": F.bitwise_right_shift,
    "alias": _unchanged,
    "bernoulli": _drawn,
    "clone": _unchanged,
    "contiguous": _unchanged,
    "copy": lambda x, source, *_: F.expand(F.astype(source, str(x.dtype)), x.shape),
    "detach": lambda x: stop_gradient(x),
    "elu": _elu,
    "fill": _filled,
    "lift_fresh_copy": _unchanged,
    "log_sigmoid": F.logsigmoid,
    "pow": _power,
    "rsub": lambda x, y, alpha=1: F.sub(y, x, alpha=alpha),
    "to": _copied,
    "type_as": lambda x, y: F.astype(x, str(y.dtype)),
    "zero": lambda x: F.zeros_like(x),
    "_to_copy": _copied,
    "_assert_async": _nothing,
    "_assert_scalar": _nothing,
    "_assert_tensor_metadata": _nothing,
    "sym_constrain_range": _nothing,
    "sym_constrain_range_for_size": _nothing,
}
