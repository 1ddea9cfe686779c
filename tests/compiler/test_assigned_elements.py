# SPDX-License-Identifier: Apache-2.0
"""Assignments to elements in compiled functions: values and gradients of running ones."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


def parts(x):
    out = F.zeros_like(x)
    out[:2] = x[1:] * 2
    out[2, 1:] = x[0, 1:]
    out[0, 0] = 5.0
    return out * x


def overwritten_twice(x):
    y = x * 2
    y[0] = y[1] * y[2]
    y[1] = y[0] * y[1]
    y[1] = y[1] + 1
    return y


def read_before(x):
    """Rules of what read the old values see these."""
    y = F.exp(x)
    product, root = y * y, F.sqrt(y)
    y[0] = y[1] * 3
    return product + root + y * y


def with_matrices(x):
    a = F.matmul(x, F.transpose(x, 0, 1)) + 3 * F.eye(3)
    inverse = F.linalg.inv(a)
    a[0] = a[1] * 0.5
    return inverse + a


def by_indices(x):
    y = x * 1
    y[[0, 2]] = x[1] * 3
    y[:, ::2] = 0.0
    return y * y


def by_a_mask(x):
    y = x * 1
    y[y > 0] = 0.5
    return y * x


def checkpointed(x):
    def inner(x):
        y = F.zeros_like(x)
        y[1:] = x[:-1] * x[1:]
        return y

    return sycl_dnn.checkpoint(inner)(x) * x


def of_differentiated(x):
    def inner(x):
        y = x * 2
        y[0] = y[1] * x[2]
        return F.sum(y * y)

    return sycl_dnn.grad(inner)(x) * x


def augmented(x):
    y = x * 2
    y[0] += x[1]
    y[1:, 0] *= 3
    y += 1
    y[2] /= 2
    return y * x


def copies(x):
    y = x * 2
    before = y.copy()
    kept = y + 0
    y[0] = 1.0
    after = y.copy()
    y[1] = 2.0
    return before * kept + after * y


def stopped(x):
    y = x * 2
    y[0] = x[1] * 3
    return sycl_dnn.stop_gradient(y) * x + y


def returned_in_a_list(x):
    y = x * 2
    y[0] = 3.0
    return [y, F.stack([y, x])][1]


def view_after(x):
    y = x * 2
    row = y[1]
    y[0] = 1.0
    return row * y


def base_of_a_view(x):
    y = x * 2
    row = y[1]
    row[0] = 1.0
    return y


def method_after(x):
    y = x * 2
    y[0] = 1.0
    y.__imul__(3.0)
    return y * 1


FUNCTIONS = (
    parts, overwritten_twice, read_before, with_matrices, by_indices, by_a_mask, checkpointed,
    of_differentiated, augmented, copies, stopped, returned_in_a_list, view_after,
    base_of_a_view, method_after,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.sweep(4)
def test_values_and_gradients_are_those_of_running_functions(function, queue):
    x = dpnp.asarray(np.random.default_rng(0).normal(size=(3, 3)).astype("f4"), sycl_queue=queue)

    def loss(x):
        return F.sum(function(x) * F.reshape(F.arange(9), (3, 3)))

    expected, gradient = sycl_dnn.value_and_grad(loss)(x)
    compiled = sycl_dnn.compile(lambda x: (function(x), *sycl_dnn.value_and_grad(loss)(x)))
    for _ in range(2):
        values, value, slope = compiled(x)
    np.testing.assert_allclose(
        values.asnumpy(), sycl_dnn.vjp(function, x)[0].asnumpy(), rtol=2e-5, atol=1e-5
    )
    np.testing.assert_allclose(float(value), float(expected), rtol=1e-4)
    np.testing.assert_allclose(slope.asnumpy(), gradient.asnumpy(), rtol=1e-4, atol=1e-4)
