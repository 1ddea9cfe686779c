# SPDX-License-Identifier: Apache-2.0
"""No stale captures: each call computes with the current values of captured variables."""

import contextlib
import datetime
import functools
import gc
import random
import sys
import time
import uuid
import warnings

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call import code_facts
from sycl_dnn.call.captures import Captures

#: What the functions of the rows find among their globals; ``x`` is three ones, as ``W``.
PRELUDE = """
import contextvars, ctypes, enum, functools, importlib, mmap, operator, os, sys, types

import numpy as np
from collections import namedtuple
from operator import attrgetter

from sycl_dnn import functional as F

W, SCALE, rate = ones(3), 1.0, types.ModuleType("rate")
config = types.SimpleNamespace(scale=1.0, nested={"shift": [0.0]})
rate.value = 1.0
Size, Mode = namedtuple("Size", "factor shift"), enum.Enum("Mode", "PLAIN DOUBLE")


class Layer:
    gain = 1.0

    def __init__(self, w, training=True):
        self.w, self.training = w, training

    @property
    def doubled(self):
        return self.w * 2 if self.training else self.w

    def forward(self, x):
        return x * self.doubled * self.gain

    def __call__(self, x):
        return self.forward(x)


class Scaled(Layer):
    def forward(self, x):
        return super().forward(x) * 2


class Net:
    def __init__(self, layers):
        self.layers = layers

    def loss(self, x):
        for layer in self.layers:
            x = layer(x)
        return F.sum(x)


def helper(x):
    return x * SCALE


def with_defaults(x, factor=2.0, *, shift=1.0):
    return F.sum(x * factor + shift)


def inner(factor, x):
    y = x * factor * size.factor + size.shift[0]
    return F.sum(y * 2 if mode is Mode.DOUBLE else y)


def by_computed_names(x):
    for name in ("w", "bias"):
        x = x * getattr(layer, name, 1.0)
    return F.sum(x)


class Table:
    def __init__(self, factors):
        self.factors = factors

    @functools.cached_property
    def total(self):
        return sum(self.factors)


def by_imported_environment(x):
    import os

    return F.sum(x * float(os.environ.get("SCALE_OF_TEST", 1)))


factors, table, variable = {"a": 1.0}, Table([1.0]), contextvars.ContextVar("v", default=1.0)
get, first, values = factors.get, [1.0].__getitem__, factors.values()
memory, number, masked = mmap.mmap(-1, 8), ctypes.c_double(1.0), np.ma.array([1.0, 2.0])
memory[0] = 1
named, gain_name = attrgetter("w"), "gain"
settings = types.ModuleType("settings_of_a_test")
settings.value, sys.modules[settings.__name__] = 1.0, settings
append, appended = (lambda a: (a.append, a))([1.0])
layer, net, size, mode = Layer(W), Net([Layer(W), Layer(W)]), Size(2.0, [1.0]), Mode.PLAIN
"""
#: By name: the function, its value, then changes and the values after them.
ROWS = {
    "a global array": ("lambda x: F.sum(x * W)", 3, ("W = W * 2", 6), ("W = W + 1", 9)),
    "a global array of another shape": ("lambda x: F.sum(x * W)", 3, ("W = ones(2, 3)", 6)),
    "a global float, also of a helper": (
        "lambda x: F.sum(helper(x) * SCALE)", 3, ("SCALE = 2.0", 12), ("SCALE = 3.0", 27),
        ("SCALE = 1.0", 3)),
    "attributes of self": (
        "lambda x: F.sum(layer(x))", 6, ("layer.training = False", 3),
        ("layer.w = layer.w * 5", 15), ("Layer.gain = 2.0", 30), ("layer.gain = 3.0", 45)),
    "a bound method and modules in a list": (
        "net.loss", 12, ("net.layers[1].training = False", 6),
        ("net.layers.append(Layer(ones(3) * 10, training=False))", 60),
        ("net.layers[0] = Layer(ones(3), training=False)", 30)),
    "configuration of modules": (
        "lambda x: F.sum(x * config.scale + config.nested['shift'][0] + rate.value)", 6,
        ("config.scale = 2.0", 9), ("config.nested['shift'][0] = 1.0", 12),
        ("rate.value = 3.0", 18)),
    "defaults": (
        "with_defaults", 9, ("with_defaults.__defaults__ = (3.0,)", 12),
        ("with_defaults.__kwdefaults__['shift'] = 2.0", 15)),
    "replaced functions": ("lambda x: F.sum(helper(x))", 3, ("helper = lambda x: x * 7", 21)),
    "replaced methods": (
        "lambda x: F.sum(layer(x))", 6, ("Layer.forward = lambda self, x: x * 4", 12),
        ("layer.forward = lambda x: x * 5", 15)),
    "partial functions, enumerations and named tuples": (
        "lambda x: functools.partial(inner, 3.0)(x)", 21, ("size.shift[0] = 2.0", 24),
        ("mode = Mode.DOUBLE", 48)),
    "attributes with computed names": ("by_computed_names", 3, ("layer.bias = ones(3) * 4", 12)),
    "methods of base classes": (
        "lambda x, layer=Scaled(W, training=False): F.sum(layer(x))", 6,
        ("Layer.forward = lambda self, x: x * 5", 30),
        ("Scaled.forward = lambda self, x: x * 7", 21)),
    "attributes through getters": (
        "lambda x: F.sum(x * attrgetter('w')(layer))", 3, ("layer.w = layer.w * 2", 6)),
    "attributes through dictionaries": (
        "lambda x: F.sum(x * layer.__dict__['w'])", 3, ("layer.w = layer.w * 2", 6)),
    "bound methods of Python's containers": (
        "lambda x: F.sum(x * get('a') * append.__self__[-1] * sum(values))", 3,
        ("factors['a'] = 2.0", 12), ("append(3.0)", 36)),
    "the environment": (
        "lambda x: F.sum(x * float(os.getenv('SCALE_OF_TEST', 1)))", 3,
        ("os.environ['SCALE_OF_TEST'] = '2'", 6), ("del os.environ['SCALE_OF_TEST']", 3)),
    "the environment of a module imported inside": (
        "by_imported_environment", 3, ("os.environ['SCALE_OF_TEST'] = '2'", 6),
        ("del os.environ['SCALE_OF_TEST']", 3)),
    "objects that hold names of attributes": (
        "lambda x: F.sum(x * named(layer) * float(operator.attrgetter(gain_name)(Layer)))", 3,
        ("layer.w = layer.w * 2", 6), ("Layer.gain = 3.0", 18)),
    "memory of Python's own": (
        "lambda x: F.sum(x * memory[0] * number.value * float(masked.sum()))", 9,
        ("memory[0] = 2", 18), ("number.value = 3.0", 54), ("masked.mask = [True, False]", 36)),
    "modules imported by name": (
        "lambda x: F.sum(x * importlib.import_module('settings_of_a_test').value)", 3,
        ("settings.value = 2.0", 6)),
    "context variables": ("lambda x: F.sum(x * variable.get())", 3, ("variable.set(2.0)", 6)),
    "cached properties": (
        "lambda x: F.sum(x * table.total)", 3, ("table = Table([2.0, 3.0])", 15),
        ("del table.total; table.factors.append(1.0)", 18)),
}  # fmt: skip


TRANSFORMS = {"compile": sycl_dnn.compile, "plan": lambda f: _Planned(f)}


class _Planned:
    """A plan is created once for its arguments and called repeatedly."""

    def __init__(self, function):
        self._function, self._bound = function, None

    def __call__(self, *args):
        self._bound = self._bound or sycl_dnn.plan(self._function, *args)
        return self._bound()


@pytest.fixture(params=TRANSFORMS)
def transform(request):
    return TRANSFORMS[request.param]


@pytest.fixture
def ones(queue):
    return lambda *shape: dpnp.ones(shape, dtype="f4", sycl_queue=queue)


def in_prelude(ones):
    scope = {"__name__": __name__, "ones": ones}
    exec(PRELUDE, scope)
    return scope


@pytest.mark.parametrize("name", ROWS)
def test_changed_values_are_read(name, transform, ones):
    function, value, *changes = ROWS[name]
    scope = in_prelude(ones)
    f, x = transform(eval(function, scope)), ones(3)
    assert float(f(x)) == value
    for change, expected in changes:
        exec(change, scope)
        assert float(f(x)) == expected, change


def test_replaced_functions_of_the_library(transform, ones, monkeypatch):
    f, x = transform(lambda x: F.sum(x * 7)), ones(3)
    assert float(f(x)) == 21
    monkeypatch.setattr(F, "sum", lambda x: F.mean(x))
    assert float(f(x)) == 7


def test_closure_variables(transform, ones):
    w, factor, flag = ones(3), 2.0, True

    def loss(x):
        y = x * w * factor
        return F.sum(y if flag else -y)

    f, x = transform(loss), ones(3)
    assert float(f(x)) == 6
    w = w * 2
    assert float(f(x)) == 12
    factor = 3.0
    assert float(f(x)) == 18
    flag = False
    assert float(f(x)) == -18


def test_decorated_cached_and_context_managed_functions(transform, ones):
    factor = 2.0

    def decorator(function):
        @functools.wraps(function)
        def wrapped(x):
            return function(x) * factor

        return wrapped

    @decorator
    def loss(x):
        return F.sum(x * inner(1))

    @functools.lru_cache
    def inner(n):
        return n * shift

    @contextlib.contextmanager
    def doubled():
        yield factor

    def managed(x):
        with doubled() as d:
            return loss(x) * d

    shift = 1.0
    f, x = transform(managed), ones(3)
    assert float(f(x)) == 12
    factor = 3.0
    assert float(f(x)) == 27
    shift = 2.0
    inner.cache_clear()
    assert float(f(x)) == 54


def test_captured_frozen_and_bfloat16_arrays(transform, ones):
    w = sycl_dnn.freeze(ones(3, 3))
    b = sycl_dnn.asarray(ones(3, 3), dtype="bfloat16")
    f = transform(lambda x: F.sum(F.matmul(x, w)) + F.sum(b.astype("float32")))
    x = ones(2, 3)
    assert float(f(x)) == 27
    w = sycl_dnn.freeze(ones(3, 3) * 2)
    assert float(f(x)) == 45


@pytest.mark.slow
def test_a_compiled_function_releases_rebound_arrays(ones, request):
    gc.collect()
    gc.disable()
    request.addfinalizer(gc.enable)
    w = old = ones(3)
    alone = sys.getrefcount(old)
    f, x = sycl_dnn.compile(lambda x: F.sum(x * w)), ones(3)
    f(x)
    f(ones(2, 3))
    w = ones(3) * 2
    assert float(f(x)) == 6
    assert sys.getrefcount(old) < alone
    assert f.cache_info().size == 1


def test_callables_and_objects_as_arguments(ones):
    x = ones(3)

    def loss(x, act, layer):
        return F.sum(act(x) * layer.w)

    layer = in_prelude(ones)["layer"]
    compiled = sycl_dnn.compile(loss)
    assert float(compiled(x, lambda x: x * 2, layer)) == 6
    assert float(compiled(x, lambda x: x * 5, layer)) == 15
    layer.w = layer.w * 2
    assert float(compiled(x, lambda x: x * 5, layer)) == 30


def test_a_recursive_function_and_an_instance_that_holds_itself(transform, ones):
    layer = in_prelude(ones)["layer"]
    layer.me = layer

    def loss(x, n=3):
        return F.sum(layer.me.forward(x)) if n == 0 else loss(x * 2, n - 1)

    f, x = transform(loss), ones(3)
    assert float(f(x)) == 48
    layer.training = False
    assert float(f(x)) == 24


def test_changes_to_unread_values_cause_no_retrace(ones):
    net = in_prelude(ones)["net"]
    f = sycl_dnn.compile(lambda x: net.loss(x))
    for i in range(3):
        net.unread = i
        f(ones(3))
    assert f.cache_info().misses == 1


def test_the_walk_is_as_deep_as_what_is_captured(transform, ones):
    nested = [2.0]
    for _ in range(5_000):
        nested = [nested]

    def function(x):
        value = nested
        while isinstance(value, list):
            value = value[0]
        return x * value

    assert transform(function)(ones(1)).tolist() == [2.0]
    value = nested
    while isinstance(value[0], list):
        value = value[0]
    value[0] = 3.0
    assert transform(function)(ones(1)).tolist() == [3.0]


def test_reads_of_installed_packages_are_not_followed(tmp_path, monkeypatch):
    (tmp_path / "installed_by_pip").mkdir()
    (tmp_path / "installed_by_pip" / "__init__.py").write_text(
        "held = list(range(100))\n\ndef factor():\n    return getattr(held, 'sum', held[2])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for record, is_followed in (("installed_by_pip-1.0.dist-info", False), ("notes", True)):
        folder = tmp_path / record
        folder.mkdir()
        code_facts._has_distributions.cache_clear()
        sys.modules.pop("installed_by_pip", None)
        module = __import__("installed_by_pip")
        found = Captures(lambda x, m=module: x * m.factor())
        assert code_facts.is_library("installed_by_pip") is not is_followed
        followed = any(value == tuple(range(100)) for _, _, value in found._reads)
        assert followed is is_followed
        folder.rmdir()
    code_facts._has_distributions.cache_clear()


def test_guards_read_each_name_once(ones):
    # The cost of a check is counted here, not timed.
    names = {f"w{i}": ones(2) for i in range(100)}
    source = "lambda x: x + " + " + ".join(f"{name} * {name}" for name in names)
    captures = Captures(eval(source, {**names}))
    assert captures.named() == [f"{name}: float32 (2,)" for name in sorted(names)]
    assert len(captures._reads) - len(Captures(lambda x: x * 2)._reads) == 100


def test_explain_lists_what_was_compiled_in(ones):
    scope = in_prelude(ones) | {"factor": 2.0}
    exec("layer, helper = Layer(W), lambda x: x * SCALE", scope)
    step = sycl_dnn.compile(eval("lambda x: layer(helper(x)) * factor * config.scale", scope))
    assert set(step.explain(ones(3)).captured) == {
        "layer: Layer", "factor = 2.0", "SCALE = 1.0", "config: SimpleNamespace", "w: float32 (3,)",
        "training = True", "gain = 1.0",
    }  # fmt: skip
    assert "captured: config: SimpleNamespace, factor = 2.0, layer: Layer, " in str(
        step.explain(ones(3))
    )


GENERATOR, ITERATOR = np.random.default_rng(0), iter([1.0, 2.0])


def _draw_inside(x):
    import random as numbers

    return x * numbers.random()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x * random.random(), "must not draw random numbers"),
        (lambda x: x * random.uniform(0, 1), "must not draw random numbers"),
        (lambda x: x * np.random.rand(), "must not draw random numbers"),
        (lambda x: x * GENERATOR.random(), "must not draw random numbers"),
        (lambda x, draw=GENERATOR.normal: x * draw(), "must not draw random numbers"),
        (_draw_inside, "must not draw random numbers"),
        (lambda x: x * next(ITERATOR), "must not read the iterator 'ITERATOR'"),
        (lambda x, numbers=ITERATOR: x * next(numbers), "must not read the iterator"),
    ],
)
def test_numbers_that_would_be_drawn_once_are_refused(function, message, transform, ones):
    before = random.getstate(), GENERATOR.bit_generator.state
    with pytest.raises(TypeError, match=message):
        transform(function)(ones(3))
    assert (random.getstate(), GENERATOR.bit_generator.state) == before


def test_generators_and_iterators_that_are_not_drawn_from_are_accepted(transform, ones):
    holder = {"numbers": GENERATOR, "items": iter([1.0])}
    f = transform(lambda x: x * len(holder) * (1.0 if GENERATOR else 2.0))
    assert f(ones(1)).tolist() == [2.0]


def test_clocks_are_read_with_a_warning(transform, ones):
    for function, name in (
        (lambda x: x * time.time(), "time.time"),
        (lambda x: x * datetime.datetime.now().year, "datetime.now"),
        (lambda x: x * len(str(uuid.uuid4())), "uuid.uuid4"),
    ):
        with pytest.warns(UserWarning, match=rf"reads {name} once") as caught:
            transform(function)(ones(3))
        assert caught[0].filename == __file__


def test_counters_that_would_count_once_cause_a_warning(ones):
    number, items, holder = 0, [0], {"n": 0.5, "cache": None, "is_ready": False}

    def count(x):
        nonlocal number
        number += 1
        return x * number

    def count_in_list(x):
        items[0] += 1
        return x * items[0]

    def count_in_dict(x):
        holder["n"] *= 2
        return x * holder["n"]

    for function, name in (
        (count, "number"), (count_in_list, "an item of a container"),
        (count_in_dict, "an item of a container"),
    ):  # fmt: skip
        with pytest.warns(UserWarning, match=f"{function.__name__} changed {name} while it was"):
            sycl_dnn.compile(function)(ones(3))

    def prepare(x):  # as often as functions run
        if not holder["is_ready"]:
            holder["is_ready"], holder["cache"] = True, (1, 2)
        return x * holder["cache"][1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sycl_dnn.compile(prepare)(ones(1)).tolist() == [2.0]
