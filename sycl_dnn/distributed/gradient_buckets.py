# SPDX-License-Identifier: Apache-2.0
"""``average_gradients``: gradient averaging over the ranks in buckets."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.distributed.collectives import all_reduce_one, chosen
from sycl_dnn.distributed.group import Group
from sycl_dnn.nn.partitioned_parameters import owners
from sycl_dnn.onednn import dtypes


def average_gradients(grads: Any, bucket_bytes: int = 32 << 20, group: Group | None = None) -> Any:
    """Average a tree of gradients over the ranks.

    Parameters
    ----------
    grads : tree of arrays
        Any floating-point dtypes, with equal shapes on all ranks; None entries are allowed. In
        traced functions it becomes part of the program.
    bucket_bytes : int
        Arrays of one dtype are concatenated up to this size and reduced by one collective, starting
        with the last ones, whose gradients are computed first. 0: no concatenation.
    group : Group, optional
        By default the group of ``init``.

    Returns
    -------
    tree of arrays
        Same structure as ``grads``, bitwise equal on all ranks.

    Raises
    ------
    MismatchError
        Ranks called different collectives; see ``init``.
    RuntimeError
        A rank has ended.
    TypeError
        An array is not floating point.
    ValueError
        ``bucket_bytes`` is negative, or ranks of the group have different parts of a tensor
        parallel layer.

    Notes
    -----
    Source: gradient buckets of ``torch.nn.parallel.DistributedDataParallel``;
    ``mlx.nn.average_gradients``.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> grads = {"weight": F.ones(2, 3), "bias": None}
    >>> sycl_dnn.distributed.average_gradients(grads)["weight"].shape
    (2, 3)
    """
    group = chosen(group)
    if bucket_bytes < 0:
        raise ValueError(
            f"average_gradients: bucket_bytes must not be negative, got {bucket_bytes}"
        )
    leaves, form = tree.flatten(grads, is_leaf=lambda v: v is None)
    check_replicated("average_gradients", form, group)
    for leaf in leaves:
        if leaf is not None and not dtypes.is_float(str(leaf.dtype)):
            raise TypeError(f"average_gradients: grads must be floating-point, got {leaf.dtype}")
    if group.size == 1:
        return grads
    names = tree.names(grads, is_leaf=lambda v: v is None)
    return tree.unflatten(form, averages(leaves, names, bucket_bytes, group))


def averages(
    leaves: Sequence[Any], names: Sequence[str], bucket_bytes: int, group: Group
) -> list[Any]:
    """Return the averages of arrays, with the names by which ranks tell different ones apart."""
    result = list(leaves)
    for bucket in buckets(leaves, bucket_bytes):
        arrays = [leaves[i] for i in bucket]
        joined = [F.reshape(array, (-1,)) for array in arrays]
        row = F.cat(joined) if len(bucket) > 1 else joined[0]
        of = contents([names[i] for i in bucket], arrays)
        mean = all_reduce_one(row, "mean", None, group, of)
        for i, part in zip(bucket, parts_of(mean, arrays), strict=True):
            result[i] = part
    return result


def contents(names: Sequence[str], arrays: Sequence[Any]) -> str:
    """Return a short text that differs between rows of different arrays."""
    every = repr([(name, tuple(a.shape)) for name, a in zip(names, arrays, strict=True)])
    return f"gradients {names[0]!r} to {names[-1]!r}, {zlib.crc32(every.encode()):08x}"


def check_replicated(name: str, structure: tree.Structure, group: Group) -> None:
    """Refuse a group whose ranks have different parts of a tensor parallel layer.

    Raises ValueError if it has two ranks of such a layer.
    """
    for owner in owners(structure):
        if owner is not None and len(set(owner.group.members) & set(group.members)) > 1:
            raise ValueError(
                f"{name}: ranks of group {group.name} have different parts of tensor parallel "
                f"layers of group {owner.group.name}; take a group of ranks with equal parts, from "
                "Group.split"
            )


def buckets(arrays: Sequence[Any], most_bytes: int) -> Iterator[list[int]]:
    """Yield the indices of the arrays in each bucket (one dtype each), last arrays first."""
    by_dtype: dict[str, list[int]] = {}
    for number in reversed(range(len(arrays))):
        if arrays[number] is not None:
            by_dtype.setdefault(str(arrays[number].dtype), []).append(number)
    for dtype, numbers in by_dtype.items():
        bucket: list[int] = []
        bucket_bytes = 0
        for number in numbers:
            nbytes = math.prod(arrays[number].shape) * dtypes.bits_of(dtype) // 8
            if bucket and bucket_bytes + nbytes > most_bytes:
                yield bucket
                bucket, bucket_bytes = [], 0
            bucket.append(number)
            bucket_bytes += nbytes
        yield bucket


def parts_of(row: Any, arrays: Sequence[Any]) -> Iterator[Any]:
    """Split a row into views with the shapes of arrays."""
    start = 0
    for array in arrays:
        size = math.prod(array.shape)
        yield F.reshape(row[start : start + size], tuple(array.shape))
        start += size
