# SPDX-License-Identifier: Apache-2.0
"""Arrays that a traced function captures and passes to functions that draw random numbers.

What is computed from arrays while tracing is constant, but each call draws its own numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def of_this_call(value: Any) -> Any:
    """Return an array that a function being traced captures as its tensor; all else unchanged."""
    trace = running_trace()
    if trace is None or isinstance(value, Tensor) or not hasattr(value, "sycl_queue"):
        return value
    return trace.capture(plain(value))


def drawing(function: F) -> F:
    """Make a function that draws random numbers for its first argument draw them in each call."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if running_trace() is not None:
            args = (of_this_call(args[0]), *args[1:]) if args else args
            kwargs = kwargs if args else {n: of_this_call(v) for n, v in kwargs.items()}
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
