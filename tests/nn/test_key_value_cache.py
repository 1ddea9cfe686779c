# SPDX-License-Identifier: Apache-2.0
"""A key-value cache: steps equal the whole sequence with a causal mask."""

import dpnp
import numpy as np
import pytest
from arrays import to_float32

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

N, T, E = 2, 9, 16


def causal(dtype="float32"):
    return F.astype(F.triu(F.full((T, T), float("-inf")), 1), dtype)


def in_steps(net, x, axis, caches, run):
    """A prompt of four positions, then one after the other."""
    results = []
    for first, n in [(0, 4), *((t, 1) for t in range(4, T))]:
        y, caches = run(net, F.narrow(x, axis, first, n), caches)
        results.append(y)
    return F.cat(results, axis), caches


@pytest.mark.slow
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_steps_equal_the_whole_sequence(dtype, batch_first):
    layer = nn.TransformerEncoderLayer(E, 4, 32, batch_first=batch_first, norm_first=True)
    net = nn.TransformerEncoder(layer, 2, nn.LayerNorm(E)).eval().to(dtype)
    x = F.astype(F.randn(*((N, T, E) if batch_first else (T, N, E))), dtype)
    expected = to_float32(net(x, mask=causal(dtype), is_causal=True))
    step = sycl_dnn.compile(lambda net, x, caches: net.step(x, caches))
    actual, caches = in_steps(net, x, 1 if batch_first else 0, net.new_caches(N, T + 3), step)
    assert actual.dtype == x.dtype
    assert [int(cache.length) for cache in caches] == [T, T]
    assert not to_float32(F.narrow(caches[0].keys, 2, T, 3)).any()
    tolerance = 2e-5 if dtype == "float32" else 0.05
    np.testing.assert_allclose(to_float32(actual), expected, rtol=tolerance, atol=tolerance)
    # One program for the prompt, and one for all positions after it.
    assert step.cache_info().misses == 2


def test_attention_with_a_cache_matches_torch_and_runs_eagerly():
    torch = pytest.importorskip("torch")
    own, other = (m.MultiheadAttention(E, 4, batch_first=True) for m in (nn, torch.nn))
    own.load_state_dict(other.state_dict())
    x = F.randn(N, T, E)
    mask, provided = torch.tensor(to_float32(causal())), torch.tensor(to_float32(x))
    expected = other(provided, provided, provided, attn_mask=mask)[0].detach().numpy()
    actual, _ = in_steps(own, x, 1, own.new_cache(N, T), lambda net, x, cache: net.step(x, cache))
    np.testing.assert_allclose(to_float32(actual), expected, rtol=2e-5, atol=2e-5)


def test_a_cache_stays_on_its_queue(queue):
    cache = nn.KVCache.empty(1, 1, 4, 1, device=queue)
    new = dpnp.ones((1, 1, 2, 1), dtype="f4", sycl_queue=queue)
    cache = cache.append(new, new)
    assert cache.mask(2).sycl_queue == cache.keys.sycl_queue == queue


class Speaker(nn.Module):
    """A user's network: rotary positions, its own attention over the cache."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, E)
        self.rotary = nn.RotaryEmbedding(4)
        self.qkv, self.head = nn.Linear(E, 3 * E), nn.Linear(E, 11)

    def forward(self, ids, cache):
        n, length = ids.shape
        x = self.qkv(self.embedding(ids)).view(n, length, 12, 4).transpose(1, 2)
        q, k, v = F.split(x, 4, 1)
        q, k = (self.rotary(t, cache.length) for t in (q, k))
        cache = cache.append(k, v)
        y = F.scaled_dot_product_attention(q, cache.keys, cache.values, cache.mask(length))
        logits = self.head(y.transpose(1, 2).reshape(n, length, E))
        return logits, cache


@pytest.mark.slow
def test_a_module_generates_equal_text_with_a_cache():
    sycl_dnn.manual_seed(3)
    net, cache = Speaker().eval(), nn.KVCache.empty(1, 4, 16, 4)
    ids = F.astype(F.arange(5), "int64").reshape(1, 5)

    @sycl_dnn.compile
    def step(net, ids, cache):
        logits, cache = net(ids, cache)
        chosen = F.argmax(F.narrow(logits, 1, logits.shape[1] - 1, 1), -1)
        return F.astype(chosen, "int64"), cache

    new, whole = ids, ids
    for _ in range(8):
        new, cache = step(net, new, cache)
        again, _ = step(net, whole, nn.KVCache.empty(1, 4, 16, 4))
        assert int(new[0, 0]) == int(again[0, 0])
        whole = F.cat([whole, new], 1)
    assert int(cache.length) == 12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.KVCache.empty(1, 2, 0, 4), r"sizes must be at least 1, got \(1, 2, 0, 4\)"),
        (lambda: nn.KVCache.empty(1, 2, 3, 4).append(F.ones(1, 2, 4, 4), F.ones(1, 2, 4, 4)),
         r"shape \(1, 2, L, 4\) with L from 1 to 3, got \(1, 2, 4, 4\)"),
        (lambda: nn.MultiheadAttention(8, 2).step(F.ones(2, 8), None), "x must be .* shape"),
        (lambda: nn.MultiheadAttention(8, 2, kdim=3).step(F.ones(1, 1, 8), None), "kdim=3"),
    ],
)  # fmt: skip
def test_invalid_use_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_positions_beyond_the_capacity_are_refused():
    rows = F.ones(1, 1, 3, 2)
    cache = nn.KVCache.empty(1, 1, 4, 2).append(rows, rows)
    with pytest.raises(ValueError, match="KVCache: there must be room for 3 more positions, got 3"):
        cache.append(rows, rows)
    append = sycl_dnn.compile(lambda cache, rows: cache.append(rows, rows))
    full = append(cache, F.ones(1, 1, 1, 2))
    assert int(full.length) == 4
    assert to_float32(full.keys).all()
    lost = append(cache, rows)
    assert np.isnan(to_float32(lost.keys)[:, :, -3:]).all()
    assert np.isnan(float(lost.length))
    result = F.scaled_dot_product_attention(rows, lost.keys, lost.values, lost.mask(3))
    assert np.isnan(to_float32(result)).all()


def test_a_compiled_step_writes_a_cache_in_place():
    cache = nn.KVCache.empty(1, 2, 64, 16)
    append = sycl_dnn.compile(lambda cache, rows: cache.append(rows, rows), donate="cache")
    places = [a.get_array()._pointer for a in (cache.keys, cache.values)]
    for number in range(3):
        cache = append(cache, F.full((1, 2, 1, 16), number + 1.0))
    assert [a.get_array()._pointer for a in (cache.keys, cache.values)] == places
    assert to_float32(cache.keys)[0, 1, :4, 5].tolist() == [1, 2, 3, 0]


def test_nan_of_one_position_does_not_spread():
    rows = dpnp.asarray([[[[1.0], [float("nan")], [3.0]]]], dtype="f4")
    cache = nn.KVCache.empty(1, 1, 4, 1).append(rows, rows)
    np.testing.assert_array_equal(to_float32(cache.keys).ravel(), [1, np.nan, 3, 0])
