# SPDX-License-Identifier: Apache-2.0
"""Refusal of parameters that ``forward`` does not reach through its module.

While a function is traced, the parameters of its module arguments are replaced by traced arrays.
The module object itself keeps the untraced ones, which would receive no gradient. Globals, class
attributes and objects that cannot be decomposed (iterators, weak containers) lead to it, and those
of a copy, such as a module after an optimizer's step, to the module that was copied.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import dpnp

from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor


class _Origin(NamedTuple):
    """The origin of a traced module, or of one with objects that cannot be decomposed."""

    #: Whether it is a copy other than the traced form of a module.
    is_copy: bool
    #: The modules that it was copied from, the last one first.
    sources: tuple[weakref.ref[Any], ...]


_NONE = _Origin(False, ())
_origins: weakref.WeakKeyDictionary[Any, _Origin] = weakref.WeakKeyDictionary()


def is_copy(module: Any) -> bool:
    """Whether objects of a module may lead to the module from which it was copied."""
    return _origins.get(module, _NONE).is_copy


def copied(form: Any, module: Any, is_traced: bool) -> None:
    """Record that a module is a copy of the one that last had a form."""
    root = form.root()
    if root is None or not (is_traced or form.is_opaque):
        return
    origin = _origins.get(root, _NONE)
    alive = (s for s in origin.sources if s() is not None)
    _origins[module] = _Origin(origin.is_copy or not is_traced, (weakref.ref(root), *alive))


def note(form: Any, arguments: list[Any]) -> None:
    """Record in a trace which parameters its arguments represent."""
    trace = next(v.trace for v in arguments if isinstance(v, Tensor))
    root = form.root()
    if root is None:
        return
    from sycl_dnn.nn import module_tree

    leaves, form_now = module_tree.walked(root)
    if form_now != form:
        return
    trace.represented |= _parameters(leaves, form, is_readable=False)
    for source in _origins.get(root, _NONE).sources:
        if (module := source()) is not None:
            # Code without gradients may read the module behind a traced form.
            is_traced = any(isinstance(v, Tensor) for v in leaves)
            leaves, form = module_tree.walked(module)
            trace.represented |= _parameters(leaves, form, is_readable=is_traced)


def _parameters(leaves: list[Any], form: Any, is_readable: bool) -> dict[int, tuple[str, bool]]:
    """Return the paths of a module's trainable parameters by id, unless they are traced."""
    return {
        id(leaves[i]): (name, is_readable)
        for i, name in form.trainable.items()
        if not isinstance(leaves[i], Tensor)
    }


def check(module: Any, name: str, value: Any) -> None:
    """Refuse a parameter of a module that is an argument of the traced function.

    Raises TypeError if a gradient would not reach it.
    """
    if type(value) is not dpnp.ndarray:
        return
    trace = running_trace()
    path, is_readable = ("", True) if trace is None else trace.represented.get(
        id(value), ("", True)
    )  # fmt: skip
    if path and (trace.training or not is_readable):
        raise TypeError(
            f"{type(module).__name__}: the parameter {path.lstrip('.')} must be reached through "
            "self in a forward, so that it has a gradient, got the module itself, by a global, an "
            f"attribute of a class or an object that is not copied, for its {name}"
        )
