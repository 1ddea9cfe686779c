# SPDX-License-Identifier: Apache-2.0
"""Dropout of elements and channels, dropout for SELU, and Gumbel softmax."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

#: The function, a shape, its first axes, along which each index is one channel, and a layout.
CHANNELS = [
    ("dropout", (200, 31), 2), ("dropout", (2, 3, 4, 5, 6, 7), 6),
    ("dropout", (4, 15, 9, 11), 4, "channels_last"), ("dropout", (60, 91), 2, "strided"),
    ("dropout", (60, 91), 2, "transposed"), ("dropout", (6007,), 1, "reversed"),
    ("dropout1d", (40, 30, 4), 2), ("dropout1d", (900, 4), 1),
    ("dropout2d", (40, 30, 2, 3), 2), ("dropout2d", (40, 30, 4), 2),
    ("dropout3d", (40, 30, 2, 1, 3), 2), ("dropout3d", (900, 2, 1, 3), 1),
]  # fmt: skip
SELU = [("alpha_dropout", (60, 50), 2), ("feature_alpha_dropout", (60, 50, 4), 2)]
LOWEST = -1.7580993408473766


def _kept(after, empty, lead):
    """Return the kept channels; channels must be kept or dropped as a whole."""
    kept = ~np.isclose(after, empty, rtol=2e-2).reshape(*after.shape[:lead], -1)
    assert (kept.all(-1) | ~kept.any(-1)).all()
    return kept[..., 0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("case", CHANNELS, ids=str)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.sweep(6)
def test_whole_channels_are_dropped_and_gradients_are_the_mask(case, p, dtype, queue):
    name, shape, lead, *layout = case
    x = to_device(np.random.default_rng(0).uniform(1, 2, shape), dtype, queue, *layout)
    y, pullback = sycl_dnn.vjp(getattr(F, name), x, p, seed=5)
    (dx,) = [g for g in pullback(y) if g is not None]
    before, after, slope = to_numpy(x), to_numpy(y), to_numpy(dx)
    kept = _kept(after, 0, lead)
    whole = kept.reshape(*kept.shape, *(1,) * (len(shape) - lead))
    limit = {"float32": 1e-6, "float16": 3e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(after, np.where(whole, before / (1 - p), 0), rtol=limit)
    np.testing.assert_allclose(slope, np.where(whole, after / (1 - p), 0), rtol=limit)
    assert abs(kept.mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / kept.size)
    np.testing.assert_array_equal(to_numpy(getattr(F, name)(x, p, seed=5)), after)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("name", "shape", "lead"), SELU)
@pytest.mark.parametrize("p", [0.2, 0.6])
def test_mean_and_variance_are_preserved(name, shape, lead, p, dtype, queue):
    values = np.random.default_rng(1).standard_normal(shape)
    x = to_device(values, dtype, queue)
    y, pullback = sycl_dnn.vjp(getattr(F, name), x, p, training=True, seed=2)
    (dx,) = [g for g in pullback(F.ones_like(y)) if g is not None]
    after, slope = to_numpy(y).astype("f8"), to_numpy(dx).astype("f8")
    a = 1 / np.sqrt((1 - p) * (1 + p * LOWEST**2))
    kept = _kept(slope, 0, lead)
    whole = kept.reshape(*kept.shape, *(1,) * (len(shape) - lead))
    limit = 1e-5 if dtype == "float32" else 3e-2
    expected = a * (np.where(whole, to_numpy(x), LOWEST) - LOWEST * p)
    np.testing.assert_allclose(after, expected, rtol=limit, atol=limit)
    np.testing.assert_allclose(slope, np.broadcast_to(np.where(whole, a, 0), shape), rtol=limit)
    assert abs(kept.mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / kept.size)
    assert abs(after.mean()) < 0.12
    assert abs(after.var() - 1) < 0.12


@pytest.mark.parametrize("case", [*CHANNELS[::2], *SELU], ids=str)
def test_each_call_draws_a_new_mask_and_the_seed_reproduces_it(case, queue):
    name, shape, *_ = case
    x, function = to_device(np.ones(shape), "float32", queue), getattr(F, name)
    noisy = sycl_dnn.compile(lambda x: (function(x, training=True), function(x, training=True)))
    matches = []
    for _ in range(2):
        sycl_dnn.manual_seed(4)
        matches.append([to_numpy(v) for v in (function(x, training=True), *noisy(x), *noisy(x))])
    for a, b in zip(*matches, strict=True):
        np.testing.assert_array_equal(a, b)
    first = matches[0]
    assert all((first[i] != first[j]).any() for i in range(5) for j in range(i))
    assert function(x, training=False) is x
    assert function(x, 0.0, True) is x
    assert not to_numpy(function(x, 1.0, True)).any()
    out = dpnp.empty_like(x)
    expected = to_numpy(function(x, 0.5, True, seed=3))
    assert function(x, 0.5, True, seed=3, out=out) is out
    np.testing.assert_array_equal(to_numpy(out), expected)
    assert function(x, 0.5, True, True, seed=3) is x
    np.testing.assert_array_equal(to_numpy(x), expected)


@pytest.mark.parametrize(
    ("layer", "function", "shape"),
    [("Dropout1d", "dropout1d", (3, 4, 2)), ("Dropout2d", "dropout2d", (3, 4, 2)),
     ("Dropout3d", "dropout3d", (3, 4, 2, 2, 2)), ("AlphaDropout", "alpha_dropout", (3, 4)),
     ("FeatureAlphaDropout", "feature_alpha_dropout", (3, 4, 2))],
)  # fmt: skip
def test_layers_call_the_functions(layer, function, shape, queue):
    x = to_device(np.ones(shape), "float32", queue)
    net = getattr(nn, layer)(0.4)
    sycl_dnn.manual_seed(1)
    found = to_numpy(net(x))
    sycl_dnn.manual_seed(1)
    np.testing.assert_array_equal(found, to_numpy(getattr(F, function)(x, 0.4, True)))
    np.testing.assert_array_equal(to_numpy(net.eval()(x)), 1)
    assert repr(net) == f"{layer}(p=0.4, inplace=False)"


# --- gumbel_softmax


@pytest.mark.slow
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_samples_follow_the_probabilities_of_the_logits(dim, queue):
    odds = np.array([0.1, 0.2, 0.7])
    rows = np.broadcast_to(np.log(odds), (4000, 2, 3))
    logits = to_device(np.moveaxis(rows, 2, dim), "float32", queue)
    hard = to_numpy(F.gumbel_softmax(logits, hard=True, dim=dim, seed=1))
    assert np.isin(hard, [0, 1]).all()
    np.testing.assert_array_equal(hard.sum(dim), 1)
    shares = np.moveaxis(hard, dim, -1).mean((0, 1))
    assert (abs(shares - odds) < 5 * np.sqrt(odds * (1 - odds) / 8000)).all()
    soft = to_numpy(F.gumbel_softmax(logits, 0.5, dim=dim, seed=1))
    np.testing.assert_allclose(soft.sum(dim), 1, rtol=1e-5)
    np.testing.assert_array_equal(soft.argmax(dim), hard.argmax(dim))


def test_noise_follows_the_gumbel_distribution(queue):
    logits = to_device(np.zeros((20000, 2)), "float32", queue)
    soft = to_numpy(F.gumbel_softmax(logits, seed=3)).astype("f8")
    # The difference of two Gumbel numbers is logistic: its logistic function is uniform.
    assert abs(soft[:, 0].mean() - 0.5) < 5 * np.sqrt(1 / 12 / 20000)
    assert abs(soft[:, 0].var() - 1 / 12) < 0.005
    assert np.isfinite(soft).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_hard_samples_have_the_gradient_of_soft_ones(dtype, queue):
    rng = np.random.default_rng(2)
    logits = to_device(rng.standard_normal((5, 4)), dtype, queue)
    dy = to_device(rng.standard_normal((5, 4)), dtype, queue)
    soft, of_soft = sycl_dnn.vjp(lambda x: F.gumbel_softmax(x, 0.7, seed=6), logits)
    hard, of_hard = sycl_dnn.vjp(lambda x: F.gumbel_softmax(x, 0.7, True, seed=6), logits)
    assert np.isin(to_numpy(hard), [0, 1]).all()
    actual, expected = (to_numpy(f(dy)[0]) for f in (of_hard, of_soft))
    np.testing.assert_array_equal(actual, expected)
    s, g = to_numpy(soft).astype("f8"), to_numpy(dy).astype("f8")
    slope = s * (g - (s * g).sum(-1, keepdims=True)) / 0.7
    limit = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}[dtype]
    np.testing.assert_allclose(expected, slope, atol=limit)


def test_each_compiled_call_draws_a_new_sample(queue):
    logits = to_device(np.zeros((64, 5)), "float32", queue)
    call = sycl_dnn.compile(lambda x: F.gumbel_softmax(x, hard=True))
    assert (to_numpy(call(logits)) != to_numpy(call(logits))).any()
