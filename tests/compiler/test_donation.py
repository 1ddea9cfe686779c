# SPDX-License-Identifier: Apache-2.0
"""Donated arguments are overwritten by results; others are not, and never too early."""

import copy
import pickle

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.trace import policy

WIDTH = 320


def adding(x, y):
    return x + y


@pytest.fixture
def array(queue):
    """Return a function that creates arrays large enough to be overwritten."""
    rng = np.random.default_rng(0)

    def make():
        return dpnp.asarray(rng.normal(size=(8, WIDTH)), "float32", sycl_queue=queue)

    return make


def address(array):
    return array.get_array()._pointer


def overwritten(compiled, *args):
    return compiled._program(args, {}).executable.overwritten


def training(opt):
    def step(net, state, x):
        loss = sycl_dnn.value_and_grad(lambda net, x: F.mean(F.square(net(x))))
        value, grads = loss(net, x)
        return value, *opt.update(grads, state, net)

    return step


@pytest.mark.parametrize("kind", [optim.AdamW, optim.SGD, optim.Lion, optim.Adam])
@pytest.mark.parametrize("kernels", ["always", "never"])
@pytest.mark.sweep(2)
def test_a_training_step_overwrites_parameters_and_moments(queue, array, kind, kernels):
    layers = [nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)]
    net = nn.Sequential(*layers).to(queue)
    opt = kind(1e-2, **({"momentum": 0.9} if kind is optim.SGD else {}))
    step, other = training(opt), copy.deepcopy(net)
    kept, giving = sycl_dnn.compile(step), sycl_dnn.compile(step, donate=("net", "state"))
    states = [opt.init(net), opt.init(other)]
    weights = [layer.weight for layer in (other[0], other[2])]
    with policy.using(kernels=kernels):
        for x in [array() for _ in range(3)]:
            value, net, states[0] = kept(net, states[0], x)
            same, other, states[1] = giving(other, states[1], x)
            assert float(value) == float(same)
        n_taken = len(overwritten(giving, other, states[1], x))
    if kernels == "always" and kind in (optim.Adam, optim.AdamW):
        assert n_taken == 2 * 3
        assert all(
            layer.weight is w for layer, w in zip((other[0], other[2]), weights, strict=True)
        )
    assert n_taken >= 2
    results = ((net, states[0]), (other, states[1]))
    for expected, actual in zip(*map(sycl_dnn.tree.leaves, results), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(actual), dpnp.asnumpy(expected))


def test_arguments_that_are_not_donated_are_unchanged(array):
    x, y = array(), array()
    before = dpnp.asnumpy(x), dpnp.asnumpy(y)
    result = sycl_dnn.compile(adding, donate="x")(x, y)
    assert address(result) == address(x)
    np.testing.assert_array_equal(dpnp.asnumpy(y), before[1])
    np.testing.assert_array_equal(dpnp.asnumpy(result), sum(before))


def test_nothing_is_overwritten_by_default(array):
    x, y = array(), array()
    assert not overwritten(sycl_dnn.compile(adding), x, y)


def test_arrays_that_are_read_later_are_not_overwritten(array):
    def twice(x, y):
        doubled = F.matmul(x, F.transpose(y, 0, 1)) @ y
        return doubled, F.matmul(F.exp(doubled * 1e-3), F.transpose(x, 0, 1)) @ x

    x, y = array(), array()
    expected = [dpnp.asnumpy(a) for a in sycl_dnn.compile(twice)(x, y)]
    actual = sycl_dnn.compile(twice, donate=("x", "y"))(x, y)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(one), other)
    assert address(actual[0]) not in (address(x), address(y))


@pytest.mark.parametrize(
    "overlapping",
    [lambda a: (a, a), lambda a: (a, a[:]), lambda a: (a[:-1], a[1:]), lambda a: (a[1:], a[:-1])],
)
def test_overlapping_arrays_are_not_overwritten(array, overlapping):
    whole = array()
    before = dpnp.asnumpy(whole)
    x, y = overlapping(whole)
    expected = dpnp.asnumpy(x) + dpnp.asnumpy(y)
    compiled = sycl_dnn.compile(adding, donate="x")
    for _ in range(2):
        np.testing.assert_array_equal(dpnp.asnumpy(compiled(x, y)), expected)
        np.testing.assert_array_equal(dpnp.asnumpy(whole), before)
    apart = array(), array()
    apart = apart[0][: len(x)], apart[1][: len(x)]
    assert address(compiled(*apart)) == address(apart[0])


def test_a_captured_array_is_not_overwritten(array):
    held, y = array(), array()
    before = dpnp.asnumpy(held)
    compiled = sycl_dnn.compile(lambda x, y: F.exp(x + y) * held, donate="x")
    compiled(held, y)
    np.testing.assert_array_equal(dpnp.asnumpy(held), before)
    assert address(compiled(y, held)) == address(y)


def test_a_read_only_array_is_not_overwritten(array):
    x, y = array(), array()
    before = dpnp.asnumpy(x)
    x.flags["WRITABLE"] = False
    compiled = sycl_dnn.compile(adding, donate="x")
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x, y)), before + dpnp.asnumpy(y))
    np.testing.assert_array_equal(dpnp.asnumpy(x), before)


def test_an_argument_that_is_returned_is_not_overwritten(array):
    compiled = sycl_dnn.compile(lambda x, y: (x, x + y), donate="x")
    x, y = array(), array()
    before = dpnp.asnumpy(x)
    same, result = compiled(x, y)
    assert same is x
    np.testing.assert_array_equal(dpnp.asnumpy(x), before)
    np.testing.assert_array_equal(dpnp.asnumpy(result), before + dpnp.asnumpy(y))


def test_an_array_in_two_arguments_donates_neither(array):
    compiled = sycl_dnn.compile(lambda x, y: (F.relu(x), F.relu(y - x)), donate="x")
    x, y = array(), array()
    result, nothing = compiled(x, x)
    np.testing.assert_array_equal(dpnp.asnumpy(result), dpnp.asnumpy(F.relu(x)))
    assert not dpnp.any(nothing)
    before = dpnp.asnumpy(y)
    compiled(x, y)
    np.testing.assert_array_equal(dpnp.asnumpy(y), before)  # it was not named


def test_out_takes_precedence_over_donation(array):
    x, y, out = array(), array(), array()
    before = dpnp.asnumpy(x)
    assert sycl_dnn.compile(adding, donate="x")(x, y, out=out) is out
    np.testing.assert_array_equal(dpnp.asnumpy(x), before)


@pytest.mark.slow
def test_debug_nans_keeps_the_arguments(array):
    x, y = array(), array()
    x[0] = np.nan
    compiled = sycl_dnn.compile(lambda x, y: F.log(F.relu(x * 0 - 1) - 1) + y, donate=("x", "y"))
    with sycl_dnn.debug_nans(), pytest.raises(FloatingPointError):
        compiled(y, y + 0)
    assert not overwritten(compiled._undonated, x, y)


def test_a_bound_call_can_be_repeated(array):
    x, y = array(), array()
    expected = dpnp.asnumpy(x) + dpnp.asnumpy(y) + dpnp.asnumpy(y)
    bound = sycl_dnn.compile(adding, donate="x").bind(x, y)
    bound()
    assert bound().get_array() is x.get_array()
    np.testing.assert_array_equal(dpnp.asnumpy(x), expected)


def test_copies_of_the_function_donate_the_same_arguments(array):
    compiled = sycl_dnn.compile(adding, donate="x")
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        x, y = array(), array()
        assert address(other(x, y)) == address(x)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"donate": "z"}, "donate must name parameters.*'z'"),
     ({"donate": "x", "constants": "x"}, "donate must not name constants.*'x'")],
)  # fmt: skip
def test_donated_names_are_validated(options, reason):
    with pytest.raises(ValueError, match=reason):
        sycl_dnn.compile(adding, **options)
