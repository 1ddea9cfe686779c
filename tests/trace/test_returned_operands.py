# SPDX-License-Identifier: Apache-2.0
"""Second derivatives where an operation of a reverse pass returns its operand."""

import dpnp
import numpy as np
import pytest
from arrays import float32_on_device as on_device

import sycl_dnn
from sycl_dnn import functional as F

A, B = np.array([0.5, -1.0, 2.0]), np.array([0.1, 1.0, 2.5])
DA, DB = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.3])
#: Functions of the difference, and their first and second derivatives.
FUNCTIONS = {
    "abs": (F.abs, np.abs, np.sign, np.zeros_like),
    "tanh": (
        F.tanh, np.tanh, lambda d: 1 / np.cosh(d) ** 2,
        lambda d: -2 * np.tanh(d) / np.cosh(d) ** 2,
    ),
    "exp": (F.exp, np.exp, np.exp, np.exp),
    "square": (F.square, np.square, lambda d: 2 * d, lambda d: 2 + 0 * d),
    "distance": (
        lambda d: F.pairwise_distance(F.reshape(d, (3, 1)), F.zeros(3, 1), p=1, eps=0.0),
        np.abs, np.sign, np.zeros_like,
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", ["eager", "compiled", "jvp", "compiled jvp"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_is_differentiated_once(name, way):
    function, value, first, second = FUNCTIONS[name]
    a, b, da, db = map(on_device, (A, B, DA, DB))

    def loss(a, b):
        y = function(F.sub(a, b))
        return F.sum(y) + 0.1 * F.sum(y * y)

    def along(a, b):
        if "jvp" in way:
            return sycl_dnn.jvp(loss, (a, b), (da, db))[1]
        of_a, of_b = sycl_dnn.grad(loss, argnums=(0, 1))(a, b)
        return F.sum(of_a * da) + F.sum(of_b * db)

    call = sycl_dnn.grad(along, argnums=(0, 1))
    call = sycl_dnn.compile(call) if "compiled" in way else call
    d = A - B
    curvature = second(d) * (1 + 0.2 * value(d)) + 0.2 * first(d) ** 2
    for got, sign in zip(call(a, b), (1, -1), strict=True):
        expected = sign * curvature * (DA - DB)
        np.testing.assert_allclose(dpnp.asnumpy(got), expected, rtol=1e-4, atol=1e-5)
