# SPDX-License-Identifier: Apache-2.0
"""Forwards that assign attributes and change lists, dicts and sets of their module, as in torch."""

from collections import deque

import dpnp
import numpy as np
import pytest
from changing_modules import VALUES, WAYS, Net

import sycl_dnn
from sycl_dnn import nn
from sycl_dnn.call import cache

WAYS = WAYS | {
    "with more results": lambda net, x: sycl_dnn.value_and_grad(
        lambda n: (n(x), x), has_aux=True)(net)[0][0],
    "in a list": lambda net, x: sycl_dnn.vjp(lambda nets: nets[0](x), [net])[0],
}  # fmt: skip


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.fixture
def x():
    return dpnp.asarray(VALUES)


def test_counters(way, x):
    def step(net, y):
        net.count += 1
        return y.sum() * net.count

    net = Net(step, count=0)
    for number in range(1, 5):
        assert float(way(net, x)) == 30 * number
        assert net.count == number


def test_arrays_are_kept_for_the_next_call(way, x):
    def step(net, y):
        before = net.state
        net.state = y if before is None else y + before.detach() / before.size(0)
        return net.state.sum()

    net, state = Net(step, state=None), 0.0
    for _ in range(4):
        state = VALUES * 2 + state / 2
        assert float(way(net, x)) == pytest.approx(state.sum())
        assert isinstance(net.state, dpnp.ndarray)
        np.testing.assert_allclose(net.state.asnumpy(), state)


def test_containers_are_changed_themselves(way, x):
    def step(net, y):
        net.log.append(y)
        net.table["last"] = [y.sum(), len(net.log)]
        net.seen.add(len(net.log))
        net.recent.append(y[0])
        return y.sum()

    state = {"log": [], "table": {"first": 1}, "seen": set(), "recent": deque(maxlen=2)}
    net = Net(step, **state)
    for number in range(1, 4):
        way(net, x)
        assert len(net.log) == number
        assert len(net.recent) == min(number, 2)
    for name, value in state.items():
        assert getattr(net, name) is value
    np.testing.assert_array_equal(net.log[1].asnumpy(), VALUES * 2)
    assert (net.table["first"], float(net.table["last"][0])) == (1, 30)
    assert net.seen == {1, 2, 3}
    assert all(v.tolist() == [0, 2, 4] for v in net.recent)


def test_a_call_sees_what_an_earlier_one_in_the_function_assigned(x):
    def step(net, y):
        net.count += 1
        return y.sum() * net.count

    net = Net(step, count=0)
    for function in (lambda x: net(x) + net(x), lambda x: net(x) + sycl_dnn.grad(net)(x).sum()):
        net.count = 0
        sycl_dnn.vjp(function, x)
        assert net.count == 2
    net.count = 0
    assert float(sycl_dnn.vjp(lambda n, x: n(x) + n(x), net, x)[0]) == 30 + 60


def test_a_module_that_is_given_twice_is_refused(x):
    def step(net, y):
        net.count += 1
        return y.sum()

    net = Net(step, count=0)
    calls = (
        lambda: sycl_dnn.vjp(lambda a, b: a(x) + b(x), net, net),
        lambda: sycl_dnn.vjp(lambda a, x: a(x) + net(x), net, x),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"Net\.count must not be changed by a function that"):
            call()
    assert net.count == 0


def test_methods_of_users_classes_may_have_any_name(way, x):
    """Functions recognize modules among their arguments by a private name."""

    class Watching(Net):
        def watch(self):
            raise AssertionError

    net = Watching(lambda net, y: y.sum())
    assert float(way(net, x)) == 30


def test_attributes_of_parts(way, x):
    def step(net, y):
        net.calls += 1
        return y.sum()

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([Net(step, calls=0) for _ in range(2)])

        def forward(self, x):
            return self.parts[0](x) + self.parts[1](x) + self.parts[1](x)

    net = Outer()
    for number in range(1, 4):
        assert float(way(net, x)) == 90
        assert [part.calls for part in net.parts] == [number, 2 * number]


class Counter(nn.Module):
    """A module without arrays."""

    def __init__(self):
        super().__init__()
        self.count, self.log = 0, []

    def forward(self, x):
        self.count += 1
        self.log.append(x)
        self.last = x
        return x.sum() * self.count


@pytest.mark.parametrize("name", ["called", "gradient of the input", "part of a module"])
def test_modules_without_arrays(name, x):
    net, way = Counter(), WAYS[name]
    for number in range(1, 4):
        assert float(way(net, x)) == 15 * number
        assert (net.count, len(net.log)) == (number, number)
        assert net.last.tolist() == net.log[-1].tolist() == VALUES.tolist()
    with pytest.raises(TypeError, match=r"Counter\.\w+ must not be"):
        sycl_dnn.compile(lambda net, x: net(x))(net, x)
    assert (net.count, len(net.log)) == (3, 3)


def test_programs_do_not_depend_on_what_a_forward_assigns(x):
    def step(net, y):
        net.count, net.last = net.count + 1, y.mean()
        return y.sum()

    net = Net(step, count=0, last=None)
    loss = lambda n: n(x)  # noqa: E731
    for _ in range(2):
        sycl_dnn.value_and_grad(loss)(net)
    before = cache.info().misses
    for _ in range(5):
        sycl_dnn.value_and_grad(loss)(net)
    assert cache.info().misses == before
    assert net.count == 7


def test_gradients_equal_those_without_the_assignment(x):
    def step(net, y):
        net.kept = y.exp()
        return net.kept.sum()

    actual = sycl_dnn.grad(lambda n: n(x))(Net(step, kept=None)).weight
    expected = (VALUES * np.exp(2 * VALUES)).sum(0)
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-5)


def test_compiled_functions_refuse_it_and_see_what_was_assigned(x):
    def step(net, y):
        if y.shape[0] == 2:
            net.count += 1
        return y.sum() * net.count

    def append(net, y):
        net.log.append(1)
        return y.sum()

    compiled = sycl_dnn.compile(lambda net, x: net(x))
    net = Net(step, count=1)
    with pytest.raises(
        TypeError, match=r"Net\.count must not be read by a compiled function before"
    ):
        compiled(net, x)
    with pytest.raises(TypeError, match=r"Net\.log must not be changed while"):
        compiled(Net(append, log=[]), x)
    assert net.count == 1
    for expected in (1, 2, 3):
        assert float(compiled(net, x[:1])) == 6 * expected
        net(x)


def test_a_forward_that_fails_changes_nothing(x):
    def step(net, y):
        net.count, net.ok = net.count + 1, y
        net.log.append(y)
        raise ValueError("no")

    net = Net(step, count=0, log=[])
    for way in WAYS.values():
        with pytest.raises(ValueError, match="no"):
            way(net, x)
    assert (net.count, net.log, hasattr(net, "ok")) == (0, [], False)
