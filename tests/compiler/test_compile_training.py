# SPDX-License-Identifier: Apache-2.0
"""Training steps, forward, backward and update, as one compiled program."""

import dpnp
import pytest
from comparing import assert_same

import sycl_dnn
from sycl_dnn import functional as F


def perceptron(x, w, b, v):
    return F.mean(F.square(F.linear(F.gelu(F.linear(x, w, b)), v)))


def images(x, w, gamma, beta, v):
    y = F.conv2d(x, w, padding=1)
    y = F.relu(F.batch_norm(y, None, None, gamma, beta, training=True))
    y = F.max_pool2d(y, 2)
    return F.mean(F.square(F.linear(F.flatten(y, 1), v)))


def attention(x, w, gamma):
    y = F.layer_norm(x, (16,), gamma)
    parts = F.split(F.linear(y, w), 16, 2)
    q, k, v = (F.transpose(F.reshape(t, (2, 6, 2, 8)), 1, 2) for t in parts)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.mean(F.square(x + F.reshape(F.transpose(y, 1, 2), (2, 6, 16))))


def recurrent(x, w, u, v):
    y = F.tanh(F.linear(x[:, 0], w))
    for i in range(1, 4):
        y = F.tanh(F.linear(x[:, i], w) + F.linear(y, u))
    return F.logsumexp(F.linear(y, v), 1).mean()


NETWORKS = {
    "perceptron": (perceptron, ((8, 16), (12, 16), (12,), (4, 12))),
    "images": (images, ((4, 3, 8, 8), (8, 3, 3, 3), (8,), (8,), (5, 128))),
    "attention": (attention, ((2, 6, 16), (48, 16), (16,))),
    "recurrent": (recurrent, ((5, 4, 6), (8, 6), (8, 8), (3, 8))),
}


def step(function, one, *args):
    loss, pullback = sycl_dnn.vjp(function, *args)
    grads = pullback(one)
    return loss, grads, [p - 0.1 * g for p, g in zip(args[1:], grads[1:], strict=True)]


@pytest.fixture
def one(queue):
    return dpnp.ones((), dtype="f4", sycl_queue=queue)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.sweep(2)
def test_compiled_step_equals_eager_calls(name, make, one):
    function, shapes = NETWORKS[name]
    args = [make(*s) / 2 for s in shapes]
    compiled = sycl_dnn.compile(lambda *a: step(function, one, *a))
    expected = step(function, one, *args)
    for _ in range(2):
        assert_same(compiled(*args), expected, 1e-4)
    assert len(compiled.explain(*args).parts) < compiled.explain(*args).n_recorded


def test_each_argument_has_its_own_gradient(make, one):
    def product(a, b, unused):
        return F.sum(F.mul(a, b)) + a.sum()

    def both(x, y):
        return sycl_dnn.vjp(product, x, x, y)[1](one)

    x, y = make(3, 4), make(2)
    actual, expected = sycl_dnn.compile(both)(x, y), both(x, y)
    assert not actual[2].any()
    assert_same(actual, expected)


def test_nested_arguments_and_results(make):
    def function(layers, x):
        return [F.tanh(F.linear(x, w)) for w in layers]

    def both(x, w, v, dy):
        result, pullback = sycl_dnn.vjp(function, [w, v], x)
        return result, pullback([dy, None]), pullback([None, dy])

    args = [make(4, 6), make(5, 6), make(5, 6), make(4, 5)]

    flat = []
    for function_of in (sycl_dnn.compile(both), both):
        y, *grads = function_of(*args)
        flat.append([*y, *[g for layers, x in grads for g in (*layers, x)]])
    assert [t is None for t in flat[0]] == [t is None for t in flat[1]]
    assert_same(*[[t for t in leaves if t is not None] for leaves in flat])


def test_functions_without_gradients_are_refused(make, one):
    function, shapes = NETWORKS["perceptron"]
    args = [make(*s) for s in shapes]
    with pytest.raises(TypeError, match="vjp: a function compiled with its own dtype"):
        sycl_dnn.compile(lambda *a: step(function, one, *a), dtype="bfloat16")(*args)
    with pytest.raises(ValueError, match=r"pullback: dy must have shape \(\) and dtype float32"):
        sycl_dnn.compile(lambda *a: sycl_dnn.vjp(function, *a)[1](a[0]))(*args)
