# SPDX-License-Identifier: Apache-2.0
"""Folding of per-channel scales and shifts, such as batch normalization, into constant weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sycl_dnn._core import algorithm, normalization_flags
from sycl_dnn.compiler.constant_values import constant_ids
from sycl_dnn.compiler.passes.fusing import on_target, primary, with_ops
from sycl_dnn.compiler.post_ops import Chain, Op, chain_on, is_moderate, scalar_of
from sycl_dnn.compiler.rebuilding import origin, with_weights
from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.compiler.step_graph import Graph, Node, Refusal, moved
from sycl_dnn.functional.normalization.affine import float32
from sycl_dnn.trace import layout, pointwise
from sycl_dnn.trace.pointwise import add, mul
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

A = algorithm
ROWS = ("convolution_forward", "deconvolution_forward", "matmul", "inner_product_forward")


def split_batch_norms(graph: Graph) -> None:
    """Rewrite normalizations with given statistics as a scale and a shift per channel."""
    for node in graph.walk():
        if node.row != "batch_normalization_forward" or not node.has_dst:
            continue
        producer = graph.writer(node.inputs["src"])
        has_statistics = node.params["flags"] & normalization_flags.use_global_stats
        if not has_statistics or producer is None or producer.row not in ROWS:
            continue
        if len(graph.readers(node.inputs["src"].storage)) == 1:
            _split_batch_norm(graph, node)


def _split_batch_norm(graph: Graph, node: Node) -> None:
    inputs = node.inputs
    stats = inputs["mean"], inputs["variance"], inputs.get("scale"), inputs.get("shift")
    eps = node.params["epsilon"]
    result, nodes = graph.recorded(
        lambda: _scaled(inputs["src"], *graph.joined(_factor_and_offset, *stats, eps))
    )
    last = nodes[-1]
    if result.storage is not last.dst.storage or not same_span(result.desc, node.dst.desc):
        return
    last.outputs = {"dst": moved(last.dst, node.dst.storage, node.dst.offset)}
    last.fused = ["batch_normalization_forward"]
    graph.insert(nodes[:-1], before=node)
    graph.replace([], last, at=node)


def _per_channel(vector: Tensor, rank: int) -> Tensor:
    """Return a view (1, C, 1...) of a dense (C,), with the strides that fast kernels require."""
    vector = vector.trace.plain(vector)
    shape = (1, vector.size) + (1,) * (rank - 2)
    return vector.view(shape, layout.row_major_strides(shape))


def _scaled(x: Tensor, factor: Tensor, offset: Tensor) -> Tensor:
    """Return ``x * factor + offset`` for (N, C, *S) and vectors (C,), in one pass."""
    if x.ndim > 2 and x.size == x.shape[0] * x.shape[1]:
        # oneDNN adds the wrong channels if there is a single position.
        return reshape(_scaled(reshape(x, x.shape[:2]), factor, offset), x.shape)
    a, b = _per_channel(factor, x.ndim), _per_channel(offset, x.ndim)
    return pointwise.fused(A.binary_mul, x, a, pointwise.plus(b))


def _factor_and_offset(
    mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the (C,) vectors a and b for which the normalization is ``x * a + b``."""
    vectors = {"mean": mean, "var": var, "weight": weight, "bias": bias}
    v = {n: _per_channel(float32(t), 2) for n, t in vectors.items() if t is not None}
    steps = [pointwise.times(v["weight"])] if "weight" in v else []
    a = pointwise.chain(v["var"], pointwise.scale(1.0, eps), pointwise.power(-0.5), *steps)
    steps = [pointwise.plus(v["bias"])] if "bias" in v else []
    b = pointwise.fused(A.binary_mul, v["mean"], a, pointwise.scale(-1.0), *steps)
    return reshape(a, (mean.size,)), reshape(b, (mean.size,))


def fold(graph: Graph) -> None:
    """Fold products and sums with constants into preceding weights and biases."""
    constants = set(constant_ids(graph))
    for first in graph.walk():
        node: Node | None = first
        while node is not None and node.row in ROWS:
            node = _folded_once(graph, node, constants)


def _folded_once(graph: Graph, node: Node, constants: set[int]) -> Node | None:
    """Fold the reader of a node into it; return the new node or None."""
    if not node.has_dst or not graph.is_inner(node.dst.storage) or len(node.post_ops):
        return None
    dst = node.dst
    coefficients = [node.inputs[n] for n in ("weights", "bias") if n in node.inputs]
    readers = graph.readers(dst.storage)
    if any(id(t.storage) not in constants for t in coefficients) or len(readers) != 1:
        return None
    name = None if readers[0].pd is None else primary(readers[0], dst)
    chain = None if name is None else chain_on(readers[0], name)
    if chain is None or isinstance(chain, Refusal) or not same_span(chain.source.desc, dst.desc):
        return None
    ops = on_target(dst.desc, chain.source.desc, chain)
    if isinstance(ops, Refusal) or chain.source.offset != dst.offset:
        return None
    folded, rest = _foldable(ops, _output_axis(node), constants)
    new = _with_folded(graph, node, readers[0], chain, folded, rest) if folded else None
    if new is not None:
        constants |= {id(new.inputs[n].storage) for n in ("weights", "bias") if n in new.inputs}
    return new


def _output_axis(node: Node) -> int:
    """Return the axis of the result that corresponds to the outputs of the weights."""
    return node.dst.desc.ndims - 1 if node.row == "matmul" else 1


def _foldable(
    ops: tuple[Op, ...], channel: int, constants: set[int]
) -> tuple[list[Op], tuple[Op, ...]]:
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
    return leading, ops[len(leading) :]


def _with_folded(
    graph: Graph, node: Node, reader: Node, chain: Chain, ops: list[Op], rest: tuple[Op, ...]
) -> Node | None:
    """Replace both nodes by one with new weights and bias, and the rest as post-ops."""
    (weights, bias), new = graph.recorded(lambda: _coefficients(graph, node, ops))
    changed = with_weights(graph, node, weights, bias)
    if isinstance(changed, Refusal):
        node.refused.append(f"{chain.label}: {changed}")
        return None
    folded, packing = changed
    fused = with_ops(graph, folded, reader, replace(chain, ops=rest), rest)
    if isinstance(fused, Refusal):
        return None
    label = Chain(chain.source, chain.result, tuple(ops)).label
    after = [] if not rest else [replace(chain, ops=rest).label]
    fused.fused = [*node.fused, *reader.fused, f"{label} (in weights)", *after]
    graph.replace([node], fused, at=reader)
    graph.insert([*new, *packing], before=fused)
    return fused


#: Whether a product or a sum, and the vector or number.
_Factor = tuple[bool, "Tensor | float"]


def _coefficients(graph: Graph, node: Node, ops: list[Op]) -> tuple[Tensor, Tensor | None]:
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
