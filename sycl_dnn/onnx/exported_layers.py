# SPDX-License-Identifier: Apache-2.0
"""Products, attention and normalization as ONNX's operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn.onnx.written_graph import Ints, Recording, Rows, Value, unsupported

ROWS = Rows()
row = ROWS.row


# --- Products


def _last_two(x: Any, ndim: int, g: Recording) -> Any:
    return g.node("Transpose", x, perm=[*range(ndim - 2), ndim - 1, ndim - 2])


@row("linear")
def _linear(g: Recording, a: Any, outputs: list[Value]) -> Any:
    x, weight, bias = a.input, a.weight, a.bias
    bias = None if bias is None else g.cast(bias, outputs[0].dtype)
    if x.ndim == weight.ndim == 2:
        return g.node("Gemm", x, weight, bias, transB=1)
    transposed = _last_two(weight, 2, g) if weight.ndim == 2 else weight
    product = g.node("MatMul", x, transposed)
    return product if bias is None else g.node("Add", product, bias)


ROWS |= {
    "matmul": lambda g, a, out: g.node("MatMul", a.input, a.other),
    "mm": lambda g, a, out: g.node("MatMul", a.input, a.mat2),
    "bmm": lambda g, a, out: g.node("MatMul", a.input, a.mat2),
    "mv": lambda g, a, out: g.node("MatMul", a.input, a.vec),
    "dot": lambda g, a, out: g.node("MatMul", a.input, a.tensor),
    "outer": lambda g, a, out: g.node("Mul", g.node("Unsqueeze", a.input, Ints((1,))), a.vec2),
}


@row("local_response_norm")
def _local_response_norm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.size % 2 == 0:
        raise unsupported("local_response_norm", "size must be odd: ONNX has other windows")
    return g.node("LRN", a.input, size=a.size, alpha=a.alpha, beta=a.beta, bias=float(a.k))


@row("addmm")
def _addmm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if not a.beta:
        return g.node("Gemm", a.mat1, a.mat2, alpha=float(a.alpha))
    return g.node("Gemm", a.mat1, a.mat2, a.input, alpha=float(a.alpha), beta=float(a.beta))


@row("baddbmm")
def _baddbmm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    def scaled(x: Any, factor: float) -> Any:
        return x if factor == 1 else g.node("Mul", x, g.number(factor, outputs[0].dtype))

    product = scaled(g.node("MatMul", a.batch1, a.batch2), a.alpha)
    return g.node("Add", scaled(a.input, a.beta), product) if a.beta else product


@row("einsum")
def _einsum(g: Recording, a: Any, outputs: list[Value]) -> Any:
    equation, *operands = a.args
    if not isinstance(equation, str):
        raise unsupported("einsum", "the first argument must be an equation")
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    return g.node("Einsum", *operands, equation=equation.replace(" ", ""))


@row("bilinear")
def _bilinear(g: Recording, a: Any, outputs: list[Value]) -> Any:
    product = g.node("Einsum", a.input1, a.weight, a.input2, equation="...i,oij,...j->...o")
    return product if a.bias is None else g.node("Add", product, a.bias)


# --- Attention


@row("scaled_dot_product_attention")
def _attention(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.dropout_p:
        raise unsupported("scaled_dot_product_attention", "dropout_p must be 0")
    q, dtype = a.query, outputs[0].dtype
    k, v = (_as_many_heads(g, x, q, a.enable_gqa) for x in (a.key, a.value))
    scale = max(q.shape[-1], 1) ** -0.5 if a.scale is None else a.scale
    scores = g.node("MatMul", q, _last_two(k, a.key.ndim, g))
    scores = g.node("Mul", scores, g.number(scale, dtype))
    size, hides, sees = (q.shape[-2], a.key.shape[-2]), g.number(-np.inf, dtype), None
    if a.is_causal:
        sees = g.node("Trilu", g.node("Expand", g.number(True, "bool"), Ints(size)), upper=0)
    if a.attn_mask is not None and a.attn_mask.dtype == "bool":
        sees = a.attn_mask if sees is None else g.node("And", sees, a.attn_mask)
    elif a.attn_mask is not None:
        scores = g.node("Add", scores, g.cast(a.attn_mask, dtype))
    if sees is not None:
        scores = g.node("Where", sees, scores, hides)
    weights = g.node("Softmax", scores, axis=-1)
    if isinstance(sees, Value):  # a query that sees no key gets zeros, as in torch
        number = g.node("Cast", sees, to=6)
        any_key = g.node("Cast", g.node("ReduceMax", number, Ints((-1,))), to=9)
        weights = g.node("Where", any_key, weights, g.number(0, dtype))
    return g.node("MatMul", weights, v)


def _as_many_heads(g: Recording, x: Value, q: Value, is_grouped: bool) -> Any:
    """Return keys or values with a head for each of the queries'."""
    if not is_grouped or x.shape[-3] == q.shape[-3]:
        return x
    *lead, heads, length, width = x.shape
    groups = q.shape[-3] // heads
    apart = g.node("Unsqueeze", x, Ints((-3,)))
    repeated = g.node("Expand", apart, Ints((*lead, heads, groups, length, width)))
    return g.reshaped(repeated, (*lead, heads * groups, length, width))


# --- Normalization


def _filled(g: Recording, array: Value | None, value: float, n: Any, dtype: str) -> Any:
    return g.number(np.full(n, value), dtype) if array is None else g.cast(array, dtype)


@row("layer_norm")
def _layer_norm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype, shape = a.input.dtype, tuple(_sizes(a.normalized_shape))
    weight = _filled(g, a.weight, 1, shape, dtype)
    bias = None if a.bias is None else g.cast(a.bias, dtype)
    return g.node("LayerNormalization", a.input, weight, bias, axis=-len(shape), epsilon=a.eps)


def _sizes(shape: Any) -> list[int]:
    return list(shape) if isinstance(shape, (tuple, list)) else [shape]


@row("rms_norm")
def _rms_norm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    dtype, axes = a.input.dtype, Ints(range(-len(_sizes(a.normalized_shape)), 0))
    eps = np.finfo(np.float32 if dtype == "bfloat16" else dtype).eps if a.eps is None else a.eps
    square = g.node("ReduceMean", g.node("Mul", a.input, a.input), axes)
    root = g.node("Sqrt", g.node("Add", square, g.number(eps, dtype)))
    normalized = g.node("Div", a.input, root)
    return normalized if a.weight is None else g.node("Mul", normalized, g.cast(a.weight, dtype))


@row("group_norm")
def _group_norm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    x, dtype = a.input, a.input.dtype
    size = int(np.prod(x.shape[1:])) // a.num_groups
    rows = g.reshaped(x, (x.shape[0], a.num_groups, size))
    ones, zeros = (g.number(np.full(a.num_groups, v), dtype) for v in (1, 0))
    normalized = g.node("InstanceNormalization", rows, ones, zeros, epsilon=a.eps)
    normalized = g.reshaped(normalized, x.shape)
    for op, parameter in (("Mul", a.weight), ("Add", a.bias)):
        if parameter is not None:
            expanded = g.node("Unsqueeze", g.cast(parameter, dtype), Ints(range(1, x.ndim - 1)))
            normalized = g.node(op, normalized, expanded)
    return normalized


@row("instance_norm")
def _instance_norm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if not a.use_input_stats:
        a.training = False
        return _batch_norm(g, a, outputs)
    if a.running_mean is not None:
        raise unsupported("instance_norm", "it must not update running statistics; call eval()")
    n, dtype = a.input.shape[1], a.input.dtype
    affine = _filled(g, a.weight, 1, n, dtype), _filled(g, a.bias, 0, n, dtype)
    return g.node("InstanceNormalization", a.input, *affine, epsilon=a.eps)


@row("batch_norm")
def _batch_norm(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.training or a.running_mean is None:
        raise unsupported("batch_norm", "it must not use the batch's statistics; call eval()")
    n, dtype = a.input.shape[1], a.input.dtype
    affine = _filled(g, a.weight, 1, n, dtype), _filled(g, a.bias, 0, n, dtype)
    return g.node("BatchNormalization", a.input, *affine, a.running_mean, a.running_var,
                  epsilon=a.eps)  # fmt: skip
