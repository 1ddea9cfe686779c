# SPDX-License-Identifier: Apache-2.0
"""Derivatives nest: gradients of gradients are right, or an error names the function."""

import dpnp
import numpy as np
import pytest
from arrays import float32_on_device as on_device

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812


def test_a_learning_step_inside_a_loss_is_differentiable():
    rng = np.random.default_rng(0)
    w, x, t, u, s = (
        on_device(rng.normal(0, 1, n)) for n in ((3, 4), (8, 4), (8, 3), (6, 4), (6, 3))
    )

    def loss(w, x, t):
        return F.mse_loss(F.tanh(F.linear(x, w)), t)

    def after_a_step(w, rate=0.5):
        return loss(w - rate * sycl_dnn.grad(loss)(w, x, t), u, s)

    grad = dpnp.asnumpy(sycl_dnn.grad(after_a_step)(w))
    move = rng.normal(0, 1, (3, 4))
    ends = [float(after_a_step(w + sign * on_device(1e-2 * move))) for sign in (1, -1)]
    assert float((grad * move).sum()) == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=0.01)


# --- Reverse passes that return an operand


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
@pytest.mark.sweep(2)
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
    for actual, sign in zip(call(a, b), (1, -1), strict=True):
        expected = sign * curvature * (DA - DB)
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-4, atol=1e-5)


#: What copies its operand, in another dtype or layout.
COPIES = {
    "narrowed": lambda x: F.astype(x, "bfloat16"),
    "flattened": lambda x: F.reshape(F.transpose(x, 0, 1), (-1,)),
    "multiplied": lambda x: F.linear(
        F.diagonal(F.expand(x[:, None], (3, 3, 3)), 0, 0, 2), F.eye(3)
    ),
}


@pytest.mark.parametrize("way", ["eager", "compiled", "jvp"])
@pytest.mark.parametrize("name", COPIES)
def test_tensors_of_the_same_memory_share_no_gradient(name, way):
    copy, x = COPIES[name], on_device(np.arange(1.0, 10.0, dtype="f4").reshape(3, 3))

    def product(x):
        return F.sum(F.astype(copy(sycl_dnn.stop_gradient(x)) * copy(x), "float32"))

    def along(x):
        half = lambda y: 0.5 * F.sum(F.astype(F.square(copy(y)), "float32"))  # noqa: E731
        return sycl_dnn.jvp(half, (sycl_dnn.stop_gradient(x),), (x,))[1]

    call = sycl_dnn.grad(along if way == "jvp" else product)
    call = sycl_dnn.compile(call) if way == "compiled" else call
    used = dpnp.asnumpy(sycl_dnn.grad(lambda x: F.sum(F.astype(copy(x), "float32")))(x))
    np.testing.assert_allclose(dpnp.asnumpy(call(x)), used * dpnp.asnumpy(x), rtol=1e-5)


@sycl_dnn.custom_vjp
def _written(x):
    return x * 1.0


def _backward_that_writes(_, dy):
    dy += 1.0
    return (dy,)


_written.defvjp(lambda x: (x * 1.0, None), _backward_that_writes)


def _with_a_written_gradient(a, b):
    of_a, of_b = sycl_dnn.grad(lambda a, b: F.sum(a + b), argnums=(0, 1))(a, b)
    of_a += a
    return of_a - of_b


def _with_a_written_seed(a, b):
    return sycl_dnn.grad(lambda a, b: F.sum(_written(a) * a + b), argnums=(0, 1))(a, b)[0]


def _with_two_writers(a, b):
    return sycl_dnn.grad(lambda a, b: F.sum(_written(a) + _written(b)))(a, b)


@pytest.mark.parametrize("way", ["eager", "compiled", "differentiated"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [(_with_a_written_gradient, A), (_with_a_written_seed, 2 * A + 1), (_with_two_writers, 2)],
)
def test_a_gradient_that_is_written_changes_no_other(function, expected, way):
    a, b = on_device(A), on_device(B)
    if way == "differentiated":
        actual = sycl_dnn.vjp(lambda a: function(a, b), a * 1)[0]
    else:
        actual = (sycl_dnn.compile(function) if way == "compiled" else function)(a, b)
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected + 0 * A, rtol=1e-6)
