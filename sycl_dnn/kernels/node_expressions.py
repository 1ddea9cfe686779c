# SPDX-License-Identifier: Apache-2.0
"""Conversion of nodes to kernel expressions."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.expression import (
    INDEXED,
    REDUCTIONS,
    SCANS,
    WRITERS,
    Expression,
    Source,
    Term,
    number_of,
)
from sycl_dnn.trace.views import pattern


def is_elementwise(node: Node) -> bool:
    """Whether a kernel can fuse the node with its operands."""
    name = node.operation.name
    return name in WRITERS or name in ("number", "broadcast_to", *INDEXED)


def is_indexed(node: Node) -> bool:
    """Whether the node depends on the position of an element."""
    return node.operation.name in INDEXED


def read_through(node: Node) -> tuple[Node, ...]:
    """Return the inputs of an element-wise node that may be fused with it."""
    return node.inputs[1:] if node.operation.name == "gather" else node.inputs


def _ordered(node: Node, ends: Container[Node]) -> tuple[Node, ...]:
    """Return the fused inputs; those of sums and products in an order of what they compute.

    ``x + f(y)`` and ``f(y) + x`` are one kernel, and have the same bits.
    """
    inputs = read_through(node)
    if node.operation.name not in _COMMUTATIVE or len(inputs) < 2:
        return inputs
    a, b = inputs
    first, second = _kind(a, ends), _kind(b, ends)
    if first == second:
        return (a, b) if _kinds(a, ends) <= _kinds(b, ends) else (b, a)
    return (a, b) if first < second else (b, a)


_COMMUTATIVE = ("add", "mul")


def _kinds(node: Node, ends: Container[Node]) -> list[str]:
    """Return what computes a node, and its fused inputs."""
    before = () if node in ends else read_through(node)
    return [_kind(n, ends) for n in (node, *before)]


def _kind(node: Node, ends: Container[Node]) -> str:
    """Return the operation of a node; before all, what is in memory."""
    return "" if node in ends else node.operation.name


class Reads(NamedTuple):
    """The inputs of a set of nodes.

    inputs : known nodes that are read element by element
    gathers : nodes whose first input is gathered from, in order
    places : coordinate nodes
    """

    inputs: list[Node]
    gathers: list[Node]
    places: list[Node]


def reads_of(results: Sequence[Node], inputs: Container[Node]) -> Reads:
    """Return the inputs of element-wise nodes, without duplicates."""
    reached, reads = set[Node](), Reads([], [], [])
    stack = list(reversed(results))
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        if node in inputs:
            reads.inputs.append(node)
            continue
        if node.operation.name == "gather":
            reads.gathers.append(node)
        elif node.operation.name == "iota":
            reads.places.append(node)
        stack.extend(reversed(_ordered(node, inputs)))
    return reads


def expression_of(
    results: Sequence[Node], inputs: Sequence[Node], reads: Reads | None = None
) -> Expression:
    """Return the expression that computes nodes from inputs.

    All in between are element-wise, or reductions or scans along the same axes. ``reads``: those of
    the results, if they are known.
    """
    ends = set(inputs)
    reads = reads or reads_of(results, ends)
    numbers: dict[Node, int] = {node: i for i, node in enumerate(inputs)}
    sources = {node: i for i, node in enumerate(reads.gathers)}
    places = {node: i for i, node in enumerate(reads.places)}
    terms: list[Term] = []
    for node, before in _in_order(results, ends):
        name = node.operation.name
        if name == "broadcast_to":
            numbers[node] = numbers[node.inputs[0]]
            continue
        operands = tuple([numbers[operand] for operand in before])
        numbers[node] = len(inputs) + len(terms)
        terms.append(Term(name, node.dtype, operands, _attributes(node, sources, places)))
    expression = Expression(
        tuple([node.dtype for node in inputs]),
        tuple(terms),
        tuple([numbers[node] for node in results]),
        tuple([Source(node.dtype, len(node.inputs) - 1) for node in sources]),
        len(places),
    )
    return _as_bits(expression) if expression.n_places or expression.sources else expression


def _in_order(
    results: Sequence[Node], ends: Container[Node]
) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yield the nodes that results depend on, each after its inputs, with its fused inputs.

    The order depends on structure alone, not on which nodes were created first: equal computations
    are one kernel.
    """
    opened: dict[Node, tuple[Node, ...]] = {}
    yielded = set[Node]()
    stack = [node for node in reversed(results) if node not in ends]
    while stack:
        node = stack[-1]
        if node not in opened:
            opened[node] = before = _ordered(node, ends)
            stack.extend([n for n in reversed(before) if n not in ends and n not in yielded])
            continue
        stack.pop()
        if node not in yielded:
            yielded.add(node)
            yield node, opened[node]


#: Narrow float dtypes and the integers of equal size.
_NARROW = {"bfloat16": "uint16", "float16": "uint16"}


def _as_bits(e: Expression) -> Expression:
    """Move narrow floats as bits if the expression only moves elements."""
    for term in e.terms:
        values = term.operands[1:] if term.operation == "where" else term.operands
        narrow = any(e.dtype_of(n) in _NARROW for n in values) or term.dtype in _NARROW
        condition = e.dtype_of(term.operands[0]) if term.operation == "where" else ""
        if narrow and (term.operation not in ("gather", "number", "where") or condition in _NARROW):
            return e
    terms = []
    for term in e.terms:
        attributes = term.attributes
        if term.operation == "number" and term.dtype in _NARROW:
            bits = pattern(number_of(dict(attributes)["value"]), term.dtype).view("uint16")
            attributes = (("value", int(bits)), ("dtype", "uint16"))
        terms.append(term._replace(dtype=_bits_dtype(term.dtype), attributes=attributes))
    sources = tuple([s._replace(dtype=_bits_dtype(s.dtype)) for s in e.sources])
    return e._replace(inputs=tuple(map(_bits_dtype, e.inputs)), terms=tuple(terms), sources=sources)


def _bits_dtype(dtype: str) -> str:
    return _NARROW.get(dtype, dtype)


def _attributes(
    node: Node, sources: Mapping[Node, int], places: Mapping[Node, int]
) -> tuple[Any, ...]:
    """Return the attributes of a term, without sizes and axes, which are in the grid."""
    if node in sources:
        return (("source", sources[node]),)
    if node in places:
        return (("place", places[node]),)
    attributes = {} if node.operation.name in (*REDUCTIONS, *SCANS) else node.attributes
    return tuple([(n, _exact_key(v)) for n, v in attributes.items()])


def _exact_key(value: Any) -> Any:
    """Return a key that distinguishes signed zeros, and in which NaN equals itself."""
    return ("hex", value.hex()) if type(value) is float else value
