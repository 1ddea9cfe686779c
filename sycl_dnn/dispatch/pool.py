# SPDX-License-Identifier: Apache-2.0
"""Memory of results that were dropped, used again: fresh pages cost more than many operations."""

from __future__ import annotations

import sys
from typing import Any

#: Smaller ones are as cheap from the driver.
SMALLEST = 64 << 10
#: Bytes that a queue's pool may hold, in use or not.
MOST = 1 << 30
#: Blocks of one size that are looked at before a new one is made.
_LOOKED_AT = 16
#: References to a block that nothing uses: the list, the loop's name, getrefcount's argument.
_UNUSED = 3


class Pool:
    """Blocks of one queue, by kind and size.

    A block is free when nothing but the pool refers to it: arrays, views and unfinished work all
    do. What dpnp has submitted and no longer refers to is ordered before the next call on the
    queue, so a pool must not serve another queue.
    """

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._blocks: dict[tuple[Any, int], list[Any]] = {}
        self.nbytes = 0

    def take(self, kind: Any, nbytes: int) -> Any:
        """Return a dpctl.memory object of at least ``nbytes``."""
        size = rounded(nbytes)
        blocks = self._blocks.setdefault((kind, size), [])
        for number in range(min(len(blocks), _LOOKED_AT)):
            block = blocks[number]
            if sys.getrefcount(block) == _UNUSED:
                # To the end: the first is then the one that was taken longest ago.
                blocks.append(blocks.pop(number))
                return block
        return self._add(kind, size, blocks)

    def _add(self, kind: Any, size: int, blocks: list[Any]) -> Any:
        if self.nbytes + size > MOST:
            self.drop_unused()
        try:
            made = kind(size, queue=self._queue)
        except MemoryError:
            self.drop_unused()
            made = kind(size, queue=self._queue)
        if self.nbytes + size <= MOST:
            blocks.append(made)
            self.nbytes += size
        return made

    def drop_unused(self) -> None:
        """Give back the blocks that nothing uses."""
        for (_, size), blocks in self._blocks.items():
            for number in reversed(range(len(blocks))):
                block = blocks[number]
                if sys.getrefcount(block) == _UNUSED:
                    del blocks[number]
                    self.nbytes -= size
                del block


def rounded(nbytes: int) -> int:
    """Return the size of the block for so many bytes: up to an eighth more, so that few differ."""
    step = max(1 << (nbytes.bit_length() - 4), 4096)
    return -(-nbytes // step) * step


_pools: dict[Any, Pool] = {}
_MOST_QUEUES = 64


def pool_of(queue: Any) -> Pool:
    """Return the pool of a queue."""
    found = _pools.get(queue)
    if found is None:
        if len(_pools) >= _MOST_QUEUES:
            _pools.clear()
        found = _pools[queue] = Pool(queue)
    return found


def drop_all() -> None:
    """Give back all blocks that nothing uses."""
    for pool in list(_pools.values()):
        pool.drop_unused()


def total_bytes() -> int:
    """Return the bytes that all pools hold."""
    return sum(pool.nbytes for pool in _pools.values())
