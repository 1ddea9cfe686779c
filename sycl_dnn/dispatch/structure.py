# SPDX-License-Identifier: Apache-2.0
"""Nested tuples and lists of tensors, flat and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sycl_dnn.dispatch.tensor import Tensor

#: The form of a single tensor.
LEAF = "leaf"


def flatten(value: Any) -> tuple[list[Tensor], Any]:
    """Return the tensors in order, and the form that ``build`` needs."""
    if isinstance(value, Tensor):
        return [value], LEAF
    if value is None:
        return [], None
    if isinstance(value, (tuple, list)):
        leaves, forms = [], []
        for item in value:
            inner, form = flatten(item)
            leaves += inner
            forms.append(form)
        return leaves, (type(value), forms)
    raise TypeError(f"a traced function must return tensors, got {type(value).__name__}")


def build(form: Any, leaves: list[Any]) -> Any:
    """Return the structure of a form with these leaves."""
    return _build(form, iter(leaves))


def _build(form: Any, leaves: Iterator[Any]) -> Any:
    if form == LEAF:
        return next(leaves)
    if form is None:
        return None
    kind, forms = form
    made = [_build(f, leaves) for f in forms]
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


def trace_of(value: Any) -> Any:
    """Return the trace of the first tensor in nested arguments; None without any."""
    if isinstance(value, Tensor):
        return value.trace
    if isinstance(value, (tuple, list)):
        for item in value:
            found = trace_of(item)
            if found is not None:
                return found
    return None


def matched(form: Any, value: Any, name: str) -> list[Any]:
    """Return the leaves of ``value``, which must be nested like ``form``; None fills any part.

    Raises
    ------
    TypeError
        ``value`` is nested otherwise.
    """
    if form is None:
        return []
    if form == LEAF:
        return [value]
    kind, forms = form
    items = [None] * len(forms) if value is None else value
    if not isinstance(items, (tuple, list)) or len(items) != len(forms):
        raise TypeError(f"{name} must be nested like the result ({kind.__name__} of {len(forms)})")
    return [leaf for f, v in zip(forms, items, strict=True) for leaf in matched(f, v, name)]
