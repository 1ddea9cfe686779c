# SPDX-License-Identifier: Apache-2.0
"""Folding of per-channel scales and shifts, such as batch normalization, into constant weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm, normalization_flags
from sycl_dnn.compiler.constant_values import constant_ids
from sycl_dnn.compiler.host_constants import HostValues, recorded_on_host
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
from sycl_dnn.compiler.post_ops import Chain, Op, chain_on, is_moderate, scalar_of, with_post_ops
from sycl_dnn.compiler.rebuilding import coefficients_of, origin
from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.compiler.step_graph import Graph, Node, Refusal, moved
from sycl_dnn.functional.normalization.affine import float32
from sycl_dnn.ir.node import Node as Value
from sycl_dnn.lower.node_lowering import all_computed
from sycl_dnn.ops.arithmetic import RSQRT
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import add, mul
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

A = algorithm
ROWS = ("convolution_forward", "deconvolution_forward", "matmul", "inner_product_forward")


def split_batch_norms(graph: Graph) -> None:
    """Rewrite normalizations with given statistics as a scale and a shift per channel."""
    for node in graph.walk():
        if node.row != "batch_normalization_forward" or not node.has_dst:
            continue
        has_statistics = node.params["flags"] & normalization_flags.use_global_stats
        if has_statistics and _is_of_product(graph, node.inputs["src"]):
            _split_batch_norm(graph, node)


def _is_of_product(graph: Graph, tensor: Tensor) -> bool:
    """Whether a product, such as a convolution, or sums with it have a single reader each."""
    producer = graph.writer(tensor)
    if producer is None or len(graph.readers(tensor.storage)) != 1:
        return False
    if producer.row == "binary":
        return _is_of_product(graph, producer.inputs["src_0"])
    return producer.row in ROWS


def _split_batch_norm(graph: Graph, node: Node) -> None:
    inputs = node.inputs
    stats = inputs["mean"], inputs["variance"], inputs.get("scale"), inputs.get("shift")
    eps = node.params["epsilon"]
    result, nodes = graph.recorded(lambda: _scaled(inputs["src"], *_statistics(graph, stats, eps)))
    last = nodes[-1]
    if result.storage is not last.dst.storage or not same_span(result.desc, node.dst.desc):
        return
    last.outputs = {"dst": moved(last.dst, node.dst.storage, node.dst.offset)}
    last.fused = ["batch_normalization_forward"]
    graph.insert(nodes[:-1], before=node)
    graph.replace([], last, at=node)


def _statistics(graph: Graph, stats: Sequence[Tensor | None], eps: float) -> Sequence[Tensor]:
    """Record the vectors a and b for which the normalization is ``x * a + b``."""
    has_weight, has_bias = (t is not None for t in stats[2:])
    vectors = [t for t in stats if t is not None]
    function = HostValues("normalization", (eps, has_weight, has_bias))
    on_host = recorded_on_host(graph, function, vectors, [vectors[0].shape] * 2)
    recorded: Sequence[Tensor] = on_host or graph.joined(_factor_and_offset, *stats, eps)
    return recorded


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
    post_ops = PostOps()
    post_ops.append_binary(A.binary_add, b.desc)
    inputs, out = {"src_0": x, "src_1": a, "attr_post_op_0_src_1": b}, Out(x.shape, x.dtype, x)
    attr = with_post_ops(PrimitiveAttr(), post_ops)
    kind = A.binary_mul
    return x.trace.primitive("binary", inputs, {"dst": out}, attr=attr, algorithm=kind)["dst"]


def _factor_and_offset(
    mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the (C,) vectors a and b for which the normalization is ``x * a + b``."""

    def definition(mean: Value, var: Value, *rest: Value) -> tuple[Value, Value]:
        supply = iter(rest)
        a = RSQRT(var + eps)
        a = a if weight is None else a * next(supply)
        b = mean * a
        return a, -b if bias is None else next(supply) - b

    vectors = [float32(t) for t in (mean, var, weight, bias) if t is not None]
    a, b = all_computed(definition, *vectors)
    return a, b


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
    # Creating a descriptor is slow, so what can be fused afterwards is tried at once.
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
    on_host = _coefficients_on_host(graph, weights, bias, factors, over)
    if on_host is not None:
        return on_host
    combined: tuple[Tensor, Tensor | None] = graph.joined(
        _folded_coefficients, weights, bias, factors, over
    )
    return combined


def _coefficients_on_host(
    graph: Graph, weights: Tensor, bias: Tensor | None, factors: list[_Factor],
    over: tuple[int, ...],
) -> tuple[Tensor, Tensor | None] | None:  # fmt: skip
    """Return the same as ``_folded_coefficients``, if the host can compute it."""
    vectors = [value for _, value in factors if isinstance(value, Tensor)]
    data = tuple((p, None if isinstance(v, Tensor) else float(v)) for p, v in factors)
    is_scaled = any(is_product for is_product, _ in factors)
    has_bias = bias is not None or not all(is_product for is_product, _ in factors)
    shapes = [weights.shape] * is_scaled + [(math.prod(over),)] * has_bias
    function = HostValues("coefficients", (over, data, bias is not None))
    inputs = [weights, *vectors] if bias is None else [weights, bias, *vectors]
    made = recorded_on_host(graph, function, inputs, shapes)
    if made is None:
        return None
    return made[0] if is_scaled else weights, made[-1] if has_bias else None


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
