# SPDX-License-Identifier: Apache-2.0
"""The plans of all functions (``sycl_dnn.cache``): bounded, visible."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from sycl_dnn._core import CallTable
from sycl_dnn._warn import warn
from sycl_dnn.call.arguments import ARRAY_TYPES
from sycl_dnn.call.call_paths import Paths
from sycl_dnn.call.captures import Check
from sycl_dnn.call.capturing import Specialise
from sycl_dnn.onednn import shared_descriptors
from sycl_dnn.trace import allocation, profile_notes
from sycl_dnn.trace.steps import NeedsAnotherDevice

_MAX_GUARDED = 16
_MAX_VALUES = 64
#: By code: the numbers whose values a trace needed.
_needed: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()


class Variants:
    """Plans that share a key."""

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

    def find(self, call: Any) -> Any:
        """Return the plan whose guards hold for a call."""
        values = self._values(call.numbers) if self.static else ()
        plans = self._plans.get(values, ())
        for check, plan in plans:
            if check(call.others):
                return plan
        return None

    def drop_stale(self) -> None:
        """Drop the plans whose guards fail."""
        for values, plans in list(self._plans.items()):
            good = [p for p in plans if p[0]()]
            if good:
                self._plans[values] = good
            else:
                del self._plans[values]

    def add(self, static: frozenset[int], numbers: Any, check: Check, plan: Any) -> None:
        """Keep a plan; drop the oldest."""
        if static != self.static:
            self._plans.clear()
            self.static = static
        values = self._values(numbers)
        plans = [(check, plan), *self._plans.pop(values, ())]
        self._plans[values] = plans[:_MAX_GUARDED]
        while len(self._plans) > _MAX_VALUES:
            self._plans.popitem(last=False)


def specialised(
    code: Any, numbers: Any, build: Callable[[frozenset[int]], Any], fixed: frozenset[int]
) -> tuple[frozenset[int], Any]:
    """Return the result of ``build(static)``, and the numbers whose values it needed.

    A failure of any kind is retried with all numbers fixed: code that accepts only a float does
    not always need its value.
    """
    memory = _remembered(_needed, code, set)
    static = fixed | frozenset(i for i in memory if i < len(numbers))
    while True:
        try:
            result = build(static)
            break
        except Specialise as need:
            if need.numbers <= static:
                raise RuntimeError("the value of a number without one was needed") from None
            static |= need.numbers
        except NeedsAnotherDevice:
            raise
        except Exception:
            if len(static) == len(numbers):
                raise
            static = frozenset(range(len(numbers)))
    memory |= static
    return static, result


def _remembered(memory: Any, code: Any, make: Callable[[], Any]) -> Any:
    """Return the record of a function, by its code; a new one if there is none."""
    while isinstance(code, tuple):
        code = code[-1]
    try:
        return memory.setdefault(code, make())
    except TypeError:  # accepts no weak references
        return make()


class Misses:
    """Counts calls that differ from the previous one in a single argument, and warns once."""

    _LIMIT = 8

    def __init__(self) -> None:
        self._last: dict[str, tuple[Any, bool]] = {}
        self._argument = ""
        self._count = 0
        self._warned = False

    def note(self, name: str, arguments: dict[str, tuple[Any, bool]]) -> None:
        """Record a call that had to be traced, as ``tokens_by_name`` describes it."""
        if self._warned:
            return
        same_names = arguments.keys() == self._last.keys()
        changed = [n for n in arguments if same_names and arguments[n] != self._last[n]]
        # Many programs naturally have varying shapes.
        only = changed[0] if len(changed) == 1 and not arguments[changed[0]][1] else ""
        self._count = self._count + 1 if only and only == self._argument else 1 if only else 0
        self._argument, self._last = only, arguments
        if self._count >= self._LIMIT:
            self._warned = True
            warn(
                f"{name}: traced again {self._count} times, each time for another value of "
                f"{only!r} alone; a float that meets nothing but arrays and "
                "numbers, or an array, costs no new trace",
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


class Plans:
    """Plans by key, bounded in number; the least recently used are evicted first.

    A plan is looked up by its key alone (``get``, ``make``), or is one of several that guards
    distinguish (``find``, ``keep``).

    ``calls``: repeats calls of these plans without Python. It counts its hits itself.
    """

    def __init__(self, capacity: int, calls: CallTable) -> None:
        self._by_key: OrderedDict[Hashable, Any] = OrderedDict()
        self.calls = calls
        self.lock = threading.RLock()
        self.capacity = calls.capacity = capacity
        self._hits = self._misses = 0

    def __iter__(self) -> Iterator[Any]:
        for _, plans in self.items():
            yield from plans

    def items(self) -> list[tuple[Hashable, list[Any]]]:
        """Return the keys, the least recently used first, with the plans of each."""
        entries = list(self._by_key.items())
        return [(k, list(p) if isinstance(p, (Paths, Variants)) else [p]) for k, p in entries]

    def missed(self, key: Hashable) -> None:
        """Count a newly built plan."""
        with self.lock:
            self._misses += 1
            paths = self._by_key.get(key)
            if paths is not None:
                paths.shrink()
            self.calls.forget_dropped()

    def use(self, key: Hashable) -> None:
        """Count a call of a plan."""
        self._hits += 1
        # Another thread may just have dropped it; the plan itself is valid.
        with contextlib.suppress(KeyError):
            self._by_key.move_to_end(key)

    def get(self, key: Hashable) -> Any:
        """Return the plan of a key, or None."""
        plan = self._by_key.get(key)
        if plan is not None:
            self.use(key)
        return plan

    def make(self, key: Hashable, build: Callable[[], Any], name: str = "") -> Any:
        """Build, keep and return the plan of a key that ``get`` did not find."""
        plan = profile_notes.trace(name or profile_notes.name_in(key), build)
        with self.lock:
            self._misses += 1
            self._by_key[key] = plan
            self._shrink()
        return plan

    def paths(self, key: Hashable) -> Paths:
        """Return the recorded paths of a function for a key."""
        paths = self._by_key.get(key)
        if paths is None:
            with self.lock:
                paths = self._by_key.setdefault(key, Paths())
                self._shrink()
        return paths

    def find(self, key: Hashable, call: Any) -> Any:
        """Return the plan of a key whose guards hold for a call, or None."""
        variants = self._by_key.get(key)
        plan = None if variants is None else variants.find(call)
        if plan is not None:
            self.use(key)
        return plan

    def static_of(self, key: Hashable) -> frozenset[int]:
        """Return the numbers of a call for which the plans of a key were made."""
        variants = self._by_key.get(key)
        return frozenset() if variants is None else variants.static

    def keep(
        self, key: Hashable, static: frozenset[int], numbers: Any, check: Any, plan: Any
    ) -> None:
        """Store a plan with its guards."""
        with self.lock:
            self._misses += 1
            variants = self._by_key.get(key)
            if variants is None:
                variants = self._by_key[key] = Variants()
            variants.add(static, numbers, check, plan)
            self._shrink()

    def drop_stale(self) -> bool:
        """Drop the plans whose guards fail; return whether there were any."""
        with self.lock:
            n = self.size
            for key, variants in list(self._by_key.items()):
                variants.drop_stale()
                if not len(variants):
                    del self._by_key[key]
            self.calls.forget_dropped()
            return self.size < n

    def _shrink(self) -> None:
        if len(self._by_key) > self.capacity:
            for key in self.calls.used():
                with contextlib.suppress(KeyError):
                    self._by_key.move_to_end(key)
        while len(self._by_key) > self.capacity:
            self._by_key.popitem(last=False)
        self.calls.forget_dropped()

    @property
    def size(self) -> int:
        """Number of plans."""
        return sum(len(plans) for _, plans in self.items())

    def info(self) -> CacheInfo:
        """Return hits, misses, number of plans and the maximum number of keys."""
        return CacheInfo(self._hits + self.calls.hits, self._misses, self.size, self.capacity)

    def resize(self, capacity: int) -> None:
        """Set the maximum number of keys."""
        with self.lock:
            self.capacity = self.calls.capacity = capacity
            self._shrink()

    def clear(self) -> None:
        """Drop all plans and reset the counts."""
        with self.lock:
            self._by_key.clear()
            self.calls.clear()
            self._hits = self._misses = 0


#: Those of eager calls and gradients.
plans = Plans(1024, CallTable(ARRAY_TYPES))
_owners: weakref.WeakSet[Any] = weakref.WeakSet()


def watch(owner: Any) -> None:
    """Include the plans of an object that has its own cache, as long as it is alive.

    It has ``cache_info()``, ``clear()`` and ``resize(capacity)``.
    """
    with plans.lock:
        _owners.add(owner)


def _each_owner() -> list[Any]:
    with plans.lock:
        return list(_owners)


def info() -> CacheInfo:
    """Return hits, misses, the number of plans and its maximum.

    Plans of eager calls and gradients, programs of compiled functions, compiled graphs. The
    capacity is that of the first; compiled functions and graphs have their own bounds.
    """
    counts = [plans.info(), *(owner.cache_info() for owner in _each_owner())]
    hits, misses, size, _ = map(sum, zip(*counts, strict=True))
    return CacheInfo(hits, misses, size, plans.capacity)


def memory() -> int:
    """Return the bytes that are pooled for results, in use or not; at most 1 GiB per queue.

    Results reuse the memory of deleted ones.
    """
    return allocation.total_bytes()


def clear() -> None:
    """Drop all plans and the memory pooled for results; those in use finish first."""
    for owner in _each_owner():
        owner.clear()
    allocation.drop_all()
    shared_descriptors.shared.clear()
    plans.clear()


def resize(capacity: int) -> None:
    """Set how many plans are kept; the least recently used are dropped first.

    Raises ValueError if ``capacity`` is negative.
    """
    if capacity < 0:
        raise ValueError(f"resize: capacity must not be negative, got {capacity}")
    for owner in (plans, *_each_owner()):
        owner.resize(capacity)
