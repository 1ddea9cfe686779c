# SPDX-License-Identifier: Apache-2.0
"""Tokens that are drawn: what each limit leaves, and how often."""

import numpy as np
import pytest

from sycl_dnn.llm import Sampling

LOGITS = np.log([0.5, 0.2, 0.15, 0.1, 0.05])


def drawn(n=4000, logits=LOGITS, seen=(), **options):
    sampling, rng = Sampling(**options), np.random.default_rng(0)
    found = [sampling.choose(logits, seen, rng) for _ in range(n)]
    return np.bincount(found, minlength=len(logits)) / n


def test_temperature_1_draws_by_probability():
    np.testing.assert_allclose(drawn(temperature=1.0), np.exp(LOGITS), atol=0.03)


def test_temperature_sharpens():
    wanted = np.exp(2 * LOGITS) / np.exp(2 * LOGITS).sum()
    np.testing.assert_allclose(drawn(temperature=0.5), wanted, atol=0.03)


def test_temperature_0_is_greedy():
    assert drawn(10, temperature=0.0).tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(("options", "left"), [
    ({"top_k": 2}, [5, 2]), ({"top_p": 0.6}, [5, 2]), ({"top_p": 0.5}, [1]),
    ({"min_p": 0.25}, [5, 2, 1.5]), ({"top_k": 3, "min_p": 0.35}, [5, 2]),
    ({"top_k": 9}, [10, 4, 3, 2, 1]), ({"top_p": 1.0, "min_p": 0.0}, [10, 4, 3, 2, 1]),
])  # fmt: skip
def test_limits_keep_the_most_probable(options, left):
    wanted = np.array(left + [0] * (5 - len(left))) / sum(left)
    np.testing.assert_allclose(drawn(temperature=1.0, **options), wanted, atol=0.03)


def test_ties_are_resolved_by_token_id():
    assert drawn(10, np.zeros(5), temperature=1.0, top_k=1).max() == 1


def test_a_penalty_divides_positive_logits_and_multiplies_others():
    logits = np.array([3.0, 2.5, -1.0, -1.5])
    sampling = Sampling(repetition_penalty=2.0)
    rng = np.random.default_rng(0)
    assert sampling.choose(logits, [0], rng) == 1
    assert sampling.choose(logits[2:], [0, 0], rng) == 1
    assert sampling.choose(logits, [0, 1], rng) == 0
    assert logits.tolist() == [3.0, 2.5, -1.0, -1.5]


def test_out_of_range_options_are_refused():
    for name, value in (("top_k", -1), ("min_p", 1.5), ("repetition_penalty", 0.0)):
        with pytest.raises(ValueError, match=f"generate: {name} must be"):
            Sampling(**{name: value})
