# SPDX-License-Identifier: Apache-2.0
"""``Unit``: the computation of a kernel or an element-wise primitive, as values over tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sycl_dnn.compiler.passes.lone_functions import chain_of
from sycl_dnn.compiler.relayout import carried
from sycl_dnn.compiler.step_graph import Graph, Node, has_only_post_ops
from sycl_dnn.ir.node import LEAF, in_order, leaf, node_of
from sycl_dnn.ir.node import Node as Value
from sycl_dnn.kernels.expression import COSTLY, WRITERS
from sycl_dnn.lower.expansion import expanded
from sycl_dnn.lower.region import is_reduction
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Meaning
from sycl_dnn.trace.values import Tensor

Values = dict[Value, Tensor]


class Unit:
    """Steps that compute nodes.

    Parameters
    ----------
    nodes : sequence of Node
        Of the graph of steps: one, or the two stages of a large reduction.
    inputs, outputs : dict
        Tensors of the nodes' shapes.
    sources : set of Value
        Inputs that elements are gathered from.
    copies : sequence of Node
        Reorders that the step reads, and whose sources are among the inputs instead.

    Attributes
    ----------
    shape : tuple of int
        Of the operands of reductions, or of the results if there is none.
    axes : tuple of int or None
        The reduced axes.
    is_nested : bool
        Whether there are several passes over the reduced axes.
    is_pointwise : bool
        Whether the same nodes can be computed over any other axes.
    is_aligned : bool
        Whether all arrays of the shape are in one layout.
    is_costly : bool
    n_terms : int
    """

    def __init__(
        self, nodes: Sequence[Node], inputs: Values, outputs: Values, sources: set[Value],
        copies: Sequence[Node] = (),
    ) -> None:  # fmt: skip
        self.copies = copies
        self.nodes, self.inputs, self.outputs, self.sources = nodes, inputs, outputs, sources
        inner = in_order(outputs, inputs)
        names = {value.operation.name for value in inner}
        reductions = [value for value in inner if is_reduction(value)]
        first = reductions[0] if reductions else None
        self.shape = next(iter(outputs)).shape if first is None else first.inputs[0].shape
        self.axes = None if first is None else tuple(first.attributes["axes"])
        self.n_terms = len(inner)
        self.is_costly = not names.isdisjoint(COSTLY)
        self.is_pointwise = names <= {*WRITERS, "number"}
        self.is_nested = first is not None and (
            any(value.shape == self.shape for value in outputs) or _is_deep(inner)
        )
        full_tensors = [t for v, t in inputs.items() if v.shape == self.shape and v not in sources]
        full_tensors += [t for v, t in outputs.items() if v.shape == self.shape]
        self.is_aligned = len({_strides(t) for t in full_tensors}) < 2

    def in_frame(self, like: Tensor) -> Unit | None:
        """Return an element-wise unit over the axes of another view of its result."""
        result = next(iter(self.outputs.values()))
        is_dense = layout.is_dense(result.desc) and layout.is_dense(like.desc)
        if not is_dense or result.size != like.size:
            return None
        mapping: dict[Value, Value] = {}
        inputs: Values = {}
        for number, (value, tensor) in enumerate(self.inputs.items()):
            desc = carried(_expanded(tensor, result.ndim).desc, result.desc, like.desc)
            if desc is None:
                return None
            mapping[value] = moved = leaf(("frame", number), desc.dims, value.dtype)
            inputs[moved] = tensor.view(desc.dims, desc.strides)
        outputs = {
            rebuilt(value, mapping): tensor.view(like.shape, like.strides)
            for value, tensor in self.outputs.items()
        }
        return Unit(self.nodes, inputs, outputs, set(), self.copies)


def _strides(tensor: Tensor) -> tuple[int, ...]:
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    return tuple([0 if n == 1 else s for n, s in pairs])


def _is_deep(values: Sequence[Value]) -> bool:
    """Whether a reduction reads the result of another one."""
    after: set[Value] = set()
    for value in values:
        is_after = not after.isdisjoint(value.inputs)
        if is_after and is_reduction(value):
            return True
        if is_after or is_reduction(value):
            after.add(value)
    return False


def _expanded(tensor: Tensor, rank: int) -> Tensor:
    n = rank - tensor.ndim
    return tensor.view((1,) * n + tensor.shape, (0,) * n + tuple(tensor.strides)) if n else tensor


def rebuilt(result: Value, mapping: dict[Value, Value]) -> Value:
    """Return a value over other inputs; ``mapping`` is extended by all values in between."""
    for value in in_order([result], mapping):
        inputs = tuple([mapping[operand] for operand in value.inputs])
        mapping[value] = node_of(value.operation, inputs, value.attributes)
    return mapping[result]


# --- From steps


def unit_of(graph: Graph, node: Node) -> Unit | None:
    """Return the computation of a step and of the earlier steps that only it reads, or None.

    Parameters
    ----------
    node : Node
        The last step.
    """
    if node.part != (0, 1) or not all(t.size for t in node.outputs.values()):
        return None
    if node.meaning is not None:
        return _unit_of_kernel(graph, node)
    if node.pd is None or not node.has_dst:
        return None
    tensors = (*node.inputs.values(), *node.outputs.values())
    if not has_only_post_ops(node.attr) or not all(_is_readable(t) for t in tensors):
        return None
    return _unit_of_function(node) if node.row in ("eltwise_forward", "binary", "reorder") else None


def _is_readable(tensor: Tensor) -> bool:
    is_plain = tensor.strides is not None and not tensor.storage.scalar
    return is_plain and tensor.dtype in ("float32", "bfloat16", "float16")


def _unit_of_kernel(graph: Graph, node: Node) -> Unit | None:
    nodes = [node]
    partial = [t for name, t in node.inputs.items() if name not in _meaning_of(node).inputs]
    if partial:
        first = graph.writer(partial[0])
        if first is None or not all(graph.writer(t) is first for t in partial):
            return None
        nodes.insert(0, first)
    inputs: Values = {}
    for kernel in nodes:
        views = _viewed(kernel.inputs, _meaning_of(kernel).inputs)
        if views is None or (kernel is not node and _meaning_of(kernel).outputs):
            return None
        inputs |= views
    firsts = {name: values[:1] for name, values in _meaning_of(node).outputs.items()}
    outputs = _viewed(node.outputs, firsts)
    if not inputs or not outputs or len(outputs) < len(node.outputs):
        return None
    inner = in_order(outputs, inputs)
    alike = {(v.inputs[0].shape, *v.attributes.items()) for v in inner if is_reduction(v)}
    if len(alike) > 1 or any(v.operation is LEAF for v in inner):
        return None
    sources = {v.inputs[0] for v in inner if v.operation.name == "gather"}
    return Unit(nodes, inputs, outputs, sources)


def _meaning_of(node: Node) -> Meaning:
    return node.meaning or Meaning({}, {})


def _viewed(
    tensors: Mapping[str, Tensor], values: Mapping[str, tuple[Value, ...]]
) -> Values | None:
    """Return tensors by value, without the leading axes of size 1 that a kernel adds."""
    views: Values = {}
    for name, tensor in tensors.items():
        for value in values.get(name, ()):
            n = tensor.ndim - value.ndim
            if tensor.strides is None or tensor.dtype != value.dtype or n < 0:
                return None
            if tensor.shape != (1,) * n + value.shape:
                return None
            views[value] = tensor.view(value.shape, tuple(tensor.strides[n:])) if n else tensor
    return views


def _unit_of_function(node: Node) -> Unit | None:
    chain = chain_of(node)
    if chain is None:
        return None
    definition, operands = chain
    if not all(_is_readable(t) for t in operands):
        return None
    leaves = [leaf(("unit", i), t.shape, str(t.dtype)) for i, t in enumerate(operands)]
    inputs = dict(zip(leaves, operands, strict=True))
    return _new_unit(node, definition(*leaves), inputs, node.dst)


def _new_unit(node: Node, result: Value, inputs: Values, dst: Tensor) -> Unit | None:
    (result,) = expanded([result], inputs)
    if result.shape != dst.shape or result in inputs:
        return None
    used = {v for v in in_order([result]) if v.operation is LEAF}
    return Unit([node], {v: t for v, t in inputs.items() if v in used}, {result: dst}, set())
