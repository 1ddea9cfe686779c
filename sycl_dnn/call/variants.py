# SPDX-License-Identifier: Apache-2.0
"""The plans of one function for arguments of one kind, told apart by guards and by numbers."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from sycl_dnn._warn import warn
from sycl_dnn.call.captures import Check
from sycl_dnn.call.numbers import Specialise
from sycl_dnn.dispatch.record import NeedsAnotherDevice

__all__ = ["Found", "Misses", "Variants", "misses_of", "specialised"]

_MOST_GUARDED = 16
_MOST_VALUES = 64
#: By code: the numbers whose values some trace needed.
_needed: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()


class Found(NamedTuple):
    """A plan whose guards hold, and the arrays that the function holds now."""

    plan: Any
    held: tuple[Any, ...]


class Variants:
    """Plans that have their key in common."""

    __slots__ = ("_plans", "static")

    def __init__(self) -> None:
        #: Numbers of the call that the plans were made for.
        self.static: frozenset[int] = frozenset()
        self._plans: OrderedDict[Hashable, list[tuple[Check, Any]]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, list(self._plans.values())))

    def __iter__(self) -> Any:
        return (plan for plans in list(self._plans.values()) for _, plan in plans)

    def _values(self, numbers: Any) -> Hashable:
        return tuple(numbers[i].hex() for i in sorted(self.static))

    def find(self, function: Any, call: Any) -> Found | None:
        """Return the plan whose guards hold for a call."""
        values = self._values(call.numbers) if self.static else ()
        plans = self._plans.get(values, ())
        for check, plan in plans:
            held = check(function, call.others)
            if held is not None:
                return Found(plan, held)
        return None

    def drop_stale(self, function: Any, call: Any) -> bool:
        """Drop the plans whose guards fail; return whether there were any."""
        n = len(self)
        for values, plans in list(self._plans.items()):
            good = [p for p in plans if p[0](function, call.others) is not None]
            if good:
                self._plans[values] = good
            else:
                del self._plans[values]
        return len(self) < n

    def add(self, static: frozenset[int], numbers: Any, check: Check, plan: Any) -> None:
        """Keep a plan; the oldest go."""
        if static != self.static:
            self._plans.clear()
            self.static = static
        values = self._values(numbers)
        plans = [(check, plan), *self._plans.pop(values, ())]
        self._plans[values] = plans[:_MOST_GUARDED]
        while len(self._plans) > _MOST_VALUES:
            self._plans.popitem(last=False)


def specialised(
    code: Any, numbers: Any, build: Callable[[frozenset[int]], Any], known: frozenset[int]
) -> tuple[frozenset[int], Any]:
    """Return what ``build(static)`` makes, and the numbers whose values it needed.

    A failure of any kind is tried again with all numbers fixed: code that takes a float alone does
    not always ask for its value.
    """
    memory = _memory_of(code)
    static = known | frozenset(i for i in memory if i < len(numbers))
    while True:
        try:
            made = build(static)
            break
        except Specialise as need:
            if need.numbers <= static:
                raise RuntimeError("a number without a value was asked for one") from None
            static |= need.numbers
        except NeedsAnotherDevice:
            raise
        except Exception:
            if len(static) == len(numbers):
                raise
            static = frozenset(range(len(numbers)))
    memory |= static
    return static, made


def _memory_of(code: Any) -> set[int]:
    return _remembered(_needed, code, set)


def _remembered(memory: Any, code: Any, make: Callable[[], Any]) -> Any:
    """Return what is remembered of a function by its code, or something new."""
    while isinstance(code, tuple):
        code = code[-1]
    try:
        return memory.setdefault(code, make())
    except TypeError:  # nothing that weak references take
        return make()


class Misses:
    """Counts calls that differ from the one before in one argument only, and warns once."""

    _LIMIT = 8

    def __init__(self) -> None:
        self._last: dict[str, tuple[Any, bool]] = {}
        self._argument = ""
        self._count = 0
        self._warned = False

    def note(self, name: str, arguments: dict[str, tuple[Any, bool]]) -> None:
        """Take note of a call that had to be traced, as ``tokens_by_name`` tells it."""
        if self._warned:
            return
        same_names = arguments.keys() == self._last.keys()
        changed = [n for n in arguments if same_names and arguments[n] != self._last[n]]
        # That shapes differ is in the nature of many programs.
        only = changed[0] if len(changed) == 1 and not arguments[changed[0]][1] else ""
        self._count = self._count + 1 if only and only == self._argument else 1 if only else 0
        self._argument, self._last = only, arguments
        if self._count >= self._LIMIT:
            self._warned = True
            warn(
                f"{name}: traced anew {self._count} times, each time for another value of {only!r} "
                "alone; a float that meets nothing but arrays and numbers, or an array, costs no "
                "new trace",
                UserWarning,
            )


_misses: weakref.WeakKeyDictionary[Any, Misses] = weakref.WeakKeyDictionary()


def misses_of(code: Any) -> Misses:
    """Return the counter of a function, by its code."""
    return _remembered(_misses, code, Misses)
