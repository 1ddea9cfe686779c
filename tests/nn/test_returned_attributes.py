# SPDX-License-Identifier: Apache-2.0
"""Compiled functions assign arrays to attributes of modules, as the code would at each call."""

import copy
import functools
import pickle

import dpnp
import numpy as np
import pytest
from changing_modules import VALUES, Net

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


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
    assert {*attributes} == {"count", "rates"}.intersection(net.__dict__)
    assert float(net(x)) == 30  # its code runs at each call


@pytest.mark.parametrize(("step", "attributes"), [(_state, {"state": None}), (_state_if_any, {})])
@pytest.mark.parametrize("way", COMPILED)
def test_an_array_that_is_read_and_assigned_is_a_state(way, step, attributes):
    compiled, nets = COMPILED[way](), [Net(step, **attributes) for _ in range(2)]
    sums = [0.0, 0.0]
    for number in range(1, 5):
        for i, net in enumerate(nets):
            values = VALUES * number + i
            compiled([net] if way == "in a list" else net, dpnp.asarray(values))
            sums[i] = sums[i] + values * 2
            np.testing.assert_allclose(net.state.asnumpy(), sums[i])
    assert compiled.cache_info().misses <= 2  # the first one had no state


def test_a_state_follows_the_module_that_an_optimizer_returns():
    optimizer, values = optim.SGD(0.0), dpnp.asarray(VALUES)

    def step(net, state):
        _, grads = sycl_dnn.value_and_grad(lambda net: net(values))(net)
        return optimizer.update(grads, state, net)

    for update in (step, sycl_dnn.compile(step)):
        net = Net(_state, state=None)
        state = optimizer.init(net)
        for number in range(1, 5):
            before, (net, state) = net, update(net, state)
            np.testing.assert_allclose(before.state.asnumpy(), number * VALUES * 2)
            np.testing.assert_allclose(net.state.asnumpy(), number * VALUES * 2)


def test_a_state_of_a_captured_module_is_refused():
    net, x = Net(_state, state=None), dpnp.asarray(VALUES)
    for compiled in (sycl_dnn.compile(net), sycl_dnn.compile(lambda x: net(x))):
        net.state = None
        compiled(x)
        with pytest.raises(TypeError, match=r"Net\.state: .* must be given the module"):
            compiled(x)
        np.testing.assert_allclose(net.state.asnumpy(), VALUES * 2)


class Cached(nn.Module):
    """A forward that makes a mask for its size, in a way of many language models."""

    def __init__(self, way, is_registered):
        super().__init__()
        self.linear = nn.Linear(3, 3, bias=False)
        self.way = way
        if is_registered:
            self.register_buffer("mask", None, persistent=way != "transient")

    def forward(self, x):
        n = x.shape[0]
        if getattr(self, "mask", None) is None or self.mask.shape[0] < n:
            mask = F.triu(F.ones(n, n), 1)
            if self.way == "assigned":
                self.mask = mask
            else:
                self.register_buffer("mask", mask, persistent=self.way != "transient")
        return (self.mask[:n, :n] @ self.linear(x)).sum()


@pytest.mark.parametrize(
    ("way", "is_registered"),
    [("assigned", True), ("registered", True), ("registered", False), ("transient", False)],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda net: net,
        lambda net: lambda x: sycl_dnn.value_and_grad(lambda net, x: net(x))(net, x)[0],
        sycl_dnn.compile,
        lambda net: functools.partial(sycl_dnn.compile(lambda net, x: net(x)), net),
    ],
)
def test_a_forward_may_register_buffers(call, way, is_registered):
    net = Cached(way, is_registered)
    weight, call = net.linear.weight.asnumpy(), call(nn.Sequential(net))
    for n, size in ((3, 3), (2, 3), (5, 5), (3, 5), (5, 5)):
        x = np.arange(n * 3, dtype="f4").reshape(n, 3)
        expected = (np.triu(np.ones((n, n)), 1) @ (x @ weight.T)).sum()
        assert float(call(dpnp.asarray(x))) == pytest.approx(expected, rel=1e-5)
        assert dict(net.named_buffers())["mask"].shape == (size, size)
    assert ("mask" in net.state_dict()) == (way != "transient")


@pytest.mark.parametrize("way", ["called", "compiled", "registered"])
def test_what_a_forward_caches_is_no_part_of_files_averages_and_sums(way, tmp_path):
    class Masked(Net):
        def forward(self, x):
            if self.mask is None:
                mask = F.full((3,), 2.0)
                if way == "registered":
                    self.register_buffer("mask", mask, persistent=False)
                else:
                    self.mask = mask
            return (x * self.weight * self.mask).sum()

    def made():
        return Masked(None, mask=None)

    net, x = made(), dpnp.asarray(VALUES)
    ema, path = optim.EMA(0.5), tmp_path / "run.npz"
    average = ema.init(net)
    (sycl_dnn.compile(lambda net, x: net(x)) if way == "compiled" else lambda net, x: net(x))(
        net, x
    )
    assert net.mask.tolist() == [2.0] * 3
    average = ema.update(average, net)
    assert average.weight.tolist() == [2.0] * 3
    grads = sycl_dnn.grad(lambda net: net(x))(net)
    sums = optim.accumulate(optim.accumulate(None, grads), grads)
    np.testing.assert_allclose(sums.weight.asnumpy(), 4 * VALUES.sum(0))
    for saved, into in ((net, made()), (made(), net)):
        sycl_dnn.save_checkpoint(path, net=saved)
        found = sycl_dnn.load_checkpoint(path, net=into)["net"]
        assert (found.mask is None) == (into.mask is None)
        assert float(found(x)) == float(net(x))


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
