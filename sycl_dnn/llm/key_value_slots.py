# SPDX-License-Identifier: Apache-2.0
"""Positions of a call in the key-value cache."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.arithmetic import MAXIMUM, cast
from sycl_dnn.ops.creation import iota


class Slots(NamedTuple):
    """Positions of a call in the cache.

    Attributes
    ----------
    first : array ()
        int32; slot of the first new position, the same in every row.
    starts : array (N,)
        int32; slot of each row's first position: rows are padded on the left.
    """

    first: Any
    starts: Any


class Places(NamedTuple):
    """``Slots``, and those of the new positions.

    Attributes
    ----------
    first, starts : array
        Of ``Slots``.
    new : array (1, 1, T, 1)
        int32; from ``slots_from``.
    """

    first: Any
    starts: Any
    new: Any


@operation
def positions_from(first: Any, starts: Any, n: int) -> Any:
    """Return the positions (N, n) of new tokens in their texts, float32; 0 at the padding."""

    def body(first: Node, starts: Node) -> Node:
        at = first + iota(n, 1, 2) - starts
        return cast(MAXIMUM(at, number(0, "int32")), "float32")

    return computed(body, F.reshape(first, (1, 1)), F.reshape(starts, (-1, 1)))
