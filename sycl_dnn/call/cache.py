# SPDX-License-Identifier: Apache-2.0
"""The plans of all functions (``sycl_dnn.cache``): bounded, visible, told apart by guards."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import dpnp

from sycl_dnn._core import CallTable
from sycl_dnn._warn import warn
from sycl_dnn.call.captures import Check
from sycl_dnn.call.capturing import Specialise
from sycl_dnn.onednn.arrays import KINDS
from sycl_dnn.program import shared_descriptors
from sycl_dnn.trace import allocation, profile_notes
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen
from sycl_dnn.trace.steps import NeedsAnotherDevice

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


# --- The plans of all functions: bounded, visible, clearable (``sycl_dnn.cache``)


class CacheInfo(NamedTuple):
    """Counts since the start or the last ``clear``."""

    hits: int
    misses: int
    size: int
    capacity: int


_DEFAULT_CAPACITY = 1024


class _Cache:
    def __init__(self) -> None:
        self.plans: OrderedDict[Hashable, Any] = OrderedDict()
        self.capacity = _DEFAULT_CAPACITY
        self.hits = 0
        self.misses = 0
        self.lock = threading.RLock()

    def shrink(self) -> None:
        while len(self.plans) > self.capacity:
            self.plans.popitem(last=False)


_cache = _Cache()
_owners: weakref.WeakSet[Any] = weakref.WeakSet()

#: Finds plans of plain calls without Python; an index into the plans above.
calls = CallTable(
    ndarray=dpnp.ndarray,
    usm_ndarray=allocation.usm_ndarray,
    carried=Array,
    frozen=Frozen,
    memory=list(KINDS.values()),
    move_to_end=_cache.plans.move_to_end,
)


def get(key: Hashable) -> Any:
    """Return the plan of a key, or None."""
    plan = _cache.plans.get(key)
    if plan is None:
        return None
    _cache.hits += 1
    # Another thread may just have dropped it; the plan itself is good.
    with contextlib.suppress(KeyError):
        _cache.plans.move_to_end(key)
    return plan


def make(key: Hashable, build: Callable[[], Any]) -> Any:
    """Build, keep and return the plan of a key that ``get`` did not find."""
    plan = profile_notes.trace(profile_notes.name_in(key), build)
    with _cache.lock:
        _cache.misses += 1
        _cache.plans[key] = plan
        _cache.shrink()
    return plan


def peek(key: Hashable) -> Any:
    """Return the plans of a key without counting, or None."""
    return _cache.plans.get(key)


def find(key: Hashable, function: Any, call: Any) -> Found | None:
    """Return the plan of a user's function whose guards hold, or None."""
    variants = _cache.plans.get(key)
    found = None if variants is None else variants.find(function, call)
    if found is not None:
        _cache.hits += 1
        with contextlib.suppress(KeyError):
            _cache.plans.move_to_end(key)
    return found


def keep(key: Hashable, static: frozenset[int], numbers: Any, check: Any, plan: Any) -> None:
    """Keep a plan of a user's function with its guards; None: it held for one call alone."""
    with _cache.lock:
        _cache.misses += 1
        if check is None:
            return
        variants = _cache.plans.get(key)
        if variants is None:
            variants = _cache.plans[key] = Variants()
        variants.add(static, numbers, check, plan)
        _cache.shrink()


def watch(owner: Any) -> None:
    """Count the plans of an owner of its own ones, while it lives.

    It has ``cache_info()``, ``clear()`` and ``resize(capacity)``.
    """
    with _cache.lock:
        _owners.add(owner)


def _each_owner() -> list[Any]:
    with _cache.lock:
        return list(_owners)


def info() -> CacheInfo:
    """Return hits, misses, number of plans and the most there may be.

    Plans of eager calls and gradients, programs of compiled functions, compiled graphs. The
    capacity is that of the first; compiled functions and graphs have bounds of their own.
    """
    plans = list(_cache.plans.values())
    size = sum(len(p) if isinstance(p, Variants) else 1 for p in plans)
    hits, misses = _cache.hits + calls.hits, _cache.misses
    for owner in _each_owner():
        theirs = owner.cache_info()
        hits, misses, size = hits + theirs.hits, misses + theirs.misses, size + theirs.size
    return CacheInfo(hits, misses, size, _cache.capacity)


def memory() -> int:
    """Return the bytes that are kept for results, in use or not; at most 1 GiB for a queue.

    Results use the memory of dropped ones again.
    """
    return allocation.total_bytes()


def clear() -> None:
    """Drop all plans, and the memory that is kept for results; those in use finish first."""
    for owner in _each_owner():
        owner.clear()
    allocation.drop_all()
    shared_descriptors.shared.clear()
    with _cache.lock:
        _cache.plans.clear()
        calls.clear()
        _cache.hits = _cache.misses = 0


def resize(capacity: int) -> None:
    """Set how many plans are kept; the least recently used go first.

    Raises
    ------
    ValueError
        ``capacity`` is negative.
    """
    if capacity < 0:
        raise ValueError(f"resize: capacity must not be negative, got {capacity}")
    with _cache.lock:
        _cache.capacity = calls.capacity = capacity
        _cache.shrink()
    for owner in _each_owner():
        owner.resize(capacity)
