# SPDX-License-Identifier: Apache-2.0
"""Contents of a module that a forward may change in place: containers, NumPy arrays, objects.

Their contents are saved before it runs, to detect what it changed and to restore them.
"""

from __future__ import annotations

import enum
import functools
import operator
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn.call import code_facts, read_once
from sycl_dnn.nn import held_objects, module_tree
from sycl_dnn.object_attributes import slots_of
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import handed
from sycl_dnn.trace.values import Tensor

_CONTAINERS = (list, dict, set, deque)
#: Types whose values hold nothing that changes; most attributes are of these.
_SIMPLE = frozenset(
    (
        bool, int, float, complex, str, bytes, range, slice, type, type(None), type(Ellipsis),
        types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
    )
)  # fmt: skip
#: Types whose values are compared by value: an equal one is no change.
_BY_VALUE = (bool, int, float, complex, str, bytes, tuple, range, slice)


class _Attributes(dict[str, Any]):
    """The attributes of an object."""


class _State(bytes):
    """The pickled state of a generator of random numbers."""


def is_object(value: Any) -> bool:
    """Whether a value is a user-defined object, whose attributes a forward may change."""
    kind: Any = type(value)
    return _has_attributes(kind)


@functools.lru_cache(4096)
def _has_attributes(kind: Any) -> bool:
    if kind is types.SimpleNamespace:
        return True
    if code_facts.is_library(kind.__module__) or kind.__module__ == "builtins":
        return False
    return not issubclass(kind, (type, enum.Enum, Tensor, types.ModuleType))


def attributes_of(value: Any) -> _Attributes:
    """Return the attributes of an object, also those in slots."""
    attrs = getattr(value, "__dict__", {})
    slots = [s for owner in type(value).__mro__ for s in slots_of(owner) if hasattr(value, s)]
    attributes = _Attributes({s: getattr(value, s) for s in slots})
    attributes.update({} if attrs is value else attrs)
    return attributes


def contents_of(value: Any) -> list[Any]:
    """Return shallow copies of the contents of a value: items, numbers, a state, attributes."""
    contents: list[Any] = []
    if isinstance(value, OrderedDict):
        contents.append(OrderedDict(value))
    elif isinstance(value, _CONTAINERS):
        base = next(kind for kind in _CONTAINERS if isinstance(value, kind))
        contents.append(base(value))
    elif isinstance(value, np.ndarray):
        contents.append(value.copy())
    elif isinstance(value, read_once.GENERATORS):
        contents.append(_State(read_once.state_of(value)))
    if is_object(value):
        contents.append(attributes_of(value))
    return contents


def fill(value: Any, contents: list[Any]) -> None:
    """Give a value the contents that ``contents_of`` returned."""
    for part in contents:
        if isinstance(part, _Attributes):
            _set_attributes(value, part)
        elif isinstance(value, np.ndarray):
            value[...] = part
        elif isinstance(part, _State):
            read_once.set_state(value, part)
        else:
            base: Any = type(part)
            base.clear(value)
            if isinstance(part, dict):
                for key, item in part.items():
                    base.__setitem__(value, key, item)
            else:
                (base.update if isinstance(part, set) else base.extend)(value, part)


def _set_attributes(value: Any, attributes: dict[str, Any]) -> None:
    attrs = getattr(value, "__dict__", {})
    for name in attributes_of(value).keys() - attributes.keys():
        attrs.pop(name) if name in attrs else object.__delattr__(value, name)
    for name, item in attributes.items():
        if name in attrs or not hasattr(type(value), name):
            attrs[name] = item
        else:
            object.__setattr__(value, name, item)


def _is_same(a: Any, b: Any) -> bool:
    """Whether two items are one object, or plain values that are equal."""
    return a is b or (type(a) is type(b) and isinstance(a, _BY_VALUE) and bool(a == b))


def _have_same_bits(a: Any, b: Any) -> bool:
    """Whether arrays of one shape are equal; NaN too. Numbers are compared without a copy."""
    if a.dtype.kind not in "biuf" or a.dtype != b.dtype:
        return bool(a.tobytes() == b.tobytes())
    a, b = (np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in (a, b))
    return bool(np.array_equal(a, b))


def _are_same(before: Any, after: Any) -> bool:
    """Whether two contents are the same."""
    if isinstance(before, np.ndarray):
        return before.shape == after.shape and _have_same_bits(before, after)
    if isinstance(before, set):
        return set(map(id, before)) == set(map(id, after))
    if isinstance(before, _State):
        return bool(before == after)
    if len(before) != len(after):
        return False
    if isinstance(before, dict):
        if not all(map(_is_same, before, after)):
            return False
        before, after = before.values(), after.values()
    return all(map(operator.is_, before, after)) or all(map(_is_same, before, after))


class Kept(NamedTuple):
    """Something that a module holds, with a snapshot of its contents."""

    part: Any
    #: The attribute of the module that leads to it.
    name: str
    value: Any
    contents: list[Any]
    #: The contents that the forward finds: arrays have torch's methods there.
    shown: list[Any]

    def is_changed(self) -> bool:
        """Whether the forward has changed the contents."""
        return not all(map(_are_same, self.shown, contents_of(self.value)))

    def restore(self) -> None:
        """Restore the saved contents."""
        if self.shown is not self.contents or self.is_changed():
            fill(self.value, self.contents)


def _children(value: Any) -> list[tuple[Any, Any]]:
    """Return the contents of a value with their names."""
    if held_objects.is_module(value):
        attrs = value.__dict__
        plain = [(n, v) for n, v in attrs.items() if n not in module_tree.OWN]
        return plain + [((n,), v) for n, v in attrs["_modules"].items()]
    children: list[tuple[Any, Any]] = []
    if isinstance(value, types.MethodType):
        children.append(("self", value.__self__))
    elif isinstance(value, dict):
        children += value.items()
    elif isinstance(value, (list, tuple, deque)):
        children += enumerate(value)
    elif isinstance(value, (set, frozenset)):
        children += [(id(v), v) for v in value]
    if is_object(value):
        children += [(("attribute", n), v) for n, v in attributes_of(value).items()]
    return children


def kept(module: Any) -> list[Kept]:
    """Return everything in a module and its parts that a forward may change in place."""
    entries: list[Kept] = []
    _keep_parts(module, entries, set())
    return entries


def _keep_parts(module: Any, entries: list[Kept], seen: set[int]) -> None:
    seen.add(id(module))
    for name, value in module.__dict__.items():
        if type(value) not in _SIMPLE and name not in module_tree.OWN:
            _keep(value, module, name, entries, seen)
    for part in module.__dict__["_modules"].values():
        if part is not None and id(part) not in seen:
            _keep_parts(part, entries, seen)


def _keep(value: Any, part: Any, name: str, entries: list[Kept], seen: set[int]) -> None:
    kind = type(value)
    if kind in _SIMPLE or id(value) in seen or isinstance(value, Tensor):
        return
    if held_objects.is_module(value):
        _keep_parts(value, entries, seen)
        return
    if nested_arguments.is_array(value):
        return
    contents = contents_of(value)
    if contents:
        seen.add(id(value))
        visible = contents
        if any(map(_holds_arrays, contents)):
            visible = replaced(contents, handed)
            fill(value, visible)
        entries.append(Kept(part, name, value, contents, visible))
    for _, child in _children(value):
        if type(child) not in _SIMPLE:
            _keep(child, part, name, entries, seen)


def replaced(contents: list[Any], swap: Callable[[Any], Any]) -> list[Any]:
    """Return contents with ``swap`` applied to their items."""

    def new(part: Any) -> Any:
        if isinstance(part, dict):
            return type(part)({k: swap(v) for k, v in part.items()})
        return type(part)(map(swap, part)) if isinstance(part, (list, deque, set)) else part

    return [new(part) for part in contents]


def _holds_arrays(part: Any) -> bool:
    items = part.values() if isinstance(part, dict) else part
    return isinstance(part, (dict, list, deque)) and dpnp.ndarray in map(type, items)


def paired(original: Any, copy: Any) -> dict[int, Any]:
    """Map the ids of the contents of a module's copy to their counterparts in the original."""
    pairs: dict[int, Any] = {}
    _pair(original, copy, pairs)
    return pairs


def _pair(original: Any, copy: Any, pairs: dict[int, Any]) -> None:
    if type(copy) in _SIMPLE or original is copy or id(copy) in pairs:
        return
    if isinstance(copy, Tensor):
        pairs[id(copy)] = original
        return
    if type(original) is not type(copy) or nested_arguments.is_array(copy):
        return
    pairs[id(copy)] = original
    copies = dict(_children(copy))
    for name, child in _children(original):
        if name in copies:
            _pair(child, copies[name], pairs)
