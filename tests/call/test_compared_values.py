# SPDX-License-Identifier: Apache-2.0
"""Captured values whose change equality, length or an instance's attributes do not show."""

import collections
import collections.abc
import dataclasses
import decimal
import enum
import io
import itertools
import sys
import textwrap
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


#: By name: what a function holds, the factor that it reads of that, and what makes 2 of the 1.
CHANGES = {
    "order of a dict": (
        "held = {'a': 1.0, 'b': 2.0}", "next(iter(held.values()))", "held['a'] = held.pop('a')"),
    "order of an ordered dict": (
        "held = collections.OrderedDict(a=1.0, b=2.0)", "list(held.values())[0]",
        "held.move_to_end('a')"),
    "class of a key": (
        "held = {1: None}", "2.0 if type(list(held)[0]) is float else 1.0",
        "held.clear(); held[1.0] = None"),
    "attribute of a list": ("held = ScaledList([1.0])", "held.factor", "held.factor = 2.0"),
    "attribute of a class of lists": (
        "ScaledList.factor, held = 1.0, ScaledList([1.0])", "held.factor",
        "ScaledList.factor = 2.0"),
    "attribute of a text": ("held = Text('a')", "held.factor", "held.factor = 2.0"),
    "method of a list": ("held = ScaledList([1.0])", "held.scaled()", "double_settings()"),
    "overridden access": ("held = ScaledDict(a=1.0)", "held['a']", "double_settings()"),
    "method of a named tuple": (
        "held = ScaledTuple(1.0, 2.0)", "held.a * held.scaled()", "double_settings()"),
    "method of a number": ("held = ScaledFloat(1.0)", "held.scaled()", "double_settings()"),
    "method of an enumeration": ("held = Function.DOUBLE", "held.of(1.0)", "double_settings()"),
    "attribute of a metaclass": ("Meta.factor = 1.0", "OfMeta.factor", "Meta.factor = 2.0"),
    "getter of a library": (
        "held, pair = [operator.itemgetter(0)], (1.0, 2.0)", "held[0](pair)",
        "held[0] = operator.itemgetter(1)"),
    "large NumPy array": (
        "held = [np.ones(5000)]", "float(held[0][7])", "held[0] = np.full(5000, 2.0)"),
    "write to a large NumPy array": (
        "held = np.ones(5000)", "float(held[4999])", "held[4999] = 2.0"),
    "NumPy objects": ("held = np.array([1.0], dtype=object)", "held[0]", "held[0] = 2.0"),
    "set of functions": (
        "held = {lambda: 1.0}", "next(iter(held))()", "held.clear(); held.add(lambda: 2.0)"),
    "class of an element": (
        "held = {1}", "2.0 if list(held)[0] is True else 1.0", "held.clear(); held.add(True)"),
    "deque": ("held = collections.deque([1.0])", "held[0]", "held[0] = 2.0"),
    "default factory": (
        "held = collections.defaultdict(lambda: 1.0)", "held.default_factory()",
        "held.default_factory = lambda: 2.0"),
    "view of a dict": (
        "inner = {'a': 1.0}; held = types.MappingProxyType(inner)", "held['a']",
        "inner['a'] = 2.0"),
    "array of the standard library": (
        "held = array.array('d', [1.0])", "held[0]", "held[0] = 2.0"),
    "bytes": ("held = bytearray([1])", "float(held[0])", "held[0] = 2"),
    "memory view": (
        "inner = bytearray([1]); held = memoryview(inner)", "float(held[0])", "inner[0] = 2"),
    "decimal": (
        "held = [decimal.Decimal(1)]", "float(held[0])", "held[0] = decimal.Decimal(2)"),
    "weak reference": (
        "inner = Settings(); held = weakref.ref(inner)", "held().scale", "inner.scale = 2.0"),
    "type of elements": (
        "held = [list[str]]", "2.0 if held[0] == list[int] else 1.0", "held[0] = list[int]"),
    "end of a range": (
        "held = [range(0, 1, 3)]", "float(held[0].stop)", "held[0] = range(0, 2, 3)"),
    "class of the start of a slice": (
        "held = [slice(1, 2)]", "2.0 if held[0].start is True else 1.0",
        "held[0] = slice(True, 2)"),
    "lazy attribute of a module": (
        "held, values = types.ModuleType('lazy'), {'factor': 1.0}\n"
        "held.__getattr__ = lambda name: values[name]", "held.factor", "values['factor'] = 2.0"),
    "new attribute of a module": (
        "held = types.ModuleType('growing')", "getattr(held, 'factor', 1.0)", "held.factor = 2.0"),
    "new attribute of a class": (
        "class Held: pass\nheld = Held()", "getattr(held, 'factor', 1.0)", "Held.factor = 2.0"),
    "function attribute": ("", "function.factor", "function.factor = 2.0"),
    "globals": ("", "globals()['factor']", "globals()['factor'] = 2.0"),
    "evaluated text": ("", "eval('factor * 1')", "globals()['factor'] = 2.0"),
    "library that reads a dataclass": (
        "held = Numbers()", "dataclasses.astuple(held)[0]", "held.factor = 2.0"),
    "element of a set": ("held = {1.0}", "max(held)", "held.add(2.0)"),
    "slot": ("held = Slotted(); held.factor = 1.0", "held.factor", "held.factor = 2.0"),
    "slot that was empty": ("held = Slotted()", "or_one(lambda: held.factor)", "held.factor = 2.0"),
    "variable that had no value": (
        "held = None; del held", "or_one(lambda: held)", "nonlocal held; held = 2.0"),
    "text in memory": (
        "held = io.StringIO('1')", "float(held.getvalue())", "held.seek(0); held.write('2')"),
    "bytes in memory": (
        "held = io.BytesIO(bytes([1]))", "float(held.getvalue()[0])",
        "held.seek(0); held.write(bytes([2]))"),
    "registered class": (
        "Base = abc.ABCMeta('Base', (), {}); held = Slotted()",
        "2.0 if isinstance(held, Base) else 1.0", "Base.register(Slotted)"),
    "class registered with a derived one": (
        "Base = abc.ABCMeta('Base', (), {}); Derived = abc.ABCMeta('Derived', (Base,), {})",
        "2.0 if issubclass(Slotted, Base) else 1.0", "Derived.register(Slotted)"),
    "class of an object": (
        "A = type('A', (Settings,), {}); held = A()", "2.0 if type(held) is Settings else 1.0",
        "held.__class__ = Settings"),
    "base of a class": (
        "A = type('A', (Settings,), {}); held = A()", "2.0 if hasattr(held, 'scaled') else 1.0",
        "A.__bases__ = (Scaled,)"),
    "view of NumPy's elements": (
        "inner = np.ones(2); held = inner.flat", "float(held[0])", "inner[:] = 2.0"),
    "context": (
        "v = contextvars.ContextVar('v'); held = contextvars.Context(); held.run(v.set, 1.0)",
        "held[v]", "held.run(v.set, 2.0)"),
    "lock": (
        "held = threading.Lock()", "2.0 if held.locked() else 1.0", "held.acquire()"),
    "setting of decimal": (
        "decimal.getcontext().prec = 1", "float(decimal.getcontext().prec)",
        "decimal.getcontext().prec = 2"),
    "setting of NumPy": (
        "np.seterr(over='warn')", "2.0 if np.geterr()['over'] == 'raise' else 1.0",
        "np.seterr(over='raise')"),
    "NumPy's print options": (
        "np.set_printoptions(1)", "float(np.get_printoptions()['precision'])",
        "np.set_printoptions(2)"),
    "module of a library": (
        "held = np; np.seterr(over='warn')",
        "2.0 if held.geterr()['over'] == 'raise' else 1.0", "np.seterr(over='raise')"),
    "replaced module": (
        "list_module(1.0)", "imported().factor", "list_module(2.0)"),
}  # fmt: skip


def or_one(read):
    try:
        return read()
    except (AttributeError, NameError):
        return 1.0


def list_module(factor):
    sys.modules["replaced_module"] = module = types.ModuleType("replaced_module")
    module.factor = factor


def imported():
    import replaced_module as found

    return found


def of_texts(held, factor, change):
    """Return a function that captures what it holds, and the function that changes that."""
    change = textwrap.indent(change.replace("; ", "\n"), " " * 8)
    scope = globals() | {"factor": 1.0}
    text = f"""
import abc, array, collections, contextvars, dataclasses, decimal, io, operator, threading
def create():
{textwrap.indent(held.replace("; ", chr(10)), " " * 4)}
    def function(x):
        return x * ({factor})
    def change():
{change}
    function.factor = 1.0
    return function, change
"""
    exec(text, scope)
    return scope["create"]()


@pytest.fixture(autouse=True)
def _settings():
    settings.scale = 1.0
    with np.errstate(), np.printoptions(), decimal.localcontext():
        yield
    sys.modules.pop("replaced_module", None)


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name, queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    function, change = of_texts(*CHANGES[name])
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


def test_unchanged_objects_are_traced_once(queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    held = (
        ScaledList([1.0]), {"a": {1.0, 2.0}}, collections.OrderedDict(a=1.0), range(3), list[int],
        ScaledFloat(2.0), np.ones(5000), collections.deque([1.0]), weakref.ref(settings), Slotted(),
        types.MappingProxyType({"a": 1.0}), itertools.count(), ScaledTuple(1.0, 2.0), OfMeta,
        io.StringIO("1"), decimal.getcontext, np.ones(2).flat, collections.abc.Mapping,
    )  # fmt: skip
    step = sycl_dnn.compile(lambda x: F.sum(x) * float(len(held)))
    assert [float(step(x)) for _ in range(3)] == [54.0] * 3
    assert step.cache_info().misses == 1


def test_reading_files_in_compiled_functions_warns(queue, tmp_path):
    (path := tmp_path / "factor").write_text("2.0")
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    with pytest.warns(UserWarning, match=r"reads Path\.read_text once"):
        sycl_dnn.compile(lambda x: x * float(path.read_text()))(x)
    with pytest.warns(UserWarning, match="reads io.open, Path.open once"):
        sycl_dnn.compile(lambda x: x * float(open(tmp_path / "factor").read()))(x)  # noqa: SIM115


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_compiled_functions_do_not_read_from_open_files(is_on_disk, queue, tmp_path):
    (path := tmp_path / "factors").write_text("1.02.0")
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    file = open(path) if is_on_disk else io.StringIO("1.02.0")  # noqa: SIM115
    with file, pytest.raises(TypeError, match="must not read from an open file"):
        sycl_dnn.compile(lambda x: x * float(file.read(3)))(x)
    log = io.StringIO()
    assert sycl_dnn.compile(lambda x: x * (1.0 if log.write("a") else 2.0))(x).tolist() == [1] * 3


@pytest.mark.torch
def test_changes_of_torch_tensors_and_settings_are_seen(queue):
    torch = pytest.importorskip("torch")
    x, held = dpnp.ones(3, dtype="f4", sycl_queue=queue), torch.ones(1, requires_grad=True)
    call = sycl_dnn.compile(lambda x: x * float(held[0]) * (1.0 + torch.is_grad_enabled()))
    assert call(x).tolist() == [2, 2, 2]
    with torch.no_grad():
        assert call(x).tolist() == [1, 1, 1]
        held.fill_(2)
    assert call(x).tolist() == [4, 4, 4]
