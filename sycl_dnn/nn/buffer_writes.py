# SPDX-License-Identifier: Apache-2.0
"""Buffers that a forward assigns or writes to: memory is updated when the outermost one returns.

Until then a module that is traced has the assigned tensor in place of its buffer, so a tensor read
before keeps the old values, and gradients pass through the new ones, as in torch.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from sycl_dnn import tree
from sycl_dnn.trace import layout
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.torch_methods import OfOthers
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor


def _note(trace: Any, module: Any, name: str, buffer: Tensor) -> None:
    """Note that the memory of a buffer must be updated."""
    trace.buffers.setdefault((id(module), name), (module, buffer, buffer.as_it_is()))


def assign(module: Any, name: str, value: Tensor) -> None:
    """Let a traced module have a tensor as its buffer, of the buffer's shape and dtype."""
    buffers = module.__dict__["_buffers"]
    trace, old = value.trace, buffers[name]
    _note(trace, module, name, old)
    buffers[name] = trace.convert(value, str(old.dtype))


class BufferMarks(OfOthers):
    """The marks of a parameter or a buffer of a traced module, and of views of it."""

    __slots__ = ("module", "name")

    def __init__(self, module: Any, name: str) -> None:
        super().__init__()
        self.module, self.name = module, name

    def written(self, value: Tensor, writer: str, made: Tensor) -> Tensor:
        """Return the result of a function that writes ``made`` over a buffer, or a view of one.

        Raises
        ------
        TypeError
            It is a parameter, or a view in a compiled function.
        """
        own, trace = self.module.__dict__, value.trace
        if self.name in own["_parameters"]:
            raise TypeError(
                f"{writer}: the parameter {type(self.module).__name__}.{self.name} must not be "
                "written to in a forward; use clone() of it"
            )
        buffer = own["_buffers"].get(self.name)
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
            replace(value, made, writer)
            return value
        self.append(writer)
        if is_current:
            made.marks = BufferMarks(self.module, self.name)
            own["_buffers"][self.name] = made
        return made


def marked(module: Any, name: str, value: Any) -> Any:
    """Return an array of a module with marks that say so, if it is an argument of a trace."""
    marks = getattr(value, "marks", None)
    if isinstance(marks, BufferMarks):  # each call of a module that is captured has a copy of it
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
    for (_, name), (module, buffer, argument) in assigned.items():
        buffers = module.__dict__["_buffers"]
        trace.update(argument, buffers[name], f"{type(module).__name__}.{name}")
        buffer.restore(argument)
        buffers[name] = buffer
    return result


def _apart(leaf: Any, assigned: Container[tuple[int, str]]) -> Any:
    """Return a result with the old values of a buffer in memory of its own."""
    marks = getattr(leaf, "marks", None)
    if isinstance(marks, BufferMarks) and (id(marks.module), marks.name) in assigned:
        return leaf.trace.logged(_copied, leaf)
    return leaf


def _copied(x: Tensor) -> Tensor:
    made = x.trace.new(layout.like(x.desc, x.dtype), x.shape, x.dtype)
    x.trace.steps.append(x.trace.copy_step(x, made))
    return x.trace.view(x, made, lambda grad: grad)
