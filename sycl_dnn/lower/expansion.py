# SPDX-License-Identifier: Apache-2.0
"""Expansion of operations into those that kernels compute."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import Node, in_order, leaf, node_of
from sycl_dnn.kernels.expression import COSTLY
from sycl_dnn.kernels.node_expressions import is_elementwise, read_through
from sycl_dnn.lower.region import is_reduction, is_scan
from sycl_dnn.ops.arithmetic import ADD, CAST, cast
from sycl_dnn.ops.random_bits import PHILOX
from sycl_dnn.ops.selection import GATHER, PLACE, SLICE, concat


def expanded(results: Sequence[Node], existing: Container[Node]) -> list[Node]:
    """Expand results into operations that have a kernel or no definition.

    ``existing``: existing nodes, which are not expanded.
    """
    replacements: dict[Node, Node] = {}
    for node in in_order(results, existing):
        inputs = tuple([replacements.get(operand, operand) for operand in node.inputs])
        definition = node.operation.definition
        if definition is not None and not (is_elementwise(node) or is_reduction(node)):
            (replacements[node],) = expanded([definition(*inputs, **node.attributes)], existing)
        elif _is_part(node) and inputs[0].operation is CAST and inputs[0] not in existing:
            # A part requires an array in memory, so convert the elements of the part only.
            of_source = node.operation(inputs[0].inputs[0], *inputs[1:], **node.attributes)
            replacements[node] = cast(of_source, node.dtype)
        elif inputs != node.inputs:
            replacements[node] = node_of(node.operation, inputs, node.attributes)
    return [replacements.get(node, node) for node in results]


def reading_sources(
    results: Sequence[Node], sources: Mapping[Node, Node], existing: Container[Node]
) -> list[Node]:
    """Let kernels read the few elements that an array repeats in place of the array.

    ``results``: expanded nodes; ``sources``: by node of an array: the broadcast of fewer elements;
    ``existing``: existing nodes.
    """
    new: dict[Node, Node] = {}
    for node in in_order(results, existing):
        is_fused = is_elementwise(node) or is_reduction(node)
        direct = set(read_through(node)) if is_fused else ()
        inputs = tuple([
            sources[n] if n in direct and n in sources else new.get(n, n) for n in node.inputs
        ])  # fmt: skip
        if inputs != node.inputs:
            new[node] = node_of(node.operation, inputs, node.attributes)
    return [new.get(node, node) for node in results]


def _is_part(node: Node) -> bool:
    return node.operation in (GATHER, SLICE)


def joined(results: Sequence[Node]) -> list[Node]:
    """Let slices that cover a result, such as gradients of slices, be written to their places.

    Otherwise a kernel would read them again, and choose for each element whose place it is.
    """
    return [_joined_parts(result) or result for result in results]


def _joined_parts(result: Node) -> Node | None:
    """Return a sum of arrays placed in zeros as their concatenation; None if it is no such sum."""
    casts, node = [], result
    while node.operation is CAST:
        casts.append(node.dtype)
        node = node.inputs[0]
    parts = _placed_parts(node)
    axes = [k for k, n in enumerate(node.shape) if any(p.inputs[0].shape[k] != n for p in parts)]
    if len(parts) < 2 or len(axes) != 1 or not node.size:
        return None
    (axis,), end = axes, 0
    parts.sort(key=lambda part: part.attributes["cuts"][axis])
    for part in parts:
        start, step, length = part.attributes["cuts"][axis]
        if (start, step) != (end, 1) or part.attributes.get("value"):
            return None
        end += length
    if end < node.shape[axis]:
        return None
    arrays = [part.inputs[0] for part in parts]
    for dtype in reversed(casts):
        arrays = [cast(array, dtype) for array in arrays]
    return concat(arrays, axis)


def _placed_parts(node: Node) -> list[Node]:
    """Return the placed arrays whose sum a node is; none for any other node."""
    if node.operation is PLACE:
        return [node]
    if node.operation is not ADD or any(n.shape != node.shape for n in node.inputs):
        return []
    parts = [_placed_parts(operand) for operand in node.inputs]
    return [part for of_operand in parts for part in of_operand] if all(parts) else []


def reading_results(gradients: Sequence[Node], results: Sequence[Node]) -> list[Node]:
    """Let gradients read rounded results instead of recomputing slices and costly functions.

    The gradients of softmax and tanh in bfloat16 then read what the forward pass wrote, as in
    PyTorch.

    ``results``: results of the forward pass in memory.
    """
    replacements: dict[Node, Node] = {}
    for result in results:
        if result.operation is CAST and _is_read_again(result.inputs[0]):
            replacements[result.inputs[0]] = cast(result, result.inputs[0].dtype)
    if not replacements:
        return list(gradients)
    for node in in_order(gradients, {*results, *replacements}):
        inputs = tuple([replacements.get(operand, operand) for operand in node.inputs])
        if inputs != node.inputs:
            replacements[node] = node_of(node.operation, inputs, node.attributes)
    return [replacements.get(node, node) for node in gradients]


def read_unrounded(results: Sequence[Node], leaves: Sequence[Node]) -> list[Node]:
    """Return the small unrounded values that gradients read, such as norms of rows.

    The forward pass keeps them: recomputing them takes passes over all elements.

    ``leaves``: the variables.
    """
    casts = [r for r in results if r.operation is CAST and _is_of_many(r.inputs[0])]
    return _read_by_gradients([r.inputs[0] for r in casts], casts, leaves)


def read_draws(results: Sequence[Node], leaves: Sequence[Node]) -> list[Node]:
    """Return the random decisions that gradients read, such as the mask of dropout.

    The forward pass keeps them: drawing them again takes longer than reading a byte for each.
    """
    drawn, draws = set[Node](), []
    for node in in_order(results, set(leaves)):
        if node.operation is PHILOX or not drawn.isdisjoint(node.inputs):
            if node.dtype == "bool":
                draws.append(node)
            else:
                drawn.add(node)
    return _read_by_gradients(draws, [r for r in results if r.is_float], leaves)


def _read_by_gradients(
    nodes: Sequence[Node], results: Sequence[Node], leaves: Sequence[Node]
) -> list[Node]:
    """Return the nodes that gradients of results read."""
    if not nodes:
        return []
    seeds = [leaf(("result", n), r.shape, r.dtype) for n, r in enumerate(results)]
    gradients = pullback(results, seeds, leaves)
    read = set(in_order([g for g in gradients if g is not None]))
    return [node for node in dict.fromkeys(nodes) if node in read]


def _is_of_many(node: Node) -> bool:
    """Whether a float result has far fewer elements than its operands."""
    return bool(node.inputs) and node.is_float and 8 * node.size <= node.inputs[0].size


def _is_read_again(node: Node) -> bool:
    """Whether a float result costs more to compute than to read."""
    return node.operation.name in COSTLY or _is_of_slices(node)


def _is_of_slices(node: Node) -> bool:
    """Whether all elements of a slice determine each of a float result."""
    is_one_by_one = is_elementwise(node) or not node.inputs or not node.is_float
    return not is_one_by_one and node.shape == node.inputs[0].shape and not is_scan(node)
