# SPDX-License-Identifier: Apache-2.0
"""The values that a compiled function reads besides its arguments, compared at each call.

The walk starts at a function and follows its closure, the globals that its code names, defaults,
a bound ``self``, and from there functions, classes, containers and instances of user classes. Of an
instance it follows the attributes that the code on the way names. What it finds is a list of reads
with their results, which `Captures` repeats and compares: by identity, constants by value.
"""

from __future__ import annotations

import builtins
import enum
import functools
import operator
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import dpnp
import numpy as np

from sycl_dnn._core import WatchedSpans, unchanged
from sycl_dnn._dpnp import span, usm_array
from sycl_dnn.call import code_facts
from sycl_dnn.call.captured_contents import reader_of
from sycl_dnn.call.code_facts import ANY, CodeFacts, is_library
from sycl_dnn.call.read_once import ReadOnce, environment_of
from sycl_dnn.object_attributes import slots_of
from sycl_dnn.trace import array_writes
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen
from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.values import Tensor

#: Limit on the reads; everything beyond is compared by identity.
_MAX_READS = 20_000
#: Classes of constants; a subclass may have attributes and methods.
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_SEQUENCES: tuple[type, ...] = (
    tuple, list, set, frozenset, deque, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
_MAPPINGS = (dict, types.MappingProxyType)
_NUMBERS = (int, float, complex)
_IDENTICAL = (type, types.ModuleType, enum.Enum)
_IGNORED_METHODS = frozenset(
    ("__init__", "__new__", "__repr__", "__str__", "__init_subclass__", "__del__", "__reduce__")
)
_CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__"))
_ABSENT = object()

#: ``read(key)`` returned the value when the function was traced.
Read = tuple[Callable[[Any], Any], Any, Any]


class Captures:
    """The reads of a function, found by one walk.

    function : it is the same object at each call
    others : callables and objects among the arguments, which another call may replace by equal ones
    are_unwritten : whether the arrays have the values that constants were computed from
    """

    def __init__(
        self, function: Any, others: Sequence[Any] = (),
        are_unwritten: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        # A method's instance is not kept alive, unless its attributes refer to it.
        parts = isinstance(function, types.MethodType)
        roots = (function.__func__, function.__self__) if parts else (function,)
        self._roots = tuple(map(_weakly, roots))
        self._others = tuple(map(_weakly, others))
        walk = _walk_of(*roots, tuple(others))
        self._reads, self.read_once = tuple(walk.reads), walk.read_once
        self._structure = structure_of(self._reads)
        self._are_unwritten = are_unwritten

    def __call__(self, others: Sequence[Any] = ()) -> bool:
        """Return whether all reads give the same or equal objects, and ``others`` are equal.

        Without ``others`` they are the objects of the trace.
        """
        if not self._are_unwritten():
            return False
        if unchanged(self._reads, same) and (not others or same(tuple(others), self._others)):
            return True
        if self._others and not others:
            return False
        # An object may have been replaced by an equal one.
        roots = [root() if root.__class__ is weakref.ref else root for root in self._roots]
        reads = tuple(_walk_of(*roots, tuple(others)).reads)
        if not same(structure_of(reads), self._structure):
            return False
        self._reads, self._others = reads, tuple(map(_weakly, others))
        return True

    def has_same_arrays(self) -> bool:
        """Return whether reads still give these arrays, whatever else has changed."""
        for read, key, value in self._reads:
            arrays = _arrays_in(value)
            try:
                current = {id(a) for a in _arrays_in(read(key))} if arrays else set()
            except Exception:
                return False
            if any(id(a) not in current for a in arrays):
                return False
        return True

    def changed_numbers(self) -> list[str]:
        """Return the names of numbers that have changed: variables, attributes and items."""
        names = []
        for read, key, value in self._reads:
            try:
                current = read(key)
            except Exception:
                continue
            if type(value) in _NUMBERS and not same(current, value):
                names.append(_name(read, key))
            elif value.__class__ is tuple is current.__class__ and len(value) == len(current):
                pairs = zip(value, current, strict=True)
                is_changed = any(type(v) in _NUMBERS and not same(c, v) for v, c in pairs)
                names += ["an item of a container"] if is_changed else []
        return list(dict.fromkeys(names))

    def watch(self, captured: Iterable[Any], spans: WatchedSpans) -> None:
        """Watch for writes to what is read, if values of a trace were computed from it.

        ``captured``: what the trace captured. An array that is not read, nor a view of one that is,
        is a result of the function's code.
        """
        found = [plain(a) for _, _, value in self._reads for a in _arrays_in(value)]
        arrays = [usm_array(a) for a in found if not isinstance(a, Tensor)]
        known = [span(array) for array in arrays]
        for start, _ in (span(usm_array(plain(v))) for v in captured if is_held(v)):
            if not any(first <= start < last for first, last in known):
                for array in arrays:
                    array_writes.watch(spans, array)
                return

    def named(self) -> list[str]:
        """Return the constants, arrays and objects that code reads, as text with their names."""
        names = [(_name(read, key), value) for read, key, value in self._reads]
        texts = [_value_text(name, value) for name, value in names if name and not _is_code(value)]
        return list(dict.fromkeys(texts))


def _name(read: Any, key: Any) -> str:
    """Return the name that a read looks up; none for items of containers and hidden names."""
    name = read.args[0] if isinstance(read, functools.partial) else key
    is_shown = type(name) is str and getattr(read, "__name__", "") != "__contains__"
    return name if is_shown and not name.startswith("__") else ""


def _arrays_in(value: Any) -> list[Any]:
    """Return the arrays among the results of a read, which may be those of a container."""
    found = value if value.__class__ is tuple else (value,)
    return [v for v in map(_strong, found) if is_held(v)]


def _strong(value: Any) -> Any:
    return value() if value.__class__ is weakref.ref else value


def _is_code(value: Any) -> bool:
    value = _strong(value)
    return isinstance(value, (types.FunctionType, type, types.ModuleType, *_PARTS))


def _value_text(name: str, value: Any) -> str:
    value = _strong(value)
    if is_held(value):
        return f"{name}: {value.dtype} {tuple(value.shape)}"
    is_plain = value.__class__ in PLAIN or isinstance(value, np.generic)
    return f"{name} = {value!r}" if is_plain else f"{name}: {type(value).__name__}"


def nothing_captured(others: Sequence[Any] = ()) -> bool:
    """Guard a function that captures nothing."""
    return True


Check = Callable[..., bool]


def is_held(value: Any) -> bool:
    """Whether a value is an array, which a program holds."""
    return isinstance(value, (dpnp.ndarray, Array, Frozen)) or hasattr(type(value), "usm_data")


def same(current: Any, value: Any) -> bool:
    """Whether two results of a read cannot be distinguished."""
    if value.__class__ is weakref.ref and current is value():
        return True
    if current.__class__ is not value.__class__:
        return False
    if isinstance(current, (tuple, list)):
        return len(current) == len(value) and (
            all(map(operator.is_, current, value)) or all(map(same, current, value))
        )
    if isinstance(current, (float, complex, np.generic)):
        return repr(current) == repr(value)
    return current is value or (current.__class__ in (*PLAIN, np.dtype) and bool(current == value))


def structure_of(reads: Sequence[Read]) -> tuple[Any, ...]:
    """Return the key of equal objects: their kinds, their code, and what they read."""
    return tuple(_kind(value) for _, _, value in reads)


def _kind(value: Any) -> Any:
    """Return the comparable form of a read's result: the kind of an object whose reads follow."""
    value = value() if value.__class__ is weakref.ref else value
    kind = type(value)
    if kind is tuple:
        return tuple(map(_kind, value))
    if kind is slice:
        return (kind, value.start, value.stop, value.step)
    if isinstance(value, types.FunctionType):
        return value if is_fixed(value) else value.__code__
    if isinstance(value, np.ndarray):
        return (kind, value.dtype, value.shape)
    if is_held(value) or isinstance(value, _IDENTICAL) or "guarded_by_identity" in vars(kind):
        return value
    if isinstance(value, PLAIN) and kind not in PLAIN:
        base = next(base for base in kind.__mro__ if base in PLAIN)
        return (kind, *cast("Any", base).__getnewargs__(value))
    is_followed = isinstance(value, (*_PARTS, *_SEQUENCES, *_MAPPINGS)) or any(
        "__dict__" in vars(owner) or slots_of(owner) for owner in kind.__mro__
    )
    return kind if is_followed else value


def _walk_of(*roots: Any) -> _Walk:
    """Return the walk through functions and objects."""
    names: frozenset[str] = frozenset()
    while True:  # names found late may belong to instances visited early
        walk = _Walk(roots, names)
        if walk.names == names:
            return walk
        names = frozenset(walk.names)


def is_fixed(function: types.FunctionType) -> bool:
    """Whether a function is an operation, or one of an installed package that wraps no other."""
    return "operation" in function.__dict__ or (
        function.__closure__ is None and is_library(function.__globals__.get("__name__"))
    )


class _Walk:
    """One walk, with the names of attributes that are known so far."""

    def __init__(self, roots: Sequence[Any], names: frozenset[str]) -> None:
        self.reads: list[Read] = []
        self.names = set(names)
        self.read_once = ReadOnce()
        self._seen: dict[Any, Any] = {}
        #: Values that the walk has reached: no nesting is too deep for it.
        self._waiting: deque[Any] = deque(roots)
        while self._waiting and len(self.reads) < _MAX_READS:
            self._follow(self._waiting.popleft())

    def _read(self, read: Callable[[Any], Any], key: Any, value: Any) -> None:
        """Add a read, and follow its value."""
        self.reads.append((read, key, _weakly(value)))
        self._waiting.append(value)
        self.read_once.note_named(_name(read, key), value)

    def _items(self, container: Any) -> None:
        items = tuple(container)
        self.reads.append((tuple, container, tuple(map(_weakly, items))))
        self._waiting.extend(items)

    def _follow(self, value: Any) -> None:
        if value.__class__ in PLAIN or id(value) in self._seen or is_held(value):
            return
        self._seen[id(value)] = value
        self.read_once.note(value, self.names)
        kind = type(value)
        content_of = reader_of(value, self.names)
        if content_of is not None:
            self._read(content_of, value, content_of(value))
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.ModuleType):
            if is_library(value.__name__):  # its functions may read the environment and settings
                self._waiting.extend(vars(value)[n] for n in self.names.intersection(vars(value)))
            else:
                self._attributes(vars(value), {"__getattr__"})
        elif isinstance(value, type):
            self._type(value, is_called=True)
        elif kind in _BY_NAMES:
            arguments = value.__reduce__()[1]
            self.names.update(n for v in arguments if isinstance(v, str) for n in v.split("."))
            self._items(arguments)
        elif kind in _PARTS:
            parts = [getattr(value, name) for name in _PARTS[kind]]
            if not isinstance(parts[0], types.ModuleType):  # that of a built-in function
                self._items(parts)
        elif is_library(kind.__module__) and hasattr(value, "__wrapped__"):
            self._items([value.__wrapped__, vars(value).get("rule")])  # that of ``custom_vjp``
        elif content_of and is_library(kind.__module__) and not isinstance(value, np.ndarray):
            pass  # it has no other parts
        elif "guarded_by_identity" not in vars(kind):  # what it counts changes no program
            self._instance(value, kind)

    # --- Functions: closure, defaults, globals

    def _function(self, function: types.FunctionType) -> None:
        if is_fixed(function):
            environment = environment_of(function)
            if environment is not None:
                self._items([environment])
            return
        is_of_library = is_library(function.__globals__.get("__name__"))
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            content = _content(name, cell)
            if not (is_of_library and _is_setting(content)):
                self._read(functools.partial(_content, name), cell, content)
        if is_of_library:
            return
        facts = code_facts.facts_of(function.__code__)
        self.names |= facts.names
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._read(operator.attrgetter(name), function, getattr(function, name))
        code, defaults = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        for name, value in (
            *zip(names, defaults, strict=True),
            *(function.__kwdefaults__ or {}).items(),
        ):
            self.read_once.note_named(name, value)
        self._globals(function.__globals__, facts)
        self._attributes(function.__dict__, {"__wrapped__"})

    def _globals(self, scope: dict[str, Any], facts: CodeFacts) -> None:
        for chain in sorted(facts.chains):
            if chain[0] in scope:
                self._chain(scope, *chain)
            else:  # one of Python's own, which a global of this name would hide
                self._read(scope.__contains__, chain[0], False)
                self.read_once.note(getattr(builtins, chain[0], None), self.names)
        for name in facts.imported(scope):
            module = sys.modules.get(name)
            if not is_library(name):
                self._read(sys.modules.get, name, module)
            elif module is not None:
                for attribute in sorted(facts.names.intersection(vars(module))):
                    self._chain(vars(module), attribute)

    def _chain(self, scope: dict[str, Any], name: str, *attributes: str) -> None:
        """Read a name; of a module, the attribute that the code then reads."""
        value = scope[name]
        if not isinstance(value, types.ModuleType):
            self._read(scope.__getitem__, name, value)
            return
        self.reads.append((scope.__getitem__, name, value))
        if not attributes:
            self._waiting.append(value)
        elif attributes[0] in vars(value):
            self._chain(vars(value), *attributes)

    # --- Objects: their attributes, those of their classes

    def _instance(self, value: Any, kind: type) -> None:
        if _is_instance(value):
            self.reads.append((_class_of, weakref.ref(value), kind))
        if isinstance(value, _MAPPINGS):
            self._items(value)
            self._items(value.values())
            if hasattr(value, "default_factory"):
                self._slot("default_factory", value)
        elif isinstance(value, _SEQUENCES):
            self._items(value)
        is_whole = ANY in self.names or code_facts.is_read_whole(kind)
        for slot in (s for owner in kind.__mro__ for s in slots_of(owner)):
            if is_whole or slot in self.names:
                self._slot(slot, value)
        attrs = getattr(value, "__dict__", None)
        if isinstance(attrs, dict) and is_whole:
            self._items(attrs)
            self._items(attrs.values())
        elif isinstance(attrs, dict):
            self._attributes(attrs)
        if not is_library(kind.__module__):
            self._type(kind)

    def _slot(self, name: str, value: Any) -> None:
        read = functools.partial(_attribute, name)
        self._read(read, value, read(value))

    def _attributes(self, attrs: Mapping[str, Any], extra_names: Iterable[str] = ()) -> None:
        """Read the named attributes of an object; others of these names may be added."""
        names = self.names.union(extra_names)
        if ANY in names:
            names.update(n for n in attrs if not n.startswith("__"))
        for name in sorted(names.intersection(attrs)):
            self._read(attrs.__getitem__, name, attrs[name])
        self.reads.append((attrs.keys().isdisjoint, names.difference(attrs), True))

    def _type(self, kind: type, is_called: bool = False) -> None:
        """Read the attributes of a user's class that its instances use."""
        if not is_library(kind.__module__):
            self.reads.append((_bases_of, kind, kind.__mro__))
        for owner in (type(kind), *kind.__mro__):
            if is_library(owner.__module__) or (id(owner), is_called) in self._seen:
                continue
            self._seen[id(owner), is_called] = owner
            methods = {n for n, v in vars(owner).items() if _is_special(n, v, is_called)}
            self._attributes(vars(owner), {"forward", *methods})


def _is_special(name: str, content: Any, is_called: bool) -> bool:
    """Whether Python calls a method of a class without code that names it."""
    if not (name.startswith("__") and name.endswith("__")):
        return False
    if name in _CONSTRUCTORS:
        return is_called and isinstance(content, (types.FunctionType, staticmethod))
    return isinstance(content, types.FunctionType) and name not in _IGNORED_METHODS


def _is_instance(value: Any) -> bool:
    """Whether a value is an object of a user's class: reads do not keep it alive."""
    kind = type(value)
    is_code = isinstance(value, (type, types.ModuleType))
    return not is_code and kind.__weakrefoffset__ != 0 and not is_library(kind.__module__)


def _weakly(value: Any) -> Any:
    return weakref.ref(value) if _is_instance(value) else value


def _is_setting(content: Any) -> bool:
    """Whether a value held by an installed package's function is immutable data."""
    if type(content) is tuple:
        return all(map(_is_setting, content))
    return type(content) in PLAIN or isinstance(content, types.MappingProxyType)


def _content(name: str, cell: types.CellType) -> Any:
    """Return the value of a variable of an enclosing function; its name is for reports."""
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _class_of(reference: weakref.ref[Any]) -> Any:
    return type(reference())


def _bases_of(kind: type) -> tuple[type, ...]:
    return kind.__mro__


def _attribute(name: str, value: Any) -> Any:
    return getattr(value, name, _ABSENT)


#: Objects that read attributes whose names they hold.
_BY_NAMES = (operator.attrgetter, operator.methodcaller)
#: Attributes through which an object of Python's own leads to others.
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinMethodType: ("__self__",),
    types.MethodWrapperType: ("__self__",),
    functools.partial: ("func", "args", "keywords"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget",),
    functools.cached_property: ("func",),
    functools.partialmethod: ("func", "args", "keywords"),
    type(functools.lru_cache(int)): ("__wrapped__",),
}
