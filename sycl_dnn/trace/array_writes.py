# SPDX-License-Identifier: Apache-2.0
"""Writes to arrays whose values programs have computed constants from.

Seen are writes of functions, modules and programs to buffers, arguments and ``out``, and through
what modules hand out (``net.weight[...] = w``, ``net.weight.zero_()``); not those of dpnp to its
arrays, nor of primitives that users execute.
"""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import WatchedSpans
from sycl_dnn._dpnp import is_memory, span, usm_array


def note(*arrays: Any) -> None:
    """Record that elements of arrays, or dpctl.memory objects, are written."""
    if arrays and WatchedSpans.exist():
        for array in arrays:
            WatchedSpans.note_write(*span(array if is_memory(array) else usm_array(array)))


def assign(array: Any, values: Any, key: Any = ...) -> None:
    """Write to elements of an array and record it, after earlier reads of another thread."""
    try:
        array[key] = values
    finally:
        note(array)


def watch(spans: WatchedSpans, array: Any) -> None:
    """Report a write to an array, which the caller keeps alive."""
    spans.add(*span(usm_array(array)))
