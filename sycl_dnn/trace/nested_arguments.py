# SPDX-License-Identifier: Apache-2.0
"""Arguments and results as trees of arrays: replacing, flattening, rebuilding."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any, cast

import dpnp

from sycl_dnn import tree
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen, Seed
from sycl_dnn.trace.torch_methods import unspoilt
from sycl_dnn.trace.values import MixedTraces, Tensor

_FLAT = frozenset((int, float, bool, str, type(None)))
_CONSTANTS = (bool, int, float, complex, str, bytes, enum.Enum)


def is_array(value: Any) -> bool:
    """Whether a value is an array of some kind."""
    if isinstance(value, Tensor):
        return False
    return isinstance(value, (dpnp.ndarray, Array, Frozen, Seed)) or hasattr(
        type(value), "usm_data"
    )


class _ArrayLeaf:
    """Represents an array among the leaves of a form."""

    def __repr__(self) -> str:
        return "array"


ARRAY = _ArrayLeaf()


class Form:
    """The structure of a result or an argument, with the leaves that are not arrays."""

    __slots__ = ("is_single", "others", "structure")

    def __init__(self, structure: tree.Structure, others: list[Any]) -> None:
        self.structure = structure
        #: By leaf: ``ARRAY``, or the value itself.
        self.others = others
        self.is_single = structure.is_leaf and others[0] is ARRAY

    def build(self, arrays: Iterable[Any]) -> Any:
        """Return the tree with these arrays."""
        supply = iter(arrays)
        if self.is_single:
            return next(supply)
        leaves = [next(supply) if v is ARRAY else v for v in self.others]
        return tree.unflatten(self.structure, leaves)

    def matched(self, value: Any, name: str) -> list[Any]:
        """Return the items of an equally nested tree in place of the arrays; None fills any part.

        Raises TypeError if ``value`` is nested differently.
        """
        if self.is_single:
            return [value]
        try:
            leaves = tree.matched(self.structure, value, name, none_fills=True)
        except ValueError as error:
            raise TypeError(f"{error}; it must be nested like the result") from None
        return [v for v, other in zip(leaves, self.others, strict=True) if other is ARRAY]

    def __repr__(self) -> str:
        return repr(tree.unflatten(self.structure, self.others))


def result_of(
    value: Any, name: str, capture: Callable[[Any], Tensor] | None = None
) -> tuple[list[Tensor], Form]:
    """Return the tensors of a function's result in order, and its form.

    ``name``: the function, for errors; ``capture``: converts arrays that the function refers to
    itself to tensors. Raises TypeError if there is something other than tensors, arrays, None,
    numbers and strings, and RuntimeError if a tensor is one that torch would have written over.
    """
    tensors: list[Tensor] = []
    others: list[Any] = []
    leaves, structure = tree.flatten(value)
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            tensors.append(unspoilt(name, leaf))
            others.append(ARRAY)
        elif capture is not None and is_array(leaf):
            tensors.append(capture(leaf))
            others.append(ARRAY)
        elif isinstance(leaf, _CONSTANTS):
            # Here a number of the call reports that its value is needed.
            others.append(leaf if type(leaf) is leaf.__class__ else float(cast("Any", leaf)))
        else:
            path = tree.paths(value)[number][0]
            raise TypeError(
                f"{name}: the function must return arrays, nested in lists, tuples and dicts, got "
                f"{type(leaf).__name__}" + (f" at result{path}" if path else "")
            )
    return tensors, Form(structure, others)


def primary_of(result: Any, name: str) -> Any:
    """Return the first of the pair returned by a function with auxiliary results."""
    if isinstance(result, tuple) and len(result) == 2:
        return result[0]
    raise TypeError(
        f"{name}: with has_aux the function must return a pair, got {type(result).__name__}"
    )


def arguments_of(value: Any) -> tuple[list[Tensor], Form]:
    """Return the tensors that have gradients, and the form of those: None for others."""
    leaves, structure = tree.flatten(value)
    fixed = tree.constants(structure)
    has = [isinstance(v, Tensor) and not c for v, c in zip(leaves, fixed, strict=True)]
    others = [ARRAY if h else None for h in has]
    return [v for v, h in zip(leaves, has, strict=True) if h], Form(structure, others)


def replaced(value: Any, swap: Callable[[Any], Any]) -> Any:
    """Return nested arguments with every array replaced by ``swap(array)``."""
    if is_array(value):
        return swap(value)
    node = tree.opened(value)
    if node is None or not node.children:
        return value
    children = [replaced(v, swap) for v in node.children]
    return node.rebuilt(children)


def arrays_of(value: Any) -> list[Any]:
    """Return the arrays of nested values, in order."""
    return [v for v in tree.leaves(value) if is_array(v)]


def trace_of(value: Any) -> Any:
    """Return the trace of the tensors in nested arguments; None if there are none.

    Values that are the same for all samples may join those of the ``vmap`` inside.

    Raises MixedTraces if they belong to several traces, and RuntimeError if they belong to one that
    has ended.
    """
    return trace_of_leaves(tree.leaves(value))


def is_flat(values: Iterable[Any]) -> bool:
    """Whether values are only tensors, numbers and strings."""
    return all(type(v) in _FLAT or isinstance(v, Tensor) for v in values)


def trace_of_leaves(leaves: Iterable[Any]) -> Any:
    """Return the result of ``trace_of`` for values that are not nested."""
    common = None
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            continue
        trace = leaf.trace
        if common is None or trace is common or trace.contains(common):
            common = trace
        elif not common.contains(trace):
            raise MixedTraces(leaf, common, trace)
    return common
