# SPDX-License-Identifier: Apache-2.0
"""``PackedSequence``, ``pack_padded_sequence`` and ``pad_packed_sequence``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn._dpnp import asnumpy
from sycl_dnn.functional.creation.factories import full
from sycl_dnn.functional.index.gathering import index_select
from sycl_dnn.functional.shape.joining import cat
from sycl_dnn.functional.shape.reshaping import reshape, transpose
from sycl_dnn.trace import indexing
from sycl_dnn.trace.values import Tensor


class PackedSequence(NamedTuple):
    """Concatenated steps of sequences: the first step of all, then the second of those left, ..."""

    #: (sum of lengths, *).
    data: Any
    #: Number of sequences that have a first step, a second, ...; nonincreasing.
    batch_sizes: tuple[int, ...]
    #: The permutation that sorted the sequences; None if they were sorted.
    sorted_indices: tuple[int, ...] | None
    #: The inverse permutation.
    unsorted_indices: tuple[int, ...] | None


def _select_rows(x: Any, indices: np.ndarray) -> Any:
    """Select rows by indices known on the host."""
    if isinstance(x, Tensor):
        return indexing.taken(x, (indices,))
    return index_select(x, 0, dpnp.asarray(indices, sycl_queue=x.sycl_queue))


def _checked_lengths(name: str, lengths: Any) -> np.ndarray:
    if isinstance(lengths, Tensor):
        raise TypeError(
            f"{name}: lengths must be numbers: the shape of the result depends on their values, "
            "which are not known while a function is traced"
        )
    values = asnumpy(lengths) if isinstance(lengths, dpnp.ndarray) else np.asarray(lengths)
    if values.ndim != 1 or values.dtype.kind not in "iu" or (values < 1).any():
        raise ValueError(f"{name}: lengths must be positive integers, got {lengths!r}")
    return values.astype("int64")


def pack_padded_sequence(
    input: Tensor,
    lengths: Sequence[int] | np.ndarray | dpnp.ndarray,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack padded sequences.

    Parameters
    ----------
    input : array (T, N, *), or (N, T, *) with ``batch_first``
        Any dtype.
    lengths : sequence of int, or array of integers
        Length of each sequence, 1 to T. Reading an array waits for its device.
    batch_first : bool
    enforce_sorted : bool
        Whether sequences must be sorted by decreasing length; otherwise they are sorted here.

    Returns
    -------
    PackedSequence

    Raises
    ------
    ValueError
        Lengths are invalid, or not sorted although they must be.
    TypeError
        ``lengths`` is a traced array.

    Notes
    -----
    The gradient of padding is 0. Source: ``torch.nn.utils.rnn.pack_padded_sequence``.
    """
    name = "pack_padded_sequence"
    steps = _checked_lengths(name, lengths)
    x = transpose(input, 0, 1) if batch_first else input
    max_steps, n = x.shape[:2]
    if len(steps) != n or steps.max(initial=1) > max_steps:
        raise ValueError(
            f"{name}: lengths must be {n} numbers up to {max_steps}, got {steps.tolist()}"
        )
    order = np.argsort(-steps, kind="stable")
    is_sorted = bool((np.diff(steps) <= 0).all())
    if enforce_sorted and not is_sorted:
        raise ValueError(
            f"{name}: lengths must fall, or enforce_sorted be False, got {steps.tolist()}"
        )
    sizes = tuple(int((steps > t).sum()) for t in range(steps.max(initial=0)))
    rows = np.concatenate([t * n + order[:size] for t, size in enumerate(sizes)])
    data = _select_rows(reshape(x, (max_steps * n, *x.shape[2:])), rows)
    if enforce_sorted:
        return PackedSequence(data, sizes, None, None)
    return PackedSequence(data, sizes, tuple(order.tolist()), tuple(np.argsort(order).tolist()))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, tuple[int, ...]]:
    """Unpack sequences into a padded array: the inverse of ``pack_padded_sequence``.

    Parameters
    ----------
    sequence : PackedSequence
    batch_first : bool
    padding_value : float
        Fills up short sequences.
    total_length : int, optional
        Number of steps of the result; by default those of the longest sequence.

    Returns
    -------
    array (T, N, *), or (N, T, *) with ``batch_first``
    lengths : tuple of int

    Raises
    ------
    ValueError
        ``total_length`` is less than the longest sequence.
    TypeError
        ``sequence`` is not a PackedSequence.

    Notes
    -----
    Source: ``torch.nn.utils.rnn.pad_packed_sequence``.
    """
    name = "pad_packed_sequence"
    if not isinstance(sequence, PackedSequence):
        kind = type(sequence).__name__
        raise TypeError(f"{name}: sequence must be a PackedSequence, got {kind}")
    data, sizes = sequence.data, np.array(sequence.batch_sizes)
    n_steps = len(sizes) if total_length is None else total_length
    if n_steps < len(sizes):
        raise ValueError(f"{name}: total_length must be at least {len(sizes)}, got {n_steps}")
    n = int(sizes[0])
    starts = np.cumsum(sizes) - sizes
    rows = np.full((n_steps, n), data.shape[0])  # a last row of padding
    for t, size in enumerate(sizes):
        rows[t, :size] = starts[t] + np.arange(size)
    lengths = (rows < data.shape[0]).sum(0)
    if sequence.unsorted_indices is not None:
        unsorted = list(sequence.unsorted_indices)
        rows, lengths = rows[:, unsorted], lengths[unsorted]
    queue = None if isinstance(data, Tensor) else data.sycl_queue
    row = full((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=queue)
    result = reshape(_select_rows(cat([data, row]), rows.ravel()), (n_steps, n, *data.shape[1:]))
    padded = transpose(result, 0, 1) if batch_first else result
    return padded, tuple(lengths.tolist())
