# SPDX-License-Identifier: Apache-2.0
"""What a captured object holds besides attributes and items, as a value to compare at each call."""

from __future__ import annotations

import abc
import contextvars
import io
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.call.code_facts import is_library

_ABSENT = object()
#: Names through which code reads files.
_READING = frozenset(("getbuffer", "getvalue", "read", "readline", "readlines", "tell"))
#: Functions without parameters that return settings of the process, by module.
_SETTINGS: dict[str, tuple[str, ...]] = {
    "decimal": ("getcontext",),
    "gc": ("get_threshold", "isenabled"),
    "locale": ("getlocale", "localeconv"),
    "numpy": ("get_printoptions", "getbufsize", "geterr"),
    "posix": ("getcwd", "getcwdb", "getpid"),
    "sys": ("getrecursionlimit", "getswitchinterval"),
    "torch": ("get_default_dtype", "get_num_threads", "is_grad_enabled"),
}
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def reader_of(value: Any, names: set[str]) -> Callable[[Any], Any] | None:
    """Return what reads the content of an object; None if attributes and items are all of it.

    ``value``: it is captured; ``names``: of the attributes that code reads.
    """
    if isinstance(value, _FUNCTIONS):
        is_setting = value.__name__ in _SETTINGS.get(value.__module__ or "", ())
        return _setting if is_setting else None
    if isinstance(value, type):
        return _registered if isinstance(value, abc.ABCMeta) else None
    if isinstance(value, np.ndarray):
        return np.ndarray.tolist if value.dtype.hasobject else np.ndarray.tobytes
    for kind, read in _READERS:
        if isinstance(value, kind):
            return read
    if isinstance(value, io.IOBase):
        return file_state if is_read(value, names) else None
    if isinstance(value, type(threading.Lock())):
        return type(value).locked if "locked" in names else None
    if _is_buffer(value):
        return _bytes_of
    is_foreign = is_library(type(value).__module__) and not _is_own(type(value))
    return _as_array if is_foreign and hasattr(type(value), "__array__") else None


def _is_own(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "sycl_dnn"


def _setting(function: Callable[[], Any]) -> Any:
    value = function()
    if hasattr(value, "clear_flags"):  # decimal's context: its flags change as it computes
        value = value.copy()
        value.clear_flags()
    return repr(value)


def _registered(kind: Any) -> tuple[Any, ...]:
    """Return the classes registered by ``ABC.register`` that pass for an abstract class."""
    own = abc._get_dump(kind)[0]  # type: ignore[attr-defined]
    below = [_registered(k) for k in type.__subclasses__(kind) if isinstance(k, abc.ABCMeta)]
    return (*sorted(id(reference()) for reference in own), *(i for part in below for i in part))


def is_read(file: io.IOBase, names: set[str]) -> bool:
    """Whether code that reads attributes of these names may read a file: others are logs."""
    if file.closed or not file.seekable():
        return False
    return not file.writable() or (hasattr(file, "getvalue") and not _READING.isdisjoint(names))


def file_state(file: Any) -> Any:
    """Return what a file in memory holds and the position, which an iteration hides."""
    if file.closed:
        return None
    content = file.getvalue() if hasattr(file, "getvalue") else None
    try:
        return content, file.tell()
    except OSError:
        return content, -1


def _is_buffer(value: Any) -> bool:
    """Whether an object is memory: of ctypes, array, mmap and others."""
    try:
        memoryview(value).release()
    except Exception:
        return False
    return True


def _bytes_of(value: Any) -> bytes:
    with memoryview(value) as content:
        return content.tobytes()


def _as_array(value: Any) -> Any:
    """Return the elements of another library's array, such as torch's."""
    value = value.detach() if hasattr(value, "detach") else value
    try:
        array = np.asarray(value)
        return repr(array.tolist()) if array.dtype.hasobject else array.tobytes()
    except Exception:  # of a dtype that NumPy lacks
        return repr(value.tolist()) if hasattr(value, "tolist") else None


def _of_variable(variable: contextvars.ContextVar[Any]) -> Any:
    return variable.get(_ABSENT)


def _of_context(context: contextvars.Context) -> tuple[Any, ...]:
    return tuple(context.items())


_READERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (weakref.ref, weakref.ref.__call__),
    (contextvars.ContextVar, _of_variable),
    (contextvars.Context, _of_context),
)
