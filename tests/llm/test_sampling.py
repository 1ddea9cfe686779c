# SPDX-License-Identifier: Apache-2.0
"""The choice of tokens on the device: what each limit leaves, and how often it is drawn."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn.llm import Sampling
from sycl_dnn.llm.token_choice import choice_of, chosen, marked

LOGITS = np.log([0.5, 0.2, 0.15, 0.1, 0.05])
CHOSEN = sycl_dnn.compile(chosen)


def draw(logits, n=1, seen=None, place=0, **options):
    """Return tokens drawn of the same logits, one of each of ``n`` rows."""
    rows = np.tile(np.asarray(logits, np.float32), (n, 1))
    if seen is not None:
        seen = dpnp.asarray(np.tile(np.isin(np.arange(rows.shape[1]), seen), (n, 1)).astype("i1"))
    places = dpnp.asarray(np.full((n, 1), place, np.int32))
    choice = choice_of(Sampling(**{"seed": 0, **options}), dpnp.asarray)
    return dpnp.asnumpy(CHOSEN(dpnp.asarray(rows), seen, places, choice)).ravel()


def check(p, **options):
    """Compare frequencies with probabilities by a chi-squared test, at 5 standard deviations."""
    p = np.asarray(p) / np.sum(p)
    n = 4096
    found = np.bincount(draw(n=n, **options), minlength=len(p))
    assert not found[p == 0].any()
    inner = p > 0
    statistic = ((found[inner] - n * p[inner]) ** 2 / (n * p[inner])).sum()
    freedom = inner.sum() - 1
    assert statistic <= freedom + 5 * np.sqrt(2 * freedom)


def test_temperature_1_draws_by_probability():
    check(np.exp(LOGITS), logits=LOGITS, temperature=1.0)
    check(np.exp(LOGITS), logits=LOGITS - 200, temperature=1.0, place=7)


def test_many_tokens_are_drawn_by_probability():
    logits = np.random.default_rng(0).normal(size=300)
    check(np.exp(logits), logits=logits, temperature=1.0)


def test_places_draw_by_probability():
    found = [draw(LOGITS, place=i, temperature=1.0)[0] for i in range(400)]
    frequencies = np.bincount(found, minlength=5) / 400
    np.testing.assert_allclose(frequencies, np.exp(LOGITS), atol=0.1)


def test_temperature_sharpens():
    check(np.exp(2 * LOGITS), logits=LOGITS, temperature=0.5)
    assert not draw(LOGITS, 64, temperature=1e-30).any()
    assert not draw(LOGITS, 64, temperature=1e-45).any()


@pytest.mark.parametrize("n", [5, 1000])
def test_greedy_is_the_first_largest(n):
    logits = np.random.default_rng(n).integers(0, 9, n)
    for options in ({"temperature": 0.0}, {"temperature": 1e-20, "top_k": 1}):
        assert draw(logits, 3, **options).max() < n
        assert logits[draw(logits, 3, **options)].min() == logits.max()
    assert draw(logits, temperature=0.0) == logits.argmax()


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("options", "left"), [
    ({"top_k": 2}, [5, 2]), ({"top_p": 0.6}, [5, 2]), ({"top_p": 0.5}, [1]),
    ({"min_p": 0.25}, [5, 2, 1.5]), ({"top_k": 3, "min_p": 0.35}, [5, 2]),
    ({"top_k": 9}, [10, 4, 3, 2, 1]), ({"top_p": 1.0, "min_p": 0.0}, [10, 4, 3, 2, 1]),
    ({"top_k": 2, "top_p": 0.71}, [1]), ({"min_p": 1.0}, [1]), ({"top_p": 1e-9}, [1]),
])  # fmt: skip
def test_limits_keep_the_most_probable(options, left):
    # 0.5 is a threshold of top_p itself: here it is exact.
    logits = np.log([8, 3.2, 2.4, 1.6, 0.8]) if "top_p" in options else LOGITS
    check(left + [0] * (5 - len(left)), logits=logits, temperature=1.0, **options)


@pytest.mark.parametrize("options", [
    {"top_k": 40}, {"top_p": 0.9}, {"top_k": 100, "top_p": 0.7, "min_p": 0.02},
])  # fmt: skip
def test_limits_of_many_tokens(options):
    """Compare which tokens are left with a sort of the probabilities."""
    logits = np.random.default_rng(2).normal(size=3000) * 2
    order = np.argsort(-logits)
    left = order[: options.get("top_k", len(order))]
    p = np.exp(logits[left] - logits[left[0]])
    count = np.searchsorted(np.cumsum(p / p.sum()), options.get("top_p", 1.0)) + 1
    left, p = left[:count], p[:count]
    left, p = left[p >= options.get("min_p", 0.0)], p[p >= options.get("min_p", 0.0)]
    expected = np.zeros(3000)
    expected[left] = p
    check(expected, logits=logits, temperature=1.0, **options)


def test_tokens_as_likely_as_the_last_are_kept():
    check([1, 1, 1, 0], logits=[0.0, 0.0, 0.0, -1.0], temperature=1.0, top_k=1)
    check([1, 1, 1, 0], logits=[0.0, 0.0, 0.0, -1.0], temperature=1.0, top_p=0.1)


def test_excluded_tokens_are_never_drawn():
    check([1, 0, 1], logits=[0.0, -np.inf, 0.0], temperature=1.0)
    check([1, 0, 1], logits=[0.0, -np.inf, 0.0], temperature=1.0, top_k=3, top_p=0.999)


def test_a_penalty_divides_positive_logits_and_multiplies_others():
    logits = np.array([3.0, 2.5, -1.0, -1.5])
    for temperature, options in ((0.0, {}), (1.0, {"top_k": 1})):
        given = {"temperature": temperature, "repetition_penalty": 2.0, **options}
        assert draw(logits, seen=[0], **given) == 1
        assert draw(logits[2:], seen=[0], **given) == 1
        assert draw(logits, seen=[0, 1], **given) == 0
    check(np.exp(logits / [2, 1, 1, 0.5]), logits=logits, seen=[0, 3], temperature=1.0,
          repetition_penalty=2.0)  # fmt: skip


def test_texts_mark_what_occurred():
    seen = dpnp.zeros((2, 5), dtype="i1")
    ids = dpnp.asarray([[0, 3, 3], [0, 0, 4]], dtype="i4")
    result = marked(seen, ids, dpnp.asarray([[False, True, True], [True, True, True]]))
    assert dpnp.asnumpy(result).tolist() == [[0, 0, 0, 1, 0], [1, 0, 0, 0, 1]]
    result = marked(result, dpnp.asarray([[1], [4]], dtype="i4"), dpnp.asarray([[True], [True]]))
    assert dpnp.asnumpy(result).tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1]]


def test_a_seed_repeats_its_tokens_and_others_do_not():
    options = {"logits": np.zeros(50), "n": 64, "temperature": 1.0}
    one = draw(**options, seed=2**40 + 1)
    np.testing.assert_array_equal(one, draw(**options, seed=2**40 + 1))
    for other in ({"seed": 1}, {"seed": 2**40 + 1, "place": 1}):
        assert np.mean(one == draw(**options, **other)) < 0.2


def test_values_do_not_compile_again():
    draw(LOGITS, temperature=1.0, top_k=3)
    before = CHOSEN.cache_info().misses
    draw(LOGITS, temperature=0.7, top_k=2, seed=5, place=3)
    assert CHOSEN.cache_info().misses == before


def test_out_of_range_options_are_refused():
    for name, value in (
        ("top_k", -1), ("min_p", 1.5), ("repetition_penalty", 0.0), ("seed", -1), ("seed", 2**64),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"generate: {name} must be"):
            Sampling(**{name: value})
