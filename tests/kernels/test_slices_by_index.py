# SPDX-License-Identifier: Apache-2.0
"""Slices by index, also out of range, and their gradient: sums of slices by index."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: Shape of the array, axis, count of numbers.
CASES = [((50, 40), 0, 33), ((7, 5), 1, 9), ((3, 6, 17), 1, 4), ((300, 1), 0, 500), ((9,), 0, 3)]


def chosen(shape, axis, m, kind):
    """An array, and indices some of which are out of range."""
    rng = np.random.default_rng(len(shape) + m)
    numbers = rng.integers(-shape[axis] - 2, shape[axis] + 2, m).astype(kind)
    return rng.standard_normal(shape).astype("f4"), numbers


def wanted_of(x, axis, numbers):
    n = x.shape[axis]
    inside = (numbers >= -n) & (numbers < n)
    result = np.take(x, np.where(inside, numbers, 0), axis)
    np.moveaxis(result, axis, 0)[~inside] = np.nan
    return result, inside


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep(2)
def test_slices_and_their_gradient(case, kind, queue):
    shape, axis, m = case
    x, numbers = chosen(shape, axis, m, kind)
    expected, inside = wanted_of(x, axis, numbers)
    dy = np.random.default_rng(1).standard_normal(expected.shape).astype("f4")
    given, index, seed = (dpnp.asarray(a, sycl_queue=queue) for a in (x, numbers, dy))
    y, back = sycl_dnn.vjp(lambda a: F.index_select(a, axis, index), given)
    grads = back(seed)
    np.testing.assert_array_equal(dpnp.asnumpy(y), expected)
    sums = np.zeros(x.shape)
    np.add.at(np.moveaxis(sums, axis, 0), numbers[inside], np.moveaxis(dy, axis, 0)[inside])
    found = grads[0] if isinstance(grads, (list, tuple)) else grads
    np.testing.assert_allclose(dpnp.asnumpy(found), sums, rtol=1e-5, atol=1e-5)


def test_padding_has_no_gradient_and_sums_are_deterministic(queue):
    rng = np.random.default_rng(3)
    table, dy = (dpnp.asarray(rng.standard_normal(s).astype("f4"), sycl_queue=queue)
                 for s in ((30, 96), (2000, 96)))  # fmt: skip
    index = dpnp.asarray(rng.integers(0, 30, 2000), sycl_queue=queue)

    def gradient():
        _, back = sycl_dnn.vjp(lambda w: F.embedding(index, w, padding_idx=-2), table)
        result = back(dy)
        return dpnp.asnumpy(result[0] if isinstance(result, (list, tuple)) else result)

    first = gradient()
    assert not first[28].any()
    assert first[27].all()
    assert all(np.array_equal(first, gradient()) for _ in range(3))


def test_a_compiled_step_does_not_call_dpnp(queue):
    step = sycl_dnn.compile(sycl_dnn.grad(lambda w, i: F.embedding(i, w).sum()))
    table = dpnp.ones((5, 16), dtype="f4", sycl_queue=queue)
    index = dpnp.asarray([[1, 2], [2, 2]], sycl_queue=queue)
    assert dpnp.asnumpy(step(table, index))[:, 0].tolist() == [0, 1, 3, 0, 0]
    assert "dpnp" not in str(step.explain(table, index))
