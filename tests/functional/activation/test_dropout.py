# SPDX-License-Identifier: Apache-2.0
import warnings

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.activation.dropout import manual_seed
from sycl_dnn.trace import policy
from sycl_dnn.trace.frozen import Seed

SHAPES = [((200, 31), "plain"), ((6001,), "plain"), ((2, 3, 4, 5, 6, 7), "plain"),
          ((4, 15, 9, 11), "channels_last"), ((60, 91), "strided"), ((60, 91), "transposed"),
          ((6007,), "reversed")]  # fmt: skip


def values_of(shape):
    return np.random.default_rng(0).uniform(1, 2, shape)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("shape", "layout"), SHAPES)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_values_and_gradient(shape, layout, p, dtype, queue):
    x = to_device(values_of(shape), dtype, queue, layout)
    y, pullback = sycl_dnn.vjp(F.dropout, x, p, seed=3)
    (dx,) = [g for g in pullback(y) if g is not None]
    before, after, slope = to_numpy(x), to_numpy(y), to_numpy(dx)
    kept = after != 0
    limit = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(after, np.where(kept, before / (1 - p), 0), rtol=limit)
    np.testing.assert_allclose(slope, np.where(kept, after / (1 - p), 0), rtol=limit)
    # Five standard deviations.
    assert abs(kept.mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / kept.size)


def test_same_with_and_without_gradient(queue):
    x = to_device(values_of((64, 32)), "float32", queue)
    y, _ = sycl_dnn.vjp(F.dropout, x, 0.3, seed=11)
    np.testing.assert_array_equal(to_numpy(F.dropout(x, 0.3, seed=11)), to_numpy(y))


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_few_elements(shape, queue):
    x = to_device(np.full(shape, 3.0), "float32", queue)
    for seed in range(5):
        y = to_numpy(F.dropout(x, 0.5, seed=seed))
        assert y.shape == shape
        assert np.isin(y, [0, 6]).all()


def test_seeds(queue):
    x = to_device(values_of((100, 10)), "float32", queue)
    first, again, other = (to_numpy(F.dropout(x, seed=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert 0.3 < (first == other).mean() < 0.7
    free = [to_numpy(F.dropout(x)) for _ in range(2)]
    assert (free[0] != free[1]).any()


def test_manual_seed(queue):
    x = to_device(values_of((100, 10)), "float32", queue)
    manual_seed(5)
    first = [to_numpy(F.dropout(x)) for _ in range(3)]
    manual_seed(5)
    again = [to_numpy(F.dropout(x)) for _ in range(3)]
    np.testing.assert_array_equal(first, again)


def test_a_new_seed_causes_no_retrace(queue):
    x = to_device(values_of((10, 10)), "float32", queue)
    sycl_dnn.cache.clear()
    for seed in range(5):
        F.dropout(x, seed=seed)
    F.dropout(x)
    assert sycl_dnn.cache.info().misses == 1
    results = [to_numpy(sycl_dnn.vjp(F.dropout, x, seed=Seed(s))[0]) for s in (1, 2)]
    assert (results[0] != results[1]).any()
    assert sycl_dnn.cache.info().misses == 2


def test_each_call_of_a_traced_function_draws(queue):
    x = to_device(values_of((40, 40)), "float32", queue)

    def twice(x):
        return F.dropout(x), F.dropout(x)

    results = []
    for _ in range(2):
        (a, b), pullback = sycl_dnn.vjp(twice, x)
        (dx,) = pullback([a, b])
        np.testing.assert_allclose(to_numpy(dx), 2 * (to_numpy(a) + to_numpy(b)), rtol=1e-6)
        results += [to_numpy(a), to_numpy(b)]
    for i in range(4):
        for j in range(i):
            assert (results[i] != results[j]).any()


def test_each_call_of_a_bound_plan_draws(queue):
    x = to_device(values_of((40, 40)), "float32", queue)
    plan = sycl_dnn.plan(lambda x: F.relu(F.dropout(x)), x)
    results = [to_numpy(plan()) for _ in range(2)]
    assert (results[0] != results[1]).any()


def test_dropout_that_drops_nothing_returns_the_input(queue):
    x = to_device(values_of((3, 4)), "float32", queue)
    assert F.dropout(x, 0.0) is x
    assert F.dropout(x, training=False) is x
    assert F.dropout(x, training=False, inplace=True) is x
    out = dpnp.empty_like(x)
    assert F.dropout(x, training=False, out=out) is out
    np.testing.assert_array_equal(to_numpy(out), to_numpy(x))
    y, pullback = sycl_dnn.vjp(lambda x: F.relu(F.dropout(x, training=False)), x)
    np.testing.assert_array_equal(to_numpy(pullback(y)[0]), to_numpy(x))


def test_everything_dropped(queue):
    x = to_device(values_of((3, 4)), "float32", queue)
    y, pullback = sycl_dnn.vjp(F.dropout, x, 1.0)
    assert not to_numpy(y).any()
    assert not to_numpy(pullback(y)[0]).any()


def test_inplace_and_out(queue):
    values = values_of((30, 4))
    x = to_device(values, "float32", queue)
    expected = to_numpy(F.dropout(x, seed=4))
    out = dpnp.empty_like(x)
    assert F.dropout(x, seed=4, out=out) is out
    np.testing.assert_array_equal(to_numpy(out), expected)
    assert F.dropout(x, 0.5, True, True, seed=4) is x
    np.testing.assert_array_equal(to_numpy(x), expected)


def test_refusals(queue):
    x = to_device(np.ones(3), "float32", queue)
    for p in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"dropout: p must be in \[0, 1\], got"):
            F.dropout(x, p)
    for seed in (1.5, "a", 2**70):
        with pytest.raises(TypeError, match="dropout: seed must be an int64, got"):
            F.dropout(x, seed=seed)
    with pytest.raises(TypeError, match="dropout: input must have a floating-point dtype"):
        F.dropout(x.astype("int32"))
    with pytest.raises(TypeError, match="dropout: an argument of a differentiated function"):
        sycl_dnn.vjp(lambda x: F.dropout(x, inplace=True), x)


def test_no_reference_warning_where_no_other_implementation_exists(queue):
    sycl_dnn.cache.clear()
    policy._warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", sycl_dnn.ReferenceWarning)
        x = to_device(values_of((3, 4)), "float32", queue)
        y, pullback = sycl_dnn.vjp(F.dropout, x)
        pullback(y)
