# SPDX-License-Identifier: Apache-2.0
"""Data parallelism: a module wrapper, and each rank's share of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sycl_dnn import tree
from sycl_dnn.call.custom_gradients import with_adjoint
from sycl_dnn.distributed.collectives import broadcast, chosen
from sycl_dnn.distributed.gradient_buckets import averages, check_replicated
from sycl_dnn.distributed.group import Group, OfGroup
from sycl_dnn.nn.module import Module


class DataParallel(OfGroup, Module):
    """A module replicated on every rank, with gradients averaged over the ranks.

    On construction, all ranks copy the arrays of rank 0. Gradients with respect to the wrapper are
    equal on all ranks, so the replicas stay equal.

    Parameters
    ----------
    module : Module
    bucket_bytes : int
        As for ``average_gradients``.
    group : Group, optional
        By default the group of ``init``.

    Attributes
    ----------
    module : Module

    Raises
    ------
    MismatchError, RuntimeError
        As for ``broadcast``.
    ValueError
        Ranks of the group have different parts of a tensor parallel layer.

    Notes
    -----
    Buffers, such as running statistics, are not synchronized. Source:
    ``torch.nn.parallel.DistributedDataParallel``.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> from sycl_dnn import nn
    >>> net = sycl_dnn.distributed.DataParallel(nn.Linear(4, 2))
    >>> net(dpnp.ones((3, 4), dtype="f4")).shape
    (3, 2)
    """

    def __init__(
        self, module: Module, bucket_bytes: int = 32 << 20, group: Group | None = None
    ) -> None:
        super().__init__()
        self.module = module
        self._group_name = chosen(group).name
        self._bucket_bytes = bucket_bytes
        if self._group.size > 1:
            check_replicated("DataParallel", tree.flatten(module)[1], self._group)
            arrays = [a for a in tree.leaves(module) if hasattr(a, "shape")]
            broadcast(arrays, out=arrays, group=self._group)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module."""
        if self._group.size == 1:
            return self.module(*args, **kwargs)
        leaves, form = tree.flatten(self.module)
        trained = [i for i, fixed in enumerate(tree.constants(form)) if not fixed]
        names = tree.names(self.module)
        own = averaged(
            [leaves[i] for i in trained], [names[i] for i in trained], self._bucket_bytes,
            self._group,
        )  # fmt: skip
        for i, leaf in zip(trained, own, strict=True):
            leaves[i] = leaf
        return tree.unflatten(form, leaves)(*args, **kwargs)


def averaged(arrays: list[Any], names: list[str], bucket_bytes: int, group: Group) -> list[Any]:
    """Return the arrays unchanged; their gradients are averaged over the ranks."""
    average = with_adjoint(lambda x: x, lambda dy: averages(dy, names, bucket_bytes, group))
    return average(arrays)  # type: ignore[no-any-return]


def own_part(
    n: int, seed: int | None = None, epoch: int = 0, group: Group | None = None
) -> np.ndarray:
    """Return the sample indices of this rank, the same number on each rank.

    Parameters
    ----------
    n : int
        Number of samples. A remainder is dropped, different samples in each epoch.
    seed : int, optional
        Shuffles the samples, identically on all ranks; None keeps their order.
    epoch : int
        Number of the pass over the data; each has its own order.
    group : Group, optional

    Returns
    -------
    numpy.ndarray of int64

    Raises
    ------
    ValueError
        There are fewer samples than ranks.

    Notes
    -----
    Source: ``torch.utils.data.DistributedSampler`` with ``drop_last``.

    Examples
    --------
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.own_part(3).tolist()
    [0, 1, 2]
    """
    group = chosen(group)
    if n < group.size:
        raise ValueError(f"own_part: n must be at least {group.size}, the ranks, got {n}")
    order = np.arange(n) if seed is None else np.random.default_rng((seed, epoch)).permutation(n)
    return order[: n - n % group.size].reshape(-1, group.size)[:, group.rank].copy()


def own_batches(
    n: int, batch: int, seed: int = 0, epoch: int = 0, group: Group | None = None
) -> Iterator[np.ndarray]:
    """Yield this rank's share of each batch of one epoch.

    Parameters
    ----------
    n : int
        Number of samples.
    batch : int
        Global batch size, over all ranks; an incomplete last batch is dropped.
    seed, epoch : int
        As for ``own_part``.
    group : Group, optional

    Yields
    ------
    numpy.ndarray of int64
        The shares of all ranks together are the batch of a single process.

    Raises
    ------
    ValueError
        ``batch`` is not divisible by the number of ranks.

    Examples
    --------
    >>> import sycl_dnn
    >>> [len(chosen) for chosen in sycl_dnn.distributed.own_batches(10, 4)]
    [4, 4]
    """
    group = chosen(group)
    if batch % group.size:
        raise ValueError(f"own_batches: batch must be divisible by {group.size} ranks, got {batch}")
    order = np.random.default_rng((seed, epoch)).permutation(n)
    each = batch // group.size
    for start in range(0, n - batch + 1, batch):
        first = start + group.rank * each
        yield order[first : first + each]
