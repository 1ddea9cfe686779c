# SPDX-License-Identifier: Apache-2.0
"""Reports of Python's own work to ``sycl_dnn.profile``; nearly free without a recorder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from dpctl.utils import SequentialOrderManager

from sycl_dnn import _core

_T = TypeVar("_T")


def name_of(function: Any) -> str:
    """Return the name of a function in a profile."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return name.replace(".<locals>", "")


def name_in(key: Any) -> str:
    """Return the name of the function in a key of the plan cache."""
    first = key[0]
    if not isinstance(first, str):
        return getattr(first, "name", name_of(first))
    return f"{first} {name_of(key[1])}"


def trace(name: str, build: Callable[[], _T]) -> _T:
    """Return the result of ``build``: the plan of a call that was not cached."""
    if not _core.is_recording():
        return build()
    begin = time.perf_counter_ns()
    plan = build()
    _core.note("trace", name, begin, time.perf_counter_ns())
    return plan


def array_call(name: str, work: Callable[[], _T], arguments: Sequence[Any], queue: Any) -> _T:
    """Return the result of ``work``, which computes with dpnp on a queue."""
    if not _core.is_recording():
        return work()
    waits = _core.is_recording_waits()
    if waits:
        SequentialOrderManager[queue].wait()
    begin = time.perf_counter_ns()
    result = work()
    if waits:
        SequentialOrderManager[queue].wait()
    tensors = [_tensor(str(i), value) for i, value in enumerate(arguments)]
    _core.note("dpnp", name, begin, time.perf_counter_ns(), tensors, is_done=waits)
    return result


def arrays_in(values: Iterable[Any]) -> list[Any]:
    """Return values, with lists among them flattened."""
    flat: list[Any] = []
    for value in values:
        flat += value if isinstance(value, list) else [value]
    return flat


def _tensor(name: str, value: Any) -> tuple[str, str, tuple[int, ...], str]:
    if not hasattr(value, "shape"):
        return name, type(value).__name__, (), "host_scalar"
    array = value.get_array() if hasattr(value, "get_array") else value
    strides = getattr(array, "strides", None)
    layout = "" if strides is None else f"strides={tuple(strides)}"
    return name, str(value.dtype), tuple(value.shape), layout
