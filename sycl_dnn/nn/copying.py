# SPDX-License-Identifier: Apache-2.0
"""Pickling and deep copies of modules."""

from __future__ import annotations

import copy
import functools
from typing import Any

from sycl_dnn import tree
from sycl_dnn.nn import held_objects, lent_arrays, module_tree
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import ModuleArray, handed

#: Attributes that belong to this process or to a trace.
_OMITTED = ("_lent", "_is_traced")


def state_of(module: Any) -> dict[str, Any]:
    """Return the attributes of a module in a form that ``pickle`` can write."""
    return {n: v for n, v in module.__dict__.items() if n not in _OMITTED}


def deep_copy(module: Any, memo: dict[Any, Any]) -> Any:
    """Return a copy with its own arrays, on the same queues; callables refer to the copy."""
    member_ids = memo.setdefault("members of the copied trees", {})
    if id(module) not in member_ids:
        member_ids |= module_tree.ids_of(module)
    result = memo[id(module)] = object.__new__(type(module))
    for name, value in state_of(module).items():
        is_group = name in ("_parameters", "_buffers", "_modules")
        result.__dict__[name] = (
            copy.deepcopy(value, memo) if is_group else _copied(value, member_ids, memo)
        )
    lent_arrays.adopt(result)
    module_tree.form_changed()
    return result


def _copied(value: Any, member_ids: dict[int, bool], memo: dict[Any, Any]) -> Any:
    if id(value) in memo or held_objects.is_module(value):
        return copy.deepcopy(value, memo)
    if isinstance(value, ModuleArray):
        return handed(copy.deepcopy(value.plain, memo))
    if nested_arguments.is_array(value):
        return copy.deepcopy(value, memo)
    if isinstance(value, (tuple, list, dict)) and held_objects.reaches(value, member_ids, "", {}):
        node = tree.opened(value)
        assert node is not None
        return node.rebuilt([_copied(v, member_ids, memo) for v in node.children])
    parts = held_objects.parts_of(value)
    if parts is None or not held_objects.reaches(value, member_ids, "", {}):
        return copy.deepcopy(value, memo)
    makers = {
        i: functools.partial(_copied, child, member_ids, memo)
        for i, child in enumerate(parts.children)
        if held_objects.reaches(child, member_ids, "", {})
    }
    return parts.build(makers, functools.partial(memo.__setitem__, id(value)))
