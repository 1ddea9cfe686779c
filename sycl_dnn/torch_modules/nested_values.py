# SPDX-License-Identifier: Apache-2.0
"""Structures of nested arguments and results as JSON: ``["tuple", [...]]``, ``"*"``."""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence
from typing import Any

#: A leaf.
LEAF = "*"


def encoded(spec: Any) -> Any:
    """Convert a torch ``TreeSpec`` to lists.

    Raises NotImplementedError if it has containers of an unsupported class.
    """
    if spec.is_leaf():
        return LEAF
    kind, inner = spec.type, [encoded(child) for child in spec.children()]
    if kind in (tuple, list):
        return [kind.__name__, inner]
    if kind is collections.namedtuple or hasattr(kind, "_fields"):
        real: Any = spec.context if isinstance(spec.context, type) else kind
        return ["namedtuple", inner, [real.__name__, *real._fields]]
    if issubclass(kind, tuple):  # torch.return_types
        return ["namedtuple", inner, [kind.__name__, *kind.__match_args__]]
    if issubclass(kind, dict):
        keys = spec.context[1] if isinstance(spec.context, tuple) else spec.context
        return ["dict", inner, list(keys)]
    if isinstance(spec.context, (tuple, list)) and hasattr(kind, "keys"):
        return ["dict", inner, list(spec.context)]
    raise NotImplementedError(
        f"from_torch: arguments and results must be tensors in tuples, lists, dicts and named "
        f"tuples, got {kind.__module__}.{kind.__qualname__}"
    )


@functools.cache
def _named(name: str, *fields: str) -> Any:
    return collections.namedtuple(name, fields)  # noqa: PYI024 - the fields are data


def rebuilt(spec: Any, leaves: Sequence[Any]) -> Any:
    """Return the nested value of leaves."""
    remaining = iter(leaves)

    def built(spec: Any) -> Any:
        if spec == LEAF:
            return next(remaining)
        kind, inner, *more = spec
        children = [built(child) for child in inner]
        if kind == "dict":
            return dict(zip(more[0], children, strict=True))
        if kind == "namedtuple":
            return _named(*more[0])(*children)
        return tuple(children) if kind == "tuple" else children

    return built(spec)


def flat(spec: Any, value: Any, path: str) -> list[Any]:
    """Return the leaves of a nested value.

    Raises TypeError if it has a different structure.
    """
    if spec == LEAF:
        return [value]
    kind, inner, *more = spec
    if kind == "dict":
        if not isinstance(value, dict) or set(value) != set(more[0]):
            raise TypeError(f"forward: {path} must be a dict of {more[0]}, got {described(value)}")
        children = [(f"{path}[{key!r}]", value[key]) for key in more[0]]
    else:
        if not isinstance(value, (tuple, list)) or len(value) != len(inner):
            raise TypeError(
                f"forward: {path} must be a {kind} of {len(inner)}, got {described(value)}"
            )
        children = [(f"{path}[{i}]", child) for i, child in enumerate(value)]
    pairs = zip(inner, children, strict=True)
    return [leaf for child, (name, v) in pairs for leaf in flat(child, v, name)]


def bound(names: list[str], spec: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the leaves of a forward's arguments, passed by position or name.

    Raises TypeError if they do not match those of the examples.
    """
    (_, ((_, positional), (_, named, keys))) = spec
    rest = dict(kwargs)
    positional_values = [
        *args,
        *(rest.pop(n) for n in names[len(args) : len(positional)] if n in rest),
    ]
    if len(positional_values) != len(positional) or set(rest) != set(keys):
        expected = [*names[: len(positional)], *keys]
        passed = [*(f"{len(args)} by position" for _ in [0] if args), *kwargs]
        raise TypeError(
            f"forward: the arguments must be those of the examples, {', '.join(expected)}; got "
            f"{', '.join(passed) or 'none'}"
        )
    leaves = []
    for name, child, value in zip(names, positional, positional_values, strict=False):
        leaves += flat(child, value, name)
    for key, child in zip(keys, named, strict=True):
        leaves += flat(child, rest[key], key)
    return leaves


def described(value: Any) -> str:
    """Format a value for messages."""
    if hasattr(value, "shape"):
        return f"an array of shape {tuple(value.shape)}"
    plain = isinstance(value, (bool, int, float, str, type(None)))
    return repr(value) if plain else type(value).__name__
