# SPDX-License-Identifier: Apache-2.0
"""Attention in forms that oneDNN fuses into one partition: masks, heads, integers, gradients."""

import numpy as np

from graph_ops.pattern import FLOATS, pattern


def _scores(g, q, k, scale, wide):
    s = g.matmul(q, k, transpose_b=True, dtype=wide)
    return g.divide(s, scale, dtype=wide)


def _attend(g, scores, v, dtype):
    p = g.softmax(scores, axis=-1, mode="inf_as_zero", dtype=dtype)
    return g.matmul(p, v)


def _qkv(g, dtype, b=2, h=2, s=8, d=16, t=None):
    q = g.input((b, h, s, d), dtype, name="q")
    k, v = (g.input((b, h, t or s, d), dtype, name=n) for n in "kv")
    return q, k, v


@pattern(*FLOATS)
def sdpa(g, dtype):
    q, k, v = _qkv(g, dtype)
    _attend(g, _scores(g, q, k, g.constant(4.0), "f32"), v, dtype)


@pattern(*FLOATS)
def sdpa_host_scale(g, dtype):
    q, k, v = _qkv(g, dtype)
    s = g.matmul(q, k, transpose_b=True, dtype="f32")
    _attend(g, g.multiply(s, g.scalar("f32", name="scale")), v, dtype)
    return {"scale": np.float32(0.25)}


def _mask(shape):
    """0 or minus infinity; the first key is never masked."""
    mask = np.where(np.arange(np.prod(shape)).reshape(shape) % 3 == 1, -np.inf, 0.0)
    mask[..., 0] = 0.0
    return mask


@pattern(*FLOATS)
def sdpa_mask(g, dtype):
    q, k, v = _qkv(g, dtype)
    m = g.input((2, 1, 8, 8), "f32", name="mask")
    _attend(g, g.add(_scores(g, q, k, g.constant(4.0), "f32"), m), v, dtype)
    return {"mask": _mask((2, 1, 8, 8))}


@pattern("f32")
def sdpa_select_mask(g, dtype):
    q, k, v = _qkv(g, dtype)
    m = g.input((2, 1, 8, 8), "boolean", name="mask")
    s = _scores(g, q, k, g.constant(4.0), "f32")
    _attend(g, g.select(m, s, g.constant(-1e4)), v, dtype)
    return {"mask": _mask((2, 1, 8, 8)) == 0}


def _causal(g, scores, offset):
    rows, columns = g.gen_index(scores, axis=-2), g.gen_index(scores, axis=-1)
    if offset:
        seen, asked = g.scalar("s32", name="n_keys"), g.scalar("s32", name="n_queries")
        rows = g.subtract(g.add(rows, seen), asked)
    keep = g.greater_equal(rows, columns)
    return g.select(keep, scores, g.scalar("f32", name="lowest"))


@pattern(*FLOATS)
def sdpa_causal_top_left(g, dtype):
    q, k, v = _qkv(g, dtype)
    s = g.multiply(g.matmul(q, k, transpose_b=True, dtype="f32"), g.scalar("f32", name="scale"))
    _attend(g, _causal(g, s, False), v, dtype)
    return {"scale": np.float32(0.25), "lowest": -np.inf}


@pattern(*FLOATS)
def sdpa_causal_bottom_right(g, dtype):
    q, k, v = _qkv(g, dtype, s=4, t=8)
    s = g.multiply(g.matmul(q, k, transpose_b=True, dtype="f32"), g.scalar("f32", name="scale"))
    _attend(g, _causal(g, s, True), v, dtype)
    return {"scale": np.float32(0.25), "lowest": -np.inf, "n_keys": 8, "n_queries": 4}


@pattern(*FLOATS)
def sdpa_stacked_qkv(g, dtype):
    """Views of one array (batch, sequence, heads, 3, size), told apart only by strides."""
    q, k, v = _qkv(g, dtype)
    m = g.input((2, 1, 8, 8), "f32", name="mask")
    _attend(g, g.add(_scores(g, q, k, g.constant(4.0), "f32"), m), v, dtype)
    return {"mask": _mask((2, 1, 8, 8)), "stacked": True}


@pattern(*FLOATS)
def sdpa_transposed_output(g, dtype):
    q, k, v = _qkv(g, dtype)
    y = _attend(g, _scores(g, q, k, g.constant(4.0), "f32"), v, dtype)
    y = g.static_transpose(y, order=(0, 2, 1, 3))
    g.static_reshape(y, shape=(2, 8, 32), special_zero=False)


@pattern(*FLOATS)
def gqa(g, dtype):
    q = g.input((2, 2, 3, 8, 16), dtype)
    k, v = g.input((2, 2, 1, 8, 16), dtype), g.input((2, 2, 1, 8, 16), dtype)
    m = g.input((2, 1, 1, 8, 8), "f32", name="mask")
    _attend(g, g.add(_scores(g, q, k, g.constant(4.0), "f32"), m), v, dtype)
    return {"mask": _mask((2, 1, 1, 8, 8))}


@pattern(*FLOATS)
def mqa(g, dtype):
    """One head of keys and values for all heads of queries."""
    q = g.input((2, 4, 8, 16), dtype)
    k, v = g.input((2, 1, 8, 16), dtype), g.input((2, 1, 8, 16), dtype)
    _attend(g, _scores(g, q, k, g.constant(4.0), "f32"), v, dtype)


@pattern("f32")
def sdpa_int8(g, dtype):
    scale = {"scales": (0.05,)}
    q, k, v = (g.dequantize(g.input((2, 2, 8, 16), "s8"), **scale) for _ in range(3))
    p = g.softmax(_scores(g, q, k, g.constant(16.0), "f32"), axis=-1, mode="inf_as_zero")
    p = g.dequantize(g.quantize(p, dtype="s8", scales=(1 / 127,)), scales=(1 / 127,))
    g.quantize(g.matmul(p, v), dtype="s8", scales=(0.05,))


@pattern(*FLOATS)
def sdpa_training_forward(g, dtype):
    q, k, v = _qkv(g, dtype)
    m = g.input((2, 1, 8, 8), "f32", name="mask")
    s = g.add(_scores(g, q, k, g.constant(4.0), "f32"), m)
    p, stats = g.softmax(s, axis=-1, mode="inf_as_zero", dtype=dtype, with_stats=True)
    g.output(g.matmul(p, v))
    g.output(stats)
    return {"mask": _mask((2, 1, 8, 8))}


@pattern(*FLOATS, note="sdpa", grouped=False)
@pattern(*FLOATS, note="gqa", grouped=True)
def attention_training_backward(g, dtype, grouped):
    """Recompute probabilities from the statistics; gradients of queries, keys and values."""
    heads = (2, 3) if grouped else (2,)
    shared = (2, 1) if grouped else (2,)
    q = g.input((2, *heads, 8, 16), dtype, name="q")
    k, v = (g.input((2, *shared, 8, 16), dtype, name=n) for n in "kv")
    o, do = (g.input((2, *heads, 8, 16), dtype, name=n) for n in ("o", "do"))
    stats = g.input((2, *heads, 8, 1), "f32", name="stats")
    mask = g.input((2, *[1] * len(heads), 8, 8), "f32", name="mask")
    scale = g.constant(4.0)
    narrow = (lambda x: x) if dtype == "f32" else (lambda x: g.type_cast(x, dtype=dtype))
    summed = (lambda x: g.reduce_sum(x, axes=(2,), keep_dims=True)) if grouped else (lambda x: x)
    s = g.add(_scores(g, q, k, scale, "f32"), mask)
    p = g.exp(g.subtract(s, stats))
    dv = g.matmul(narrow(p), do, transpose_a=True)
    dp = g.matmul(do, v, transpose_b=True, dtype="f32")
    correction = g.reduce_sum(
        g.multiply(o, do, dtype="f32"), axes=(len(heads) + 2,), keep_dims=True
    )
    ds = narrow(g.divide(g.multiply(p, g.subtract(dp, correction)), scale))
    for value in (g.matmul(ds, k), summed(g.matmul(ds, q, transpose_a=True)), summed(dv)):
        g.output(value)
    return {"mask": np.zeros((2, *[1] * len(heads), 8, 8)),
            "stats": np.full((2, *heads, 8, 1), 2.0)}  # fmt: skip
