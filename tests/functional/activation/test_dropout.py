# SPDX-License-Identifier: Apache-2.0
import warnings

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace import policy
from sycl_dnn.trace.frozen import Seed


def values_of(shape):
    return np.random.default_rng(0).uniform(1, 2, shape)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_few_elements(shape, queue):
    x = to_device(np.full(shape, 3.0), "float32", queue)
    for seed in range(5):
        y = to_numpy(F.dropout(x, 0.5, seed=seed))
        assert y.shape == shape
        assert np.isin(y, [0, 6]).all()


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


@pytest.mark.parametrize("function", [F.dropout, F.dropout1d])
def test_arguments_of_differentiated_functions_are_not_written(function, queue):
    x = to_device(np.ones((3, 4)), "float32", queue)
    with pytest.raises(TypeError, match="an argument of a differentiated function"):
        sycl_dnn.vjp(lambda x: function(x, inplace=True), x)


def test_no_reference_warning_where_no_other_implementation_exists(queue):
    sycl_dnn.cache.clear()
    policy._warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", sycl_dnn.ReferenceWarning)
        x = to_device(values_of((3, 4)), "float32", queue)
        y, pullback = sycl_dnn.vjp(F.dropout, x)
        pullback(y)


def test_gradients_read_the_mask_that_was_drawn(queue):
    x = to_device(values_of((3, 8, 20, 20)), "float32", queue)
    _, pullback = sycl_dnn.vjp(lambda x: F.dropout(x, 0.3), x)
    with sycl_dnn.profile(wait=True) as profile:
        pullback(x)
    masks = [t for r in profile.records for t in r.tensors if t.dtype == "u8"]
    assert masks
