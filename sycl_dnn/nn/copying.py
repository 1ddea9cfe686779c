# SPDX-License-Identifier: Apache-2.0
"""Pickling and deep copies of modules; arrays are stored by value."""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import tree
from sycl_dnn.device import default_queue
from sycl_dnn.nn import held_objects, module_tree
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import plain

#: Attributes that belong to this process or to a trace.
_OMITTED = ("_lent", "_is_traced")


class _Stored:
    """A dpnp array in a pickle; one object per array, so that tied parameters remain tied."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __reduce__(self) -> Any:
        return _restored, (dpnp.asnumpy(self._array),)


#: Keyed by the id of the array, which the entry keeps alive; the pickler keeps the entries.
_stored: weakref.WeakValueDictionary[int, _Stored] = weakref.WeakValueDictionary()


def _restored(values: np.ndarray) -> Any:
    """Return an unpickled array, on the default queue."""
    return dpnp.asarray(values, sycl_queue=default_queue())


def _storable(array: Any) -> Any:
    if not isinstance(array, dpnp.ndarray):
        return array
    found = _stored.get(id(array))
    if found is None:
        found = _stored[id(array)] = _Stored(array)
    return found


def state_of(module: Any) -> dict[str, Any]:
    """Return the attributes of a module in a form that ``pickle`` can write."""
    own = {n: v for n, v in module.__dict__.items() if n not in _OMITTED}
    return {n: _swapped(v, _storable) for n, v in own.items()}


def _swapped(value: Any, swap: Callable[[Any], Any]) -> Any:
    """Return containers with their arrays replaced; those without arrays unchanged."""
    if nested_arguments.is_array(plain(value)):
        return swap(plain(value))
    if not isinstance(value, (tuple, list, dict)):
        return value
    node = tree.opened(value)
    assert node is not None
    children = [_swapped(v, swap) for v in node.children]
    is_same = all(new is old for new, old in zip(children, node.children, strict=True))
    return value if is_same else node.rebuilt(children)


def deep_copy(module: Any, memo: dict[Any, Any]) -> Any:
    """Return a copy with its own arrays, on the same queues; callables refer to the copy."""
    wanted = memo.setdefault("modules of the copied trees", set())
    if id(module) not in wanted:
        wanted |= set(map(id, module_tree.registered_modules(module)))
    made = memo[id(module)] = object.__new__(type(module))
    own = {n: v for n, v in module.__dict__.items() if n not in _OMITTED}
    for name, value in own.items():
        made.__dict__[name] = _copied(value, wanted, memo)
    module_tree.form_changed()
    return made


def _noted(array: Any, memo: dict[Any, Any]) -> Any:
    """Return the copy of an array, memoized."""
    if not hasattr(array, "copy"):
        return copy.deepcopy(array, memo)
    if id(array) not in memo:
        memo[id(array)] = array.copy()
    return memo[id(array)]


def _copied(value: Any, wanted: set[int], memo: dict[Any, Any]) -> Any:
    if id(value) in memo or held_objects.is_module(value):
        return copy.deepcopy(value, memo)
    if nested_arguments.is_array(plain(value)):
        return _noted(plain(value), memo)
    if isinstance(value, (tuple, list, dict)) and held_objects.reaches(value, wanted, "", {}):
        node = tree.opened(value)
        assert node is not None
        return node.rebuilt([_copied(v, wanted, memo) for v in node.children])
    parts = held_objects.parts_of(value)
    if parts is None or not held_objects.reaches(value, wanted, "", {}):
        _swapped(value, lambda array: _noted(array, memo))  # fills the memo of deepcopy
        return copy.deepcopy(value, memo)
    made = {
        i: functools.partial(_copied, child, wanted, memo)
        for i, child in enumerate(parts.children)
        if held_objects.reaches(child, wanted, "", {})
    }
    return parts.build(made, functools.partial(memo.__setitem__, id(value)))
