# SPDX-License-Identifier: Apache-2.0
"""Views of arrays with torch's methods: writes to one are seen by the other, as in torch."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn import tree
from sycl_dnn._dpnp import array_maker, view
from sycl_dnn.program.place import place_of
from sycl_dnn.trace.recording import Trace


def views(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the results of a function of ``VIEWS`` as views of its first argument.

    The function is traced: where the trace moves nothing, its results lie in the argument.

    Returns
    -------
    NotImplemented
        Some result is not a part of the argument's memory as it is.
    """
    array = args[0]
    if type(array) is not dpnp.ndarray:
        return NotImplemented
    trace = Trace(place_of(array.sycl_queue)[0].engine)
    try:
        result = operation.traced(trace, args, kwargs)
    finally:
        trace.end()
    if all(_is_part(leaf, array) for leaf in tree.leaves(result)):
        return tree.map(lambda leaf: _part(leaf, array), result)
    if operation.name == "diagonal":  # of an array with gaps, which a trace copies first
        return _diagonal(*args, **kwargs)
    return NotImplemented


def _diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return dpnp.diagonal(input, offset, dim1, dim2)


def _is_part(value: Any, array: Any) -> bool:
    storage = getattr(value, "storage", None)
    return storage is not None and storage.argument == 0 and value.dtype == array.dtype.name


def _part(value: Any, array: Any) -> Any:
    start = value.offset // array.itemsize
    return array_maker()(view(array.get_array(), value.shape, array.dtype, value.strides, start))
