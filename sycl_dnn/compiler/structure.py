# SPDX-License-Identifier: Apache-2.0
"""Arguments and results nested in lists, tuples and dicts: keys, arrays in order, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dpnp

from sycl_dnn.dispatch.arguments import Collected, Seed
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.dispatch.tensor import Tensor

_ARRAYS = (dpnp.ndarray, Array, Frozen, Seed)


class Given(Collected):
    """What was found in the arguments of a call of a compiled function."""

    __slots__ = ()

    def token(self, value: Any) -> Any:
        """Return what a plan depends on of ``value``, and note its arrays."""
        kind = value.__class__
        if kind is dict:
            return (dict, *[(k, self.token(v)) for k, v in value.items()])
        if kind is Frozen:
            return held_token(value)
        return super().token(value)


def held_token(value: Any) -> Any:
    """Return the key of a constant argument: which arrays it is made of."""
    if is_array(value):
        return ("held", id(value))
    if isinstance(value, dict):
        return (dict, *[(k, held_token(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value), *[held_token(v) for v in value])
    return Collected().token(value)


def is_array(value: Any) -> bool:
    """Whether a value is an array of some kind."""
    return isinstance(value, _ARRAYS) or hasattr(value, "usm_data")


def replaced(value: Any, swap: Callable[[Any], Any]) -> Any:
    """Return nested arguments with every array exchanged for ``swap(array)``."""
    if is_array(value):
        return swap(value)
    if isinstance(value, dict):
        return {k: replaced(v, swap) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        made = [replaced(v, swap) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


class _Leaf:
    """Stands for an array in the form of results."""

    def __repr__(self) -> str:
        return "array"


LEAF = _Leaf()


def flattened(value: Any, capture: Callable[[Any], Tensor]) -> tuple[list[Tensor], Any]:
    """Return the tensors of a result in order, and its form with ``LEAF`` for each.

    Raises
    ------
    TypeError
        There is something else than tensors, arrays, None, numbers and texts.
    """
    leaves: list[Tensor] = []

    def form(item: Any) -> Any:
        if isinstance(item, Tensor) or is_array(item):
            leaves.append(item if isinstance(item, Tensor) else capture(item))
            return LEAF
        if isinstance(item, dict):
            return {k: form(v) for k, v in item.items()}
        if isinstance(item, (tuple, list)):
            made = [form(v) for v in item]
            return type(item)(*made) if hasattr(item, "_fields") else type(item)(made)
        if item is None or isinstance(item, (bool, int, float, str)):
            return item
        raise TypeError(
            "compile: the function must return arrays, nested in lists, tuples and dicts, got "
            f"{type(item).__name__}"
        )

    nested = form(value)
    return leaves, nested


def built(form: Any, leaves: Iterator[Any]) -> Any:
    """Return a result of a form with these arrays."""
    if form is LEAF:
        return next(leaves)
    if isinstance(form, dict):
        return {k: built(v, leaves) for k, v in form.items()}
    if isinstance(form, (tuple, list)):
        made = [built(v, leaves) for v in form]
        return type(form)(*made) if hasattr(form, "_fields") else type(form)(made)
    return form


def leaves_of(value: Any) -> list[Any]:
    """Return the arrays of nested values, in order."""
    if is_array(value):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list, tuple)):
        return [leaf for item in items for leaf in leaves_of(item)]
    return []
