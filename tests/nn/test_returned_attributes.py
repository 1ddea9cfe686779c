# SPDX-License-Identifier: Apache-2.0
"""Compiled functions assign arrays to attributes of modules, as the code would at each call."""

import copy
import pickle

import dpnp
import numpy as np
import pytest
from changing_modules import VALUES, Net

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


def _keeps(net, y):
    net.last, net.pair = y.mean(), (y.sum(), {"y": [y], "n": y.shape})
    net.nothing, net.rows = None, y.shape[0]
    return y.sum()


#: Compiled functions of a module and an input.
COMPILED = {
    "an argument": lambda: sycl_dnn.compile(lambda net, x: net(x)),
    "in a list": lambda: sycl_dnn.compile(lambda nets, x: nets[0](x)),
    "a gradient": lambda: sycl_dnn.compile(
        lambda net, x: sycl_dnn.value_and_grad(lambda n: n(x))(net)[0]),
    "two gradients": lambda: sycl_dnn.compile(
        lambda net, x: sycl_dnn.grad(lambda x: sycl_dnn.grad(lambda n: n(x))(net).weight.sum())(x)),
}  # fmt: skip


def check(net, values):
    y = values * 2
    assert float(net.last) == pytest.approx(y.mean())
    assert float(net.pair[0]) == pytest.approx(y.sum())
    np.testing.assert_allclose(net.pair[1]["y"][0].asnumpy(), y)
    assert (net.pair[1]["n"], net.nothing, net.rows) == (y.shape, None, y.shape[0])


@pytest.mark.parametrize("way", COMPILED)
def test_each_call_assigns_its_arrays_to_its_module(way):
    compiled, nets = COMPILED[way](), [Net(_keeps, last=None, pair=None) for _ in range(2)]
    for number in range(1, 4):
        for net in nets:
            values = VALUES * number + (net is nets[1])
            compiled([net] if way == "in a list" else net, dpnp.asarray(values))
            check(net, values)
        check(nets[0], VALUES * number)
    assert compiled.cache_info().misses <= 2  # the first one had None in it


def test_arrays_in_a_dict_keep_their_names():
    def step(net, y):
        net.parts = {"second": y.sum(), "first": y * 3, "a": [y + 1, y]}
        return y.sum()

    net = Net(step)
    sycl_dnn.compile(net)(dpnp.asarray(VALUES))
    y = VALUES * 2
    assert float(net.parts["second"]) == y.sum()
    np.testing.assert_allclose(net.parts["first"].asnumpy(), y * 3)
    for actual, expected in zip(net.parts["a"], (y + 1, y), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), expected)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_module_that_an_inner_function_captures(is_compiled):
    net = Net(_keeps)

    def inner(x):
        return sycl_dnn.grad(lambda x: net(x))(x).sum()

    call = sycl_dnn.grad(inner)
    call = sycl_dnn.compile(call) if is_compiled else call
    for number in range(3):
        call(dpnp.asarray(VALUES + number))
        check(net, VALUES + number)


def test_captured_modules_and_parts(queue):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([Net(_keeps), Net(_keeps)])

        def forward(self, x):
            return self.parts[0](x) + self.parts[1](x + 1)

    net = Outer().to(queue)
    for compiled in (sycl_dnn.compile(net), sycl_dnn.compile(lambda x: net(x)[None])):
        for number in range(3):
            values = VALUES + number
            compiled(dpnp.asarray(values, sycl_queue=queue))
            check(net.parts[0], values)
            check(net.parts[1], values + 1)
        assert compiled.cache_info().misses <= 2  # one more since the module is read


def test_the_code_and_the_program_may_take_turns():
    net = Net(_keeps, last=None, pair=None)
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    for number in range(6):
        values = VALUES + number
        (net if number % 2 else compiled.__get__(net))(dpnp.asarray(values))
        check(net, values)


def test_attributes_survive_copies_and_may_be_set_and_deleted():
    net = Net(_keeps)
    sycl_dnn.compile(net)(dpnp.asarray(VALUES))
    assert "last" in dir(net)
    for other in (copy.deepcopy(net), net):
        check(other, VALUES)
    net.last = 3
    assert net.last == 3
    sycl_dnn.compile(net)(dpnp.asarray(VALUES + 1))
    check(net, VALUES + 1)
    del net.pair
    assert not hasattr(net, "pair")


def _state(net, y):
    net.state = y if net.state is None else net.state + y
    return net.state.sum()


def _state_if_any(net, y):
    net.state = net.state + y if hasattr(net, "state") else y
    return net.state.sum()


def _counted(net, y):
    net.count += 1
    return y.sum()


def _holding(net, y):
    net.held = (net.step, y)
    return y.sum()


def _scheduled(net, y):
    net.rates = np.ones(3)
    return y.sum()


@pytest.mark.parametrize(
    ("step", "attributes", "words"),
    [
        (_state, {"state": None}, r"Net\.state must not be read by a compiled function before"),
        (_state_if_any, {}, r"Net\.state must not be read by a compiled function before"),
        (_counted, {"count": 0}, r"Net\.count must not be read by a compiled function before"),
        (_holding, {}, r"Net\.held must not be assigned to while"),
        (_scheduled, {}, r"Net\.rates must not be assigned to while"),
    ],
)
def test_changes_that_would_happen_only_once_are_refused(step, attributes, words):
    net, x = Net(step, **attributes), dpnp.asarray(VALUES)
    before = dict(net.__dict__)
    for function in (net, lambda x: net(x)):
        for _ in range(2):
            with pytest.raises(TypeError, match=words):
                sycl_dnn.compile(function)(x)
    with pytest.raises(TypeError, match="must not be"):
        sycl_dnn.plan(lambda net, x: net(x), net, x)
    assert {name: net.__dict__[name] for name in before} == before
    assert {*attributes} == {"state", "count", "rates"}.intersection(net.__dict__)
    assert float(net(x)) == 30  # its code runs at each call


def test_bind_and_out_are_refused():
    net, x = Net(_keeps), dpnp.asarray(VALUES)
    compiled = sycl_dnn.compile(lambda x: net(x))
    with pytest.raises(TypeError, match="bind: .*must not assign attributes of modules"):
        compiled.bind(x)
    with pytest.raises(TypeError, match="out must be omitted"):
        sycl_dnn.compile(lambda x: net(x))(x, out=F.zeros(()))
    assert compiled.explain(x)


def test_pickled_modules_have_them():
    net = nn.Sequential(nn.Linear(3, 2))
    compiled = sycl_dnn.compile(_with_last)
    y = compiled(net, dpnp.asarray(VALUES))
    other = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(other.last.asnumpy(), y.asnumpy())


def _with_last(net, x):
    net.last = net(x)
    return net.last * 1


def test_assignments_of_what_an_attribute_holds_change_nothing():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask, self.scale = F.tensor([1.0, 0.0]), None

        def forward(self, x):
            self.mask = self.mask.to(dtype=x.dtype, device=x.device)
            self.scale = self.scale if self.scale is not None else None
            return x * self.mask

    net, x = Masked(), F.ones(2)
    mask = net.mask
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    for _ in range(2):
        assert compiled(net, x).tolist() == net(x).tolist() == [1.0, 0.0]
    assert net.mask is mask
    assert compiled.cache_info().misses == 1
