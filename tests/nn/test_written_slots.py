# SPDX-License-Identifier: Apache-2.0
"""Rows written into a cache: values, bounds, dtypes, in place or in a copy."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn.key_value_cache import slots_from, write_slots


def given(queue, dtype, shape=(2, 3, 10, 7), rows=4):
    rng = np.random.default_rng(0)
    results = [rng.integers(-9, 9, s).astype("f4") for s in (shape, (*shape[:2], rows, shape[3]))]
    return results, [F.astype(dpnp.asarray(a, sycl_queue=queue), dtype) for a in results]


def expected(old, new, first):
    target = old.copy()
    n, m = old.shape[2], new.shape[2]
    for i in range(m):
        if 0 <= first + i < n:
            target[:, :, first + i] = new[:, :, i]
    return target


def written(cache, new, first):
    return write_slots(cache, new, slots_from(first, new.shape[2]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("first", [0, 3, 6, 8, 10, 30, -2])
def test_values(queue, dtype, first):
    (old, new), arrays = given(queue, dtype)
    at = dpnp.asarray(np.int32(first), sycl_queue=queue)
    actual = written(*arrays, at)
    actual = dpnp.asnumpy(F.astype(actual, "float32"))
    np.testing.assert_array_equal(actual, expected(old, new, first))


@pytest.mark.parametrize("rows", [1, 4])
def test_a_donated_cache_is_written_in_place(queue, rows):
    (old, new), (cache, fresh) = given(queue, "float32", (2, 3, 64, 16), rows)
    step = sycl_dnn.compile(written, donate="cache")
    place = cache.get_array()._pointer
    for first in (5, 60, 63):
        old = expected(old, new, first)
        cache = step(cache, fresh, dpnp.asarray(np.int32(first), sycl_queue=queue))
        np.testing.assert_array_equal(dpnp.asnumpy(cache), old)
    assert cache.get_array()._pointer == place


def test_a_cache_that_is_not_donated_is_copied(queue):
    (old, new), (cache, fresh) = given(queue, "float32", (2, 3, 64, 16), 1)
    actual = sycl_dnn.compile(written)(cache, fresh, dpnp.asarray(np.int32(5), sycl_queue=queue))
    np.testing.assert_array_equal(dpnp.asnumpy(actual), expected(old, new, 5))
    np.testing.assert_array_equal(dpnp.asnumpy(cache), old)


def test_gradients_flow_to_kept_and_new_rows(queue):
    _, (cache, fresh) = given(queue, "float32")
    at = dpnp.asarray(np.int32(8), sycl_queue=queue)
    _, pullback = sycl_dnn.vjp(lambda c, n: written(c, n, at), cache, fresh)
    of_cache, of_new = pullback(dpnp.ones(cache.shape, dtype="f4", sycl_queue=queue))
    assert dpnp.asnumpy(of_cache)[0, 0, :, 0].tolist() == [1] * 8 + [0] * 2
    assert dpnp.asnumpy(of_new)[0, 0, :, 0].tolist() == [1, 1, 0, 0]


class Cache(nn.Module):
    """An array that is neither a parameter nor a buffer, whose rows the forward writes."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.rows = F.zeros(4, 3)

    def forward(self, x, first=0):
        self.rows[first : first + len(x)] = self.linear(x)
        return self.rows[: first + len(x)].sum()


def test_attributes_that_are_no_parameters_may_be_written_to():
    net, x = Cache(), dpnp.ones((2, 3), dtype="f4")
    for first in (0, 2, 0):
        _, grads = sycl_dnn.value_and_grad(lambda net, x, i=first: net(x, i))(net, x)
        assert grads.linear.bias.tolist() == [2.0] * 3
        rows = net.rows[first : first + 2].asnumpy()
        np.testing.assert_allclose(rows, net.linear(x).asnumpy(), rtol=1e-6)
    with pytest.raises(TypeError, match="argument of a differentiated function"):
        sycl_dnn.grad(lambda rows: F.sum(F.relu(rows, inplace=True)))(net.rows)
