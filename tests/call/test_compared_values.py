# SPDX-License-Identifier: Apache-2.0
"""Captured values whose change equality, length or an instance's attributes do not show."""

import array
import collections
import dataclasses
import decimal
import enum
import itertools
import operator
import sys
import types
import weakref

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


class Settings:
    """Attributes that the classes and functions of this module read as globals."""

    def __init__(self):
        self.scale = 1.0


settings = Settings()


def double_settings():
    settings.scale = 2.0


class Scaled:
    def scaled(self):
        return settings.scale


class ScaledList(Scaled, list):
    factor = 1.0


class ScaledDict(Scaled, dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * settings.scale


class ScaledTuple(Scaled, collections.namedtuple("Pair", "a b")):
    pass


class ScaledFloat(Scaled, float):
    pass


class Text(str):
    factor = 1.0


class Function(enum.Enum):
    DOUBLE = 1

    def of(self, x):
        return x * settings.scale


class Meta(type):
    factor = 1.0


class OfMeta(metaclass=Meta):
    pass


class Slotted:
    __slots__ = ("factor",)


@dataclasses.dataclass
class Numbers:
    factor: float = 1.0


def by_order_of_a_dict():
    held = {"a": 1.0, "b": 2.0}

    def change():
        held["a"] = held.pop("a")

    return (lambda x: x * next(iter(held.values()))), change


def by_order_of_an_ordered_dict():
    held = collections.OrderedDict(a=1.0, b=2.0)
    return (lambda x: x * list(held.values())[0]), lambda: held.move_to_end("a")


def by_class_of_a_key():
    held = {1: None}

    def change():
        held.clear()
        held[1.0] = None

    return (lambda x: x * (2.0 if type(list(held)[0]) is float else 1.0)), change


def by_attribute_of_a_list():
    held = ScaledList([1.0])
    return (lambda x: x * held.factor), lambda: setattr(held, "factor", 2.0)


def by_attribute_of_a_class_of_lists():
    ScaledList.factor, held = 1.0, ScaledList([1.0])
    return (lambda x: x * held.factor), lambda: setattr(ScaledList, "factor", 2.0)


def by_attribute_of_a_text():
    held = Text("a")
    return (lambda x: x * held.factor), lambda: setattr(held, "factor", 2.0)


def by_method_of_a_list():
    held = ScaledList([1.0])
    return (lambda x: x * held.scaled()), double_settings


def by_overridden_access():
    held = ScaledDict(a=1.0)
    return (lambda x: x * held["a"]), double_settings


def by_method_of_a_named_tuple():
    held = ScaledTuple(1.0, 2.0)
    return (lambda x: x * held.a * held.scaled()), double_settings


def by_method_of_a_number():
    held = ScaledFloat(1.0)
    return (lambda x: x * held.scaled()), double_settings


def by_method_of_an_enumeration():
    held = Function.DOUBLE
    return (lambda x: held.of(x)), double_settings


def by_attribute_of_a_metaclass():
    Meta.factor = 1.0
    return (lambda x: x * OfMeta.factor), lambda: setattr(Meta, "factor", 2.0)


def by_getter_of_a_library():
    held = [operator.itemgetter(0)]
    pair = (1.0, 2.0)
    return (lambda x: x * held[0](pair)), lambda: held.__setitem__(0, operator.itemgetter(1))


def by_large_numpy_array():
    held = [np.ones(5000)]
    return (lambda x: x * float(held[0][7])), lambda: held.__setitem__(0, np.full(5000, 2.0))


def by_write_to_a_large_numpy_array():
    held = np.ones(5000)
    return (lambda x: x * float(held[4999])), lambda: held.__setitem__(4999, 2.0)


def by_numpy_objects():
    held = np.array([1.0], dtype=object)
    return (lambda x: x * held[0]), lambda: held.__setitem__(0, 2.0)


def by_set_of_functions():
    held = {lambda: 1.0}

    def function(x):
        (only,) = held
        return x * only()

    def change():
        held.clear()
        held.add(lambda: 2.0)

    return function, change


def by_class_of_an_element():
    held = {1}

    def change():
        held.clear()
        held.add(True)

    return (lambda x: x * (2.0 if list(held)[0] is True else 1.0)), change


def by_deque():
    held = collections.deque([1.0])
    return (lambda x: x * held[0]), lambda: held.__setitem__(0, 2.0)


def by_default_factory():
    held = collections.defaultdict(lambda: 1.0)
    return (
        lambda x: x * held.default_factory(),
        lambda: setattr(held, "default_factory", lambda: 2.0),
    )


def by_view_of_a_dict():
    inner = {"a": 1.0}
    held = types.MappingProxyType(inner)
    return (lambda x: x * held["a"]), lambda: inner.update(a=2.0)


def by_array_of_the_standard_library():
    held = array.array("d", [1.0])
    return (lambda x: x * held[0]), lambda: held.__setitem__(0, 2.0)


def by_bytes():
    held = bytearray([1])
    return (lambda x: x * float(held[0])), lambda: held.__setitem__(0, 2)


def by_memory_view():
    inner = bytearray([1])
    held = memoryview(inner)
    return (lambda x: x * float(held[0])), lambda: inner.__setitem__(0, 2)


def by_decimal():
    held = [decimal.Decimal(1)]
    return (lambda x: x * float(held[0])), lambda: held.__setitem__(0, decimal.Decimal(2))


def by_weak_reference():
    inner = Settings()
    held = weakref.ref(inner)
    return (lambda x: x * held().scale), lambda: setattr(inner, "scale", 2.0)


def by_type_of_elements():
    held = [list[str]]
    return (
        lambda x: x * (2.0 if held[0] == list[int] else 1.0),
        lambda: held.__setitem__(0, list[int]),
    )


def by_end_of_a_range():
    held = [range(0, 1, 3)]
    return (lambda x: x * float(held[0].stop)), lambda: held.__setitem__(0, range(0, 2, 3))


def by_class_of_the_start_of_a_slice():
    held = [slice(1, 2)]
    return (
        lambda x: x * (2.0 if held[0].start is True else 1.0),
        lambda: held.__setitem__(0, slice(True, 2)),
    )


def by_lazy_attribute_of_a_module():
    held, values = types.ModuleType("lazy"), {"factor": 1.0}
    held.__getattr__ = lambda name: values[name]
    return (lambda x: x * held.factor), lambda: values.update(factor=2.0)


def by_new_attribute_of_a_module():
    held = types.ModuleType("growing")
    return (lambda x: x * getattr(held, "factor", 1.0)), lambda: setattr(held, "factor", 2.0)


def by_new_attribute_of_a_class():
    class Held:
        pass

    held = Held()
    return (lambda x: x * getattr(held, "factor", 1.0)), lambda: setattr(Held, "factor", 2.0)


def by_function_attribute():
    def function(x):
        return x * function.factor

    function.factor = 1.0
    return function, lambda: setattr(function, "factor", 2.0)


def _of_a_scope(expression):
    scope = {"factor": 1.0}
    exec(f"def function(x):\n    return x * {expression}", scope)
    return scope["function"], lambda: scope.update(factor=2.0)


def by_globals():
    return _of_a_scope("globals()['factor']")


def by_evaluated_text():
    return _of_a_scope("eval('factor * 1')")


def by_library_reading_a_dataclass():
    held = Numbers()

    def function(x):
        return x * dataclasses.astuple(held)[0]

    return function, lambda: setattr(held, "factor", 2.0)


def by_element_of_a_set():
    held = {1.0}
    return (lambda x: x * max(held)), lambda: held.add(2.0)


def by_slot():
    held = Slotted()
    held.factor = 1.0
    return (lambda x: x * held.factor), lambda: setattr(held, "factor", 2.0)


def by_slot_that_was_empty():
    held = Slotted()

    def function(x):
        try:
            return x * held.factor
        except AttributeError:
            return x

    return function, lambda: setattr(held, "factor", 2.0)


def by_variable_that_had_no_value():
    def function(x):
        try:
            return x * factor
        except NameError:
            return x

    def change():
        nonlocal factor
        factor = 2.0

    factor = None
    del factor
    return function, change


def by_replaced_module():
    def listed(factor):
        sys.modules["replaced_module"] = module = types.ModuleType("replaced_module")
        module.factor = factor

    def function(x):
        import replaced_module as found

        return x * found.factor

    listed(1.0)
    return function, lambda: listed(2.0)


CHANGES = [value for name, value in list(globals().items()) if name.startswith("by_")]


@pytest.fixture(autouse=True)
def _settings():
    settings.scale = 1.0
    yield
    sys.modules.pop("replaced_module", None)


@pytest.mark.parametrize("make", CHANGES, ids=lambda make: make.__name__)
def test_what_changed_is_seen(make, queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    function, change = make()
    call = sycl_dnn.compile(function)
    assert dpnp.asnumpy(call(x)).tolist() == [1, 1, 1]
    change()
    assert dpnp.asnumpy(call(x)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "holder",
    [lambda v: v, np.float64, lambda v: slice(v, 1), lambda v: {v}],
    ids=["number", "NumPy", "slice", "set"],
)
@pytest.mark.parametrize("transform", ["compile", "vjp"])
def test_zeros_of_both_signs_are_different(holder, transform, queue):
    x, held = dpnp.ones(3, dtype="f4", sycl_queue=queue), [holder(0.0)]

    def function(x):
        value = held[0]
        value = value.start if isinstance(value, slice) else value
        return x / (next(iter(value)) if isinstance(value, set) else value)

    compiled = sycl_dnn.compile(function)
    call = compiled if transform == "compile" else lambda x: sycl_dnn.vjp(function, x)[0]
    assert dpnp.asnumpy(call(x)).tolist() == [np.inf] * 3
    held[0] = holder(-0.0)
    assert dpnp.asnumpy(call(x)).tolist() == [-np.inf] * 3


ARGUMENTS = {
    "range": (lambda x, s: x * float(s.stop), range(0, 1, 3), range(0, 2, 3)),
    "class of keys": (lambda x, s: x * (2.0 if list(s)[0] is True else 1.0), {1: 0}, {True: 0}),
    "number with attributes": (lambda x, s: x * s.factor, Text("a"), Text("a")),
    "enumeration": (lambda x, s: s.of(x), Function.DOUBLE, Function.DOUBLE),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_are_equal_but_different(name, queue):
    function, first, second = ARGUMENTS[name]
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    call = sycl_dnn.compile(function)
    assert dpnp.asnumpy(call(x, first)).tolist() == [1, 1, 1]
    double_settings()
    if isinstance(second, Text):
        second.factor = 2.0
    assert dpnp.asnumpy(call(x, second)).tolist() == [2, 2, 2]
    if isinstance(second, Text):
        del second.factor


def test_what_holds_no_change_is_traced_once(queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    held = (
        ScaledList([1.0]), {"a": {1.0, 2.0}}, collections.OrderedDict(a=1.0), range(3), list[int],
        ScaledFloat(2.0), np.ones(5000), collections.deque([1.0]), weakref.ref(settings), Slotted(),
        types.MappingProxyType({"a": 1.0}), itertools.count(), ScaledTuple(1.0, 2.0), OfMeta,
    )  # fmt: skip
    step = sycl_dnn.compile(lambda x: F.sum(x) * float(len(held)))
    assert [float(step(x)) for _ in range(3)] == [42.0] * 3
    assert step.cache_info().misses == 1
