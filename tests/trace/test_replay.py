# SPDX-License-Identifier: Apache-2.0
"""Calls recorded before by a compiled function are replayed without running their bodies."""

import dpnp
import numpy as np
import pytest
from comparing import assert_same, compiled_as_eager
from counted_calls import counter

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812
from sycl_dnn.trace.replay import Replays, Template


@pytest.fixture
def make(queue):
    """Return a function that makes arrays of small random numbers."""
    rng = np.random.default_rng(0)
    return lambda *shape: dpnp.asarray(rng.normal(0, 0.5, shape).astype("f4"), sycl_queue=queue)


def _counts(compiled, *args):
    """Return the result of a compiled function, and how many calls it recorded and replayed."""
    with pytest.MonkeyPatch.context() as patched:
        methods = ((Replays, "call"), (Template, "replay"))
        n_calls, n_replayed = (counter(patched, *method) for method in methods)
        return compiled(*args), n_calls(), n_replayed()


def _counted(function, *args):
    """Return the compiled function after a call, and how many calls it recorded and replayed."""
    compiled = sycl_dnn.compile(function)
    actual, n_calls, n_replayed = _counts(compiled, *args)
    assert_same(actual, function(*args), 2e-5)
    return compiled, n_calls, n_replayed


def _layers(n, make):
    weights = [(make(16, 16), make(16)) for _ in range(n)]

    def function(x):
        for w, b in weights:
            x = F.relu(F.linear(x, w, b)) * 0.5 + x
        return x

    return function


@pytest.mark.parametrize("n", [4, 8])
def test_only_the_first_of_equal_layers_runs_its_bodies(n, make):
    _, calls, replayed = _counted(_layers(n, make), make(4, 16))
    assert calls == 4 * n
    assert calls - replayed <= 8  # of the first layers: nothing was copied before


def test_another_shape_replays_what_does_not_depend_on_it(make):
    def step(w, g, x):
        return w - 0.1 * (g * g + 0.5) / (F.sqrt(g * g) + 1.0), F.relu(x) * 2.0

    compiled, calls, _ = _counted(step, make(8, 8), make(8, 8), make(3, 5))
    w, g, x = make(8, 8), make(8, 8), make(6, 5)
    result, more_calls, replayed = _counts(compiled, w, g, x)
    assert_same(result, step(w, g, x), 2e-5)
    assert more_calls == calls
    # Those of x: two functions, the kernel of the function that nothing precedes with its nodes,
    # and the kernel that both are fused into.
    assert more_calls - replayed == 5


def test_kernels_are_replayed(make):
    def function(x, n=6):
        for _ in range(n):
            x = F.softmax(F.cumsum(F.sin(x) * 2.0, 1), -1) + F.floor(x)
        return x

    x = make(4, 16)
    _, calls, replayed = _counted(function, x)
    _, more_calls, more_replayed = _counted(lambda x: function(x, 12), x)
    assert more_calls >= 1.5 * calls
    assert more_calls - more_replayed <= calls - replayed + 2  # the last layers are fused apart
    compiled_as_eager(sycl_dnn.grad(lambda x: F.sum(F.square(function(x)))), x)


def test_updates_of_equal_parameters_are_lowered_once(make):
    optimizer = sycl_dnn.optim.AdamW(lr=0.1)

    def missed(n):
        parameters, gradients = [[make(4, 3) for _ in range(n)] for _ in range(2)]
        state = optimizer.init(parameters)
        _, calls, replayed = _counted(optimizer.update, gradients, state, parameters)
        return calls - replayed

    assert missed(3) == missed(9)


def test_shared_operands_are_distinguished_from_separate_ones(make):
    def function(x, y):
        return F.mul(x, x) + F.mul(x, y) + F.mul(y, y) + F.mul(y, x)

    x, y = make(4, 8), make(4, 8)
    compiled_as_eager(function, x, y)


def test_views_of_one_array_are_distinguished(make):
    def function(x):
        a, b = x[:2], x[2:]
        return F.mul(a, b) + F.mul(b, b) + F.mul(a, a) + F.mul(b, a)

    compiled_as_eager(function, make(4, 8))


def test_numbers_are_keyed_with_sign_and_type(make):
    def function(x):
        return F.leaky_relu(x, 0.1), F.leaky_relu(x, 0.2), x * 0.0, x * -0.0, x * 1, x * True

    compiled, calls, replayed = _counted(function, make(4, 8))
    assert calls >= 6  # some become kernels in the end, which is another call
    assert replayed == 0


def test_layouts_and_autocast_regions_are_part_of_the_key(make):
    def function(x):
        y = F.transpose(x, 0, 1)
        with sycl_dnn.autocast("bfloat16"):
            narrow = F.matmul(x, x), F.matmul(y, x)
        return F.matmul(x, x), F.matmul(y, x), *narrow

    x = make(16, 16)
    actual, expected = sycl_dnn.compile(function)(x), function(x)
    assert [a.dtype for a in actual] == [a.dtype for a in expected]
    for a, b in zip(actual[:2], expected[:2], strict=True):
        assert_same(a, b, 2e-5)


def test_each_dropout_layer_draws_its_own_mask(queue):
    ones = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    first, second = sycl_dnn.compile(lambda x: (F.dropout(x, 0.5), F.dropout(x, 0.5)))(ones)
    assert (dpnp.asnumpy(first) != dpnp.asnumpy(second)).any()


def test_gradients_of_replayed_calls(make):
    weights = [make(8, 8) for _ in range(4)]

    def loss(weights, x):
        for w in weights:
            x = F.tanh(F.linear(x, w)) * 0.5 + F.mul(x, x)
        return F.mean(F.square(x))

    def step(weights, x):
        return sycl_dnn.grad(loss)(weights, x)

    for batch in (4, 6):
        compiled_as_eager(step, weights, make(batch, 8))


def test_updated_statistics_are_updated_in_each_layer(make):
    def function(x, mean, var):
        y = F.batch_norm(x, mean, var, training=True)
        return F.batch_norm(y * 2.0, mean, var, training=True)

    x = make(4, 8, 3, 3)
    results = []
    for f in (function, sycl_dnn.compile(function)):
        mean, var = (dpnp.zeros(8, dtype="f4", sycl_queue=x.sycl_queue) for _ in range(2))
        y = f(x, mean, var)
        results.append([dpnp.asnumpy(a) for a in (y, mean, var)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_clearing_compiled_programs_clears_recorded_calls(make):
    x = make(4, 16)
    compiled, *first = _counted(_layers(2, make), x)
    compiled.clear()
    _, *again = _counts(compiled, x)
    assert again == first
