# SPDX-License-Identifier: Apache-2.0
"""What an operation is: its shape rule and its gradient, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sycl_dnn.ir.node import Node

Shape = tuple[int, ...]
#: ``infer(inputs, **attributes)`` returns shape and dtype of the result.
Infer = Callable[..., tuple[Shape, str]]
#: ``vjp(node, g)`` returns the gradient of each input, None for those without.
Vjp = Callable[["Node", "Node"], "Sequence[Node | None]"]

#: Every operation by name.
OPERATIONS: dict[str, Operation] = {}


class NotDifferentiable(NotImplementedError):
    """A gradient was requested of an operation that has none mathematically."""


class Operation:
    """What there is to know of one operation: a row of a family in ``sycl_dnn.ops``.

    Parameters
    ----------
    name : str
        Unique among operations.
    infer : callable
        ``infer(inputs, **attributes) -> (shape, dtype)``; raises for a call that is wrong.
    vjp : callable, optional
        ``vjp(node, g)`` returns one gradient for each input, None for an input without. It is
        written in operations and linear in ``g``, so derivatives of every order, forward and
        reverse, follow from it.
    definition : callable, optional
        ``definition(*inputs, **attributes)`` returns the same value made of simpler operations,
        which are differentiated if there is no ``vjp``.
    is_flat : bool
        Whether the derivative is zero wherever it exists: comparisons, rounding.

    Notes
    -----
    An operation with neither ``vjp`` nor ``definition`` that is not flat has no gradient: a
    request for it raises ``NotDifferentiable``.
    """

    __slots__ = ("definition", "infer", "is_flat", "name", "vjp")

    def __init__(
        self,
        name: str,
        infer: Infer,
        vjp: Vjp | None = None,
        *,
        definition: Callable[..., Node] | None = None,
        is_flat: bool = False,
    ) -> None:
        if name in OPERATIONS:
            raise ValueError(f"Operation: name must be unique, got {name!r} twice")
        self.name, self.infer, self.vjp = name, infer, vjp
        self.definition, self.is_flat = definition, is_flat
        OPERATIONS[name] = self

    def __call__(self, *inputs: Node, **attributes: Any) -> Node:
        """Return the node of this operation; attributes are hashable."""
        from sycl_dnn.ir.node import node_of

        return node_of(self, inputs, attributes)

    def __repr__(self) -> str:
        return self.name
