# SPDX-License-Identifier: Apache-2.0
"""Attributes that a forward assigns or changes in place, applied to the module.

A traced module is a copy, whose forward runs on each call that records values. Assignments to its
attributes, and changes of its lists, dicts, sets and objects, are applied to the module itself when
the function has returned. The code of compiled functions does not run at each call: they may assign
arrays and constants that they do not read before, which then are in the module's ``_returned``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sycl_dnn.call.attribute_changes import ReadFirst
from sycl_dnn.nn import kept_contents, module_tree
from sycl_dnn.nn.container_contents import copied
from sycl_dnn.nn.kept_contents import Kept
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import handed, plain
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

_ABSENT = object()


class Returned(dict):  # type: ignore[type-arg]
    """Attributes of a module that compiled functions assign, by name: programs do not read them."""

    guarded_by_identity = True


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

    def check_compiled(self) -> None:
        """Raise NeedsArrays unless it assigns arrays and constants, as compiled functions may."""
        if self.changed is not self.module or not _is_settable(self.value):
            raise self.refusal()

    def check_captured(self) -> None:
        """Raise NeedsArrays if each call would give the programs of a captured module a new array.

        One that is made for a size is captured like others.
        """
        attrs, name = self.module.__dict__, self.name
        old = attrs["_buffers"].get(name, attrs.get(name))
        is_given = old is not None and self.group != "_returned"
        if is_given and old.shape == getattr(self.value, "shape", None):
            raise NeedsArrays(
                f"{type(self.module).__name__}.{name}: a compiled function that reads and assigns "
                "it must be given the module: sycl_dnn.compile(lambda net, x: net(x))"
            )

    def refusal(self) -> NeedsArrays:
        """Return the error of a function that does not run at each call."""
        what = "assigned to" if self.changed is self.module else "changed"
        return NeedsArrays(_refusal(self.module, self.name, what))

    @property
    def group(self) -> str:
        """What holds the value: a group of registered names, ``_written`` or ``_returned``."""
        attrs = self.copy.__dict__ if self.changed is self.module else {}
        if self.name in attrs.get("_buffers", ()):
            return "_transient" if self.name in attrs["_transient"] else "_buffers"
        return "_written" if _is_state(self.module.__dict__, self.name) else "_returned"

    def is_declared(self) -> bool:
        """Whether it is known if compiled functions read the attribute before they assign it."""
        return self.group != "_returned" or self.name in self.module.__dict__.get("_returned", ())

    def declare(self, is_read: bool) -> Callable[[], None]:
        """Say whether compiled functions read the attribute; return how to undo this.

        They may read arrays and None, which their programs are given.
        """
        attrs, name = self.module.__dict__, self.name
        before = {n: attrs[n] for n in (name, "_returned", "_written") if n in attrs}
        if is_read and _is_array_or_none(attrs.get(name)):
            attrs["_written"] = attrs.get("_written", {}) | {name: True}
        else:
            attrs["_returned"] = Returned(attrs.get("_returned", {}))
            attrs["_returned"][name] = attrs.pop(name, None)
        module_tree.form_changed()

        def undo() -> None:
            for changed in ("_returned", "_written"):
                attrs.pop(changed, None)
            attrs.update(before)
            module_tree.form_changed()

        return undo

    def part_of(self, module: Any) -> int | None:
        """Return the number of the changed module among the parts of a module; None if not one."""
        parts = enumerate(module_tree.registered_modules(module))
        return next((i for i, part in parts if part is self.module), None)

    def apply(self, arrays: Iterator[Any]) -> None:
        """Apply the change; ``arrays`` are those of the tensors in the value, in order."""
        value = self._mapped(lambda tensor: handed(next(arrays)))
        if _registered(self.module, self.name, value, self.group):
            return
        if self.changed is self.module:
            self.module.__dict__.get("_returned", {}).pop(self.name, None)
            object.__setattr__(self.module, self.name, value)
        else:
            kept_contents.fill(self.changed, value)
        attrs = self.module.__dict__
        attrs["_written"] = {self.name: False} | attrs.get("_written", {})
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


def _is_settable(value: Any) -> bool:
    """Whether a value consists of arrays and constants; containers of modules have an identity."""
    kind = type(value)  # the __class__ of a number of the call is float
    if kind in (tuple, list):
        return all(map(_is_settable, value))
    if kind is dict:
        return all(map(_is_settable, value.values()))
    return value is None or issubclass(kind, (Tensor, bool, int, float, str))


def _is_array_or_none(value: Any) -> bool:
    return value is None or nested_arguments.is_array(value)


def _is_state(attrs: dict[str, Any], name: str) -> bool:
    """Whether an attribute is an argument and a result of the programs that assign it."""
    return attrs.get("_written", {}).get(name, False) and _is_array_or_none(attrs.get(name))


def _registered(module: Any, name: str, value: Any, group: str) -> bool:
    """Register a buffer; return whether the group says that the value is one."""
    if group in ("_buffers", "_transient"):
        module.register_buffer(name, value, group == "_buffers")
        return True
    return False


def set_returned(module: Any, part: int, name: str, value: Any, group: str) -> None:
    """Set an attribute of a part of a module that a compiled function assigns, after a call."""
    owner = list(module_tree.registered_modules(module))[part]
    attrs = owner.__dict__
    if _registered(owner, name, value, group):
        return
    if group == "_written":
        attrs["_written"] = attrs.get("_written", {}) | {name: True}
        if attrs.get(name) is None:
            module_tree.form_changed()
        attrs[name] = nested_arguments.replaced(value, handed)
        return
    if name in attrs:
        attrs.pop(name)
        module_tree.form_changed()
    returned = attrs.setdefault("_returned", Returned())
    if name not in returned:
        module_tree.form_changed()
    returned[name] = nested_arguments.replaced(value, handed)


class Watched:
    """A module and the copy that a function runs with, or an inner function with a copy of that."""

    def __init__(self, trace: Any, original: Any, copy: Any, is_captured: bool) -> None:
        self.original, self.copy, self.is_captured = original, copy, is_captured
        self._assigned: dict[tuple[int, str], Any] = {}
        #: What a module without a copy had before.
        self._before: list[tuple[dict[str, Any], str, Any]] = []
        _, form = module_tree.walked(original)
        if copy is not original and form.has_assigned:
            self._capture_written(trace)
        self._kept = [] if form.holds_nothing else kept_contents.kept(copy)
        form.holds_nothing = form.is_simple and not (form.has_assigned or self._kept)
        shared = {id(entry.value): entry.value for entry in self._kept}
        self._pairs = shared | kept_contents.paired(original, copy) if shared else {}

    def _capture_written(self, trace: Any) -> None:
        """Give the copy the values of attributes that functions have assigned before."""
        parts = map(module_tree.registered_modules, (self.original, self.copy))
        for part, copied_part in zip(*parts, strict=True):
            attrs = copied_part.__dict__
            if trace.is_repeated:
                attrs.update(part.__dict__.get("_returned", {}))
            for name in (*attrs.get("_written", ()), *attrs.get("_returned", ())):
                if name in attrs:
                    attrs[name] = nested_arguments.replaced(
                        attrs[name], lambda value: trace.capture(plain(value))
                    )

    def note(self, module: Any, name: str, group: str | None) -> bool:
        """Note an assignment; return whether the module is part of the copy."""
        if not any(part is module for part in module_tree.registered_modules(self.copy)):
            return False
        if self.copy is self.original and (id(module), name) not in self._assigned:
            attrs = module.__dict__[group] if group else module.__dict__
            self._before.append((attrs, name, attrs.get(name, _ABSENT)))
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
            *[change(p, n, p, _assigned(p, n)) for (_, n), p in self._assigned.items()],
            *[change(k.part, k.name, k.value, kept_contents.contents_of(k.value)) for k in changed],
        ]

    def hand_on(self) -> None:
        """Repeat the assignments of an inner function's copy on the outer function's.

        Raises NeedsArrays if the inner function changed something else.
        """
        for change in self.changes():
            if change.changed is not change.module:
                raise change.refusal()
            if not _registered(change.module, change.name, change.value, change.group):
                setattr(change.module, change.name, change.value)

    def restore(self) -> None:
        """Undo the changes to the module, and to objects that the copy shares with it."""
        for attrs, name, value in self._before:
            attrs.pop(name, None)
            attrs.update({} if value is _ABSENT else {name: value})
        for entry in reversed(self._kept):
            if self._pairs[id(entry.value)] is entry.value:
                entry.restore()


def _assigned(module: Any, name: str) -> Any:
    """Return the value of an attribute or buffer that a function assigned."""
    attrs = module.__dict__
    return attrs["_buffers"].get(name) if name in attrs["_buffers"] else attrs[name]


def watch(trace: Any, original: Any, copy: Any, is_captured: bool = False) -> None:
    """Apply to the module the changes that a function makes to its copy's attributes."""
    trace.watched.append(Watched(trace, original, copy, is_captured))


def copy_of(trace: Any, module: Any) -> Any:
    """Return the copy of a captured module that has already been changed; None if there is none."""
    for watched in trace.watched:
        if watched.is_captured and watched.original is module and watched.is_changed():
            return watched.copy
    return None


def runs(module: Any) -> bool:
    """Whether a module without arrays, which is never copied, runs in a trace."""
    return id(module) in getattr(running_trace(), "modules", ())


def check_assignment(module: Any, name: str, group: str | None = None) -> None:
    """Note an assignment to an attribute, or in a group of them, while its module is traced.

    Raises NeedsArrays if it would happen once, not on each call.
    """
    watched = getattr(running_trace(), "watched", ())
    if not any(w.note(module, name, group) for w in watched):
        raise NeedsArrays(_refusal(module, name, "assigned to"))


@contextlib.contextmanager
def unchanged(module: Any, trace: Any) -> Iterator[None]:
    """Raise NeedsArrays if a traced forward made a change that would happen only once; undo it."""
    if trace is not None and trace.is_repeated and trace.watched:
        yield
        return
    entries = kept_contents.kept(module)
    changed: list[Kept] = []
    try:
        yield
    finally:
        changed += [k for k in reversed(entries) if k.is_changed()]
        for k in reversed(entries):
            k.restore()
    if changed:
        raise NeedsArrays(_refusal(changed[-1].part, changed[-1].name, "changed"))


def _refusal(module: Any, name: str, what: str) -> str:
    return (
        f"{type(module).__name__}.{name} must not be {what} while the module is traced; return the "
        "value from forward, or keep state in a buffer (register_buffer)"
    )


def returned(module: Any, name: str) -> Any:
    """Return an attribute that a compiled function assigned.

    Raises ReadFirst if a compiled function reads it, before it assigns it again.
    """
    attrs, trace = module.__dict__, running_trace()
    if "_is_traced" in attrs or runs(module) and not trace.is_repeated:
        raise ReadFirst(
            f"{type(module).__name__}.{name} must not be read by a compiled function before it is "
            "assigned to; keep state in a buffer (register_buffer)"
        )
    return attrs["_returned"][name]
