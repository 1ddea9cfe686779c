# SPDX-License-Identifier: Apache-2.0
"""Operations and nodes. Nodes are interned: equal structure is the same object."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from sycl_dnn.onednn import dtypes

Number = bool | int | float
Shape = tuple[int, ...]
#: ``infer(inputs, **attributes)`` returns shape and dtype of the result.
Infer = Callable[..., tuple[Shape, str]]
#: ``vjp(node, g)`` returns the gradient of each input, None if there is none.
Vjp = Callable[["Node", "Node"], "Sequence[Node | None]"]

#: All operations by name.
OPERATIONS: dict[str, Operation] = {}


class NotDifferentiable(NotImplementedError):
    """A gradient of a mathematically non-differentiable operation was requested."""


class Operation:
    """The definition of one operation, a row of a family in ``sycl_dnn.ops``.

    name : unique among operations
    infer : ``infer(inputs, **attributes) -> (shape, dtype)``; raises for invalid arguments
    vjp : ``vjp(node, g)`` returns one gradient per input, None if an input has none. It consists of
        operations and is linear in ``g``, so forward and reverse derivatives of every order follow.
    definition : ``definition(*inputs, **attributes)`` expresses the operation by simpler ones,
        which are differentiated if there is no ``vjp``
    is_flat : whether the derivative is zero wherever it exists, as for comparisons and rounding

    An operation that has neither ``vjp`` nor ``definition`` and is not flat raises
    ``NotDifferentiable`` if a gradient is requested.
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
        """Return the node of this operation; attributes must be hashable."""
        return node_of(self, inputs, attributes)

    def __repr__(self) -> str:
        return self.name


def _operator(name: str, *, is_reflected: bool = False) -> Any:
    def method(self: Node, other: Node | Number) -> Node:
        value = other if isinstance(other, Node) else number(other, self.dtype)
        return OPERATIONS[name](value, self) if is_reflected else OPERATIONS[name](self, value)

    return method


class Node:
    """One result of an operation: shape and dtype, without data or layout.

    Nodes are compared by identity, which is structural equality: see ``node_of``. Operators create
    nodes, for use in rules and definitions; numbers take the dtype of the other operand.

    Attributes
    ----------
    operation : Operation
    inputs : tuple of Node
    attributes : dict
    shape : tuple of int
    dtype : str
    serial : int
        Larger than the serials of all inputs.
    """

    __slots__ = (
        "__weakref__", "attributes", "dtype", "inputs", "operation", "serial", "shape",
    )  # fmt: skip

    operation: Operation
    inputs: tuple[Node, ...]
    attributes: dict[str, Any]
    shape: Shape
    dtype: str
    serial: int

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether values are floating point; only these have gradients."""
        return dtypes.is_float(self.dtype)

    def __repr__(self) -> str:
        return f"{self.operation}#{self.serial}{list(self.shape)}:{self.dtype}"

    __add__ = _operator("add")
    __radd__ = _operator("add", is_reflected=True)
    __sub__ = _operator("sub")
    __rsub__ = _operator("sub", is_reflected=True)
    __mul__ = _operator("mul")
    __rmul__ = _operator("mul", is_reflected=True)
    __truediv__ = _operator("div")
    __rtruediv__ = _operator("div", is_reflected=True)
    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")

    def __neg__(self) -> Node:
        return OPERATIONS["neg"](self)


#: Nodes by structure; unreferenced nodes are dropped.
_nodes: weakref.WeakValueDictionary[Any, Node] = weakref.WeakValueDictionary()
_serials = itertools.count()


def node_of(operation: Operation, inputs: tuple[Node, ...], attributes: dict[str, Any]) -> Node:
    """Return the unique node of an operation, inputs and attributes."""
    # By identity of the inputs, which the node keeps alive.
    key: Any = (operation, inputs)
    if attributes:
        key += tuple([_comparable(v) for v in attributes.items()])
    node = _nodes.get(key)
    if node is None:
        node = Node()
        node.operation, node.inputs, node.attributes = operation, inputs, attributes
        node.shape, node.dtype = operation.infer(inputs, **attributes)
        node.serial = next(_serials)
        node = _nodes.setdefault(key, node)
    return node


def _comparable(item: tuple[str, Any]) -> tuple[Any, ...]:
    """Return an attribute in a form whose equality distinguishes all values."""
    name, value = item
    if type(value) is float:
        # ``==`` treats -0.0 and 0.0 as equal, and NaN as different from itself.
        return name, float, value.hex()
    return name, type(value), value


LEAF = Operation("leaf", lambda inputs, *, key, shape, dtype: (shape, dtype))
NUMBER = Operation("number", lambda inputs, *, value, dtype: ((), dtype))


def leaf(key: Any, shape: Shape, dtype: str) -> Node:
    """Return the graph input identified by ``key``."""
    return LEAF(key=key, shape=tuple(shape), dtype=dtype)


def number(value: Number, dtype: str) -> Node:
    """Return a 0-d constant, which is part of the structure."""
    kind: Any = float if dtypes.is_float(dtype) else bool if dtype == "bool" else int
    return NUMBER(value=kind(value), dtype=dtype)


def value_of(node: Node) -> Number | None:
    """Return the value of a constant; None for any other node."""
    return node.attributes["value"] if node.operation is NUMBER else None


def in_order(
    results: Iterable[Node],
    existing: Container[Node] = (),
    read: Callable[[Node], Sequence[Node]] = lambda node: node.inputs,
) -> list[Node]:
    """Return results and their dependencies in topological order.

    ``existing`` nodes and those needed only by them are omitted; ``read`` returns the inputs of a
    node to follow.
    """
    reached: set[Node] = set()
    stack = list(results)
    while stack:
        node = stack.pop()
        if node not in reached and node not in existing:
            reached.add(node)
            stack.extend(read(node))
    return sorted(reached, key=lambda node: node.serial)
