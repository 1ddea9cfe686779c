# SPDX-License-Identifier: Apache-2.0
"""The plans of all functions: bounded, visible, clearable (``sycl_dnn.cache``)."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import dpnp

from sycl_dnn._core import CallTable
from sycl_dnn._usm import KINDS
from sycl_dnn.dispatch import allocation, noted, pool
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

#: Finds plans of plain calls without Python; an index into the plans above.
calls = CallTable(
    ndarray=dpnp.ndarray,
    carried=Array,
    frozen=Frozen,
    memory=list(KINDS.values()),
    usm_ndarray=allocation.usm_ndarray,
    wrap=allocation.wrap,
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


def info() -> CacheInfo:
    """Return hits, misses, number of plans and the most there may be."""
    return CacheInfo(_cache.hits + calls.hits, _cache.misses, len(_cache.plans), _cache.capacity)


def memory() -> int:
    """Return the bytes that are kept for results, in use or not; at most 1 GiB for a queue.

    Results use the memory of dropped ones again.
    """
    return pool.total_bytes()


def clear() -> None:
    """Drop all plans, and the memory that is kept for results; those in use finish first."""
    pool.drop_all()
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
