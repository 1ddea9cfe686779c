# SPDX-License-Identifier: Apache-2.0
"""Module calls: inlined in a trace, compiled into a program otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call.reverse import differentiated
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.nn import (
    buffer_writes,
    folded_calls,
    held_objects,
    hooks,
    module_tree,
    written_attributes,
)
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import building, handed, in_manner, plain
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.torch_methods import in_torch_manner, is_torch, unspoilt
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor


def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a module's ``forward`` on arrays that have torch's methods."""
    trace = running_trace()
    if trace is not None and "_is_traced" not in module.__dict__:
        trace.modules |= set(map(id, module_tree.registered_modules(module)))
    with written_attributes.unchanged(module, trace), in_torch_manner():
        return buffer_writes.flushed(_returned(module, module.forward(*args, **kwargs)))


def _returned(module: Any, result: Any) -> Any:
    """Return the result of a forward; refuse tensors that torch would have overwritten."""
    for leaf in (result,) if isinstance(result, Tensor) else tree.leaves(result):
        if getattr(leaf, "marks", None):
            unspoilt(f"{type(module).__name__}.forward", leaf)
    return result


#: Compiled forwards, one for each form of module; the oldest are dropped first.
_programs: dict[Any, _Program] = {}
_MAX_PROGRAMS = 1024


def _program_of(module: Any) -> Any:
    """Return the program for modules of this form."""
    _, form = module_tree.flatten(module)
    program = _programs.get(form)
    if program is None:
        while len(_programs) >= _MAX_PROGRAMS:
            _programs.pop(next(iter(_programs)), None)
        program = _programs[form] = _Program(form)
    return program


class _Program:
    """The program of a module; its ``forward`` runs at each call if it needs arrays."""

    def __init__(self, form: Any) -> None:
        self._compiled: Any = None if form.is_written else compile(forward)
        if self._compiled is not None:  # else the code runs at each call
            self._compiled.keeps_states = False

    def __call__(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        if self._compiled is not None:
            try:
                return self._compiled(module, *args, **kwargs)
            except NeedsArrays:
                self._compiled = None
        return recorded(module, *args, **kwargs)


def recorded(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Run ``forward`` as ``vjp`` does, without a reverse pass."""
    return differentiated("forward", forward, (module, *args), kwargs, ())[0]


class Watchers(threading.local):
    """Callbacks invoked for each module that runs in this thread."""

    current: Callable[[Any, Any, Any, Any], None] | None = None


watchers = Watchers()


def run_forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``forward`` with its pre- and post-hooks."""
    if hooks.has_hooks(module):
        return in_manner(hooks.run(module, args, kwargs, _run))
    return _run(module, args, kwargs)


def run_arrays(module: Any, *args: Any) -> Any:
    """Run a module on arrays none of which is traced: as ``run_forward``, with fewer checks."""
    is_watched = hooks.has_hooks(module) or hooks.are_inside(module)
    program = None if is_watched or is_torch() else folded_calls.program_of(module)
    return run_forward(module, args, {}) if program is None else in_manner(program(*args))


def _run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``forward`` without hooks."""
    if is_torch():
        if any(map(nested_arguments.is_array, args)):
            args, kwargs = _captured(_leaves(module, args, kwargs), args, kwargs)
        result = _returned(module, module.forward(*args, **kwargs))
        if watchers.current is not None:
            watchers.current(module, args, kwargs, result)
        return result
    program = folded_calls.program_of(module)
    if program is not None and not hooks.are_inside(module):
        operands = tree.leaves((args, kwargs))
        if any(map(nested_arguments.is_array, operands)) and not any(map(_is_traced, operands)):
            return in_manner(program(*args, **kwargs))
    leaves = _leaves(module, args, kwargs)
    trace = nested_arguments.trace_of_leaves(leaves)
    if trace is None and not any(nested_arguments.is_array(v) for v in leaves):
        return forward(module, *args, **kwargs)
    if trace is None and module.training:  # a traced function captures both: it draws in each call
        trace = running_trace()
    if trace is not None:
        module, args, kwargs = (_copy(trace, value) for value in (module, args, kwargs))
        return forward(module, *args, **kwargs)
    if hooks.are_inside(module):
        return _in_parts(module, args, kwargs)
    return in_manner(_program_of(module)(module, *args, **kwargs))


def _is_traced(value: Any) -> bool:
    return isinstance(value, Tensor)


def _leaves(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return [*module_tree.walked(module)[0], *tree.leaves((args, kwargs))]


def _captured(leaves: list[Any], *called: Any) -> tuple[Any, ...]:
    """Wrap the arrays of a module and its arguments as tensors with torch's methods.

    A traced function may close over the module or its input: ``grad(lambda net: loss(net(x)))``.
    """
    trace = nested_arguments.trace_of_leaves(leaves)
    if trace is None:
        return called
    return tuple(_copy(trace, value) for value in called)


def _copy(trace: Any, value: Any) -> Any:
    """Return a module or arguments over tensors of a trace."""
    if not held_objects.is_module(value):
        return module_tree.replaced(value, trace.capture)
    leaves = module_tree.walked(value)[0]
    if leaves and not any(map(nested_arguments.is_array, leaves)):
        return value
    copy = written_attributes.copy_of(trace, value)
    if copy is None:
        copy = module_tree.replaced(value, trace.capture)
        written_attributes.watch(trace, value, copy, is_captured=True)
    return copy


def _in_parts(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``forward`` call by call: hooks of submodules must see arrays, not traced values."""
    with building():
        operands = hooks.mapped(handed, (args, kwargs))
        result = module.forward(*operands[0], **operands[1])
    return in_manner(hooks.mapped(plain, result))
