# SPDX-License-Identifier: Apache-2.0
"""Attention and products of com.microsoft, by their definitions in NumPy."""

import dpnp
import numpy as np
import pytest
from onnx import ValueInfoProto, helper

import sycl_dnn
from sycl_dnn.errors import UnsupportedOperator

RNG = np.random.default_rng(0)


def drawn(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def made(name, inputs, n_outputs=1, domain="com.microsoft", version=17, **attributes):
    """The results of one operator; None is an absent input."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = [x for x in inputs if x is not None]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(filter(None, names), given, strict=True)
    ]
    results = [f"y{i}" for i in range(n_outputs)]
    node = helper.make_node(name, names, results, domain=domain, **attributes)
    graph = helper.make_graph([node], "g", infos, [ValueInfoProto(name=r) for r in results])
    for result in graph.output:
        result.type.tensor_type.elem_type = 1
    sets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
    net = sycl_dnn.onnx.load(helper.make_model(graph, opset_imports=sets, ir_version=8))
    output = net(*map(dpnp.asarray, given))
    return [dpnp.asnumpy(v) for v in (output if isinstance(output, tuple) else (output,))]


def heads(x, n):
    return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def attended(q, k, v, bias=0.0, scale=None):
    """Attention of heads (B, n, S, D), with merged heads."""
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result = weights / weights.sum(-1, keepdims=True) @ v
    return result.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


def near(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("is_causal", [0, 1])
def test_attention_projects_its_input(is_causal):
    x, w, b = drawn(2, 4, 6), drawn(6, 18), drawn(18)
    mask = np.array([[1, 1, 1, 0], [1, 0, 1, 1]], np.int32)
    (y,) = made("Attention", [x, w, b, mask], num_heads=3, unidirectional=is_causal)
    q, k, v = (heads(part, 3) for part in np.split(x @ w + b, 3, 2))
    bias = np.where(mask, 0.0, -1e4)[:, None, None] - np.triu(np.full((4, 4), 1e30 * is_causal), 1)
    near(y, attended(q, k, v, bias))


def test_attention_takes_lengths_and_extends_its_cache():
    x, w, past = drawn(2, 2, 8), drawn(8, 24), drawn(2, 2, 2, 3, 4)
    lengths = np.array([5, 4], np.int32)
    y, present = made("Attention", [x, w, None, lengths, past], 2, num_heads=2, scale=0.3)
    q, k, v = (heads(part, 2) for part in np.split(x @ w, 3, 2))
    k, v = (np.concatenate(pair, 2) for pair in zip(past, (k, v), strict=True))
    bias = np.where(np.arange(5) < lengths[:, None], 0.0, -1e4)[:, None, None]
    near(y, attended(q, k, v, bias, 0.3))
    near(present, np.stack([k, v]))


@pytest.mark.parametrize("form", ["apart", "packed", "keys and values", "heads"])
def test_forms_of_multi_head_attention(form):
    q, k, v = drawn(2, 3, 8), drawn(2, 3, 8), drawn(2, 3, 8)
    bias, added = drawn(24), drawn(1, 2, 3, 3)
    split = [x.reshape(2, 3, 2, 4) for x in (q, k, v)]
    inputs = {
        "apart": [q, k, v],
        "packed": [np.stack(split, 3), None, None],
        "keys and values": [q, np.stack(split[1:], 3), None],
        "heads": [q, heads(k, 2), heads(v, 2)],
    }[form]
    (y,) = made("MultiHeadAttention", [*inputs, bias, None, added], num_heads=2)
    parts = np.split(bias, 3)
    if form == "heads":
        parts = parts[0], 0, 0
    near(y, attended(*(heads(x + b, 2) for x, b in zip((q, k, v), parts, strict=True)), added))


def test_causal_attention_over_another_sequence_is_refused():
    with pytest.raises(UnsupportedOperator, match="unidirectional must be 0"):
        made("MultiHeadAttention", [drawn(1, 2, 4), drawn(1, 5, 4), drawn(1, 5, 4)],
             num_heads=2, unidirectional=1)  # fmt: skip


def turned(x, cos, sin, places):
    """Rotary embedding of heads (B, n, S, D) at places (B, S)."""
    cos, sin = cos[places][:, None], sin[places][:, None]
    first, second = np.split(x, 2, 3)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], 3)


@pytest.mark.parametrize("is_prompt", [True, False])
@pytest.mark.parametrize("extra", [{}, {"local_window_size": 2}, {"softcap": 1.5}], ids=str)
def test_group_query_attention(is_prompt, extra):
    """Sequences of different lengths, rotary embedding, several heads of queries to one of keys."""
    n, n_past, lengths = (3, 0, [3, 3]) if is_prompt else (1, 4, [5, 3])
    q, k, v = drawn(2, n, 64), drawn(2, n, 32), drawn(2, n, 32)
    past_k, past_v = drawn(2, 2, n_past, 16), drawn(2, 2, n_past, 16)
    angles = drawn(8, 8)
    cos, sin, total = np.cos(angles), np.sin(angles), max(lengths)
    last = np.array(lengths, np.int32) - 1
    y, new_k, new_v = made(
        "GroupQueryAttention",
        [q, k, v, past_k, past_v, last, np.array(total, np.int32), cos, sin],
        3, num_heads=4, kv_num_heads=2, do_rotary=1, **extra,
    )  # fmt: skip
    before = np.array(lengths) - n
    places = before[:, None] + np.arange(n)
    q, k, v = heads(q, 4), turned(heads(k, 2), cos, sin, places), heads(v, 2)
    q = turned(q, cos, sin, places)
    for batch, (start, length) in enumerate(zip(before, lengths, strict=True)):
        own_k, own_v = (
            np.concatenate([past[batch, :, :start], new[batch]], 1)
            for past, new in ((past_k, k), (past_v, v))
        )
        near(new_k[batch, :, :length], own_k)
        near(new_v[batch, :, :length], own_v)
        distance = places[batch][:, None] - np.arange(length)
        hidden = (distance < 0) | (distance >= extra.get("local_window_size", 99))
        scores = q[batch] @ np.repeat(own_k, 2, 0).swapaxes(1, 2) / 4
        if "softcap" in extra:
            scores = np.tanh(scores / 1.5) * 1.5
        weights = np.exp(np.where(hidden, -np.inf, scores))
        expected = weights / weights.sum(-1, keepdims=True) @ np.repeat(own_v, 2, 0)
        near(y[batch], expected.swapaxes(0, 1).reshape(n, -1))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("has_zeros", [False, True])
def test_products_with_weights_of_few_bits(bits, has_zeros):
    n, k, size = 5, 40, 16
    numbers = RNG.integers(0, 2**bits, (n, 3, size))
    zeros = RNG.integers(0, 2**bits, (n, 3)) if has_zeros else np.full((n, 3), 2 ** (bits - 1))
    scales, x, bias = drawn(n, 3), drawn(2, 3, k), drawn(n)

    def packed(values):
        per_byte = 8 // bits
        padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % per_byte)])
        groups = padded.reshape(*padded.shape[:-1], -1, per_byte)
        return (groups << (bits * np.arange(per_byte))).sum(-1).astype(np.uint8)

    given = packed(zeros).ravel() if has_zeros else None
    (y,) = made("MatMulNBits", [x, packed(numbers), scales.ravel(), given, None, bias],
                K=k, N=n, bits=bits, block_size=size)  # fmt: skip
    weights = ((numbers - zeros[..., None]) * scales[..., None]).reshape(n, -1)[:, :k]
    np.testing.assert_allclose(y, x @ weights.T + bias, rtol=1e-4, atol=1e-4)


def test_fused_convolutions_add_and_activate():
    x, w, b, addend = drawn(1, 3, 6, 6), drawn(4, 3, 3, 3), drawn(4), drawn(1, 4, 4, 4)
    (y,) = made("FusedConv", [x, w, b, addend], activation="LeakyRelu", activation_params=[0.25])
    (plain,) = made("Conv", [x, w, b], domain="")
    total = plain + addend
    near(y, np.where(total > 0, total, 0.25 * total))


def test_embeddings_of_words_positions_and_segments():
    ids, segments = np.array([[1, 4, 2], [0, 3, 3]], np.int32), np.array([[0, 0, 1], [1, 1, 0]])
    words, positions, kinds, scale, bias = (drawn(*s) for s in [(5, 8), (4, 8), (2, 8), (8,), (8,)])
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    y, lengths, total = made(
        "EmbedLayerNormalization",
        [ids, segments.astype(np.int32), words, positions, kinds, scale, bias, mask], 3,
        epsilon=1e-5,
    )  # fmt: skip
    expected = words[ids] + positions[:3] + kinds[segments]
    near(total, expected)
    assert lengths.tolist() == [2, 3]
    centered = expected - expected.mean(-1, keepdims=True)
    variance = (centered**2).mean(-1, keepdims=True)
    near(y, centered / np.sqrt(variance + 1e-5) * scale + bias)


def test_a_single_position_is_that_of_the_first_token():
    x, angles = drawn(2, 3, 8), drawn(9, 2)
    tables = [np.cos(angles), np.sin(angles)]
    (y,) = made("RotaryEmbedding", [x, np.array([2]), *tables])
    expected = turned(heads(x, 2), *tables, np.array([[2, 3, 4]] * 2))
    near(y, expected.transpose(0, 2, 1, 3).reshape(2, 3, 8))


@pytest.mark.parametrize(("name", "version"), [("SimplifiedLayerNormalization", 14),
                                               ("LayerNormalization", 12)])  # fmt: skip
def test_operators_in_onnx_own_domain(name, version):
    """ONNX Runtime's optimizer writes them there, though ONNX does not define them."""
    x, scale = drawn(2, 8), drawn(8)
    (y,) = made(name, [x, scale], domain="", version=version, axis=-1, epsilon=1e-3)
    centered = x - x.mean(1, keepdims=True) * (name == "LayerNormalization")
    near(y, centered / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-3) * scale)
