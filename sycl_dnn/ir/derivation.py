# SPDX-License-Identifier: Apache-2.0
"""Derivatives as more nodes: reverse mode from the rules of operations, forward mode from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sycl_dnn.ir.node import OPERATIONS, Node, NotDifferentiable, in_order, leaf

Gradients = tuple["Node | None", ...]


def pullback(results: Sequence[Node], seeds: Sequence[Node], wrt: Sequence[Node]) -> Gradients:
    """Return the gradients of ``wrt``, given those of ``results``.

    Parameters
    ----------
    results, seeds : sequence of Node
        Of equal shapes and dtypes, pair by pair.
    wrt : sequence of Node
        Any nodes. One that depends on another is a variable of its own: the gradient of the other
        does not pass through it.

    Returns
    -------
    tuple of Node or None
        None where no result depends on the node.

    Raises
    ------
    NotDifferentiable
        A result depends on ``wrt`` through an operation without a gradient.
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
        for given, part in _parts(node, total):
            if given in leading:
                parts.setdefault(given, []).append(part)
    return tuple([totals.get(node) for node in wrt])


def _leading(order: Sequence[Node], ends: frozenset[Node]) -> set[Node]:
    """Return the nodes through which results depend on ``ends``."""
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
    """Yield the inputs of a node that have gradients, each with its part."""
    operation = node.operation
    if operation.is_flat:
        return
    if operation.vjp is not None:
        yield from _existing(node.inputs, operation.vjp(node, gradient))
    elif operation.definition is not None:
        simpler = operation.definition(*node.inputs, **node.attributes)
        # An input that is given twice has one gradient.
        distinct = tuple(dict.fromkeys(node.inputs))
        yield from _existing(distinct, pullback((simpler,), (gradient,), distinct))
    else:
        raise NotDifferentiable(f"vjp: {operation} has no gradient")


def _existing(inputs: Sequence[Node], parts: Sequence[Node | None]) -> Iterator[tuple[Node, Node]]:
    for given, part in zip(inputs, parts, strict=True):
        if part is not None and given.is_float:
            yield given, part


def pushforward(
    results: Sequence[Node], wrt: Sequence[Node], tangents: Sequence[Node]
) -> Gradients:
    """Return the derivatives of ``results`` along ``tangents``, forward mode.

    A gradient is linear in the gradients of the results; its own gradient with respect to those is
    the derivative. The nodes in between are not part of the result.

    Parameters
    ----------
    results : sequence of Node
    wrt, tangents : sequence of Node
        Of equal shapes and dtypes, pair by pair.

    Returns
    -------
    tuple of Node or None
        None for a result that does not depend on ``wrt``.
    """
    seeds = [leaf(("seed", i, r), r.shape, r.dtype) for i, r in enumerate(results)]
    gradients = pullback(results, seeds, wrt)
    pairs = [(g, t) for g, t in zip(gradients, tangents, strict=True) if g is not None]
    if not pairs:
        return (None,) * len(results)
    return pullback([g for g, _ in pairs], [t for _, t in pairs], seeds)
