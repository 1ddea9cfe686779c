# SPDX-License-Identifier: Apache-2.0
"""Folding of per-channel scales and shifts, such as batch normalization, into constant weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.compiler.passes.fusing import (
    Draft,
    built,
    destination,
    extended,
    is_narrowing,
    is_overwritten,
    on_target,
    primary,
    report,
    with_work,
)
from sycl_dnn.compiler.post_ops import Chain, Op, chain_on, is_moderate, scalar_of
from sycl_dnn.compiler.rebuilding import coefficients_of, origin
from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.step_graph import Graph, Node, Refusal
from sycl_dnn.trace.pointwise import add, mul
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

A = algorithm
ROWS = ("convolution_forward", "deconvolution_forward", "matmul")


class _Link(NamedTuple):
    """A reader of a product, or of the link before, whose leading operations can be folded."""

    reader: Node
    chain: Chain
    folded: tuple[Op, ...]
    rest: tuple[Op, ...]


def fold(graph: Graph) -> None:
    """Fold products and sums with constants into preceding weights and biases."""
    constants = set(constant_ids(graph))
    for node in graph.walk():
        if node.row not in ROWS or not node.has_dst or len(node.post_ops):
            continue
        coefficients = [node.inputs[n] for n in ("weights", "bias") if n in node.inputs]
        if any(id(t.storage) not in constants for t in coefficients):
            continue
        links = _links(graph, node, constants)
        # Only the last has further operations, which may be refused.
        for n_links in dict.fromkeys((len(links), len(links) - 1)):
            if n_links > 0 and _fold_links(graph, node, links[:n_links]):
                break


def _links(graph: Graph, node: Node, constants: set[int]) -> list[_Link]:
    """Return the nodes whose work can be folded into a node, each the only reader of the last."""
    links: list[_Link] = []
    target = node.dst
    while graph.is_inner(target.storage):
        readers = graph.readers(target.storage)
        if len(readers) != 1 or is_overwritten(graph, node, readers[0]):
            break
        name = None if readers[0].pd is None else primary(readers[0], target)
        chain = None if name is None else chain_on(readers[0], name)
        if chain is None or isinstance(chain, Refusal):
            break
        source = chain.source
        if source.offset != target.offset or not same_span(source.desc, target.desc):
            break
        ops = on_target(target.desc, source.desc, chain)
        if isinstance(ops, Refusal):
            break
        folded, rest = _foldable(ops, _output_axis(node), constants)
        if folded:
            links.append(_Link(readers[0], chain, folded, rest))
        if rest or not folded:
            break
        target = destination(target, chain.result)
    return links


def _output_axis(node: Node) -> int:
    """Return the axis of the result that corresponds to the outputs of the weights."""
    return node.dst.desc.ndims - 1 if node.row == "matmul" else 1


def _foldable(
    ops: tuple[Op, ...], channel: int, constants: set[int]
) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    """Return the leading operations that weights can absorb, and the rest."""
    leading: list[Op] = []
    for op in ops:
        if op.kind == "binary" and op.algorithm in (A.binary_mul, A.binary_add):
            wide = [i for i, n in enumerate(op.desc.dims) if n > 1]
            is_known = id(op.operand.storage) in constants and scalar_of(op.operand) != 0
            if wide not in ([], [channel]) or not is_known:
                break
        elif op.algorithm is not A.eltwise_linear or not is_moderate(op):
            break
        leading.append(op)
    return tuple(leading), ops[len(leading) :]


def _fold_links(graph: Graph, node: Node, links: Sequence[_Link]) -> bool:
    """Replace a node and links by one with other weights and bias, if that is possible."""
    draft, names, label = Draft.of(node), list(node.fused), ""
    for link in links:
        later = replace(link.chain, ops=link.rest)
        if with_work(draft, later, link.rest) is not None:
            return False
        label = Chain(link.chain.source, link.chain.result, link.folded).label
        after = [later.label] if link.rest else []
        names += [*link.reader.fused, f"{label} (in weights)", *after]
    ops = [op for link in links for op in link.folded]
    (weights, bias), new = graph.recorded(lambda: _coefficients(graph, node, ops))
    inputs, changes = coefficients_of(node, weights, bias)
    draft.inputs |= inputs
    draft.labels = []
    last = links[-1].reader
    graph.insert(new, before=last)
    # Creating a descriptor is slow, so steps that can be fused afterwards are tried together.
    further = replace(draft, inputs=dict(draft.inputs), labels=[])
    readers = extended(graph, further, last, node)
    fused = built(graph, further, readers[-1], True, **changes) if readers else Refusal("")
    if isinstance(fused, Refusal):
        further, readers = draft, []
        fused = built(graph, draft, last, True, **changes)
    if isinstance(fused, Refusal):
        graph.drop(new)
        node.refused.append(f"{label}: {fused}")
        return False
    report(fused, node, readers, names, further.labels)
    replaced = [node, *(link.reader for link in links), *readers]
    fused.is_rounded = is_narrowing(replaced[-1])
    graph.replace(replaced, fused, at=replaced[-1])
    return True


#: Whether a product or a sum, and the vector or number.
_Factor = tuple[bool, "Tensor | float"]


def _coefficients(graph: Graph, node: Node, ops: Sequence[Op]) -> tuple[Tensor, Tensor | None]:
    """Return weights and bias with the operations folded in, in float32."""
    bias, weights = node.inputs.get("bias"), origin(graph, node.inputs["weights"])
    factors = [factor for op in ops for factor in _factors(graph, op)]
    over = _over_weights(node, weights.shape)
    bias = None if bias is None else origin(graph, bias)
    combined: tuple[Tensor, Tensor | None] = graph.joined(
        _folded_coefficients, weights, bias, factors, over
    )
    return combined


def _factors(graph: Graph, op: Op) -> list[_Factor]:
    """Decompose an operation into products and sums."""
    if op.algorithm is not A.eltwise_linear:
        operand, dims = op.operand, op.desc.dims
        view = Tensor(graph.trace, operand.storage, op.desc, operand.dtype, dims, operand.offset)
        return [(op.algorithm is A.binary_mul, view)]
    factors = [(True, op.alpha, 1.0), (False, op.beta, 0.0)]
    return [(is_product, v) for is_product, v, identity in factors if v != identity]


def _folded_coefficients(
    weights: Tensor, bias: Tensor | None, factors: list[_Factor], over: tuple[int, ...]
) -> tuple[Tensor, Tensor | None]:
    """Return weights and bias after products and sums with one value per output.

    ``over`` is the shape in which such values broadcast to the weights.
    """
    trace, n = weights.trace, math.prod(over)
    scale = None
    bias = None if bias is None else _vector(trace.convert(bias, "float32"))
    for is_product, value in factors:
        vector = (
            _expanded_vector(value, n)
            if isinstance(value, Tensor)
            else trace.literal(np.full(n, value))
        )
        if not is_product:
            bias = vector if bias is None else add(bias, vector)
        else:
            scale = vector if scale is None else mul(scale, vector)
            bias = None if bias is None else mul(bias, vector)
    weights = trace.convert(weights, "float32")
    return weights if scale is None else mul(weights, reshape(scale, over)), bias


def _vector(tensor: Tensor) -> Tensor:
    return reshape(tensor, (tensor.size,))


def _expanded_vector(tensor: Tensor, n: int) -> Tensor:
    """Expand an operand to a float32 vector over all outputs."""
    trace = tensor.trace
    vector = _vector(trace.convert(tensor, "float32"))
    return vector if vector.size == n else add(vector, trace.literal(np.zeros(n)))


def _over_weights(node: Node, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in which one value per output broadcasts to the weights."""
    if node.row == "matmul":
        return (1,) * (len(shape) - 1) + shape[-1:]
    # Grouped convolutions have a group axis before the output axis of the weights.
    n_axes = 2 if len(shape) > node.dst.desc.ndims else 1
    return shape[:n_axes] + (1,) * (len(shape) - n_axes)
