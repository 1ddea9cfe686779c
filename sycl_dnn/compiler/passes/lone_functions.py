# SPDX-License-Identifier: Apache-2.0
"""Replacement of unfused element-wise functions and softmax by kernels that propagate NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sycl_dnn._core import algorithm as A
from sycl_dnn.compiler.post_ops import post_ops_as_chain
from sycl_dnn.ir.node import Node as Value
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.lower.step_graph import Graph, Node, Refusal
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.activation import PRELU
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.reduction import SOFTMAX
from sycl_dnn.trace.values import Tensor

#: Algorithms for which oneDNN returns numbers for NaN, has errors of 5e-5 (mish), one logarithm for
#: all denormal numbers, 0 for small negative numbers (elu), or powers with the exponent -0.5 for
#: what is ``rsqrt`` in torch.
_LOSING = frozenset(
    (
        A.eltwise_relu, A.eltwise_clip, A.eltwise_clip_v2, A.eltwise_hardsigmoid, A.eltwise_exp,
        A.eltwise_log, A.eltwise_mish, A.eltwise_pow, A.eltwise_elu,
    )
)  # fmt: skip

#: Names of the operands, where there are several.
_OPERANDS = {"binary": ("src_0", "src_1"), "prelu_forward": ("src", "weights")}


def keep_nan(graph: Graph) -> None:
    """Replace element-wise nodes and softmax by kernels where oneDNN would not propagate NaN."""
    for node in graph.walk():
        if node.row in ("eltwise_forward", "binary"):
            is_wrong = _is_float(node) and not _LOSING.isdisjoint(_algorithms(node))
        elif node.row == "prelu_forward":  # it also loses the sign of zero
            is_wrong = _is_float(node)
        else:
            is_softmax = node.row == "softmax_forward" and _is_float(node)
            is_wrong = is_softmax and not _is_multiplied(graph, node)
        if is_wrong:
            replace_by_kernel(graph, node)


def _is_multiplied(graph: Graph, node: Node) -> bool:
    """Whether the sums over rows of a softmax turn its other elements into NaN, too."""
    return graph.is_inner(node.dst.storage) and all(
        reader.row == "matmul" and _is_left_operand(node, reader)
        for reader in graph.readers(node.dst.storage)
    )


def _is_left_operand(node: Node, product: Node) -> bool:
    dst, src = node.dst, product.inputs["src"]
    is_same = (src.storage, src.offset, src.desc) == (dst.storage, dst.offset, dst.desc)
    return is_same and product.inputs["weights"].storage is not dst.storage


def _algorithms(node: Node) -> Iterator[A]:
    if node.row == "eltwise_forward":
        yield node.params["algorithm"]
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if name == "append_eltwise":
            yield args[0]


def _is_float(node: Node) -> bool:
    return node.has_dst and all(
        dtypes.is_float(t.dtype) for t in (node.dst, node.inputs.get("src", node.dst))
    )


def replace_by_kernel(graph: Graph, node: Node) -> None:
    """Replace an element-wise node or a softmax by one kernel, if that computes the same."""
    chain = chain_of(node)
    if chain is None or graph.is_locked(node):
        return
    definition, names = chain
    operands, dst = operands_of(node, names), node.dst

    def body(*args: Tensor) -> Tensor:
        return computed(definition, *args)

    key = (replace_by_kernel, *node.work)
    result, nodes = graph.recorded(lambda: graph.joined(body, *operands, key=key))
    written = nodes[-1].outputs if nodes else {}
    results = {n: dst for n, t in written.items() if t.storage is result.storage}
    if not results or {dst.desc} != {result.desc, *(written[n].desc for n in results)}:
        return
    graph.insert(nodes, before=node)
    graph.drop([node])
    graph.rewire(nodes[-1], outputs={**written, **results})


def operands_of(node: Node, names: Sequence[str]) -> list[Tensor]:
    """Return the inputs of these names; those of post-ops over the axes of the primitive."""
    return [
        _over_axes(tensor) if name.startswith("attr_post_op") else tensor
        for name, tensor in zip(names, map(node.inputs.__getitem__, names), strict=True)
    ]


def _over_axes(tensor: Tensor) -> Tensor:
    dims = tensor.desc.dims
    return tensor if tensor.shape == dims else tensor.view(dims, tensor.desc.strides)


def chain_of(node: Node) -> tuple[Callable[..., Value], list[str]] | None:
    """Return the definition of a primitive with its post-ops over values, and the inputs' names.

    None for primitives other than element-wise functions, prelu and softmax, and for operations
    without a definition.
    """
    later = post_ops_as_chain(node)
    kind: Any = node.params.get("algorithm")
    is_pair = node.row == "binary"
    is_softmax, is_prelu = (node.row == f"{name}_forward" for name in ("softmax", "prelu"))
    if isinstance(later, Refusal) or (is_pair and kind not in PAIRS):
        return None
    names = list(_OPERANDS.get(node.row, ("src",)))
    is_function = node.row == "eltwise_forward"
    first = ((kind, node.params["alpha"], node.params["beta"]),) if is_function else ()
    steps = (*first, *[(op.algorithm, op.alpha, op.beta) for op in later])
    if not all(step[0] in PAIRS or step[0] in FUNCTIONS for step in steps):
        return None
    names += [f"attr_post_op_{i}_src_1" for i, op in enumerate(later) if op.operand is not None]
    dtype = node.dst.dtype

    def definition(*values: Value) -> Value:
        wide = dtypes.wide(dtype)
        x, *others = [cast(value, wide) for value in values]
        supply = iter(others)
        if is_softmax:
            x = SOFTMAX(x, axis=node.params["axis"])
        if is_prelu:
            x = PRELU(x, next(supply))
        for step, *constants in ((kind,), *steps) if is_pair else steps:
            of_two = PAIRS.get(step)
            x = of_two(x, next(supply)) if of_two else FUNCTIONS[step](x, *constants)
            x = cast(x, wide)
        return cast(x, dtype)

    return definition, names
