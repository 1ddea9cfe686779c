# SPDX-License-Identifier: Apache-2.0
"""Calls with random numbers are repeated without Python, each with its own seed."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.cache import plans


def drawn(function, x, count=4):
    """Return the results of calls after the same start."""
    sycl_dnn.manual_seed(5)
    return [dpnp.asnumpy(function(x)) for _ in range(count)]


def unlike(results):
    return not any(np.array_equal(a, b) for i, a in enumerate(results) for b in results[:i])


@pytest.fixture
def x(queue):
    return dpnp.ones((8, 16), dtype="f4", sycl_queue=queue)


@pytest.mark.parametrize(
    "function",
    [F.dropout, lambda x: F.dropout(x, out=x + 1), lambda x: F.rand(8, 16, device=x.sycl_queue),
     lambda x: F.randint(0, 1 << 40, (8, 16), device=x.sycl_queue)],
    ids=["dropout", "out", "rand", "randint"],
)  # fmt: skip
def test_eager_calls(function, x, clean_cache):
    first = drawn(function, x)
    hits = plans.calls.hits
    again = drawn(function, x)
    assert plans.calls.hits == hits + len(again)
    assert unlike(first)
    np.testing.assert_array_equal(first, again)


def test_a_given_seed_is_not_part_of_the_key(x, clean_cache):
    F.dropout(x, seed=0)
    hits = plans.calls.hits
    results = [dpnp.asnumpy(F.dropout(x, seed=seed)) for seed in (1, 2, 1)]
    assert plans.calls.hits == hits + 3
    assert not np.array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    # Another dtype of the number is another kernel.
    narrow = dpnp.asnumpy(F.dropout(x, seed=sycl_dnn.Seed(1, "int32")))
    np.testing.assert_array_equal(narrow, results[0])


def test_compiled_functions(x):
    compiled = sycl_dnn.compile(lambda x: F.stack([F.dropout(x), F.dropout(x)]))
    first = drawn(compiled, x)
    assert unlike([part for result in first for part in result])
    sycl_dnn.manual_seed(5)
    eager = [dpnp.asnumpy(F.dropout(x)) for _ in range(2)]
    np.testing.assert_array_equal(first[0], eager)
    hits = compiled._plans.calls.hits
    np.testing.assert_array_equal(first, drawn(compiled, x))
    assert compiled._plans.calls.hits == hits + len(first)


def test_gradients_use_the_seed_of_the_values(x):
    step = sycl_dnn.value_and_grad(lambda x: F.sum(F.dropout(x) * x))
    for _ in range(4):
        value, gradient = step(x)
        assert float(gradient.sum()) == 2 * float(value)


def test_memory_of_seeds_is_reused_only_after_the_work(queue):
    x = dpnp.ones((256, 1024), dtype="f4", sycl_queue=queue)
    sycl_dnn.manual_seed(3)
    at_once = [F.dropout(x) for _ in range(40)]
    sycl_dnn.manual_seed(3)
    for result in at_once:
        expected = F.dropout(x)
        queue.wait()
        assert bool((result == expected).all())


def _scaled(x, scale=1.0):
    return F.sum(F.dropout(x) * x * scale)


def _with_value(x):
    dropped = F.dropout(x)
    return F.sum(F.dropout(x) * (x if float(dropped.sum()) < 0 else dropped))


@pytest.mark.parametrize("function", [_scaled, _with_value])
def test_gradients_are_repeated(function, x, clean_cache):
    step = sycl_dnn.value_and_grad(function)
    first = drawn(lambda x: step(x)[1], x)
    hits = plans.calls.hits
    again = drawn(lambda x: step(x)[1], x)
    assert plans.calls.hits >= hits + len(again)
    assert unlike(first)
    np.testing.assert_array_equal(first, again)
    assert sycl_dnn.vjp(function, x)[1]._plan.again is not None


def test_gradients_with_numbers_are_repeated(x, clean_cache):
    step = sycl_dnn.value_and_grad(_scaled)
    for scale in (0.5, 0.25, 2.0, 3.0):
        step(x, scale)
    hits = plans.calls.hits
    sycl_dnn.manual_seed(5)
    results = [step(x, scale) for scale in (1.0, 4.0, 6.0)]
    assert plans.calls.hits >= hits + 3
    for (value, gradient), scale in zip(results, (1.0, 4.0, 6.0), strict=True):
        assert float(gradient.max()) == 4 * scale
        assert float(gradient.sum()) == 2 * float(value)


def test_a_seed_is_captured(x, clean_cache):
    seeds = iter(range(9))
    step = sycl_dnn.value_and_grad(
        lambda x: F.sum(F.dropout(x, seed=sycl_dnn.Seed(next(seeds))) * x)
    )
    gradients = [dpnp.asnumpy(step(x)[1]) for _ in range(3)]
    assert unlike(gradients)
    for seed, gradient in enumerate(gradients):
        expected = dpnp.asnumpy(F.dropout(x, seed=seed)) * 2
        np.testing.assert_array_equal(gradient, expected)


def test_vjp_of_an_operation_that_draws(x, clean_cache):
    values = F.randn(4, 8, device=x.sycl_queue)
    first = [dpnp.asnumpy(sycl_dnn.vjp(F.rrelu, values, training=True)[0]) for _ in range(3)]
    assert unlike(first)
