# SPDX-License-Identifier: Apache-2.0
"""Chains of operations that oneDNN fuses into one partition, as functions that build them."""

import numpy as np

from graph_ops import attention_patterns  # noqa: F401  (adds its own)
from graph_ops.pattern import FLOATS, PATTERNS, pattern

__all__ = ["PATTERNS"]

_CONV = {"strides": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1), "dilations": (1, 1)}
_CONV |= {"data_format": "NCX", "weights_format": "OIX"}


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
    """Gate and up projections are halves of one matrix, distinguishable only by their strides."""
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
