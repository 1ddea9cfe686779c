# SPDX-License-Identifier: Apache-2.0
"""Arrays that modules have handed out as attributes.

As parameters in torch, they stay what the attribute is when ``load_state_dict``, ``to`` or an
optimizer gives the module another array: lists and objects may hold them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from sycl_dnn.nn import module_tree
from sycl_dnn.trace.module_arrays import handed, is_handed
from sycl_dnn.trace.nested_arguments import is_array


def bind(module: Any, name: str) -> None:
    """Record that an attribute is rebound: arrays handed out before keep their meaning."""
    array = module_tree.lends(module).pop(name, None)
    if array is not None:
        array.owners.pop((id(module), name), None)
    value = module._array(name)
    if is_handed(value):
        module_tree.lend(module, name, handed(value))


def adopt(root: Any) -> None:
    """Record the handed-out arrays that a copied tree holds in lists and objects."""
    for module in module_tree.registered_modules(root):
        for name in (*module._parameters, *module._buffers):
            if name not in module_tree.lends(module):
                bind(module, name)


@contextlib.contextmanager
def replacing(root: Any) -> Iterator[None]:
    """Let arrays that a tree's modules handed out follow the arrays that a block replaces."""
    lent = [
        (array, module, name)
        for module in module_tree.registered_modules(root)
        for name, array in module.__dict__.get("_lent", {}).items()
        if module._array(name) is array.plain
    ]
    yield
    for array, module, name in lent:
        value = module._array(name)
        # A module outside the tree that shares the old array keeps it.
        if is_array(value) and value is not array.plain and not array.in_modules():
            array.represent(value)


def replace(root: Any, leaves: Sequence[Any]) -> None:
    """Replace the arrays of a tree wherever its modules refer to them."""
    old, _ = module_tree.flatten(root)
    new = {id(old_array): new_array for old_array, new_array in zip(old, leaves, strict=True)}
    with replacing(root):
        for module in root.modules():
            for group in (module._parameters, module._buffers):
                for name, value in group.items():
                    if value is not None:
                        group[name] = new[id(value)]
