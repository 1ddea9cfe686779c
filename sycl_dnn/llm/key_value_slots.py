# SPDX-License-Identifier: Apache-2.0
"""Slots of a cache of keys and values, and how new ones are written."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.kernels.written_slots import written


class Slots(NamedTuple):
    """Where in a cache the positions of a call are.

    Attributes
    ----------
    first : array ()
        int32; the slot of the first position of the call, in every row.
    starts : array (N,)
        int32; the slot of each row's first position: rows are padded on the left.
    """

    first: Any
    starts: Any


@operation
def write_slots(cache: Any, new: Any, first: Any) -> Any:
    """Return a cache (N, heads, S, D) with (N, heads, T, D) written from slot ``first`` on.

    Parameters
    ----------
    cache : array (N, heads, S, D)
        A program that is given it for good writes into its memory.
    new : array (N, heads, T, D)
        Of the same dtype. What would be after the last slot is not written.
    first : array ()
        int32.
    """

    def composed() -> Any:
        n = new.shape[2]
        source = F.sub(F.arange(float(cache.shape[2])), F.astype(first, "float32"))
        is_new = F.logical_and(F.ge(source, 0.0), F.lt(source, float(n)))
        index = F.astype(F.clamp(source, 0.0, float(n - 1)), "int32")
        return F.where(F.reshape(is_new, (-1, 1)), F.index_select(new, 2, index), cache)

    return written(cache, new, first, composed)
