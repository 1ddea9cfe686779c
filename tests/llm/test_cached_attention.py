# SPDX-License-Identifier: Apache-2.0
"""Attention to a cache: by one kernel and by functions, against NumPy in float64."""

import dpnp
import ml_dtypes
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels.attention_to_slots import Scores
from sycl_dnn.llm.cached_attention import cached_attention
from sycl_dnn.llm.key_value_slots import Places
from sycl_dnn.llm.turned_heads import Turn
from sycl_dnn.nn.key_value_cache import slots_from

#: Rows, new positions, queries, key heads, slots, width, pairs, first slot.
CASES = {
    "one": (1, 1, 9, 3, 256, 64, 32, 100),
    "batch": (3, 1, 4, 2, 80, 32, 16, 70),
    "several": (2, 5, 4, 2, 80, 16, 8, 3),
    "part of the features": (1, 3, 2, 1, 32, 48, 8, 20),
    "no embedding": (2, 2, 2, 2, 70, 16, 0, 66),
    "many": (2, 21, 4, 2, 64, 16, 8, 43),
    "beyond the last slot": (1, 4, 2, 2, 32, 16, 8, 30),
}
SCORES = {"": Scores(0.3), "cap": Scores(0.5, 2.0), "window": Scores(0.3, None, 7)}


def problem(name, seed=0):
    """Return heads, angles' cosines and sines, the cache, first slot and starts."""
    n, t, h, heads, slots, dim, pairs, first = CASES[name]
    rng = np.random.default_rng(seed)
    shapes = [(n, t, h, dim), (n, t, heads, dim), (n, t, heads, dim)]
    given = [rng.standard_normal(s).astype("f4") for s in shapes]
    angles = rng.uniform(-3, 3, (n, 1, t, pairs)).astype("f4")
    still = np.zeros((n, 1, t, dim - 2 * pairs), "f4")
    cos = np.concatenate([np.cos(angles), np.cos(angles), still + 1], -1)
    sin = np.concatenate([-np.sin(angles), np.sin(angles), still], -1)
    cache = [rng.standard_normal((n, heads, slots, dim)).astype("f4") for _ in range(2)]
    starts = rng.integers(0, first, n).astype("i4")
    return given, (cos, sin), cache, first, starts


def run(name, scores, dtype="float32"):
    """Return the attention, and the new keys and values."""
    given, (cos, sin), cache, first, starts = problem(name)
    _, t, h, heads, slots, _, pairs, _ = CASES[name]
    cast = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype

    def step(given, cos, sin, cache, first, starts):
        turn = Turn(cos, sin, pairs) if pairs else None
        places = Places(first, starts, slots_from(first, t))
        rows, keys = F.arange(float(t)), F.arange(float(slots))
        queries = F.unsqueeze(F.add(rows, F.astype(first, "float32")), 1)
        seen = F.logical_and(
            F.le(keys, queries), F.ge(keys, F.reshape(F.astype(starts, "float32"), (-1, 1, 1, 1)))
        )
        if scores.window is not None:
            seen = F.logical_and(seen, F.lt(F.sub(queries, keys), float(scores.window)))
        mask = F.unsqueeze(F.where(seen, 0.0, -1e30), 3)
        mask = F.expand(mask, (-1, -1, -1, h // heads, -1))
        mask = F.reshape(mask, (mask.shape[0], 1, -1, slots))
        return cached_attention(given, turn, cache, places, mask, scores, "")

    held = [sycl_dnn.asarray(a.astype(cast)) for a in (*given, *cache)]
    others = [dpnp.asarray(a) for a in (cos, sin)]
    y, result = sycl_dnn.compile(step, donate="cache")(
        held[:3], *others, tuple(held[3:]), dpnp.asarray(np.int32(first)), dpnp.asarray(starts)
    )
    return [dpnp.asnumpy(F.astype(a, "float32")) for a in (y, *result)]


def wanted(name, scores):
    """Return the same in float64."""
    given, (cos, sin), cache, first, starts = problem(name)
    n, t, h, heads, slots, dim, pairs, _ = CASES[name]
    q, k, v = (a.astype("f8").transpose(0, 2, 1, 3) for a in given)
    keys, values = (a.astype("f8") for a in cache)

    def turned(x):
        if not pairs:
            return x
        other = np.zeros_like(x)
        other[..., :pairs], other[..., pairs : 2 * pairs] = (
            x[..., pairs : 2 * pairs], x[..., :pairs],
        )  # fmt: skip
        return x * cos + other * sin

    kept = min(t, slots - first)
    keys[:, :, first : first + kept] = turned(k)[:, :, :kept]
    values[:, :, first : first + kept] = v[:, :, :kept]
    y, q = np.zeros((n, t, h, dim)), turned(q)
    for i, j, head in np.ndindex(n, t, h):
        at = first + j
        low = max(starts[i], 0 if scores.window is None else at - scores.window + 1)
        seen = slice(low, at + 1)
        s = keys[i, head // (h // heads), seen] @ q[i, head, j] * scores.scale
        s = s if scores.cap is None else np.tanh(s / scores.cap) * scores.cap
        p = np.exp(s - s.max())
        y[i, j, head] = p / p.sum() @ values[i, head // (h // heads), seen]
    return y, keys, values


@pytest.mark.parametrize("mode", ["auto", "never"])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sweep(9)
def test_attention_and_the_cache_match_numpy(name, scores, mode):
    with sycl_dnn.kernel_mode(mode):
        actual = run(name, SCORES[scores])
    for found, right in zip(actual, wanted(name, SCORES[scores]), strict=True):
        np.testing.assert_allclose(found, right, atol=2e-6, rtol=2e-5)


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_attention_in_bfloat16(mode):
    with sycl_dnn.kernel_mode(mode):
        actual = run("batch", SCORES[""], "bfloat16")
    for found, right in zip(actual, wanted("batch", SCORES[""]), strict=True):
        np.testing.assert_allclose(found, right, atol=0.05)


@pytest.mark.parametrize("scores", SCORES)
def test_many_positions_are_processed_in_blocks(scores, monkeypatch):
    monkeypatch.setattr("sycl_dnn.llm.cached_attention._POSITIONS", 8)
    for actual, right in zip(
        run("many", SCORES[scores]), wanted("many", SCORES[scores]), strict=True
    ):
        np.testing.assert_allclose(actual, right, rtol=1e-5, atol=1e-5)


def test_one_kernel_computes_the_step():
    with sycl_dnn.profile(wait=True) as found:
        run("one", SCORES[""])
    names = [r.name for r in found.records]
    assert "attention_to_slots" in names
    assert not {"matmul", "softmax_forward"} & set(names)


def test_nan_and_infinity_reach_the_result():
    for value in (np.nan, np.inf):
        given, (cos, sin), cache, first, starts = problem("one")
        cache[1][0, 0, first - 1, 5] = value
        starts[:] = 0

        def step(given, cos, sin, cache, first, starts):
            places = Places(first, starts, slots_from(first, 1))
            mask = F.zeros((1, 1, 3, 256))
            return cached_attention(given, Turn(cos, sin, 32), cache, places, mask, Scores(1.0), "")

        y, _ = sycl_dnn.compile(step)(
            [dpnp.asarray(a) for a in given], dpnp.asarray(cos),
            dpnp.asarray(sin), tuple(dpnp.asarray(a) for a in cache),
            dpnp.asarray(np.int32(first)), dpnp.asarray(starts),
        )  # fmt: skip
        y = dpnp.asnumpy(y)
        assert not np.isfinite(y[0, 0, :3, 5]).any()
        assert np.isfinite(y[0, 0, 3:]).all()
