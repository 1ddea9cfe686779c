# SPDX-License-Identifier: Apache-2.0
"""Attributes that a forward assigns or changes in place, applied to the module.

A traced module is a copy, whose forward runs on each call that records values. Assignments to its
attributes, and changes of its lists, dicts, sets and objects, are applied to the module itself when
the function has returned. Compiled functions refuse both.
"""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.call import code_facts
from sycl_dnn.nn import kept_contents, module_tree
from sycl_dnn.nn.container_contents import copied
from sycl_dnn.nn.kept_contents import Kept
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import handed, plain
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

#: Sources of random numbers with one state per process.
_DRAWING = (random.Random, np.random.RandomState)


class Change(NamedTuple):
    """An attribute of a module, or the contents of something it holds, and the new value."""

    module: Any
    name: str
    #: The object with changed contents; the module itself if its attribute was assigned.
    changed: Any
    #: The object that the function changed: that of the copy, or the same.
    copy: Any
    value: Any
    #: The module's objects by id of their counterparts in the copy.
    originals: dict[int, Any]

    @property
    def key(self) -> Any:
        """Key of the changed attribute or object."""
        return id(self.changed), self.name if self.changed is self.module else None

    def tensors(self) -> list[Tensor]:
        """Return the tensors in the value, in order."""
        collected: list[Tensor] = []

        def noted(tensor: Tensor) -> Tensor:
            collected.append(tensor)
            return tensor

        self._mapped(noted)
        return collected

    def apply(self, arrays: Iterator[Any]) -> None:
        """Apply the change; ``arrays`` are those of the tensors in the value, in order."""
        value = self._mapped(lambda tensor: handed(next(arrays)))
        if self.changed is self.module:
            object.__setattr__(self.module, self.name, value)
        else:
            kept_contents.fill(self.changed, value)
        attrs = self.module.__dict__
        attrs["_written"] = attrs.get("_written", frozenset()) | {self.name}
        module_tree.form_changed()

    def _mapped(self, swap: Callable[[Tensor], Any]) -> Any:
        """Return the value over the module's own parts, with ``swap`` of tensors."""
        seen: set[int] = set()

        def instead(value: Any) -> Any:
            if id(value) in self.originals:
                return self.originals[id(value)]
            if isinstance(value, Tensor):
                return swap(value)
            if nested_arguments.is_array(value) or "_parameters" in getattr(value, "__dict__", ()):
                return value
            if kept_contents.is_object(value):  # a new one, which may hold tensors
                if id(value) not in seen:
                    seen.add(id(value))
                    contents = kept_contents.contents_of(value)
                    kept_contents.fill(value, kept_contents.replaced(contents, mapped))
                return value
            return NotImplemented

        def mapped(value: Any) -> Any:
            return copied(value, instead)

        if self.changed is self.module:
            return mapped(self.value)
        return kept_contents.replaced(self.value, mapped)


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
        self._kept = kept_contents.kept(copy)
        shared = {id(entry.value): entry.value for entry in self._kept}
        self._pairs = shared | kept_contents.paired(original, copy) if shared else {}

    def note(self, module: Any, name: str) -> bool:
        """Note an assignment; return whether the module is part of the copy."""
        if not any(part is module for part in module_tree.registered_modules(self.copy)):
            return False
        self._assigned[id(module), name] = module
        return True

    def is_changed(self) -> bool:
        """Whether the function changed the copy."""
        return bool(self._assigned) or any(entry.is_changed() for entry in self._kept)

    def changes(self) -> list[Change]:
        """Return the changes to the copy, and to objects that the copy shares."""
        changed = [entry for entry in self._kept if entry.is_changed()]
        if not changed and not self._assigned:
            return []
        parts = map(module_tree.registered_modules, (self.original, self.copy))
        pairs = self._pairs | {id(copy): module for module, copy in zip(*parts, strict=True)}

        def change(part: Any, name: str, value: Any, contents: Any) -> Change:
            owner = pairs.get(id(part), part)
            return Change(owner, name, pairs.get(id(value), value), value, contents, pairs)

        return [
            *[change(p, n, p, p.__dict__[n]) for (_, n), p in self._assigned.items()],
            *[change(k.part, k.name, k.value, kept_contents.contents_of(k.value)) for k in changed],
        ]

    def restore(self) -> None:
        """Undo the changes to objects that the copy shares with the module."""
        for entry in reversed(self._kept):
            if self._pairs[id(entry.value)] is entry.value:
                entry.restore()


def watch(trace: Any, original: Any, copy: Any, is_captured: bool = False) -> None:
    """Apply to the module what a function does to the attributes of its copy."""
    watched = getattr(trace, "watched", None)
    if watched is not None:
        watched.append(Watched(trace, original, copy, is_captured))


def copy_of(trace: Any, module: Any) -> Any:
    """Return the copy of a captured module that has already been changed; None if there is none."""
    for watched in getattr(trace, "watched", ()):
        if watched.is_captured and watched.original is module and watched.is_changed():
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
        It would happen once, not on each call.
    """
    watched = getattr(running_trace(), "watched", ())
    if not any(w.note(module, name) for w in watched):
        raise NeedsArrays(_refusal(module, name, "assigned to"))


@contextlib.contextmanager
def unchanged(module: Any, trace: Any) -> Iterator[None]:
    """Raise NeedsArrays if a traced forward made a change that would happen only once; undo it."""
    if getattr(trace, "watched", None):
        yield
        return
    entries, drawn = kept_contents.kept(module), _drawn()
    changed: list[Kept] = []
    try:
        yield
    finally:
        is_drawn = drawn != _drawn() and _may_draw(module)
        changed += [k for k in reversed(entries) if k.is_changed()]
        for k in reversed(entries):
            k.restore()
        if is_drawn:
            random.setstate(drawn[0])
            np.random.set_state(pickle.loads(drawn[1]))
    if changed:
        raise NeedsArrays(_refusal(changed[-1].part, changed[-1].name, "changed"))
    if is_drawn and not hasattr(trace, "watched"):
        raise NeedsArrays(
            f"{type(module).__name__}.forward must not draw random numbers of Python or NumPy "
            "while the module is traced: they would be drawn once; draw them by "
            "sycl_dnn.functional.rand"
        )


def _drawn() -> tuple[Any, bytes]:
    """Return the state of Python's and NumPy's own random numbers."""
    return random.getstate(), pickle.dumps(np.random.get_state())


def _may_draw(module: Any) -> bool:
    """Whether code of a module and its parts reads Python's or NumPy's own random numbers.

    Their state tells only that a thread has drawn: this one, or one that prepares data.
    """
    values = [v for part in module_tree.registered_modules(module) for v in part.__dict__.values()]
    for kind in set(map(type, module_tree.registered_modules(module))):
        values += [v for owner in kind.__mro__ for v in vars(owner).values()]
    seen: set[int] = set()
    while values:
        value = values.pop()
        value = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if (
            value is random
            or value is np.random
            or isinstance(getattr(value, "__self__", None), _DRAWING)
        ):
            return True
        if not isinstance(value, types.FunctionType) or id(value) in seen:
            continue
        seen.add(id(value))
        if not code_facts.is_library(value.__module__):
            values += _read(value)
    return False


def _read(function: types.FunctionType) -> Iterator[Any]:
    """Yield the globals and captured values that a function reads, and attributes of these."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            yield cell.cell_contents
    facts = code_facts.facts_of(function.__code__)
    yield from map(sys.modules.get, facts.imported(function.__globals__))
    for name, *attributes in facts.chains:
        value = function.__globals__.get(name)
        yield value
        for attribute in attributes:
            value = getattr(value, attribute, None)
            yield value


def _refusal(module: Any, name: str, what: str) -> str:
    return (
        f"{type(module).__name__}.{name} must not be {what} while the module is traced; return the "
        "value from forward, or keep state in a buffer (register_buffer)"
    )
