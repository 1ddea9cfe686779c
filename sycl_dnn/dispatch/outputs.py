# SPDX-License-Identifier: Apache-2.0
"""Checks of the arrays that callers give for results."""

from __future__ import annotations

from typing import Any, NamedTuple

import dpnp
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn._dpnp import address
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.tensor import Tensor


class Target(NamedTuple):
    """An array of the caller's that shall be written."""

    desc: Any
    #: Whether it has bytes in common with an input otherwise than as a whole.
    overlaps: bool
    #: Whether it is one of the inputs.
    in_place: bool


def check_out(name: str, out: Any, found: Any, queue: Any) -> Any:
    """Return what a plan depends on of ``out``, after checking that it may be written."""
    kind = out.__class__
    is_array = isinstance(out, (dpnp.ndarray, Array)) and not isinstance(out, Tensor)
    if kind is not dpnp.ndarray and not is_array:
        raise TypeError(f"{name}: out must be a dpnp.ndarray or Array, got {kind.__name__}")
    array = out.get_array()
    if array.sycl_queue is not queue and array.sycl_queue != queue:
        raise ExecutionPlacementError(f"{name}: out must be on the queue of the other arrays")
    if not array.flags.writable:
        raise ValueError(f"{name}: out must be writable, got a read-only array")
    dtype = out.dtype if kind is Array else array.dtype
    return ("out", array.shape, array.strides, dtype, sharing(array, found.arrays))


def check_strides(name: str, out: Any) -> None:
    """Refuse an array that has elements in common with itself, or runs backwards."""
    array = out.get_array()
    if any(s <= 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        raise ValueError(f"{name}: out must have positive strides, got {array.strides}")


def sharing(out: Any, arrays: list[Any]) -> tuple[bool, bool]:
    """Return whether ``out`` overlaps an array, and whether it is one of them."""
    memory = out.usm_data
    start = address(memory)
    end = start + memory.nbytes
    overlaps = same = False
    for array in arrays:
        if array.__class__ is bytes:
            continue
        other = array.usm_data
        begin = address(other)
        if begin < end and start < begin + other.nbytes:
            is_it = address(array) == address(out) and array.strides == out.strides
            same |= is_it
            overlaps |= not is_it
    return overlaps, same
