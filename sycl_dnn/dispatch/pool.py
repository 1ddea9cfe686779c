# SPDX-License-Identifier: Apache-2.0
"""Memory of results that were dropped, used again: fresh pages cost more than many operations."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import ResultPool

#: Bytes that a queue's pool may hold, in use or not.
MOST = 1 << 30

_pools: dict[Any, ResultPool] = {}
_MOST_QUEUES = 64


def pool_of(queue: Any) -> ResultPool:
    """Return the pool of a queue."""
    found = _pools.get(queue)
    if found is None:
        if len(_pools) >= _MOST_QUEUES:
            _pools.clear()
        found = _pools[queue] = ResultPool(queue, MOST)
    return found


def drop_all() -> None:
    """Give back all blocks that nothing uses."""
    for pool in list(_pools.values()):
        pool.drop_unused()


def total_bytes() -> int:
    """Return the bytes that all pools hold."""
    return sum(pool.nbytes for pool in _pools.values())
