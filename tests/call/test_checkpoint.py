# SPDX-License-Identifier: Apache-2.0
"""``checkpoint``: equal values and gradients, less memory."""

import dpnp
import numpy as np
import pytest
from arrays import float32_on_device as on_device

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812
from sycl_dnn import tree

_BLOCKS, _ROWS, _WIDTH = 24, 64, 32


def _block(x, w):
    hidden = F.layer_norm(F.linear(x, w[0]), (_WIDTH,))
    return x + F.linear(F.gelu(hidden), w[1])


def _with_dropout(x, w):
    return F.dropout(_block(x, w), 0.3)


def _net(block):
    def loss(weights, x):
        for w in weights:
            x = block(x, w)
        return F.sum(x * x)

    return loss


@pytest.fixture
def operands():
    rng = np.random.default_rng(0)
    draw = lambda *shape: on_device(rng.normal(0, 0.1, shape))  # noqa: E731
    weights = [(draw(_WIDTH, _WIDTH), draw(_WIDTH, _WIDTH)) for _ in range(_BLOCKS)]
    return weights, draw(_ROWS, _WIDTH)


def _same(a, b):
    pairs = zip(tree.leaves(a), tree.leaves(b), strict=True)
    return all((dpnp.asnumpy(x) == dpnp.asnumpy(y)).all() for x, y in pairs)


def _kept_bytes(pullback, operands):
    """Return the bytes of what a pullback holds besides the operands."""
    given = {leaf.get_array()._pointer for leaf in tree.leaves(operands)}
    return sum(a.nbytes for a in pullback._kept[3] if a._pointer not in given)


@pytest.mark.slow
def test_checkpointed_blocks_have_equal_gradients_and_need_less_memory(operands):
    value, pullback = sycl_dnn.vjp(_net(_block), *operands)
    again, lean = sycl_dnn.vjp(_net(sycl_dnn.checkpoint(_block)), *operands)
    assert _same((value, pullback(1.0)), (again, lean(1.0)))
    between = _BLOCKS * _ROWS * _WIDTH * 4
    assert _kept_bytes(lean, operands) <= between < _kept_bytes(pullback, operands) / 3


@pytest.mark.slow
def test_compiled_steps_with_checkpointed_blocks_need_less_memory(operands):
    result, passes = [], {"run_on_host": False}  # which would sum in another order in one of them
    for block in (_block, sycl_dnn.checkpoint(_block)):
        gradients = lambda w, x, b=block: sycl_dnn.vjp(_net(b), w, x)[1](1.0)  # noqa: E731
        step = sycl_dnn.compile(gradients, passes=passes)
        result.append((step(*operands), step.explain(*operands).arena_bytes))
    (grads, memory), (again, less) = result
    assert _same(grads, again)
    assert less < memory / 2


@pytest.mark.slow
def test_dropout_is_replayed_with_the_same_mask(operands):
    result = []
    for block in (_with_dropout, sycl_dnn.checkpoint(_with_dropout)):
        sycl_dnn.manual_seed(3)
        value, pullback = sycl_dnn.vjp(_net(block), *operands)
        result.append((value, pullback(1.0)))
    assert _same(*result)


def test_captured_weights_of_a_checkpointed_function_have_gradients(operands):
    (first, *_), x = operands

    def loss(w, x):
        block = sycl_dnn.checkpoint(lambda v: _block(v, w))
        return F.sum(F.square(block(x)))

    expected = sycl_dnn.vjp(lambda w, x: F.sum(F.square(_block(x, w))), first, x)[1](1.0)
    assert _same(sycl_dnn.vjp(loss, first, x)[1](1.0), expected)


def test_running_statistics_are_updated_once():
    x = on_device(np.random.default_rng(0).normal(1, 2, (8, 4, 5, 5)))
    averages = []
    for wrap in (lambda f: f, sycl_dnn.checkpoint):
        mean, var = on_device(np.zeros(4)), on_device(np.ones(4))
        block = wrap(lambda v, m, s: F.batch_norm(v, m, s, training=True))
        loss = lambda v, m, s, b=block: F.sum(b(v, m, s) * v)  # noqa: E731
        sycl_dnn.vjp(loss, x, mean, var)[1](1.0)
        averages.append((mean, var))
    assert _same(*averages)
    assert dpnp.asnumpy(averages[0][0]).any()


def test_second_derivatives_of_checkpointed_functions(operands):
    (first, *_), x = operands

    def slope(block):
        def value(w, x):
            grads = sycl_dnn.vjp(lambda w, x: F.sum(block(x, w) * x), w, x)[1](1.0)
            return F.sum(grads[1] * grads[1]) + F.sum(grads[0][0] * w[1])

        return value

    expected = sycl_dnn.vjp(slope(_block), first, x)[1](1.0)
    actual = sycl_dnn.vjp(slope(sycl_dnn.checkpoint(_block)), first, x)[1](1.0)
    for g, w in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        scale = float(dpnp.abs(w).max())
        np.testing.assert_allclose(dpnp.asnumpy(g), dpnp.asnumpy(w), rtol=0, atol=1e-5 * scale)


def test_checkpoint_is_the_identity_outside_of_gradients(operands):
    (first, *_), x = operands
    assert _same(sycl_dnn.checkpoint(_block)(x, first), _block(x, first))


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda x: F.pad(x, (0, 0)), lambda x: F.roll(x, 0, 0), lambda x: F.expand(x, (1, 2, 3)),
        lambda x: F.broadcast_to(x, (2, 3)), lambda x: F.reshape(x, (2, 3)), lambda x: F.cat([x]),
        lambda x: F.flip(x, ()), lambda x: F.tile(x, (1, 1)), lambda x: x[:], lambda x: x,
        lambda x: F.clamp(F.pad(x, (0, 0)), -9, 9), lambda x: F.astype(x, "float32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [lambda x: x, F.tanh])
@pytest.mark.parametrize("wrapped", ["checkpoint", "custom_vjp"])
@pytest.mark.sweep(4)
def test_identities_pass_the_gradient(before, unchanged, wrapped):
    x = on_device(np.arange(6.0).reshape(2, 3))

    def function(x):
        return F.square(unchanged(before(x)))

    if wrapped == "checkpoint":
        inside = sycl_dnn.checkpoint(function)
    else:
        inside = sycl_dnn.custom_vjp(function)
        inside.defvjp(lambda x: (function(x), x), lambda x, dy: sycl_dnn.vjp(function, x)[1](dy))
    expected = sycl_dnn.grad(lambda x: F.sum(function(x)))(x)
    for way in (lambda f: f, sycl_dnn.compile):
        actual = way(sycl_dnn.grad(lambda x: F.sum(inside(x))))(x)
        np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(expected), rtol=1e-3)


def _by_value(x):
    y = F.exp(x)
    return y * float(y.mean()) if float(x.sum()) > 0 else F.sin(x)


def _masked(x):
    y = x * 2
    y[x > 0] = 0.0
    return y[x < 0.5] * 3


@pytest.mark.parametrize("function", [_by_value, _masked])
@pytest.mark.slow
def test_functions_that_read_values_keep_their_intermediates(function, queue):
    """Whatever the values of each call are, gradients of every order are those without it."""
    block = sycl_dnn.checkpoint(function)

    def losses(inner):
        def first(x):
            return F.sum(F.cos(inner(F.sin(x))))

        outer = sycl_dnn.checkpoint(lambda x: F.square(inner(x)))
        return first, lambda x: F.sum(outer(x)), lambda x: F.sum(sycl_dnn.grad(first)(x) ** 2)

    for factor in (1.0, -1.0, 0.3, 2.0, -0.2):
        x = factor * dpnp.asarray([0.9, -0.4, 0.2], dtype="f4", sycl_queue=queue)
        for kept, plain in zip(losses(block), losses(function), strict=True):
            actual, expected = (sycl_dnn.grad(f)(x).asnumpy() for f in (kept, plain))
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_compile_refuses_functions_that_read_values(queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    step = sycl_dnn.compile(sycl_dnn.grad(lambda x: F.sum(sycl_dnn.checkpoint(_by_value)(x))))
    with pytest.raises(TypeError, match="values of an array are not known"):
        step(x)
