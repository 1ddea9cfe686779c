# SPDX-License-Identifier: Apache-2.0
"""What a function captures besides its arguments, as a list of guards.

The traversal starts at a function and follows its closure, the globals that its code reads,
defaults, a bound ``self``, and from there functions, classes, containers and instances of user
classes. Of an instance it follows the attributes that visited code names. The result is the source
of one Python function of comparisons (`compared_values.py`): identity first, then equality.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.call import code_facts, compared_values
from sycl_dnn.call.compared_values import BY_IDENTITY, CONTAINERS, IN_GUARDS, PLAIN
from sycl_dnn.call.inner_imports import modules_of
from sycl_dnn.object_attributes import slots_of
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen

#: Limit on the values visited; a function that holds more is traced again.
_MOST = 20_000
_IGNORED_METHODS = frozenset(
    ("__init__", "__new__", "__repr__", "__str__", "__init_subclass__", "__del__", "__reduce__")
)

Check = Callable[[Any, Sequence[Any]], bool]


class Captures:
    """The captures of a function, found by one traversal.

    Parameters
    ----------
    function : callable
    others : sequence
        Callables and objects among the arguments, inspected as well.
    """

    def __init__(self, function: Any, others: Sequence[Any] = ()) -> None:
        self._names: set[str] = set()
        self._by_any_name = False
        known = None
        # Names found late may belong to instances visited early.
        while known != (len(self._names), self._by_any_name):
            known = (len(self._names), self._by_any_name)
            self._begin()
            self._visit(function, "f")
            for number, other in enumerate(others):
                self._visit(other, f"others[{number}]")
            while self._waiting:
                self._look_at(*self._waiting.popleft())

    def _begin(self) -> None:
        self._lines: list[str] = []
        self._constants: dict[str, Any] = {}
        self._seen: dict[int, str] = {}
        self._held: list[Any] = []
        self._read: set[tuple[int, str]] = set()
        #: Values that the walk has reached, with their places: no nesting is too deep for it.
        self._waiting: deque[tuple[Any, str]] = deque()

    def check(self) -> Check:
        """Return ``check(function, others)``, which tells whether nothing differs."""
        if not self._lines:
            return nothing_captured
        body = "\n        ".join([*self._lines, "return True"])
        source = (
            f"def check(f, others):\n    try:\n        {body}\n"
            "    except (AttributeError, KeyError, IndexError, TypeError, ValueError):\n"
            "        return False\n"
        )
        scope: dict[str, Any] = {**IN_GUARDS, "modules": sys.modules, **self._constants}
        exec(compile(source, "<guards>", "exec"), scope)  # text of ours alone
        return scope.pop("check")  # a function that its own globals name would be a cycle

    def _constant(self, value: Any) -> str:
        name = f"k{len(self._constants)}"
        self._constants[name] = value
        return name

    def _unless(self, condition: str) -> None:
        self._lines.append(f"if {condition}: return False")

    def _name(self, value: Any, place: str) -> str:
        """Give a value a name in the check, and reuse it on other paths that lead to it."""
        name = f"v{len(self._held)}"
        self._held.append(value)
        self._seen[id(value)] = name
        self._lines.append(f"{name} = {place}")
        return name

    def _must_be(self, value: Any, place: str) -> None:
        self._unless(f"{place} is not {self._constant(value)}")

    def _visit(self, value: Any, place: str) -> None:
        self._waiting.append((value, place))

    def _look_at(self, value: Any, place: str) -> None:
        if value.__class__ in PLAIN:
            if value is None or value is True or value is False:
                self._unless(f"{place} is not {value}")
                return
            k = self._constant(value)
            name = f"v{len(self._held)}"
            self._held.append(value)
            self._unless(f"({name} := {place}) is not {k} and not same({name}, {k})")
            return
        known = self._seen.get(id(value))
        if known is not None:
            self._unless(f"{place} is not {known}")
            return
        if len(self._held) > _MOST:
            self._must_be(value, place)
            return
        self._look_into(value, place)

    def _look_into(self, value: Any, place: str) -> None:
        kind = type(value)
        if isinstance(value, (dpnp.ndarray, Array, Frozen)) or hasattr(kind, "usm_data"):
            self._must_be(value, place)
        elif isinstance(value, BY_IDENTITY):
            self._fixed(value, place)
        elif "guarded_by_identity" in vars(kind):  # what it counts changes no program
            self._must_be(value, place)
        elif isinstance(value, types.FunctionType):
            self._function(value, place)
        elif isinstance(value, types.MethodType):
            name = self._name(value, place)
            self._visit(value.__func__, f"{name}.__func__")
            self._visit(value.__self__, f"{name}.__self__")
        elif isinstance(value, types.ModuleType):
            self._module(value, place, ())
        elif isinstance(value, type):
            self._class(value, place)
        elif isinstance(value, CONTAINERS):
            self._container(value, kind, place)
        elif isinstance(value, np.ndarray):
            self._numpy(value, place)
        elif isinstance(value, (staticmethod, classmethod)):
            self._visit(value.__func__, f"{self._name(value, place)}.__func__")
        elif isinstance(value, property):
            name = self._name(value, place)
            self._visit(value.fget, f"{name}.fget")
        elif isinstance(value, functools.partial):
            name = self._name(value, place)
            for part in ("func", "args", "keywords"):
                self._visit(getattr(value, part), f"{name}.{part}")
        else:
            self._instance(value, kind, place)

    def _numpy(self, value: np.ndarray, place: str) -> None:
        if value.dtype.hasobject:
            self._visit(value.tolist(), f"{place}.tolist()")
            return
        self._unless(f"not same_numbers({place}, {self._constant(value.copy())})")

    def _fixed(self, value: Any, place: str) -> None:
        owner = getattr(value, "__self__", None)
        if isinstance(value, types.BuiltinFunctionType) and not isinstance(
            owner, (types.ModuleType, type(None))
        ):  # a method of a list, say, taken out
            self._visit(owner, f"{self._name(value, place)}.__self__")
            return
        k = self._constant(value)
        if isinstance(value, (np.generic, np.dtype)):
            self._unless(f"{place} is not {k} and not same({place}, {k})")
        else:
            self._unless(f"{place} is not {k}")
        if isinstance(value, enum.Enum) and not code_facts.is_library(type(value).__module__):
            self._type(type(value))

    def _container(self, value: Any, kind: type, place: str) -> None:
        name = self._name(value, place)
        self._unless(f"{name}.__class__ is not {self._constant(kind)}")
        # What a user's class overrides is inspected below, not called.
        base = next(k for k in kind.__mro__ if code_facts.is_library(k.__module__))
        stored: Any = base
        known = name if base is kind else self._constant(base)
        if isinstance(value, (tuple, list)):
            self._unless(f"len({name}) != {stored.__len__(value)}")
            for number, item in enumerate(stored.__iter__(value)):
                self._item(item, number, name, base is kind, known)
        else:
            keys = tuple(stored.__iter__(value))
            order = f"tuple({name})" if base is kind else f"tuple({known}.__iter__({name}))"
            self._in_order(keys, order)
            for key in keys if isinstance(value, dict) else ():
                self._item(stored.__getitem__(value, key), key, name, base is kind, known)
        if kind not in CONTAINERS:
            self._parts(value, kind, name)

    def _item(self, item: Any, key: Any, name: str, is_own: bool, base: str) -> None:
        text = repr(key) if key.__class__ in (str, int) else self._constant(key)
        self._visit(item, f"{name}[{text}]" if is_own else f"{base}.__getitem__({name}, {text})")

    def _in_order(self, keys: tuple[Any, ...], place: str) -> None:
        """Compare what iteration over a dict or set gives."""
        if all(key.__class__ is str for key in keys):
            self._unless(f"{place} != {self._constant(keys)}")
        elif compared_values.is_plain(keys):
            self._unless(f"not same({place}, {self._constant(keys)})")
        else:
            self._visit(keys, place)

    def _function(self, value: types.FunctionType, place: str) -> None:
        if "operation" in value.__dict__:
            self._must_be(value, place)
            return
        if code_facts.is_library(value.__globals__.get("__name__")):
            self._library_function(value, place)
            return
        name = self._name(value, place)
        code = value.__code__
        self._unless(f"{name}.__code__ is not {self._constant(code)}")
        facts = code_facts.facts_of(code)
        self._names |= facts.names
        self._by_any_name |= facts.reads_by_name
        self._closure(value, name)
        self._globals(value, name, facts)
        if value.__defaults__:
            self._visit(value.__defaults__, f"{name}.__defaults__")
        if value.__kwdefaults__:
            self._visit(value.__kwdefaults__, f"{name}.__kwdefaults__")
        for attribute in value.__dict__:
            if attribute in self._names or attribute == "__wrapped__":
                self._visit(value.__dict__[attribute], f"{name}.{attribute}")

    def _library_function(self, value: types.FunctionType, place: str) -> None:
        if value.__closure__ is None:
            self._must_be(value, place)
        else:  # a wrapper, perhaps of a user's function
            name = self._name(value, place)
            self._unless(f"{name}.__code__ is not {self._constant(value.__code__)}")
            self._closure(value, name)

    def _closure(self, value: types.FunctionType, name: str) -> None:
        for number, cell in enumerate(value.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                self._unless(f"is_filled({name}.__closure__[{number}])")
                continue
            self._visit(content, f"{name}.__closure__[{number}].cell_contents")

    def _globals(self, value: types.FunctionType, name: str, facts: Any) -> None:
        scope = value.__globals__
        if not facts.chains and not facts.imports:
            return
        place = self._seen.get(id(scope))
        if place is None:
            place = self._name(scope, f"{name}.__globals__")
        else:
            self._unless(f"{name}.__globals__ is not {place}")
        for first, *rest in sorted(facts.chains):
            if first in scope:
                self._chain(scope[first], f"{place}[{first!r}]", tuple(rest))
                continue
            self._unless(f"{first!r} in {place}")
        for module in modules_of(facts, scope):
            is_listed = sys.modules.get(module.__name__) is module
            listed = f"modules.get({module.__name__!r})"
            self._module(module, listed if is_listed else self._constant(module), ())

    def _chain(self, value: Any, place: str, attributes: tuple[str, ...]) -> None:
        if isinstance(value, types.ModuleType):
            self._module(value, place, attributes)
        elif (value_id := (id(value), place)) not in self._read:
            self._read.add(value_id)
            self._visit(value, place)

    def _module(self, value: types.ModuleType, place: str, attributes: tuple[str, ...]) -> None:
        known = self._seen.get(id(value))
        if known is None:
            known = self._name(value, place)
            self._unless(f"{known} is not {self._constant(value)}")
        wanted = attributes[:1]
        if not code_facts.is_library(value.__name__):
            wanted = wanted or tuple(sorted(self._names))
            absent = frozenset(wanted).difference(value.__dict__)
            if absent:
                self._unless(f"not {known}.__dict__.keys().isdisjoint({self._constant(absent)})")
                wanted = (*wanted, "__getattr__")
        for name in wanted:
            if name in value.__dict__ and (id(value), name) not in self._read:
                self._read.add((id(value), name))
                self._chain(value.__dict__[name], f"{known}.{name}", attributes[1:])

    def _class(self, value: type, place: str) -> None:
        self._must_be(value, place)
        if not code_facts.is_library(value.__module__):
            self._type(value, is_called=True)

    def _type(self, kind: type, is_called: bool = False) -> None:
        """Inspect what instances of a user's class find in it."""
        if id(kind) in self._seen and not is_called:
            return
        name = self._seen.get(id(kind)) or self._name(kind, self._constant(kind))
        if not code_facts.is_library(type(kind).__module__):
            self._type(type(kind))
        for owner in kind.__mro__:
            if code_facts.is_library(owner.__module__):
                continue
            self._size(owner)
            for attribute, content in list(vars(owner).items()):
                if (id(owner), attribute) in self._read or not self._concerns(
                    attribute, content, is_called
                ):
                    continue
                self._read.add((id(owner), attribute))
                is_first = getattr(kind, attribute, None) is content
                if is_first and isinstance(content, (types.FunctionType, *PLAIN)):
                    self._visit(content, f"{name}.{attribute}")
                else:  # what super() finds, and what a class returns in another form
                    self._visit(content, f"{self._constant(owner)}.__dict__[{attribute!r}]")

    def _size(self, kind: type) -> None:
        """Compare the number of a class's attributes: another may hide one of a base."""
        if (id(kind), "") not in self._read:
            self._read.add((id(kind), ""))
            self._unless(f"len({self._constant(kind)}.__dict__) != {len(vars(kind))}")

    def _concerns(self, name: str, content: Any, is_called: bool) -> bool:
        if isinstance(content, types.MemberDescriptorType):
            return False
        if name.startswith("__") and name.endswith("__"):
            if name in ("__init__", "__new__", "__post_init__"):
                return is_called and isinstance(content, (types.FunctionType, staticmethod))
            return isinstance(content, types.FunctionType) and name not in _IGNORED_METHODS
        return name in self._names or name == "forward"

    def _instance(self, value: Any, kind: type, place: str) -> None:
        is_library = code_facts.is_library(kind.__module__)
        has_attributes = isinstance(getattr(value, "__dict__", None), dict)
        if is_library and not has_attributes and not any(map(slots_of, kind.__mro__)):
            self._object_of_library(value, kind, place)
            return
        name = self._name(value, place)
        self._unless(f"{name}.__class__ is not {self._constant(kind)}")
        if isinstance(value, tuple(PLAIN)):
            self._visit(compared_values.plain_part(value), f"plain_part({name})")
        if is_library and hasattr(value, "__wrapped__"):
            self._visit(value.__wrapped__, f"{name}.__wrapped__")
            if "rule" in vars(value):  # of ``custom_vjp``
                self._visit(value.rule, f"{name}.rule")
            return
        self._parts(value, kind, name)

    def _object_of_library(self, value: Any, kind: type, place: str) -> None:
        if kind.__module__.partition(".")[0] in ("sycl_dnn", "dpctl"):
            self._must_be(value, place)
            return
        state = compared_values.state_of(value)
        if state is not None:
            self._visit(state, f"state_of({place})")
            return
        self._must_be(value, place)

    def _parts(self, value: Any, kind: type, name: str) -> None:
        """Inspect what an instance has besides its class: attributes, slots, what the class has."""
        is_whole = self._by_any_name or code_facts.is_read_whole(kind)
        for owner in kind.__mro__:
            for slot in slots_of(owner):
                if hasattr(value, slot) and (is_whole or slot in self._names):
                    self._visit(getattr(value, slot), f"{name}.{slot}")
                elif slot in self._names and not code_facts.is_library(owner.__module__):
                    self._unless(f"hasattr({name}, {slot!r})")
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self._attributes(own, name, kind, is_whole)
        if code_facts.is_library(kind.__module__):
            if isinstance(value, dict) and hasattr(value, "default_factory"):
                self._visit(value.default_factory, f"{name}.default_factory")
        else:
            self._type(kind)

    def _attributes(self, own: dict[str, Any], name: str, kind: type, is_whole: bool) -> None:
        inner = f"d{name}"
        self._lines.append(f"{inner} = {name}.__dict__")
        if is_whole:
            self._unless(f"len({inner}) != {len(own)}")
        for attribute, content in list(own.items()):
            if is_whole or attribute in self._names:
                self._visit(content, f"{inner}[{attribute!r}]")
        if is_whole:
            return
        # An instance's own attribute would take precedence.
        for attribute in sorted(self._names.intersection(dir(kind))):
            if attribute not in own and not attribute.startswith("__"):
                self._unless(f"{attribute!r} in {inner}")


def nothing_captured(function: Any, others: Sequence[Any]) -> bool:
    """Guard a function that captures nothing."""
    return True
