# SPDX-License-Identifier: Apache-2.0
"""Containers among the hyperparameters of modules: contents to compare, attributes to copy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from sycl_dnn import tree

PLAIN = (bool, int, str, bytes, complex, type(None), type(Ellipsis), range, slice)


def is_fixed(kind: type) -> bool:
    """Whether containers of this type are immutable."""
    frozen = getattr(kind, "__dataclass_params__", None)
    return kind is tuple or hasattr(kind, "_fields") or (frozen is not None and frozen.frozen)


def content_of(node: Any) -> list[Any]:
    """Return the contents of a container for comparison: plain values by value, others by id."""
    contents = [node.order or node.aux]
    for v in node.children:
        is_plain = isinstance(v, (*PLAIN, float))
        # Paired with the container itself: an id is unique only while the object is alive.
        value = v.hex() if type(v) is float else v if is_plain else (id(v), [v])
        contents.append((type(v), value))
    return contents


def attributes_of(value: Any, node: Any) -> list[tuple[str, Any]]:
    """Return the attributes of a user-defined container, in addition to its items."""
    attrs = getattr(value, "__dict__", {})
    if attrs is value or hasattr(node.kind, "__dataclass_fields__"):
        return []
    return list(attrs.items())


def add_attributes(copy: Any, value: Any, attributes: list[tuple[str, Any]]) -> None:
    """Give a copy of a container the attributes of the original."""
    if getattr(value, "__dict__", None) is value:  # a dict that is its own __dict__
        copy.__dict__ = copy
    elif attributes:
        copy.__dict__.update(attributes)


def copied(value: Any, instead: Callable[[Any], Any] = lambda value: NotImplemented) -> Any:
    """Return a value with its own copies of containers.

    ``instead(value)`` returns the replacement of a value in the copy, or NotImplemented.
    """
    copy = instead(value)
    if copy is not NotImplemented:
        return copy
    if isinstance(value, set):
        return {copied(v, instead) for v in value}
    if isinstance(value, deque):
        return deque([copied(v, instead) for v in value], value.maxlen)
    if not isinstance(value, (tuple, list, dict)):
        return value
    node = tree.opened(value)
    if node is None:
        return value
    copy = node.rebuilt([copied(v, instead) for v in node.children])
    add_attributes(copy, value, attributes_of(value, node))
    return copy
