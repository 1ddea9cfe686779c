# SPDX-License-Identifier: Apache-2.0
"""Products with zeros, and sums with them, have the signs of IEEE 754 in every way to call them."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

X = np.array([[1.0, 2.0, 3.0], [0.0, -5.0, 1.0], [-0.0, 0.25, -1.0]], "f4")


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype("f4")


#: Functions, in an order in which oneDNN's cache of primitives met 0.0 and -0.0, and references.
ROWS = {
    "0 x": (lambda x: x * 0.0, lambda x: x * np.float32(0)),
    "-0 x": (lambda x: F.mul(x, -0.0), lambda x: x * np.float32(-0.0)),
    "x + 0": (lambda x: F.add(x, -0.0), lambda x: x),
    "-x": (lambda x: -x, lambda x: -x),
    "0 - x": (lambda x: F.sub(0.0, x), lambda x: 0 - x),
    "(x + b) 0": (lambda x: (x * 2 - 3) * 0, lambda x: (x * 2 - 3) * np.float32(0)),
    "-(x + b)": (lambda x: -(x - 1), lambda x: -(x - 1)),
    "(softmax - b) 0": (lambda x: (F.softmax(x, -1) - 0.2) * 0,
                        lambda x: (_softmax(x) - np.float32(0.2)) * np.float32(0)),
    "-0 relu": (lambda x: F.relu(x - 7) * -0.0, lambda x: np.full_like(x, -0.0)),
    "product 0": (lambda x: F.matmul(x, F.ones_like(x)) * -0.0,
                  lambda x: x.sum(-1, keepdims=True) * np.full((1, 3), -0.0, "f4")),
}  # fmt: skip
WAYS = {
    "called": lambda f, x: f(x), "compiled": lambda f, x: sycl_dnn.compile(f)(x),
    "differentiated": lambda f, x: sycl_dnn.vjp(f, x)[0],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sweep(2)
def test_signs_of_zero(name, way, queue):
    function, reference = ROWS[name]
    if way == "called":
        sycl_dnn.vjp(lambda x: F.add(F.mul(x, 0.0), 0.0), dpnp.asarray(X, sycl_queue=queue))
    actual = WAYS[way](function, dpnp.asarray(X, sycl_queue=queue)).asnumpy()
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(reference(X)))
