# SPDX-License-Identifier: Apache-2.0
"""Errors of a function while it is traced: the line they come from, and what to write instead."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from sycl_dnn.dispatch.foreign_functions import function_name, instead

_LIBRARIES = ("dpnp", "numpy", "dpctl")
#: Modules whose errors speak of a traced array.
_OF_TENSORS = tuple(
    f"sycl_dnn.dispatch.{name}" for name in ("foreign_functions", "indexing", "tensor_methods")
)
Frames = list[tuple[FrameType, int]]


@contextmanager
def explained(function: Callable[..., Any]) -> Iterator[None]:
    """Add to a TypeError the line it came from, and what stands in for functions of dpnp's."""
    try:
        yield
    except (TypeError, NotImplementedError, AttributeError) as error:
        frames = list(traceback.walk_tb(error.__traceback__))
        text = _of_values(frames, error) or _of_library(frames)
        if text is None:
            raise
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"compile: {name} cannot be traced: {text}") from error


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "")


def _package(frame: FrameType) -> str:
    return _module(frame).partition(".")[0]


def _line(frame: FrameType, number: int) -> str:
    path = frame.f_code.co_filename
    source = linecache.getline(path, number).strip()
    return f"{path}:{number}" + (f" ({source})" if source else "")


def _of_values(frames: Frames, error: BaseException) -> str | None:
    """Return what to say of a function that asks for values; None for other errors."""
    if _module(frames[-1][0]) not in _OF_TENSORS:
        return None
    ours = ("sycl_dnn", *_LIBRARIES)
    caller = next((f for f in reversed(frames) if _package(f[0]) not in ours), None)
    return str(error) if caller is None else f"{_line(*caller)}: {error}"


def _of_library(frames: Frames) -> str | None:
    """Return what to write in place of another library's function that was called directly."""
    for caller, called in zip(frames, frames[1:], strict=False):
        if _package(called[0]) in _LIBRARIES:
            if _package(caller[0]) == "sycl_dnn":
                return None  # our own use of it
            name = function_name(called[0]).strip("_")
            return (
                f"{_line(*caller)}: {_package(called[0])}.{name} takes no traced arrays; use "
                f"{instead(name)}"
            )
    return None
