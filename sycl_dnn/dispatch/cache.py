# SPDX-License-Identifier: Apache-2.0
"""The plans of all functions: bounded, visible, clearable (``sycl_dnn.cache``)."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import dpnp

from sycl_dnn._core import CallTable
from sycl_dnn._usm import KINDS
from sycl_dnn.call.variants import Found, Variants
from sycl_dnn.dispatch import allocation, descriptors, noted, pool
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.frozen import Frozen

__all__ = ["CacheInfo", "clear", "info", "memory", "resize"]


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
    plan = noted.trace(noted.name_in(key), build)
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
    return pool.total_bytes()


def clear() -> None:
    """Drop all plans, and the memory that is kept for results; those in use finish first."""
    for owner in _each_owner():
        owner.clear()
    pool.drop_all()
    descriptors.shared.clear()
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
