# SPDX-License-Identifier: Apache-2.0
"""Hooks that run before and after a module's ``forward``, as in torch."""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sycl_dnn.nn import module_tree
from sycl_dnn.trace.module_arrays import building, handed, plain
from sycl_dnn.trace.torch_methods import in_torch_manner
from sycl_dnn.trace.values import Tensor

#: Only modules with hooks have these attributes, so the form of others does not change.
BEFORE, AFTER = "_forward_pre_hooks", "_forward_hooks"


class Hook(NamedTuple):
    """One hook; part of the module's form, like hyperparameters."""

    number: int
    function: Callable[..., Any]
    with_kwargs: bool
    always: bool


class RemovableHandle:
    """Removes a hook when called or at the end of a ``with`` block.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> net, seen = nn.Linear(2, 3), []
    >>> with net.register_forward_hook(lambda module, args, output: seen.append(output.shape)):
    ...     _ = net(F.ones(4, 2))
    >>> _ = net(F.ones(5, 2))
    >>> seen
    [(4, 3)]
    """

    def __init__(self, module: Any, group: str, number: int) -> None:
        self._module: weakref.ref[Any] | None = weakref.ref(module)
        self._group, self.id = group, number

    def remove(self) -> None:
        """Remove the hook; further calls do nothing."""
        module, self._module = self._module and self._module(), None
        if module is not None:
            remaining = tuple(h for h in module.__dict__[self._group] if h.number != self.id)
            _set(module, self._group, remaining)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class _Usage:
    """Whether any module ever had a hook: most programs can skip the check."""

    is_used = False


def _set(module: Any, group: str, hooks: tuple[Hook, ...]) -> None:
    if hooks:
        module.__dict__[group] = hooks
    else:
        module.__dict__.pop(group, None)
    module_tree.form_changed()


def register(
    module: Any, group: str, function: Any, prepend: bool, with_kwargs: bool, always: bool
) -> RemovableHandle:
    """Add a hook to a module.

    Raises TypeError if the hook cannot be called, and RuntimeError if the module is being traced.
    """
    name = type(module).__name__
    if not callable(function):
        raise TypeError(f"{name}: hook must be callable, got {type(function).__name__}")
    if "_is_traced" in module.__dict__:
        raise RuntimeError(f"{name}: hooks must be registered outside of traced functions")
    old = module.__dict__.get(group, ())
    hook = Hook(max((h.number for h in old), default=-1) + 1, function, with_kwargs, always)
    _set(module, group, (hook, *old) if prepend else (*old, hook))
    _Usage.is_used = True
    return RemovableHandle(module, group, hook.number)


def has_hooks(module: Any) -> bool:
    """Whether a module itself has hooks."""
    return _Usage.is_used and (BEFORE in module.__dict__ or AFTER in module.__dict__)


def are_inside(module: Any) -> bool:
    """Whether submodules have hooks."""
    return _Usage.is_used and any(has_hooks(m) for m in module.modules() if m is not module)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply ``function`` to the leaves of nested tuples, lists and dicts."""
    if isinstance(value, dict):
        return {k: mapped(function, v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        children = [mapped(function, v) for v in value]
        return type(value)(*children) if hasattr(value, "_fields") else type(value)(children)
    return function(value)


def _is_traced(value: Any) -> bool:
    flags = []
    mapped(lambda v: flags.append(isinstance(v, Tensor)), value)
    return any(flags)


@contextlib.contextmanager
def _manner(is_traced: bool) -> Iterator[None]:
    """Give arrays torch's methods, as the code of a hook expects."""
    with in_torch_manner() if is_traced else building():
        yield


def run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], forward: Any) -> Any:
    """Return the result of ``forward(module, args, kwargs)`` with the module's hooks."""
    attrs = module.__dict__
    is_traced = "_is_traced" in attrs or _is_traced((args, kwargs))
    seen = (lambda value: value) if is_traced else lambda value: mapped(handed, value)
    pending = list(attrs.get(AFTER, ()))
    try:
        with _manner(is_traced):
            for hook in attrs.get(BEFORE, ()):
                args, kwargs = _before(hook, module, seen(args), seen(kwargs))
        result = forward(module, mapped(plain, args), mapped(plain, kwargs))
        while pending:
            hook = pending.pop(0)
            with _manner(is_traced):
                operands = (seen(args), seen(kwargs)) if hook.with_kwargs else (seen(args),)
                output = hook.function(module, *operands, seen(result))
            result = result if output is None else mapped(plain, output)
        return result
    except Exception:
        for hook in pending:
            if hook.always:
                _after_failure(hook, module, args, kwargs)
        raise


def _before(hook: Hook, module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    result = (
        hook.function(module, args, kwargs) if hook.with_kwargs else hook.function(module, args)
    )
    if result is None:
        return args, kwargs
    if not hook.with_kwargs:
        return (result if isinstance(result, tuple) else (result,)), kwargs
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise RuntimeError(
        f"{type(module).__name__}: a forward pre-hook with kwargs must return None or a tuple of "
        f"args and kwargs, got {result}"
    )


def _after_failure(hook: Hook, module: Any, args: Any, kwargs: Any) -> None:
    """Call a hook that runs even if the forward failed, without a result."""
    try:
        hook.function(module, *((args, kwargs) if hook.with_kwargs else (args,)), None)
    except Exception as error:
        warnings.warn(
            f"{type(module).__name__}: a forward hook with always_call=True failed after the "
            f"forward had: {error}",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
