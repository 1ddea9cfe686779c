# SPDX-License-Identifier: Apache-2.0
"""Gradients of element-wise operations, of first and second order; choices by a third tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import Grads, NoGradient, rule_for
from sycl_dnn.trace.pointwise import (
    FAST,
    IS_POSITIVE,
    SIGN,
    add,
    binary,
    chain,
    div,
    eltwise,
    linear_map,
    merged,
    mul,
    shown,
    sizes_of,
    sub,
    zeros,
)
from sycl_dnn.trace.recording import OF_DOUBLES, Trace
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    axis_order,
    broadcast_shape,
    expand_rank,
    filled,
    grid,
    laid_out,
    spread,
    untaped,
)


def select(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` where ``condition`` (bool) holds, else ``b``; all broadcast."""
    trace = a.trace
    shape = broadcast_shape(condition.shape, a.shape, b.shape)
    dtype = dtypes.promote(a.dtype, b.dtype)
    if dtype == "float64":
        return OF_DOUBLES["select"](condition, a, b)
    a, b = trace.convert(a, dtype), trace.convert(b, dtype)
    condition, a, b = (expand_rank(t, len(shape)) for t in (condition, a, b))
    with untaped(trace):
        is_empty = 0 in shape
        made = zeros(trace, shape, dtype) if is_empty else _selected(condition, a, b, shape, dtype)
    inputs = {"src_0": a, "src_1": b, "src_2": condition}
    trace.tape.append(Entry("select", inputs, {"dst": made}))
    return made


def _selected(c: Tensor, a: Tensor, b: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    full = [t for t in (a, b, c) if t.shape == shape]
    order = axis_order(full[0] if full else None, len(shape))
    a, c, b = spread(a, shape, order), spread(c, shape, order), laid_out(b, order)
    if [p[1] for _, p in merged(shape, order, a, b)] not in FAST:
        b = spread(b, shape, order)
    groups = merged(shape, order, a, b)
    sizes = sizes_of(groups, 0)
    flags = Tensor(c.trace, c.storage, layout.row_major(sizes, "int8"), "int8", sizes, c.offset)
    made = a.trace.primitive(
        "binary",
        {"src_0": grid(a, sizes), "src_1": grid(b, sizes_of(groups, 1)), "src_2": flags},
        {"dst": Out(sizes, dtype)},
        algorithm=algorithm.binary_select,
    )["dst"]
    return shown(made, shape, order, dtype)


@rule_for("select")
def _select(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    dy, condition = grads["dst"], entry.inputs["src_2"]
    nothing = filled(trace, 0.0, (1,) * dy.ndim, dy.dtype)
    found = {}
    if "src_0" in needed:
        found["src_0"] = sum_to(select(condition, dy, nothing), entry.inputs["src_0"].shape)
    if "src_1" in needed:
        found["src_1"] = sum_to(select(condition, nothing, dy), entry.inputs["src_1"].shape)
    return found


# --- Gradients of element-wise operations of two tensors

A = algorithm


def _weight_of_larger(a: Tensor, b: Tensor, kind: algorithm, dtype: str) -> Tensor:
    """Return 1 where ``a`` is the maximum (minimum), 0.5 where both are, else 0; 1 for NaN."""
    beaten = A.binary_lt if kind is A.binary_max else A.binary_gt
    lost, equal = (binary(k, a, b, dtype) for k in (beaten, A.binary_eq))
    return sub(linear_map(equal, -0.5, 1.0), lost)


#: By operation: the gradients of both operands from (dy, a, b, y), before broadcasting is undone.
_SLOPES: dict[algorithm, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    A.binary_add: (lambda g, a, b, y: g, lambda g, a, b, y: g),
    A.binary_sub: (lambda g, a, b, y: g, lambda g, a, b, y: linear_map(g, -1.0)),
    A.binary_mul: (lambda g, a, b, y: mul(g, b), lambda g, a, b, y: mul(g, a)),
    A.binary_div: (
        lambda g, a, b, y: div(g, b),
        lambda g, a, b, y: linear_map(div(mul(g, y), b), -1.0),
    ),
}


def _slopes(kind: algorithm) -> tuple[Callable[..., Tensor], Callable[..., Tensor]] | None:
    if kind not in (A.binary_max, A.binary_min):
        return _SLOPES.get(kind)
    return (
        lambda g, a, b, y: mul(g, _weight_of_larger(a, b, kind, g.dtype)),
        lambda g, a, b, y: mul(g, _weight_of_larger(b, a, kind, g.dtype)),
    )


@rule_for("binary")
def _binary(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    slopes = _slopes(entry.params["algorithm"])
    if slopes is None:
        return {}  # comparisons are flat
    found = {}
    a, b = entry.inputs["src_0"], entry.inputs["src_1"]
    for name, slope in zip(("src_0", "src_1"), slopes, strict=True):
        if name in needed:
            operand = entry.inputs[name]
            grad = sum_to(slope(grads["dst"], a, b, entry.outputs["dst"]), operand.shape)
            found[name] = trace.convert(grad, operand.dtype)
    return found


# --- Gradients of what ``fused`` does in one pass: the same steps one by one, each with a gradient

#: Steps that yield -1, 0 and 1: flat overall, although each of them is steep.
_FLAT = (SIGN, IS_POSITIVE)


def _stepped(x: Tensor, steps: tuple[Any, ...]) -> Tensor:
    """Return ``x`` after ``steps``, each a separate operation."""
    while steps:
        flat = next((f for f in _FLAT if steps[: len(f)] == f), None)
        if flat is not None:
            made = chain(x, *flat)
            x.trace.tape.pop()
            x, steps = made, steps[len(flat) :]
            continue
        (kind, *given), *rest = steps
        is_binary = bool(given) and isinstance(given[0], Tensor)
        x = binary(kind, x, given[0], x.dtype) if is_binary else eltwise(x, kind, *given)
        steps = tuple(rest)
    return x


def _reversed(trace: Trace, entry: Entry, made: Tensor, start: int, dy: Tensor) -> Grads:
    from sycl_dnn.trace.gradients import propagate

    dy = trace.convert(dy, made.dtype)
    operands = {id(t): (n, t) for n, t in entry.inputs.items() if t.is_float}
    tensors = [t for _, t in operands.values()]
    found = propagate(trace, trace.tape[start:], {id(made): dy}, tensors)
    names = [n for n, _ in operands.values()]
    return {n: g for n, g in zip(names, found, strict=True) if g is not None}


@rule_for("fused")
def _fused(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    a, b, kind = entry.inputs["src_0"], entry.inputs["src_1"], entry.params["algorithm"]
    start = len(trace.tape)
    is_chain = kind is algorithm.binary_max and a is b
    made = _stepped(a if is_chain else binary(kind, a, b, a.dtype), entry.params["steps"])
    return _reversed(trace, entry, made, start, grads["dst"])


@rule_for("chosen")
def _chosen(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    yes, no, c = (entry.inputs[f"src_{i}"] for i in range(3))
    start = len(trace.tape)
    held = Tensor(trace, c.storage, c.desc, "bool", c.shape, c.offset, c.strides)
    made = _stepped(select(held, yes, no), entry.params["steps"])
    return _reversed(trace, entry, made, start, grads["dst"])


# --- Second derivatives of element-wise functions: the slopes of oneDNN's backward primitives

_LARGEST = 3.4028234663852886e38
#: Of (x, alpha, beta); None where it is zero.
Curvature = Callable[[Tensor, float, float], Tensor | None]


def _number(x: Tensor, value: float) -> Tensor:
    return filled(x.trace, value, (1,) * x.ndim, x.dtype)


def _is(kind: algorithm, x: Tensor, bound: float) -> Tensor:
    """Return 1 where the comparison of ``x`` with ``bound`` holds, else 0."""
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


#: By algorithm: how the slope changes with the backward primitive's operand, src or dst.
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
