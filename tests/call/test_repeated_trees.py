# SPDX-License-Identifier: Apache-2.0
"""Repeated calls over modules and other containers, which ``_core.CallTable`` takes apart."""

from typing import NamedTuple

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree


class Pair(NamedTuple):
    first: object
    second: object


class Held:
    """A registered container with a name."""

    def __init__(self, array, name):
        self.array, self.name = array, name


tree.register(Held, lambda h: ((h.array,), h.name), lambda name, children: Held(*children, name))


def _hits(compiled, *args):
    """Return the result of a repeated call, and whether Python had to find its plan."""
    compiled(*args)
    compiled(*args)
    before = compiled._plans.calls.hits
    return compiled(*args), compiled._plans.calls.hits > before


def _array(*shape):
    return dpnp.asarray(np.arange(np.prod(shape), dtype="f4").reshape(shape) / 7)


def test_modules_in_a_training_step():
    net, adam, x = (
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)),
        optim.Adam(0.1),
        _array(5, 3),
    )

    def step(net, state):
        loss, gradients = sycl_dnn.value_and_grad(lambda net: (net(x) ** 2).sum())(net)
        return loss, *adam.update(gradients, state, net)

    compiled, state, twin_state = sycl_dnn.compile(step), adam.init(net), adam.init(net)
    twin, losses, expected = net, [], []
    before = 0
    for i in range(6):
        loss, net, state = compiled(net, state)
        with sycl_dnn.kernel_mode("never"):
            value, twin, twin_state = step(twin, twin_state)
        losses.append(float(loss))
        expected.append(float(value))
        before = compiled._plans.calls.hits if i == 2 else before
    assert compiled._plans.calls.hits == before + 3
    assert type(net) is nn.Sequential
    np.testing.assert_allclose(losses, expected, 1e-4)
    for result, value in zip(tree.leaves(net), tree.leaves(twin), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(result), dpnp.asnumpy(value), 1e-4, 1e-5)


def test_modes_and_attributes_of_modules_are_told_apart():
    net, x = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9)), _array(4, 3) + 1
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    _, is_hit = _hits(compiled, net.eval(), x)
    assert is_hit
    kept = dpnp.asnumpy(compiled(net, x))
    assert not np.allclose(dpnp.asnumpy(compiled(net.train(), x)), kept)
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(net.eval(), x)), kept)
    net[0].weight = dpnp.zeros((3, 3), dtype="f4")
    bias = dpnp.asnumpy(net[0].bias)
    np.testing.assert_allclose(dpnp.asnumpy(compiled(net, x)), np.tile(bias, (4, 1)), 1e-6)
    net[1] = nn.ReLU()
    np.testing.assert_allclose(dpnp.asnumpy(compiled(net, x)), np.tile(np.maximum(bias, 0), (4, 1)))


class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.layer, self.factor = nn.Linear(2, 2), factor

    def forward(self, x):
        return self.layer(x) * self.factor


def test_hyperparameters_of_modules_are_told_apart():
    net, x = Scaled(2.0), _array(3, 2)
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    once, is_hit = _hits(compiled, net, x)
    assert is_hit
    net.factor = 4.0
    np.testing.assert_allclose(dpnp.asnumpy(compiled(net, x)), 2 * dpnp.asnumpy(once), 1e-6)


@pytest.mark.parametrize("kind", [Pair, lambda a, b: {"b": a, "a": b}, lambda a, b: [(a,), b]])
def test_containers_of_arrays(kind):
    compiled = sycl_dnn.compile(lambda c: tree.map(lambda v: v * 2, c))
    value = kind(_array(2), _array(3))
    result, is_hit = _hits(compiled, value)
    assert is_hit
    assert type(result) is type(value)
    for leaf, source in zip(tree.leaves(result), tree.leaves(value), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(leaf), 2 * dpnp.asnumpy(source))


def test_metadata_of_containers_is_told_apart():
    compiled = sycl_dnn.compile(lambda h: h.array * (2 if h.name == "two" else 3))
    x = _array(3)
    for name, factor in (("two", 2), ("three", 3), ("two", 2)):
        result, is_hit = _hits(compiled, Held(x, name))
        assert is_hit
        np.testing.assert_array_equal(dpnp.asnumpy(result), factor * dpnp.asnumpy(x))


def test_metadata_that_is_new_in_each_call_is_left_to_python():
    class Fresh:
        def __init__(self, array):
            self.array = array

    class Metadata:
        def __eq__(self, other):
            return isinstance(other, Metadata)

        def __hash__(self):
            return 1

    tree.register(Fresh, lambda f: ((f.array,), Metadata()), lambda _, children: Fresh(*children))
    compiled = sycl_dnn.compile(lambda f: f.array + 1)
    result, is_hit = _hits(compiled, Fresh(_array(2)))
    assert not is_hit
    np.testing.assert_array_equal(dpnp.asnumpy(result), dpnp.asnumpy(_array(2)) + 1)
    assert compiled._plans.size == 1


def test_errors_of_containers_name_the_argument():
    compiled = sycl_dnn.compile(lambda pair: F.add(*pair))
    compiled(Pair(_array(2), _array(2)))
    with pytest.raises(TypeError, match="pair.second"):
        compiled(Pair(_array(2), np.ones(2, "f4")))
