# SPDX-License-Identifier: Apache-2.0
"""Arrays of modules that a forward writes; the outermost forward updates their memory on return.

Buffers are assigned or written; parameters are written where their gradient is not wanted. Until
then the traced module holds the new tensor in their place. As in torch, tensors read earlier keep
the old values, and gradients pass through the new ones.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call import written_views
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.write_marks import OfOthers


def _group(module: Any, name: str) -> dict[str, Any]:
    """Return the parameters or the buffers of a module, whichever have the name."""
    attrs: dict[str, dict[str, Any]] = module.__dict__
    return attrs["_parameters" if name in attrs["_parameters"] else "_buffers"]


def _note(trace: Any, module: Any, name: str, buffer: Tensor) -> None:
    """Schedule the update of an array's memory."""
    trace.buffers.setdefault((id(module), name), (module, buffer, buffer.as_it_is()))


def assign(module: Any, name: str, value: Tensor) -> None:
    """Assign a tensor to a buffer of a traced module, converted to the buffer's dtype."""
    buffers = module.__dict__["_buffers"]
    trace, old = value.trace, buffers[name]
    _note(trace, module, name, old)
    buffers[name] = trace.convert(value, str(old.dtype))


class BufferMarks(OfOthers):
    """Marks on a parameter or buffer of a traced module, and on its views.

    ``has_gradient``: whether a function is differentiated with respect to the module.
    """

    __slots__ = ("has_gradient", "module", "name")

    def __init__(self, module: Any, name: str, has_gradient: bool = False) -> None:
        super().__init__()
        self.module, self.name, self.has_gradient = module, name, has_gradient

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Let an array, or a view of it, represent ``result``, which a function writes to it.

        Raises TypeError if it is a parameter, and the gradient with respect to it is wanted.
        """
        attrs, trace = self.module.__dict__, value.trace
        group, path = _group(self.module, self.name), f"{type(self.module).__name__}.{self.name}"
        is_detached = trace.is_gradient_free or written_views.is_detached(trace, value)
        is_leaf = group is attrs["_parameters"] and self.name not in attrs["_frozen"]
        if is_leaf and self.has_gradient and not is_detached:
            raise TypeError(
                f"{writer}: the parameter {path} must not be written to by a function that is "
                "differentiated with respect to it; write to its data, or to clone() of it"
            )
        buffer: Any = group.get(self.name)
        if getattr(buffer, "marks", None) is self:
            _note(trace, self.module, self.name, buffer)
        trace.replace(value, result, writer)
        return value


def marked(module: Any, name: str, value: Any) -> Any:
    """Mark a module's array that is an argument of a trace as such; return it."""
    marks = getattr(value, "marks", None)
    if isinstance(marks, BufferMarks):  # each call of a captured module has its own copy
        marks.module, marks.name = module, name
    elif marks is not None and value.is_argument:
        value.marks = BufferMarks(module, name, getattr(marks, "has_gradient", False))
    return value


def flushed(result: Any) -> Any:
    """Update the memory of written arrays; return the result of the outermost forward."""
    trace = running_trace()
    if trace is None or not trace.buffers:
        return result
    assigned, trace.buffers = trace.buffers, {}
    result = tree.map(lambda leaf: _apart(leaf, assigned), result)
    values = {
        key: _apart(_group(module, key[1])[key[1]], assigned.keys() - {key})
        for key, (module, *_) in assigned.items()
    }
    for (_, name), (module, buffer, argument) in assigned.items():
        writer, value = f"{type(module).__name__}.{name}", values[id(module), name]
        trace.update(argument, value, writer, are_views_old=True)
        buffer.restore(argument)
        _group(module, name)[name] = buffer
    return result


def _apart(leaf: Any, assigned: Container[tuple[int, str]]) -> Any:
    """Copy a tensor that shares memory with an assigned buffer."""
    marks = getattr(leaf, "marks", None)
    if isinstance(marks, BufferMarks) and (id(marks.module), marks.name) in assigned:
        return clone_of(leaf)
    return leaf
