# SPDX-License-Identifier: Apache-2.0
"""Keys of values, constants and functions, by which calls of a user's function are recognized."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from sycl_dnn import tree
from sycl_dnn.call.arguments import constant_key, container_key
from sycl_dnn.call.capturing import Number
from sycl_dnn.call.code_facts import is_library
from sycl_dnn.call.recorded_tensor import Opaque, RecordedTensor
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.values import MixedTraces, Tensor

PLAIN = frozenset((int, bool, str, bytes, type(None), type(Ellipsis)))


class Unknown(Exception):
    """A value that cannot be recognized in another run."""


def token(recording: Any, value: Any) -> Any:
    """Return the key of a value of a call.

    Raises Unknown if it has none.
    """
    kind = value.__class__
    if kind is RecordedTensor:
        if value._recording is not recording:
            raise MixedTraces(value, recording, value.trace)
        return value.number
    if kind in PLAIN:
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *[token(recording, v) for v in value])
    if kind is dict:
        return (kind, *[(k, token(recording, v)) for k, v in value.items()])
    if type(value) is Number:
        return ("number", value.key)
    if kind is float:
        return (kind, value.hex())
    if kind is Opaque:
        return ("opaque", value.number)
    return _rare_token(recording, value, kind)


def _rare_token(recording: Any, value: Any, kind: type) -> Any:
    if kind is slice:
        return (kind, *[token(recording, v) for v in (value.start, value.stop, value.step)])
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise Unknown
        return (kind, value.dtype, value.shape, value.tobytes())
    if kind is types.FunctionType:
        return function_token(recording, value)
    if kind is functools.partial:
        return (
            kind,
            token(recording, value.func),
            token(recording, value.args),
            token(recording, value.keywords),
        )
    node = tree.opened(value)
    if node is not None:
        return (container_key(node), *[token(recording, v) for v in node.children])
    if isinstance(value, Tensor) or nested_arguments.is_array(value):
        raise Unknown
    return _constant_token(value, kind)


def _constant_token(value: Any, kind: type) -> Any:
    """Return the token of a constant, by value, or of an object that is equal to itself alone."""
    try:
        hash(value)
    except TypeError:
        raise Unknown from None
    return (kind, constant_key(value))


def function_token(recording: Any, function: Any) -> Any:
    """Return the token of a function: its code, what it holds, and the globals that it reads."""
    if function.__closure__ is None and is_library(function.__module__):
        return function
    code = function.__code__
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise Unknown from None
    held = (cells, function.__defaults__, function.__kwdefaults__)
    scope = function.__globals__
    read = [(n, _constant_token(scope[n], type(scope[n]))) for n in code.co_names if n in scope]
    return (code, *[token(recording, v) for v in held], *read)
