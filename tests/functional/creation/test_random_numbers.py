# SPDX-License-Identifier: Apache-2.0
"""Random numbers of functions that capture all their arrays, and the bounds of numbers."""

import math

import dpnp
import numpy as np
import pytest
from functional.on_device import to_numpy
from wide_dtypes import need

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.ops import random_bits
from sycl_dnn.ops.creation import full

#: Functions of an array that draw random numbers.
DRAWS = {
    "dropout": F.dropout,
    "dropout1d": F.dropout1d,
    "alpha_dropout": lambda x: F.alpha_dropout(x, training=True),
    "rrelu": lambda x: F.rrelu(-x, training=True),
    "gumbel_softmax": F.gumbel_softmax,
    "rand_like": F.rand_like,
    "randn_like": F.randn_like,
    "bernoulli": F.bernoulli,
    "multinomial": lambda x: F.multinomial(x, 8, replacement=True),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "module": nn.Dropout(0.5),
    "modules": nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.sweep(2)
def test_calls_that_capture_all_arrays_draw_anew(name, queue):
    held = dpnp.full((4, 8), 0.5, dtype="f4", sycl_queue=queue)
    nothing = dpnp.zeros(1, dtype="f4", sycl_queue=queue)
    if name == "modules":
        DRAWS[name].to(queue)

    def draw(_):
        return DRAWS[name](held)

    compiled, planned = sycl_dnn.compile(draw), sycl_dnn.plan(draw, nothing)
    for call in (lambda: compiled(nothing), planned, lambda: sycl_dnn.vjp(draw, nothing)[0]):
        first = to_numpy(call()).copy()
        assert any(not np.array_equal(first, to_numpy(call())) for _ in range(3))


@pytest.mark.parametrize("transform", [sycl_dnn.compile, lambda f: lambda x: sycl_dnn.vjp(f, x)[0]])
def test_transforms_of_captured_arrays_alone_are_refused(transform, queue):
    """They would run while the outer function is traced, once."""
    x = dpnp.ones(8, dtype="f4", sycl_queue=queue)
    inner = transform(lambda x: F.dropout(x, 0.5))
    with pytest.raises(TypeError, match="only once"):
        sycl_dnn.compile(lambda _: inner(x))(x)
    with pytest.raises(TypeError, match="only once"):
        sycl_dnn.plan(lambda _: inner(x), x)
    assert sycl_dnn.vjp(lambda _: inner(x), x)[0].shape == (8,)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("word", [0, 2**32 - 1])
def test_numbers_of_extreme_words(word, dtype, queue, monkeypatch):
    need(dtype, queue)

    def words(seed, shape, count):
        return [full(word, shape, "uint32")] * count

    sycl_dnn.cache.clear()
    with monkeypatch.context() as patched:
        patched.setattr(random_bits, "words", words)
        numbers = to_numpy(F.rand(8, dtype=dtype, device=queue)).astype("f8")
        normal = to_numpy(F.randn(8, dtype=dtype, device=queue)).astype("f8")
        integers = to_numpy(F.randint(-5, 2**48 - 5, (8,), device=queue))
    sycl_dnn.cache.clear()
    assert (numbers == 0).all() if not word else ((numbers > 0.99) & (numbers < 1)).all()
    assert np.isfinite(normal).all()
    np.testing.assert_array_equal(integers, 2**48 - 6 if word else -5)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_normal_numbers_follow_the_distribution(dtype, queue):
    need(dtype, queue)
    n = 1 << 16
    values = np.sort(to_numpy(F.randn(n, dtype=dtype, device=queue)).astype("f8"))
    exact = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in values])
    limit = 2.5 / math.sqrt(n) + (2e-3 if dtype == "bfloat16" else 0)
    assert np.abs(exact - (np.arange(n) + 0.5) / n).max() < limit


def test_every_element_and_seed_has_its_own_numbers(queue):
    x = dpnp.ones((16, 8, 4), dtype="f4", sycl_queue=queue)
    draws = [to_numpy(F.dropout(x, seed=s)) for s in (3, 3, 3 + 2**32, 3 + 2**31, -1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert all((draws[i] != draws[j]).any() for i in range(1, 5) for j in range(1, i))
    turned = dpnp.ones((4, 16, 8), dtype="f4", sycl_queue=queue).transpose(1, 2, 0)
    np.testing.assert_array_equal(to_numpy(F.dropout(turned, seed=3)), draws[0])
    rows = draws[0].reshape(16, -1)
    assert len({row.tobytes() for row in rows}) == len({row.tobytes() for row in rows.T[:16]}) == 16


@pytest.mark.parametrize(
    ("draw", "n_steps"),
    [(F.dropout, 1), (F.dropout2d, 2), (lambda x: F.alpha_dropout(x, training=True), 2),
     (lambda x: F.gumbel_softmax(x), 2), (F.rand_like, 1), (F.randn_like, 1), (F.bernoulli, 2),
     (lambda x: F.randint(9, size=(2, 3)), 1)],
)  # fmt: skip
def test_numbers_are_drawn_by_kernels(draw, n_steps, queue):
    x = dpnp.ones((2, 3, 4, 4), dtype="f4", sycl_queue=queue)
    report = sycl_dnn.compile(draw).explain(x)
    assert report.n_steps <= n_steps, str(report)
    assert "dpnp" not in {part.way for part in report.parts}


@pytest.mark.parametrize("p", [1e-12, 1e-17])
def test_a_tiny_probability_drops_next_to_nothing(p, queue):
    x = F.ones(1000, device=queue)
    assert int(F.count_nonzero(F.dropout(x, p))) == 1000
    assert int(F.count_nonzero(F.dropout2d(F.reshape(x, (10, 10, 2, 5)), p))) == 1000
