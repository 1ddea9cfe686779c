# SPDX-License-Identifier: Apache-2.0
"""Positions of a call in the key-value cache."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.arithmetic import GT, LOGICAL_OR, LT, MAXIMUM, cast, where
from sycl_dnn.ops.creation import iota


class Slots(NamedTuple):
    """Positions of a call in the cache.

    ``first``: array (), int32; slot of the first new position, the same in every row. ``starts``:
    array (N,), int32; slot of each row's first position: rows are padded on the left.
    """

    first: Any
    starts: Any


class Places(NamedTuple):
    """``Slots``, and those of the new positions.

    ``first``, ``starts``: of ``Slots``. ``new``: array (1, 1, T, 1), int32; from ``slots_from``.
    """

    first: Any
    starts: Any
    new: Any


@operation
def positions_from(first: Any, starts: Any, n: int, n_slots: int) -> Any:
    """Return the positions (N, n) of new tokens in their texts, float32; 0 at the padding.

    They are NaN, and so is what depends on them, if one is not in the first ``n_slots`` slots.
    """

    def body(first: Node, starts: Node) -> Node:
        position = MAXIMUM(first + iota(n, 1, 2) - starts, number(0, "int32"))
        is_outside = LOGICAL_OR(
            LT(first, number(0, "int32")), GT(first, number(n_slots - n, "int32"))
        )
        return where(is_outside, number(float("nan"), "float32"), cast(position, "float32"))

    return computed(body, F.reshape(first, (1, 1)), F.reshape(starts, (-1, 1)))


def check_slots(
    shape: tuple[int, int], cache: Any, slots: Slots | None, n_read: int | None, n_layers: int
) -> int:
    """Return how many slots are read; ValueError unless ids (N, T) may have room in them.

    The first slot is known only on the device: see ``positions_from``.
    """
    n, length = shape
    if cache is None or slots is None or len(cache) != n_layers:
        passed = "none" if cache is None else f"{len(cache)} pairs"
        raise ValueError(
            f"Decoder: cache must have a pair for each of {n_layers} layers, and slots, got "
            f"{passed}{'' if slots is not None else ' without slots'}"
        )
    rows, capacity = cache[0][0].shape[0], cache[0][0].shape[2]
    if (rows, *slots.starts.shape) != (n, n):
        raise ValueError(
            f"Decoder: cache and slots.starts must have a row for each of {n} texts, got {rows} "
            f"and {tuple(slots.starts.shape)}"
        )
    n_read = capacity if n_read is None else n_read
    if not 1 <= n_read <= capacity:
        raise ValueError(f"Decoder: n_read must be from 1 to {capacity}, got {n_read}")
    if length > n_read:
        raise ValueError(
            f"Decoder: there must be at most as many new positions as the {n_read} slots that are "
            f"read, got {length}; read more, or make a larger cache"
        )
    return n_read
