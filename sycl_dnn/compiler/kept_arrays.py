# SPDX-License-Identifier: Apache-2.0
"""Arrays of stored graphs, as data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import address, array_in, host_view, is_readable
from sycl_dnn.kernels import kept_binaries
from sycl_dnn.onednn.memory import Memory
from sycl_dnn.trace import layout
from sycl_dnn.trace.array import Array

#: Sizes in bytes of captured arrays besides weights: the largest, and the largest that is part of
#: the file of a program.
_MAX_BYTES, _LARGE = 1 << 24, 1 << 14
#: Names of the files that this process has read or written.
_in_files: set[str] = set()


class NotKept(Exception):
    """A graph cannot be stored as data, or a stored one is out of date."""


class Weights:
    """The arrays of a model, which programs refer to by number.

    ``known``: ``contents`` of the previous program of a function, which captures many of the same
    arrays. ``contents``: by id of another captured array: the array, and what is stored in its
    place.
    """

    def __init__(self, leaves: Sequence[Any], known: dict[int, tuple[Any, Any]]) -> None:
        self._known = known
        self.contents: dict[int, tuple[Any, Any]] = {}
        self._numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
        self._spans = [(address(leaf.get_array()), leaf.nbytes) for leaf in leaves]

    def reference(self, value: Any) -> Any:
        """Return the number of a weight, or the content of an array that is part of the model.

        What depends on values of weights is recorded, never captured, but for views of them.

        Raises NotKept if it is such a view, not an array, or large.
        """
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        if isinstance(value, (dpnp.ndarray, Array)):
            start = address(value.get_array())
            if any(first <= start < first + size for first, size in self._spans):
                raise NotKept
        entry = self._known.get(id(value)) or (value, _as_data(value))
        self.contents[id(value)] = entry
        return entry[1]


def content_of(memory: Any) -> Any:
    """Return the contents of a memory; None without one."""
    if memory is None:
        return None
    if not isinstance(memory, Memory) or not memory.desc.is_plain:
        raise NotKept
    return _as_data(memory.to_array())


def _as_data(array: Any) -> tuple[Any, ...]:
    """Return an array as data; a large one as the name of a file, which programs share."""
    is_carried = isinstance(array, Array)
    if not is_carried and not isinstance(array, dpnp.ndarray):
        raise NotKept
    raw = array.bits if is_carried else array
    order = _order(raw)
    if raw.nbytes > _MAX_BYTES:
        raise NotKept
    usm = raw.get_array()
    values = (host_view(usm) if is_readable(usm) else dpnp.asnumpy(raw)).transpose(order)
    content: bytes | str
    if values.nbytes > _LARGE:
        content = hashlib.sha256(values).hexdigest()
        if content not in _in_files:
            if not kept_binaries.has(content, values.nbytes):
                kept_binaries.keep(content, values.tobytes())
            _in_files.add(content)
    else:
        content = values.tobytes()
    carried = str(array.dtype) if is_carried else None
    return content, values.dtype.name, values.shape, order, carried


def _order(array: Any) -> tuple[int, ...]:
    """Return the axes of a dense array, outermost in memory first."""
    steps = array.get_array().strides
    order = layout.axes_in_order(array.shape, steps)
    expected = layout.row_major_strides([array.shape[i] for i in order])
    pairs = zip(order, expected, strict=True)
    if any(steps[i] != step for i, step in pairs if array.shape[i] != 1):
        raise NotKept
    return order


def array_of(data: tuple[Any, ...], queue: Any) -> Any:
    """Return the array of data."""
    content, dtype, shape, order, carried = data
    if isinstance(content, str):
        content = kept_binaries.load(content)
        if content is None:
            raise NotKept
    values = np.frombuffer(content, dtype).reshape(shape)
    array = array_in(values, None, sycl_queue=queue)
    if len(order) > 1:
        array = array.transpose(np.argsort(order).tolist())
    return array if carried is None else Array(array, carried)
