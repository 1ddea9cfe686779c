# SPDX-License-Identifier: Apache-2.0
"""Buffers that a forward assigns or writes; the outermost forward updates their memory on return.

Until then the traced module holds the assigned tensor instead of its buffer. As in torch, tensors
read earlier keep the old values, and gradients pass through the new ones.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from sycl_dnn import tree
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.torch_methods import OfOthers
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor


def _note(trace: Any, module: Any, name: str, buffer: Tensor) -> None:
    """Schedule the update of a buffer's memory."""
    trace.buffers.setdefault((id(module), name), (module, buffer, buffer.as_it_is()))


def assign(module: Any, name: str, value: Tensor) -> None:
    """Assign a tensor to a buffer of a traced module, converted to the buffer's dtype."""
    buffers = module.__dict__["_buffers"]
    trace, old = value.trace, buffers[name]
    _note(trace, module, name, old)
    buffers[name] = trace.convert(value, str(old.dtype))


class BufferMarks(OfOthers):
    """Marks on a parameter or buffer of a traced module, and on its views."""

    __slots__ = ("module", "name")

    def __init__(self, module: Any, name: str) -> None:
        super().__init__()
        self.module, self.name = module, name

    def written(self, value: Tensor, writer: str, result: Tensor) -> Tensor:
        """Return the result of a function that writes ``result`` over a buffer or a view of it.

        Raises
        ------
        TypeError
            It is a parameter, or a view in a compiled function.
        """
        attrs, trace = self.module.__dict__, value.trace
        if self.name in attrs["_parameters"]:
            raise TypeError(
                f"{writer}: the parameter {type(self.module).__name__}.{self.name} must not be "
                "written to in a forward; use clone() of it"
            )
        buffer = attrs["_buffers"].get(self.name)
        is_current = getattr(buffer, "marks", None) is self
        replace = getattr(trace, "replace", None)
        if is_current:
            if replace is None and value is not buffer:
                raise NeedsArrays(
                    f"{writer}: a view of the buffer {type(self.module).__name__}.{self.name} must "
                    "not be written to in a compiled function; assign the whole buffer"
                )
            _note(trace, self.module, self.name, buffer)
        if replace is not None:
            replace(value, result, writer)
            return value
        self.append(writer)
        if is_current:
            result.marks = BufferMarks(self.module, self.name)
            attrs["_buffers"][self.name] = result
        return result


def marked(module: Any, name: str, value: Any) -> Any:
    """Mark a module's array that is an argument of a trace as such; return it."""
    marks = getattr(value, "marks", None)
    if isinstance(marks, BufferMarks):  # each call of a captured module has its own copy
        marks.module, marks.name = module, name
    elif marks is not None and value.is_argument:
        value.marks = BufferMarks(module, name)
    return value


def flushed(result: Any) -> Any:
    """Update the memory of assigned buffers; return the result of the outermost forward."""
    trace = running_trace()
    if trace is None or not trace.buffers:
        return result
    assigned, trace.buffers = trace.buffers, {}
    result = tree.map(lambda leaf: _apart(leaf, assigned), result)
    values = {
        key: _apart(module.__dict__["_buffers"][key[1]], assigned.keys() - {key})
        for key, (module, *_) in assigned.items()
    }
    for (_, name), (module, buffer, argument) in assigned.items():
        trace.assign_argument(argument, values[id(module), name], f"{type(module).__name__}.{name}")
        buffer.restore(argument)
        module.__dict__["_buffers"][name] = buffer
    return result


def _apart(leaf: Any, assigned: Container[tuple[int, str]]) -> Any:
    """Copy a tensor that shares memory with an assigned buffer."""
    marks = getattr(leaf, "marks", None)
    if isinstance(marks, BufferMarks) and (id(marks.module), marks.name) in assigned:
        return clone_of(leaf)
    return leaf
