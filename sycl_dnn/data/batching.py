# SPDX-License-Identifier: Apache-2.0
"""``Batches``: in-memory arrays split into batches, optionally shuffled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import tree
from sycl_dnn.functional.activation.dropout import next_seed
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.array import Array


class Batches:
    """Batches of a tree of arrays with the same number of rows.

    Each ``iter()`` is one epoch. Device arrays are gathered on their device; NumPy arrays give
    NumPy batches, which ``Prefetcher`` copies to a device. Batches are copies, so a step may write
    to them.

    Parameters
    ----------
    arrays : tree of arrays (N, *)
        NumPy, dpnp or ``Array``.
    batch_size : int
    shuffle : bool
        Whether to shuffle, differently in each epoch.
    seed : int, optional
        Together with the epoch it determines the order. By default the order is drawn from the
        generator of ``sycl_dnn.manual_seed``, whose state checkpoints include.
    drop_last : bool
        Whether to drop an incomplete last batch. All batches then have one shape, so programs are
        compiled once.

    Attributes
    ----------
    epoch : int
        Number of the next epoch; may be set to resume training.

    Raises
    ------
    ValueError
        Arrays differ in their number of rows or have none; ``batch_size`` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sycl_dnn import data
    >>> batches = data.Batches((np.arange(5), np.arange(5) * 10), 2)
    >>> [(x.tolist(), y.tolist()) for x, y in batches]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    >>> len(data.Batches(np.arange(5), 2, shuffle=True, seed=0, drop_last=True))
    2
    """

    def __init__(
        self, arrays: Any, batch_size: int, *, shuffle: bool = False, seed: int | None = None,
        drop_last: bool = False,
    ) -> None:  # fmt: skip
        rows = {}
        for name, leaf in zip(tree.names(arrays), tree.leaves(arrays), strict=True):
            if not getattr(leaf, "shape", ()):
                kind = type(leaf).__name__
                raise ValueError(f"Batches: {name or 'arrays'} must be an array (N, *), got {kind}")
            rows[name] = leaf.shape[0]
        if len(set(rows.values())) != 1:
            raise ValueError(f"Batches: arrays must have the same number of rows, got {rows}")
        if batch_size < 1:
            raise ValueError(f"Batches: batch_size must be at least 1, got {batch_size}")
        self.arrays, self.batch_size = arrays, batch_size
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.n_rows = next(iter(rows.values()))
        self.epoch = 0

    def __len__(self) -> int:
        n_full, remainder = divmod(self.n_rows, self.batch_size)
        return n_full + bool(remainder and not self.drop_last)

    def _order(self) -> np.ndarray | None:
        epoch = self.epoch
        self.epoch += 1
        if not self.shuffle:
            return None
        seeds = [next_seed()] if self.seed is None else [self.seed, epoch]
        return np.random.default_rng(seeds).permutation(self.n_rows)

    def __iter__(self) -> Iterator[Any]:
        # Draw the order now rather than when the first batch is requested.
        return self._epoch(self._order())

    def _epoch(self, order: np.ndarray | None) -> Iterator[Any]:
        on_device: dict[Any, Any] = {}
        for number in range(len(self)):
            rows = slice(number * self.batch_size, (number + 1) * self.batch_size)
            yield tree.map(lambda a, rows=rows: _chosen(a, rows, order, on_device), self.arrays)


def _chosen(array: Any, rows: slice, order: np.ndarray | None, on_device: dict[Any, Any]) -> Any:
    if order is None:
        return array[rows].copy()  # a step may write to its batch or donate it
    if not nested_arguments.is_array(array):
        return array[order[rows]]
    queue = array.sycl_queue
    if queue not in on_device:
        on_device[queue] = dpnp.asarray(order, sycl_queue=queue)
    numbers = on_device[queue][rows]
    if isinstance(array, Array):
        return Array(dpnp.take(array.bits, numbers, axis=0), array.dtype)
    return dpnp.take(array, numbers, axis=0)
