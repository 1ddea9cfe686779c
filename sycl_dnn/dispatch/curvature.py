# SPDX-License-Identifier: Apache-2.0
"""Second derivatives of element-wise functions: the slopes of oneDNN's backward primitives."""

from __future__ import annotations

import math
from collections.abc import Callable

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.gradients import Grads, NoGradient, rule_for
from sycl_dnn.dispatch.ones import filled
from sycl_dnn.dispatch.pointwise import add, binary, eltwise, linear_map, mul
from sycl_dnn.dispatch.record import Entry, Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

A = algorithm
_LARGEST = 3.4028234663852886e38
#: Of (x, alpha, beta); None where it is zero.
Curvature = Callable[[Tensor, float, float], Tensor | None]


def _number(x: Tensor, value: float) -> Tensor:
    return filled(x.trace, value, (1,) * x.ndim, x.dtype)


def _is(kind: algorithm, x: Tensor, bound: float) -> Tensor:
    """Return 1 where ``x`` compares so with ``bound``, else 0."""
    return binary(kind, x, _number(x, bound), x.dtype)


def _product(first: Tensor, *others: Tensor) -> Tensor:
    for other in others:
        first = mul(first, other)
    return first


def _one_minus(x: Tensor, by: float = 1.0) -> Tensor:
    return linear_map(x, -by, 1.0)


def _pow(x: Tensor, factor: float, exponent: float) -> Tensor | None:
    factor *= exponent * (exponent - 1)
    return eltwise(x, A.eltwise_pow, factor, exponent - 2) if factor else None


def _elu(x: Tensor, alpha: float, beta: float) -> Tensor:
    below = eltwise(x, A.eltwise_clip, -_LARGEST, 0.0)
    rise = linear_map(eltwise(below, A.eltwise_exp), alpha)
    return mul(rise, _is(A.binary_le, x, 0.0))


def _logistic(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logistic function and its first two derivatives."""
    s = eltwise(x, A.eltwise_logistic)
    slope = mul(s, _one_minus(s))
    return s, slope, mul(slope, _one_minus(s, 2.0))


def _gelu_erf(x: Tensor, alpha: float, beta: float) -> Tensor:
    squares = eltwise(x, A.eltwise_square)
    density = linear_map(
        eltwise(linear_map(squares, -0.5), A.eltwise_exp), 1 / math.sqrt(2 * math.pi)
    )
    return mul(density, linear_map(squares, -1.0, 2.0))


def _gelu_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    c, a = math.sqrt(2 / math.pi), 0.044715
    squares = eltwise(x, A.eltwise_square)
    t = eltwise(mul(x, linear_map(squares, c * a, c)), A.eltwise_tanh)
    du = linear_map(squares, 3 * a * c, c)
    rest = _one_minus(eltwise(t, A.eltwise_square))
    bend = add(linear_map(x, 6 * a * c), linear_map(_product(t, du, du), -2.0))
    return mul(rest, add(du, linear_map(mul(x, bend), 0.5)))


def _swish(x: Tensor, alpha: float, beta: float) -> Tensor:
    _, slope, bend = _logistic(linear_map(x, alpha))
    return add(linear_map(slope, 2 * alpha), linear_map(mul(x, bend), alpha * alpha))


def _mish(x: Tensor, alpha: float, beta: float) -> Tensor:
    s, slope, _ = _logistic(x)
    t = eltwise(eltwise(x, A.eltwise_soft_relu, 1.0), A.eltwise_tanh)
    rest = _one_minus(eltwise(t, A.eltwise_square))
    bend = add(slope, linear_map(_product(t, s, s), -2.0))
    return mul(rest, add(linear_map(s, 2.0), mul(x, bend)))


def _hardswish(x: Tensor, alpha: float, beta: float) -> Tensor:
    z = linear_map(x, alpha, beta)
    inside = mul(_is(A.binary_gt, z, 0.0), _is(A.binary_lt, z, 1.0))
    return linear_map(inside, 2 * alpha)


def _tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    t = eltwise(x, A.eltwise_tanh)
    return _product(linear_map(t, -2.0), _one_minus(eltwise(t, A.eltwise_square)))


def _soft_relu(x: Tensor, alpha: float, beta: float) -> Tensor:
    return linear_map(_logistic(linear_map(x, alpha))[1], alpha)


def _straight(x: Tensor, alpha: float, beta: float) -> None:
    return None


#: By algorithm: how the slope changes with what the backward primitive takes, src or dst.
_CURVATURE: dict[algorithm, Curvature] = {
    A.eltwise_relu: _straight,
    A.eltwise_linear: _straight,
    A.eltwise_abs: _straight,
    A.eltwise_clip: _straight,
    A.eltwise_clip_v2: _straight,
    A.eltwise_hardsigmoid: _straight,
    A.eltwise_relu_use_dst_for_bwd: _straight,
    A.eltwise_clip_v2_use_dst_for_bwd: _straight,
    A.eltwise_square: lambda x, a, b: _number(x, 2.0),
    A.eltwise_sqrt: lambda x, a, b: _pow(x, 1.0, 0.5),
    A.eltwise_exp: lambda x, a, b: eltwise(x, A.eltwise_exp),
    A.eltwise_log: lambda x, a, b: eltwise(x, A.eltwise_pow, -1.0, -2.0),
    A.eltwise_pow: _pow,
    A.eltwise_tanh: _tanh,
    A.eltwise_elu: _elu,
    A.eltwise_logistic: lambda x, a, b: _logistic(x)[2],
    A.eltwise_soft_relu: _soft_relu,
    A.eltwise_gelu_erf: _gelu_erf,
    A.eltwise_gelu_tanh: _gelu_tanh,
    A.eltwise_swish: _swish,
    A.eltwise_mish: _mish,
    A.eltwise_hardswish: _hardswish,
    A.eltwise_tanh_use_dst_for_bwd: lambda y, a, b: linear_map(y, -2.0),
    A.eltwise_logistic_use_dst_for_bwd: lambda y, a, b: _one_minus(y, 2.0),
    A.eltwise_elu_use_dst_for_bwd: lambda y, a, b: _is(A.binary_le, y, 0.0),
    A.eltwise_exp_use_dst_for_bwd: lambda y, a, b: _number(y, 1.0),
    A.eltwise_sqrt_use_dst_for_bwd: lambda y, a, b: eltwise(y, A.eltwise_pow, -0.5, -2.0),
}


@rule_for("eltwise_backward")
def _backward(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    inputs, params = entry.inputs, entry.params
    grad, dy = grads["diff_src"], inputs["diff_dst"]
    name = "dst" if "dst" in inputs else "src"
    data, found = inputs[name], {}
    if "diff_dst" in needed:
        made = trace.primitive(
            "eltwise_backward",
            {name: data, "diff_dst": grad},
            {"diff_src": Out(data.shape, data.dtype, data)},
            ask={name: data, "diff_dst": data},
            **params,
        )
        found["diff_dst"] = trace.convert(made["diff_src"], dy.dtype)
    if name in needed:
        kind = params["algorithm"]
        if kind not in _CURVATURE:
            raise NoGradient(f"vjp: {kind.name} has no second derivative", kind.name)
        bend = _CURVATURE[kind](data, params["alpha"], params["beta"])
        if bend is not None:
            found[name] = trace.convert(_product(grad, dy, bend), data.dtype)
    return found
