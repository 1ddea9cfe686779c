# SPDX-License-Identifier: Apache-2.0
"""What to do about errors that a function raises while it is traced."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def explained(function: Callable[..., Any]) -> Iterator[None]:
    """Add to a TypeError where it came from, and what stands in for functions of dpnp's."""
    try:
        yield
    except (TypeError, NotImplementedError, AttributeError) as error:
        text = _hint(error)
        if text is None:
            raise
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"compile: {name} cannot be traced: {text}") from error


def _hint(error: BaseException) -> str | None:
    frames = list(traceback.walk_tb(error.__traceback__))
    for (frame, line), (inner, _) in zip(frames, frames[1:], strict=False):
        library = inner.f_globals.get("__name__", "").partition(".")[0]
        if library not in ("dpnp", "numpy", "dpctl"):
            continue
        if frame.f_globals.get("__name__", "").partition(".")[0] == "sycl_dnn":
            return None  # our own use of it
        called = inner.f_code.co_name.strip("_")
        where = f"{frame.f_code.co_filename}:{line}"
        return f"{library}.{called} takes no traced arrays ({where}); use {_instead(called)}"
    return None


def _instead(name: str) -> str:
    from sycl_dnn import functional
    from sycl_dnn.dispatch.tensor import Tensor

    plain = name.removeprefix("r")
    names = {"concatenate": "cat", "truediv": "div", "subtract": "sub", "multiply": "mul",
             "divide": "div", "matmul": "matmul", "power": "pow", "expand_dims": "unsqueeze",
             "moveaxis": "permute", "swapaxes": "transpose", "clip": "clamp"}  # fmt: skip
    for candidate in (names.get(name), name, names.get(plain), plain):
        if candidate and hasattr(functional, candidate):
            return f"sycl_dnn.functional.{candidate}"
    if hasattr(Tensor, name):
        return f"the array's own method {name}"
    return "a function of sycl_dnn.functional"
