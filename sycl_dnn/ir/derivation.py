# SPDX-License-Identifier: Apache-2.0
"""Derivatives as nodes: reverse mode from rules of operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sycl_dnn.ir.node import OPERATIONS, Node, NotDifferentiable, in_order

Gradients = tuple["Node | None", ...]


def pullback(results: Sequence[Node], seeds: Sequence[Node], wrt: Sequence[Node]) -> Gradients:
    """Return the gradients with respect to ``wrt``, given those of ``results``.

    ``results``, ``seeds``: equal shapes and dtypes, pairwise. ``wrt``: any nodes. If one depends on
    another, each is treated as an independent variable. None if no result depends on the node.
    Raises NotDifferentiable if a result depends on ``wrt`` through a non-differentiable operation.
    """
    order = in_order(results)
    ends = frozenset(wrt)
    leading = _leading(order, ends)
    parts: dict[Node, list[Node]] = {}
    for result, seed in zip(results, seeds, strict=True):
        parts.setdefault(result, []).append(seed)
    totals: dict[Node, Node] = {}
    for node in reversed(order):
        received = parts.pop(node, None)
        if received is None or node not in leading:
            continue
        total = totals[node] = _total(received)
        if node in ends:
            continue
        for operand, part in _parts(node, total):
            if operand in leading:
                parts.setdefault(operand, []).append(part)
    return tuple([totals.get(node) for node in wrt])


def _leading(order: Sequence[Node], ends: frozenset[Node]) -> set[Node]:
    """Return the nodes on paths from ``ends`` to the results."""
    leading = set(ends)
    for node in order:
        if not leading.isdisjoint(node.inputs) and node.is_float:
            leading.add(node)
    return leading


def _total(parts: list[Node]) -> Node:
    total = parts[0]
    for part in parts[1:]:
        total = OPERATIONS["add"](total, part)
    return total


def _parts(node: Node, gradient: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the differentiable inputs of a node with their gradients."""
    operation = node.operation
    if operation.is_flat:
        return
    if operation.vjp is not None:
        yield from _existing(node.inputs, operation.vjp(node, gradient))
    elif operation.definition is not None:
        simpler = operation.definition(*node.inputs, **node.attributes)
        # A repeated input has a single gradient.
        distinct = tuple(dict.fromkeys(node.inputs))
        yield from _existing(distinct, pullback((simpler,), (gradient,), distinct))
    else:
        raise NotDifferentiable(f"vjp: {operation} has no gradient")


def _existing(inputs: Sequence[Node], parts: Sequence[Node | None]) -> Iterator[tuple[Node, Node]]:
    for operand, part in zip(inputs, parts, strict=True):
        if part is not None and operand.is_float:
            yield operand, part
