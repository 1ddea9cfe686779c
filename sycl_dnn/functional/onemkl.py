# SPDX-License-Identifier: Apache-2.0
"""oneMKL's C interface, for what it computes in the memory of a CPU's arrays.

dpnp brings this library and calls its SYCL interface, which submits and prepares each call anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from ctypes import c_char, c_long, c_void_p
from typing import Any

import numpy as np


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return oneMKL as dpnp, which is imported, has loaded it; None if it is not there."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "libmkl_intel_ilp64.so" in line}
    return ctypes.CDLL(min(paths)) if paths else None


def by_value(name: str, *arguments: Any) -> int:
    """Call a function that takes integers and characters by value; return its status."""
    return int(getattr(library(), name)(*map(_value, arguments)))


def by_reference(name: str, *arguments: Any) -> None:
    """Call a function with Fortran's convention."""
    getattr(library(), name)(*map(_reference, arguments))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let calls of this thread use no other: waking one takes 50 us."""
    set_threads = library().MKL_Set_Num_Threads_Local  # type: ignore[union-attr]
    before = set_threads(1)
    try:
        yield
    finally:
        set_threads(before)


def _value(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return _address(argument)
    return _number(argument) if isinstance(argument, (int, bytes)) else argument


def _reference(argument: Any) -> Any:
    return _address(argument) if isinstance(argument, np.ndarray) else _kept(argument)


def _address(array: np.ndarray) -> c_void_p:
    return c_void_p(array.__array_interface__["data"][0])


@functools.lru_cache
def _number(argument: int | bytes) -> c_char | c_long:
    return c_char(argument) if isinstance(argument, bytes) else c_long(argument)


@functools.lru_cache
def _kept(argument: int | bytes) -> Any:
    """Return a reference to a number, which functions only read."""
    return ctypes.byref(_number(argument))
