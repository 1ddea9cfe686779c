# SPDX-License-Identifier: Apache-2.0
"""Checks of the arrays that callers give for results."""

from __future__ import annotations

from typing import Any, NamedTuple

import dpnp
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn.dispatch.array import Array


class Target(NamedTuple):
    """An array of the caller's that shall be written."""

    desc: Any
    #: Whether it has bytes in common with an input otherwise than as a whole.
    overlaps: bool
    #: Whether it is one of the inputs.
    in_place: bool


def check_out(name: str, out: Any, found: Any, queue: Any) -> Any:
    """Return what a plan depends on of ``out``, after checking that it may be written."""
    if not isinstance(out, (dpnp.ndarray, Array)):
        raise TypeError(f"{name}: out must be a dpnp.ndarray or Array, got {type(out).__name__}")
    array = out.get_array()
    if array.sycl_queue != queue:
        raise ExecutionPlacementError(f"{name}: out must be on the queue of the other arrays")
    strides = array.strides
    if not array.flags.writable or any(
        s <= 0 and n > 1 for s, n in zip(strides, array.shape, strict=True)
    ):
        raise ValueError(
            f"{name}: out must be writable with positive strides, got strides {strides}"
        )
    dtype = out.dtype if isinstance(out, Array) else array.dtype
    return ("out", array.shape, strides, dtype, sharing(array, found.arrays))


def sharing(out: Any, arrays: list[Any]) -> tuple[bool, bool]:
    """Return whether ``out`` overlaps an array, and whether it is one of them."""
    memory = out.usm_data
    start = memory._pointer
    end = start + memory.nbytes
    overlaps = same = False
    for array in arrays:
        if array.__class__ is bytes:
            continue
        other = array.usm_data
        if other._pointer < end and start < other._pointer + other.nbytes:
            is_it = array._pointer == out._pointer and array.strides == out.strides
            same |= is_it
            overlaps |= not is_it
    return overlaps, same
