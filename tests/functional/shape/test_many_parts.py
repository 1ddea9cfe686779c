# SPDX-License-Identifier: Apache-2.0
"""Concatenating and splitting thousands of parts: correct, and in linear time."""

import sys
import time

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: More than oneDNN joins at once.
MANY = 1100


def _values(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("f4")


def _vectors(values, queue):
    return [dpnp.asarray(v, sycl_queue=queue) for v in values]


JOINED = {
    "cat": (lambda *parts: F.cat(parts), lambda v: v.reshape(-1)),
    "cat_last": (lambda *parts: F.cat([F.reshape(p, (2, 1)) for p in parts], 1), lambda v: v.T),
    "stack": (lambda *parts: F.stack(parts), lambda v: v),
    "stack_last": (lambda *parts: F.stack(parts, -1), lambda v: v.T),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINED)
def test_joined(name, queue):
    function, reference = JOINED[name]
    values = _values(MANY, 2)
    parts = _vectors(values, queue)
    for call in (function, sycl_dnn.compile(function)):
        np.testing.assert_array_equal(dpnp.asnumpy(call(*parts)), reference(values))


@pytest.mark.slow
def test_gradients_of_joined(queue):
    values = _values(MANY, 2)
    y, pullback = sycl_dnn.vjp(lambda *parts: F.stack(parts), *_vectors(values, queue))
    slopes = pullback(dpnp.asarray(values * 2, sycl_queue=queue))
    assert y.shape == values.shape
    np.testing.assert_array_equal([dpnp.asnumpy(g) for g in slopes], values * 2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int64", "bfloat16"])
def test_joined_in_other_dtypes(dtype, queue):
    values = np.arange(2 * MANY).reshape(MANY, 2) % 200
    parts = [F.astype(p, dtype) for p in _vectors(values.astype("f4"), queue)]
    actual = F.astype(F.cat(parts), "float32")
    np.testing.assert_array_equal(dpnp.asnumpy(actual), values.reshape(-1))


APART = {
    "unbind": lambda x: F.stack(F.unbind(x, 0)[::-1]),
    "split": lambda x: F.cat(F.split(x, 1, 0)[::-1]),
    "sections": lambda x: F.cat(F.split(x, [1] * x.shape[0], 0)[::-1]),
    "chunk": lambda x: F.cat(F.chunk(x, x.shape[0], 0)[::-1]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", APART)
def test_split_and_joined(name, queue):
    function, values = APART[name], _values(MANY, 3)
    x = dpnp.asarray(values, sycl_queue=queue)
    for call in (function, sycl_dnn.compile(function)):
        np.testing.assert_array_equal(dpnp.asnumpy(call(x)), values[::-1])
    _, pullback = sycl_dnn.vjp(function, x)
    (slope,) = pullback(x)
    np.testing.assert_array_equal(dpnp.asnumpy(slope), values[::-1])


@pytest.mark.slow
def test_sum_of_parts(queue):
    """Python's ``sum`` is a chain as long as there are parts, longer than Python's stack."""
    n = sys.getrecursionlimit() + 100
    values = _values(n, 3)
    x = dpnp.asarray(values, sycl_queue=queue)

    def total(x):
        return sum(F.unbind(x))

    for call in (total, sycl_dnn.compile(total)):
        np.testing.assert_allclose(dpnp.asnumpy(call(x)), values.sum(0), rtol=1e-4, atol=1e-3)
    _, pullback = sycl_dnn.vjp(total, x)
    (slope,) = pullback(dpnp.asarray([1.0, 2.0, 3.0], dtype="f4", sycl_queue=queue))
    np.testing.assert_array_equal(dpnp.asnumpy(slope), np.tile([1, 2, 3], (n, 1)))


def _compiling(n, queue):
    parts = _vectors(_values(n, 2), queue)
    start = time.process_time()
    sycl_dnn.compile(lambda *parts: F.cat(parts))(*parts)
    return time.process_time() - start


@pytest.mark.slow
def test_compile_time_is_linear_in_the_number_of_parts(queue):
    """Quadratic time would be 64 times as much."""
    _compiling(500, queue)
    few = min(_compiling(500, queue) for _ in range(3))
    assert _compiling(4000, queue) < 30 * few
