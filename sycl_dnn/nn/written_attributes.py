# SPDX-License-Identifier: Apache-2.0
"""Attributes that a forward assigns and containers that it changes: written to the module.

A traced module is a copy, whose forward runs at each call where values are recorded. What it
assigns to its attributes, and what it does to its lists, dicts and sets, is done to the module
itself when the function has returned. Compiled functions refuse both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from sycl_dnn import tree
from sycl_dnn.nn import module_tree
from sycl_dnn.nn.container_contents import copied
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import handed, plain
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

_CONTAINERS = (list, dict, set, deque)


class Change(NamedTuple):
    """An attribute of a module, and the value that it has from now on."""

    module: Any
    name: str
    value: Any

    def tensors(self) -> list[Tensor]:
        """Return the tensors in the value, in order."""
        found: list[Any] = []
        _mapped(self.value, lambda v: found.append(v) if isinstance(v, Tensor) else None)
        return found

    def apply(self, arrays: Iterator[Any]) -> None:
        """Set it; ``arrays`` are those of the tensors in the value, in order."""
        value = _mapped(self.value, lambda v: handed(next(arrays)) if isinstance(v, Tensor) else v)
        own = self.module.__dict__
        if not _refill(own.get(self.name), value):
            object.__setattr__(self.module, self.name, value)
        own["_written"] = own.get("_written", frozenset()) | {self.name}
        module_tree.form_changed()


def _mapped(value: Any, swap: Any) -> Any:
    """Return copies of nested containers with ``swap`` of what they hold."""
    if isinstance(value, set):
        return set(value)
    if isinstance(value, deque):
        return deque([_mapped(v, swap) for v in value], value.maxlen)
    node = None if nested_arguments.is_array(value) else tree.opened(value)
    if node is None or isinstance(value, Tensor) or "_parameters" in getattr(value, "__dict__", ()):
        return swap(value)
    return node.rebuilt([_mapped(v, swap) for v in node.children])


def _refill(old: Any, new: Any) -> bool:
    """Give a container the contents of another of its type; return whether it is one."""
    if type(old) is not type(new) or not isinstance(old, _CONTAINERS):
        return False
    if old is not new:
        old.clear()
        (old.update if isinstance(old, (dict, set)) else old.extend)(new)
    return True


class _Contents(NamedTuple):
    """A container among the attributes of a module, as it was; a copy if the module is none."""

    part: Any
    name: str
    content: Any
    copy: Any

    def is_changed(self) -> bool:
        """Whether it holds something else now."""
        own = self.part.__dict__
        return self.name in own and _content(own[self.name]) != self.content


def contents(module: Any) -> list[_Contents]:
    """Return the containers among the attributes of a module's parts."""
    return [
        _Contents(part, name, _content(value), None if "_is_traced" in own else copied(value))
        for part in module_tree.registered_modules(module)
        for own in (part.__dict__,)
        for name, value in own.items()
        if isinstance(value, _CONTAINERS) and name not in module_tree.OWN
    ]


def _content(value: Any) -> Any:
    """Return what tells a container's contents apart: objects by identity."""
    if isinstance(value, dict):
        return (type(value), [(k, _content(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple, deque)):
        return (type(value), [_content(v) for v in value])
    return (type(value), set(map(id, value))) if isinstance(value, set) else _Same(value)


class _Same:
    """Equal to itself and to what holds the same object, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = object.__hash__


class Watched:
    """A module and the copy that a function runs with."""

    def __init__(self, trace: Any, original: Any, copy: Any, is_captured: bool) -> None:
        self.original, self.copy, self.is_captured = original, copy, is_captured
        self._assigned: dict[tuple[int, str], Any] = {}
        for part in () if copy is original else module_tree.registered_modules(copy):
            for name in part.__dict__.get("_written", ()):
                value = part.__dict__.get(name)
                if nested_arguments.is_array(value):
                    part.__dict__[name] = trace.capture(plain(value))
        self._before = contents(copy)

    def note(self, module: Any, name: str) -> bool:
        """Note an assignment; return whether the module is a part of the copy."""
        if not any(part is module for part in module_tree.registered_modules(self.copy)):
            return False
        self._assigned[id(module), name] = module
        return True

    def changes(self) -> list[Change]:
        """Return what the function did to the copy."""
        if not self._assigned and not self._before:
            return []
        containers = {(id(c.part), c.name): c.part for c in self._before if c.is_changed()}
        names = containers | self._assigned
        if not names:
            return []
        parts = map(module_tree.registered_modules, (self.original, self.copy))
        originals = {id(copy): original for original, copy in zip(*parts, strict=True)}
        return [Change(originals[key], n, p.__dict__[n]) for (key, n), p in names.items()]


def watch(trace: Any, original: Any, copy: Any, is_captured: bool = False) -> None:
    """Let what a function does to the attributes of a copy be done to the module, too."""
    watched = getattr(trace, "watched", None)
    if watched is not None:
        watched.append(Watched(trace, original, copy, is_captured))


def copy_of(trace: Any, module: Any) -> Any:
    """Return the copy of a captured module that was changed already; None without one."""
    for watched in getattr(trace, "watched", ()):
        if watched.is_captured and watched.original is module and watched.changes():
            return watched.copy
    return None


def runs(module: Any) -> bool:
    """Whether a module without arrays, of which there is no copy, runs in a trace."""
    return id(module) in getattr(running_trace(), "modules", ())


def check_assignment(module: Any, name: str) -> None:
    """Note an assignment to an attribute while its module is traced.

    Raises
    ------
    NeedsArrays
        It would be done once, not at each call.
    """
    watched = getattr(running_trace(), "watched", ())
    if not any(w.note(module, name) for w in watched):
        raise NeedsArrays(_refusal(module, name, "assigned to"))


def check_contents(before: list[_Contents]) -> None:
    """Raise NeedsArrays if a traced forward has changed containers, as it would only once."""
    for container in before:
        if container.is_changed():
            _refill(container.part.__dict__[container.name], container.copy)
            raise NeedsArrays(_refusal(container.part, container.name, "changed"))


def _refusal(module: Any, name: str, what: str) -> str:
    return (
        f"{type(module).__name__}.{name} must not be {what} while the module is traced; return the "
        "value from forward, or keep state in a buffer (register_buffer)"
    )
