# SPDX-License-Identifier: Apache-2.0
"""Forwards that change objects, arrays of NumPy and nested containers of their module in place."""

import functools
import random
import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import dpnp
import numpy as np
import pytest
from changing_modules import VALUES, WAYS, Net

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.fixture
def x():
    return dpnp.asarray(VALUES)


class Stats:
    def __init__(self):
        self.count, self.last, self.log = 0, None, []

    def add(self, y):
        self.count += 1
        self.last = y
        self.log.append(y.sum())


class Slotted:
    __slots__ = ("count", "last", "log")
    __init__, add = Stats.__init__, Stats.add


@dataclass
class Record:
    count: int = 0
    last: Any = None
    log: list = field(default_factory=list)
    add = Stats.add


@dataclass
class WithArrays(Record):
    start: Any = field(default_factory=lambda: dpnp.ones(3, dtype="f4"))


class Table(dict):
    def __init__(self):
        super().__init__()
        self.count, self.last, self.log = 0, None, []

    add = Stats.add


def add(net, y):
    net.stats.add(y)
    return y.sum() * net.stats.count


@pytest.mark.parametrize("kind", [Stats, Slotted, Record, WithArrays, Table])
@pytest.mark.parametrize("place", ["attribute", "list", "bound method"])
@pytest.mark.sweep(4)
def test_objects(way, x, kind, place):
    stats = kind()
    if place == "attribute":
        net = Net(add, stats=stats)
    elif place == "list":
        net = Net(lambda net, y: add(SimpleNamespace(stats=net.all[0][0]), y), all=[(stats,)])
    else:
        net = Net(lambda net, y: add(SimpleNamespace(stats=net.add.__self__), y), add=stats.add)
    log = stats.log
    for number in range(1, 5):
        assert float(way(net, x)) == 30 * number
        assert stats.count == number
        assert isinstance(stats.last, dpnp.ndarray)
        np.testing.assert_array_equal(stats.last.asnumpy(), VALUES * 2)
        assert [float(v) for v in stats.log] == [30] * number
        assert stats.log is log
        if kind is WithArrays:
            assert isinstance(stats.start, dpnp.ndarray)


def test_objects_of_any_depth(way, x):
    def step(net, y):
        net.state.inner["a"][0].count += 1
        net.state.best = y if net.state.best is None else F.maximum(net.state.best, y)
        net.state.made = Stats()
        net.state.made.add(y)
        return y.sum() * net.state.inner["a"][0].count

    inner = Stats()
    state = SimpleNamespace(inner={"a": [inner]}, best=None)
    net = Net(step, state=state)
    for number in range(1, 4):
        assert float(way(net, x)) == 30 * number
        assert inner.count == number
        np.testing.assert_array_equal(state.best.asnumpy(), VALUES * 2)
        np.testing.assert_array_equal(state.made.last.asnumpy(), VALUES * 2)


def test_arrays_of_numpy_and_generators(way, x):
    def step(net, y):
        net.ring[net.ring[2] % 2] += 1
        net.ring[2] = (net.ring[2] + 1) % 2
        return y.sum() * net.rng.random() * net.python.random() * net.ring[0]

    state = {"ring": np.zeros(3, int), "rng": np.random.default_rng(1), "python": random.Random(2)}
    net, ring = Net(step, **state), np.zeros(3, int)
    rng, python = np.random.default_rng(1), random.Random(2)
    for _ in range(5):
        ring[ring[2] % 2] += 1
        ring[2] = (ring[2] + 1) % 2
        expected = 30 * rng.random() * python.random() * ring[0]
        assert float(way(net, x)) == pytest.approx(expected)
        np.testing.assert_array_equal(net.ring, ring)


def test_containers_keep_their_identity(way, x):
    def step(net, y):
        net.table["a"]["b"].append(len(net.table))
        net.ordered.move_to_end("first")
        net.counts["x"] += 1
        net.alias[0].append(y.sum())
        return y.sum()

    lists: Any = [[], []]
    net = Net(
        step, table={"a": {"b": lists[0]}}, ordered=OrderedDict(first=1, second=2),
        counts=defaultdict(int), alias=(lists[1], lists[0]),
    )  # fmt: skip
    for number in range(1, 4):
        way(net, x)
        assert net.table["a"]["b"] is lists[0]
        assert lists[0] == [1] * number
        assert [float(v) for v in lists[1]] == [30] * number
        assert list(net.ordered) == ["second", "first"]
        assert net.counts == {"x": number}


def test_a_list_that_is_assigned_is_another_one(way, x):
    def step(net, y):
        net.log = [*net.log, len(net.log)]
        return y.sum()

    old: list = []
    net = Net(step, log=old)
    for number in range(1, 4):
        way(net, x)
        assert net.log == list(range(number))
    assert old == []


def test_modules_among_changed_values_are_the_modules_own(x):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
            self.chosen, self.holder = [], SimpleNamespace(layer=self.first)

        def forward(self, x):
            self.chosen.append(self.second)
            self.holder.layer = self.chosen[0]
            return self.holder.layer(self.first(x)).sum()

    net = Outer()
    for number in range(1, 4):
        value, grads = sycl_dnn.value_and_grad(lambda n: n(x))(net)
        assert net.chosen == [net.second] * number
        assert net.holder.layer is net.second
        assert float(value) == pytest.approx(float(net(x)), rel=1e-5)
        net.chosen.pop()
        assert float(dpnp.abs(grads.second.weight).sum()) > 0
        assert float(dpnp.abs(grads.first.weight).sum()) > 0


def test_compiled_functions_refuse_it_and_undo_it(x):
    def draw(net, y):
        return y * random.random()

    def draw_by_numpy(net, y):
        return y * np.random.rand()

    compiled = sycl_dnn.compile(lambda net, x: net(x))
    for kind in (Stats, Slotted, Record, Table):
        net = Net(add, stats=kind())
        with pytest.raises(TypeError, match=r"Net\.stats must not be changed while"):
            compiled(net, x)
        assert (net.stats.count, net.stats.last, net.stats.log) == (0, None, [])
    for step in (draw, draw_by_numpy):
        before = random.getstate(), np.random.get_state()[1].tolist()
        with pytest.raises(TypeError, match="must not draw random numbers"):
            compiled(Net(step), x)
        assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_another_thread_may_draw_while_a_module_is_traced(x):
    begun, drawn = threading.Event(), threading.Event()

    def step(net, y):
        begun.set()
        assert drawn.wait(60)
        return y.sum() * 2

    def draw():
        assert begun.wait(60)
        numbers.append((random.random(), np.random.rand()))
        drawn.set()

    numbers = []
    thread = threading.Thread(target=draw)
    thread.start()
    assert float(sycl_dnn.compile(lambda net, x: net(x))(Net(step), x)) == 60
    thread.join()
    assert (random.random(), np.random.rand()) not in numbers  # its draws are not undone


def test_random_numbers_are_drawn_at_each_call(way, x):
    def step(net, y):
        return y.sum() * random.random() * np.random.rand()

    net = Net(step)
    random.seed(3)
    np.random.seed(4)
    actual = [float(way(net, x)) for _ in range(4)]
    random.seed(3)
    np.random.seed(4)
    expected = [30 * random.random() * np.random.rand() for _ in range(4)]
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


NUMPY_GENERATOR, OLD_GENERATOR = np.random.default_rng(3), np.random.RandomState(3)
PYTHON_GENERATOR = random.Random(3)


def _noisy(y):
    return y * NUMPY_GENERATOR.random() * OLD_GENERATOR.rand() * PYTHON_GENERATOR.random()


def test_generators_that_are_globals_or_captured_draw_at_each_call(way, x):
    captured = np.random.default_rng(4)
    net = Net(lambda net, y: (_noisy(y) * captured.random()).sum())
    NUMPY_GENERATOR.bit_generator.state = np.random.default_rng(3).bit_generator.state
    OLD_GENERATOR.seed(3)
    PYTHON_GENERATOR.seed(3)
    actual = [float(way(net, x)) for _ in range(4)]
    a, b, c, d = (
        np.random.default_rng(3), np.random.RandomState(3), random.Random(3),
        np.random.default_rng(4),
    )  # fmt: skip
    expected = [30 * a.random() * b.rand() * c.random() * d.random() for _ in range(4)]
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    before = NUMPY_GENERATOR.bit_generator.state
    with pytest.raises(TypeError, match="must not draw random numbers"):
        sycl_dnn.compile(lambda net, x: net(x))(net, x)
    assert NUMPY_GENERATOR.bit_generator.state == before


class _Sampler:
    def __init__(self):
        self.numbers = np.random.default_rng(5)

    def draw(self):
        return self.numbers.random()

    def draw_of_process(self):
        return random.random()


SAMPLER, IN_DICT, IN_LIST = _Sampler(), {"a": np.random.default_rng(6)}, [random.Random(7)]
PARTIAL = functools.partial(np.random.default_rng(8).uniform, 0.5)


def _by_default(numbers=np.random.default_rng(9), *, more=np.random.default_rng(10)):  # noqa: B008
    return numbers.random() + more.random()


@pytest.mark.parametrize(
    "draw",
    [
        lambda net: SAMPLER.draw(), lambda net: SAMPLER.draw_of_process(),
        lambda net: net.sampler.draw(), lambda net: net.sampler.draw_of_process(),
        lambda net: IN_DICT["a"].random(), lambda net: IN_LIST[0].random(), lambda net: PARTIAL(),
        lambda net: _by_default(),
    ],
)  # fmt: skip
def test_generators_in_other_objects_draw_at_each_call(x, draw):
    net = Net(lambda net, y: y.sum() * draw(net))
    net.sampler = _Sampler()
    assert len({float(net(x)) for _ in range(4)}) == 4
    with pytest.raises(TypeError, match=r"must not draw|Net\.sampler must not be"):
        sycl_dnn.compile(lambda net, x: net(x))(net, x)


@pytest.mark.parametrize("kind", [Stats, Slotted, Record, WithArrays, Table])
def test_a_forward_that_fails_changes_nothing(way, x, kind):
    def step(net, y):
        net.stats.add(y)
        net.numbers[0] = 1
        raise ValueError("no")

    net = Net(step, stats=kind(), numbers=np.zeros(2))
    with pytest.raises(ValueError, match="no"):
        way(net, x)
    assert (net.stats.count, net.stats.last, net.stats.log) == (0, None, [])
    assert net.numbers.tolist() == [0, 0]


def test_a_forward_that_reads_values_changes_objects_once(way, x):
    def step(net, y):
        net.stats.count += 1
        return y.sum() * net.stats.count if float(y.sum()) > 0 else y.sum()

    net = Net(step, stats=Stats())
    for number in range(1, 4):
        assert float(way(net, x)) == 30 * number
        assert net.stats.count == number


def test_arrays_in_lists_have_torchs_methods_in_a_forward(way, x):
    """Where dpnp's methods have the same names, torch's are meant."""

    def step(net, y):
        net.log.append(y)
        return net.log[0].std() + (net.log[0] * net.numbers[0]).sum(1).max(0)[0]

    net = Net(step, log=[], numbers=[dpnp.asarray([1, 2, 3])])
    expected = (2 * VALUES).std(ddof=1) + (2 * VALUES * [1, 2, 3]).sum(1).max()
    for _ in range(3):
        assert float(way(net, x)) == pytest.approx(expected, rel=1e-5)


def test_equal_values_are_no_change(x):
    def step(net, y):
        net.stats.size = (1000 + y.shape[0], float(y.shape[1]))
        return y.sum()

    net = Net(step, stats=SimpleNamespace(size=(1002, 3.0)))
    assert float(sycl_dnn.compile(lambda net, x: net(x))(net, x)) == 30


def test_arrays_in_objects_have_torchs_methods_in_a_forward(way, x):
    def step(net, y):
        return y.sum() * net.stats.scale.std() + net.stats.all[0].detach().max(0)[0]

    scale, number = dpnp.asarray([1, 2, 4], dtype="f4"), dpnp.asarray([1, 2])
    stats = SimpleNamespace(scale=scale, all=[number])
    net = Net(step, stats=stats)
    expected = 30 * np.std([1, 2, 4], ddof=1) + 2
    for _ in range(3):
        assert float(way(net, x)) == pytest.approx(expected, rel=1e-5)
        assert stats.scale is scale
        assert stats.all[0] is number


@pytest.mark.parametrize("write", ["a[0] += 1", "a.add_(1)", "a[0] = 2"])
def test_arrays_in_objects_are_not_written_to_unnoticed(way, x, write):
    """Their memory would be written to before what was read of it is computed."""

    def step(net, y):
        exec(write, {"a": net.stats.total})
        return y.sum()

    net = Net(step, stats=SimpleNamespace(total=dpnp.zeros(3, dtype="f4")))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        way(net, x)
    assert net.stats.total.tolist() == [0, 0, 0]
