# SPDX-License-Identifier: Apache-2.0
"""Non-array attributes of a module are readable in ``forward``, and copied."""

import argparse
import collections
import copy
import enum
import functools
import types
import typing
from dataclasses import InitVar, dataclass, field

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree


@dataclass
class Base:
    width: int
    kind: typing.ClassVar[str] = "base"


@dataclass
class Computed(Base):
    factor: InitVar[int] = 3
    items: list = field(default_factory=list)
    made: int = field(default=0, init=False)

    def __post_init__(self, factor):
        self.inner = self.width * factor
        self.items.append(factor)
        self.function = lambda value: value * 2
        self.width *= 2

    @property
    def doubled(self):
        return self.inner * 2

    @functools.cached_property
    def tripled(self):
        return self.inner * 3


@dataclass(slots=True)
class Slots:
    width: int
    made: int = field(init=False)

    def __post_init__(self):
        self.made = self.width + 1


class MoreSlots(Slots):
    __slots__ = ("other",)


@dataclass(frozen=True)
class Frozen:
    width: int

    def __post_init__(self):
        object.__setattr__(self, "inner", self.width + 1)


@dataclass(eq=False)
class ByIdentity:
    width: int = 2


@dataclass
class Unhashable:
    table: dict = field(default_factory=lambda: {"a": [1]})


@dataclass
class Value:
    amount: int


class Pair(typing.NamedTuple):
    a: int
    b: int = 2

    @property
    def both(self):
        return self.a + self.b


class PairWithMore(Pair):
    pass


class Mode(enum.Enum):
    FAST = 1


class MixedMode(Value, enum.Enum):
    FAST = 1


class Names(dict):
    """Items as attributes."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class ByGetattr(dict):
    __getattr__ = dict.__getitem__


class ListWithMore(list):
    pass


class Plain:
    of_class = 3

    def __init__(self):
        self.own = 4


def more_slots():
    result = MoreSlots(3)
    result.other = 5
    return result


def with_more(value):
    value.more = 7
    return value


#: By name: a function that creates a configuration, and what a forward reads from it.
CASES = {
    "computed": (lambda: Computed(3), lambda c: (
        c.width, c.inner, c.items, c.made, c.doubled, c.tripled, c.function(2), c.kind)),
    "set later": (lambda: with_more(Computed(3)), lambda c: c.more),
    "slots": (lambda: Slots(3), lambda c: (c.width, c.made)),
    "more slots": (more_slots, lambda c: (c.width, c.made, c.other)),
    "frozen": (lambda: Frozen(2), lambda c: c.inner),
    "by identity": (ByIdentity, lambda c: c.width),
    "unhashable": (Unhashable, lambda c: c.table["a"][0]),
    "named tuple": (lambda: Pair(1), lambda c: (c.b, c.both)),
    "named tuple with more": (lambda: with_more(PairWithMore(1)), lambda c: (c.b, c.more)),
    "enum": (lambda: Mode.FAST, lambda c: c is Mode.FAST),
    "enum of a dataclass": (lambda: MixedMode.FAST, lambda c: (c is MixedMode.FAST, c.amount)),
    "attributes that are items": (lambda: Names(a=1, b=Names(c=2)), lambda c: (c.a, c["a"], c.b.c)),
    "items by getattr": (lambda: ByGetattr(a=1), lambda c: c.a),
    "list with more": (lambda: with_more(ListWithMore([1, 2])), lambda c: (c[1], c.more)),
    "plain": (Plain, lambda c: (c.of_class, c.own)),
    "namespace": (lambda: types.SimpleNamespace(a=1, b=[1]), lambda c: (c.a, c.b)),
    "arguments": (lambda: argparse.Namespace(a=1), lambda c: c.a),
    "counter": (lambda: collections.Counter("aab"), lambda c: c["a"]),
    "default dict": (lambda: collections.defaultdict(int, a=2), lambda c: c["a"]),
    "deque": (lambda: collections.deque([1, 2], 2), list),
    "nested": (lambda: [Slots(3), {"k": Computed(4)}], lambda c: (c[0].made, c[1]["k"].inner)),
}  # fmt: skip
#: Those that Python's own ``copy.deepcopy`` loses.
NOT_COPIED = ("attributes that are items", "items by getattr")

T = typing.TypeVar("T")


class Mixin:
    scale = 2

    def scaled(self, x):
        return x * self.scale


class Net(Mixin, nn.Module, typing.Generic[T]):
    depth: int = 3

    def __init__(self, configuration: T, read):
        super().__init__()
        self.configuration, self.read = configuration, read
        self.layer = nn.Linear(3, 2)

    @property
    def bias(self):
        return self.layer.bias

    def forward(self, x):
        self.read(self.configuration)
        return self.scaled(self.layer(x)) + self.bias * self.depth


@pytest.mark.parametrize("case", CASES)
def test_forward_reads_values_of_the_configuration(case):
    make, read = CASES[case]
    configuration, seen = make(), []
    want = read(configuration)
    net, x = Net[int](configuration, lambda c: seen.append(read(c))), F.ones(2, 3)
    net(x)
    _, grads = sycl_dnn.value_and_grad(lambda net: F.sum(net(x)))(net)
    assert seen == [want, want]
    opt = optim.SGD(0.1)
    updated, _ = opt.update(grads, opt.init(net), net)
    assert read(updated.configuration) == want
    updated(x)
    if case not in NOT_COPIED:
        assert read(copy.deepcopy(net).configuration) == want


def test_programs_are_specialized_on_computed_dataclass_fields():
    first, second = Computed(3), Computed(3)
    second.inner = 5

    class Scaled(nn.Module):
        def __init__(self, configuration):
            super().__init__()
            self.configuration = configuration

        def forward(self, x):
            return x * self.configuration.inner

    assert Scaled(first)(F.ones(1)).tolist() == [9]
    assert Scaled(second)(F.ones(1)).tolist() == [5]


def test_computed_dataclass_arrays_are_leaves():
    @dataclass
    class State:
        width: int

        def __post_init__(self):
            self.table = F.ones(self.width)

    found = tree.map(lambda leaf: leaf * 2, State(2))
    assert (found.width, found.table.tolist()) == (4, [2, 2])
    result = sycl_dnn.compile(lambda state: F.sum(state.table) * state.width)(State(3))
    assert float(result) == 9


class _Listed(nn.Module):
    """A module whose forward reads lists, dicts and lists within tuples."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.items = [1, 2.0, "a"]
        self.named = {"k": [1, 2], "n": float("nan")}
        self.nested = ([3],)

    def forward(self, x):
        return x * self.items[0] + self.named["k"][1] + self.nested[0][0] + len(self.named)


def test_changed_contents_of_attributes_are_read(queue):
    net, x = _Listed().to(queue), dpnp.ones(1, dtype="f4", sycl_queue=queue)
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    changes = [
        lambda: None,
        lambda: net.items.__setitem__(0, 5),
        lambda: net.named["k"].__setitem__(1, 7),
        lambda: net.named.update(z=1),
        lambda: net.nested[0].__setitem__(0, 0),
        lambda: net.items.__setitem__(0, True),
        lambda: net.named.update(k=[0, 1]),
        lambda: net.items.append(net.layer.weight),
        lambda: net.items.__setitem__(0, 4),
    ]
    for change in changes:
        change()
        expected = net.items[0] + net.named["k"][1] + net.nested[0][0] + len(net.named)
        for _ in range(2):
            assert float(compiled(net, x)[0]) == expected
            value, _ = sycl_dnn.value_and_grad(lambda net: net(x).sum())(net)
            assert float(value) == expected


def test_modules_with_lists_are_traversed_once():
    from sycl_dnn.nn import module_tree

    net = nn.Sequential(_Listed(), _Listed())
    first, again = (module_tree.flatten(net)[1] for _ in range(2))
    assert first is again
    net[0].items[0] = 9
    assert module_tree.flatten(net)[1] is not first


class _Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", dpnp.zeros((), dtype="i8"))

    def forward(self, x):
        self.count = self.count + 1
        return x * 2


def test_compiled_functions_update_buffers_of_integers(queue):
    net, x = _Counting().to(queue), dpnp.ones(3, dtype="f4", sycl_queue=queue)
    compiled = sycl_dnn.compile(lambda net, x: net(x))
    for _ in range(3):
        compiled(net, x)
    assert int(net.count) == 3
    assert str(net.count.dtype) == "int64"
