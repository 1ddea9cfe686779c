# SPDX-License-Identifier: Apache-2.0
"""Chains of operations that oneDNN fuses into one partition, as functions that build them."""

import numpy as np

PATTERNS = []


def pattern(*dtypes, note="", **kwargs):
    """Keep a function ``build(graph, dtype, **kwargs)`` that returns values of some inputs."""

    def keep(build):
        PATTERNS.append(((build.__name__ + ("-" + note if note else "")), build, dtypes, kwargs))
        return build

    return keep


_CONV = {"strides": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1), "dilations": (1, 1)}
_CONV |= {"data_format": "NCX", "weights_format": "OIX"}
FLOATS = ("f32", "bf16")


@pattern(*FLOATS)
def conv_bias_relu_add(g, dtype):
    x, w = g.input((2, 4, 6, 5), dtype), g.input((8, 4, 3, 3), dtype)
    b, r = g.input((8,), dtype), g.input((2, 8, 6, 5), dtype)
    y = g.convolution(x, w, **_CONV)
    y = g.bias_add(y, b, data_format="NCX")
    g.relu(g.add(y, r))


@pattern("f32")
def conv_batch_norm_swish(g, dtype):
    x, w = g.input((2, 4, 6, 5), dtype), g.input((8, 4, 3, 3), dtype)
    y = g.convolution(x, w, **_CONV)
    stats = [g.input((8,), "f32", name=n) for n in ("gamma", "beta", "mean", "variance")]
    y = g.batch_norm_inference(y, *stats, epsilon=1e-3, data_format="NCX")
    g.multiply(y, g.sigmoid(y))
    return {"variance": np.linspace(0.5, 2, 8)}


@pattern(*FLOATS, note="relu", tail="relu")
@pattern(*FLOATS, note="gelu", tail="gelu")
@pattern(*FLOATS, note="tanh", tail="tanh")
def matmul_bias(g, dtype, tail):
    x, w, b = g.input((8, 16), dtype), g.input((16, 12), dtype), g.input((12,), dtype)
    getattr(g, tail)(g.matmul(x, w, b))


@pattern(*FLOATS)
def matmul_binary_chain(g, dtype):
    x, w = g.input((2, 8, 16), dtype), g.input((16, 12), dtype)
    a, m = g.input((2, 8, 12), dtype), g.input((2, 8, 12), dtype)
    g.maximum(g.multiply(g.add(g.matmul(x, w), a), m), a)


@pattern("f32")
def matmul_select(g, dtype):
    x, w = g.input((2, 8, 16), dtype), g.input((2, 16, 12), dtype)
    c, o = g.input((2, 8, 12), "boolean"), g.input((1,), dtype)
    g.select(c, g.divide(g.matmul(x, w), o), o)
    return {"in3": np.array([2.5])}


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
    """0 or minus infinity; the first key is always seen."""
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
    """Views of one array (batch, sequence, heads, 3, size): only their strides tell."""
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
    """Probabilities again from the statistics; gradients of queries, keys and values."""
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


def _down(g, hidden, w, dtype):
    return g.matmul(hidden if dtype == "f32" else g.type_cast(hidden, dtype=dtype), w)


@pattern(*FLOATS)
def gated_mlp(g, dtype):
    x = g.input((4, 16), dtype)
    gate, up, down = (g.input(s, dtype) for s in ((16, 24), (16, 24), (24, 16)))
    a, b = (g.matmul(x, w, dtype="f32") for w in (gate, up))
    _down(g, g.multiply(g.multiply(a, g.sigmoid(a)), b), down, dtype)


@pattern(*FLOATS)
def gated_mlp_combined(g, dtype):
    """Gate and up are halves of one matrix: only their strides tell."""
    gated_mlp(g, dtype)
    return {"combined": True}


@pattern("bf16")
def gated_mlp_int4(g, dtype):
    x = g.input((4, 32), dtype)
    g.set_fpmath_mode("bf16", True)

    def weights(rows, columns):
        w = g.input((rows, columns), "u4")
        scales, zps = (g.input((rows, columns // 32), t) for t in (dtype, "u8"))
        return g.dynamic_dequantize(w, scales, zps, qtype="per_group", group_shape=(1, 32), axis=-1)

    a, b = (g.matmul(x, weights(32, 64), dtype="f32") for _ in range(2))
    _down(g, g.multiply(g.multiply(a, g.sigmoid(a)), b), weights(64, 32), dtype)
    return {"zps": 8}


@pattern("f32")
def conv_int8(g, dtype):
    x = g.dequantize(g.input((2, 4, 6, 5), "u8"), scales=(0.02,), zps=(0,))
    w = g.dequantize(g.input((8, 4, 3, 3), "s8"), scales=(0.01,) * 8, qtype="per_channel", axis=0)
    y = g.relu(g.convolution(x, w, g.input((8,), "f32"), **_CONV))
    g.quantize(y, dtype="u8", scales=(0.1,), zps=(0,))


@pattern("f32")
def matmul_int8_residual(g, dtype):
    x = g.dequantize(g.input((8, 16), "u8"), scales=(0.02,), zps=(10,))
    w = g.dequantize(g.input((16, 12), "s8"), scales=(0.01,) * 12, qtype="per_channel", axis=1)
    r = g.dequantize(g.input((8, 12), "s8"), scales=(0.05,))
    g.quantize(g.add(g.matmul(x, w), r), dtype="s8", scales=(0.1,))


@pattern("f32")
def layer_norm_gelu_quantize(g, dtype):
    x = g.input((4, 6, 16), dtype)
    y = g.layer_norm(x, g.input((16,)), g.input((16,)), keep_stats=False)
    g.quantize(g.gelu(y), dtype="u8", scales=(0.05,), zps=(20,))


@pattern("f32")
def group_norm_swish(g, dtype):
    x = g.input((2, 8, 4, 5), dtype)
    y = g.group_norm(x, g.input((8,)), g.input((8,)), groups=2, keep_stats=False,
                     data_format="NCX")  # fmt: skip
    g.multiply(y, g.sigmoid(y))


@pattern("f32")
def batch_norm_relu(g, dtype):
    stats = [g.input((8,), "f32", name=n) for n in ("gamma", "beta", "mean", "variance")]
    g.relu(g.batch_norm_inference(g.input((2, 8, 4, 5)), *stats, epsilon=1e-3, data_format="NCX"))
    return {"variance": np.linspace(0.5, 2, 8)}


@pattern("f32")
def softmax_quantize(g, dtype):
    g.quantize(g.softmax(g.input((4, 6, 16)), axis=-1), dtype="u8", scales=(1 / 255,))


@pattern(*FLOATS)
def reduction_chain(g, dtype):
    y = g.reduce_mean(g.input((4, 6, 16), dtype), axes=(-1,), keep_dims=True)
    g.sqrt(g.square(y))


@pattern(*FLOATS)
def eltwise_binary_chain(g, dtype):
    a, b = g.input((4, 6, 16), dtype), g.input((4, 6, 16), dtype)
    g.multiply(g.tanh(g.add(a, b)), b)


@pattern("f32")
def pool_binary(g, dtype):
    window = {"kernel": (2, 2), "strides": (2, 2), "pads_begin": (0, 0), "pads_end": (0, 0)}
    y = g.max_pool(g.input((2, 3, 6, 6)), **window, data_format="NCX")
    g.add(y, g.input((1, 3, 1, 1)))


@pattern("f32")
def reciprocal_multiply(g, dtype):
    a, b = g.input((4, 6), name="a"), g.input((4, 6))
    g.multiply(b, g.reciprocal(a))
    return {"a": np.linspace(0.5, 2.0, 24).reshape(4, 6)}


@pattern("f32")
def shuffle(g, dtype):
    y = g.static_reshape(g.input((2, 8, 4, 4)), shape=(2, 2, 4, 4, 4), special_zero=False)
    y = g.static_transpose(y, order=(0, 2, 1, 3, 4))
    g.static_reshape(y, shape=(2, 8, 4, 4), special_zero=False)
