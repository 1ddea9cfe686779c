# SPDX-License-Identifier: Apache-2.0
"""The functions that plans are kept for: by their code, never by the function object."""

from __future__ import annotations

import functools
import types
from typing import Any


def operation_of(function: Any) -> Any:
    """Return the operation behind one of our functions; None for a function of the user's."""
    return getattr(function, "operation", None)


def body_of(function: Any) -> Any:
    """Return what is traced: the body of one of our functions, others as they are."""
    operation = operation_of(function)
    return function if operation is None else operation.body


def key_of(function: Any) -> Any:
    """Return what plans of a callable are found by; guards tell the rest."""
    operation = operation_of(function)
    if operation is not None:
        return operation
    kind = type(function)
    if kind is types.FunctionType:
        wrapped = function.__dict__.get("__wrapped__")
        return function.__code__ if wrapped is None else (function.__code__, key_of(wrapped))
    if kind is types.MethodType:
        return (kind, key_of(function.__func__))
    if kind is functools.partial:
        return (kind, key_of(function.func))
    if isinstance(function, (type, types.BuiltinFunctionType)):
        return function
    wrapped = getattr(function, "__wrapped__", None)
    return kind if wrapped is None else (kind, key_of(wrapped))


def name_of(function: Any, default: str = "") -> str:
    """Return what to call a function in errors and profiles."""
    return getattr(function, "__name__", default or type(function).__name__)
