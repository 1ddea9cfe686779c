# SPDX-License-Identifier: Apache-2.0
"""``Units``: the computation of a kernel or an element-wise primitive, as values over tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sycl_dnn.compiler.passes.lone_functions import chain_of, operands_of
from sycl_dnn.compiler.relayout import carried
from sycl_dnn.ir.node import LEAF, in_order, leaf, node_of
from sycl_dnn.ir.node import Node as Value
from sycl_dnn.kernels.expression import COSTLY, WRITERS
from sycl_dnn.lower.expansion import expanded
from sycl_dnn.lower.region import is_reduction
from sycl_dnn.lower.step_graph import Graph, Node, has_only_post_ops
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Meaning
from sycl_dnn.trace.values import Tensor

Values = dict[Value, Tensor]
#: By value: the number of a step, the name of its argument, and the tensor over the value's axes.
_Arguments = dict[Value, tuple[int, str, Tensor]]
_Source = tuple[int, str, "tuple[Any, ...] | None"]
#: Primitives that are separate units.
_FUNCTIONS = frozenset(("eltwise_forward", "binary", "reorder"))


class Form:
    """The computation of a step and its layouts; equal steps share a form.

    shape : of the operands of reductions, or of the results if there is none
    axes : the reduced axes
    kept : the shape of results of reductions along them
    is_nested : whether there are several passes over the reduced axes
    is_pointwise : whether the same nodes can be computed over any other axes
    is_aligned : whether all arrays of the shape are in one layout

    ``inputs``, ``outputs``: tensors of the nodes' shapes; ``sources``: inputs that elements are
    gathered from.
    """

    def __init__(self, inputs: Values, outputs: Values, sources: set[Value]) -> None:
        self.inputs, self.outputs, self.sources = list(inputs), list(outputs), sources
        inner = in_order(outputs, inputs)
        names = {value.operation.name for value in inner}
        reductions = [value for value in inner if is_reduction(value)]
        first = reductions[0] if reductions else None
        self.shape = next(iter(outputs)).shape if first is None else first.inputs[0].shape
        self.axes = None if first is None else tuple(first.attributes["axes"])
        axes = self.axes or ()
        self.kept = tuple([1 if k in axes else n for k, n in enumerate(self.shape)])
        self.n_terms = len(inner)
        self.is_costly = not names.isdisjoint(COSTLY)
        self.is_pointwise = names <= {*WRITERS, "number"}
        self.is_nested = first is not None and (
            any(value.shape == self.shape for value in outputs) or _is_deep(inner)
        )
        full_tensors = [t for v, t in inputs.items() if v.shape == self.shape and v not in sources]
        full_tensors += [t for v, t in outputs.items() if v.shape == self.shape]
        self.is_aligned = len({strides_of(t) for t in full_tensors}) < 2
        tensors = (*inputs.values(), *outputs.values())
        self.layouts = [(t.shape, t.strides, t.desc) for t in tensors]
        #: By the values of the inputs elsewhere: those of the outputs.
        self.over: dict[tuple[Value, ...], list[Value]] = {}
        #: By the shape and strides of a view of the result: the form over its axes.
        self.frames: dict[Any, Form | None] = {}


class Unit:
    """Steps that compute nodes.

    ``nodes``: of the graph of steps: one, or the two stages of a large reduction; ``inputs``,
    ``outputs``: in the order of the form's.
    """

    def __init__(
        self, nodes: Sequence[Node], form: Form, inputs: Iterable[Tensor], outputs: Iterable[Tensor]
    ) -> None:
        self.nodes, self.form = nodes, form
        self.inputs = dict(zip(form.inputs, inputs, strict=True))
        self.outputs = dict(zip(form.outputs, outputs, strict=True))

    def has_frame(self, like: Tensor) -> bool:
        """Whether it can be computed over the axes of another view of its result."""
        key = like.shape, like.strides
        frames = self.form.frames
        if key not in frames:
            frames[key] = self._form_in(like)
        return frames[key] is not None

    def in_frame(self, like: Tensor) -> Unit:
        """Return an element-wise unit over the axes of another view, which it has as a frame."""
        form = self.form.frames[like.shape, like.strides]
        assert form is not None
        tensors = (*self.inputs.values(), *self.outputs.values())
        views = list(map(_view, tensors, form.layouts))
        n_inputs = len(form.inputs)
        return Unit(self.nodes, form, views[:n_inputs], views[n_inputs:])

    def _form_in(self, like: Tensor) -> Form | None:
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
        return Form(inputs, outputs, set())


def strides_of(tensor: Tensor) -> tuple[int, ...]:
    """Return the strides of a tensor, 0 along axes of size 1."""
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


class _Known(NamedTuple):
    """What equal steps share: the positions of a unit's tensors among theirs, and its form."""

    #: The number of the step, the name of the argument and its view, if that is another one.
    inputs: list[_Source]
    outputs: list[_Source]
    form: Form


class Units:
    """The computations of a graph's steps; equal steps are analyzed once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        #: By the computations of the steps and the views of their arguments.
        self._known: dict[Any, _Known | None] = {}
        self._held: list[Any] = []

    def of(self, node: Node) -> Unit | None:
        """Return the computation of a step and of the earlier steps that only it reads, or None.

        ``node``: the last step.
        """
        if node.part != (0, 1) or any(0 in t.shape for t in node.outputs.values()):
            return None
        nodes = self._stages(node)
        if nodes is None:
            return None
        key = tuple([self._key(n) for n in nodes])
        if key not in self._known:
            self._known[key] = _kernel(nodes) if node.meaning else _function(node)
        known = self._known[key]
        if known is None:
            return None
        inputs = [_view(nodes[i].inputs[name], shape) for i, name, shape in known.inputs]
        outputs = [_view(nodes[i].outputs[name], shape) for i, name, shape in known.outputs]
        return Unit(nodes, known.form, inputs, outputs)

    def _stages(self, node: Node) -> list[Node] | None:
        """Return the steps of a unit; None for other steps."""
        if node.meaning is None:
            is_function = node.row in _FUNCTIONS and node.pd is not None and node.has_dst
            return [node] if is_function else None
        partial = [t for name, t in node.inputs.items() if name not in node.meaning.inputs]
        if not partial:
            return [node]
        first = self._graph.writer(partial[0])
        if first is None or not all(self._graph.writer(t) is first for t in partial):
            return None
        return [first, node]

    def _key(self, node: Node) -> Any:
        work = node.meaning or node.pd
        self._held.append(work)
        views = [
            (name, t.shape, t.strides, t.dtype)
            for tensors in (node.inputs, node.outputs)
            for name, t in tensors.items()
        ]
        return (id(work), len(node.inputs), *views)


def _view(tensor: Tensor, layout_of: tuple[Any, ...] | None) -> Tensor:
    if layout_of is None or layout_of[:2] == (tensor.shape, tensor.strides):
        return tensor
    shape, strides, desc = layout_of
    t = tensor
    return Tensor(t.trace, t.storage, desc, t.dtype, shape, t.offset, strides)


def _known(
    nodes: Sequence[Node], inputs: _Arguments, outputs: _Arguments, sources: set[Value]
) -> _Known:
    def located(arguments: _Arguments, group: str) -> list[_Source]:
        return [
            (i, name, None if t is getattr(nodes[i], group)[name] else (t.shape, t.strides, t.desc))
            for i, name, t in arguments.values()
        ]

    form = Form(_tensors(inputs), _tensors(outputs), sources)
    return _Known(located(inputs, "inputs"), located(outputs, "outputs"), form)


def _tensors(arguments: _Arguments) -> Values:
    return {value: tensor for value, (_, _, tensor) in arguments.items()}


def _function(node: Node) -> _Known | None:
    """Return the unit of an element-wise primitive."""
    tensors = (*node.inputs.values(), node.dst)
    if not has_only_post_ops(node.attr) or not all(_is_readable(t) for t in tensors):
        return None
    chain = chain_of(node)
    if chain is None:
        return None
    definition, names = chain
    operands = operands_of(node, names)
    leaves = [leaf(("unit", i), t.shape, str(t.dtype)) for i, t in enumerate(operands)]
    (result,) = expanded([definition(*leaves)], dict.fromkeys(leaves))
    if result.shape != node.dst.shape or result in leaves:
        return None
    used = set(in_order([result]))
    triples = zip(leaves, names, operands, strict=True)
    inputs = {value: (0, name, tensor) for value, name, tensor in triples if value in used}
    return _known([node], inputs, {result: (0, "dst", node.dst)}, set())


def _is_readable(tensor: Tensor) -> bool:
    return tensor.strides is not None and tensor.dtype in ("float32", "bfloat16", "float16")


def _kernel(nodes: Sequence[Node]) -> _Known | None:
    """Return the unit of a kernel, or of both stages of a large reduction."""
    inputs: _Arguments = {}
    for number, kernel in enumerate(nodes):
        meaning = _meaning_of(kernel)
        views = _viewed(number, kernel.inputs, meaning.inputs)
        if views is None or (kernel is not nodes[-1] and meaning.outputs):
            return None
        inputs |= views
    last = nodes[-1]
    firsts = {name: values[:1] for name, values in _meaning_of(last).outputs.items()}
    outputs = _viewed(len(nodes) - 1, last.outputs, firsts)
    if not inputs or not outputs or len(outputs) < len(last.outputs):
        return None
    inner = in_order(outputs, inputs)
    alike = {(v.inputs[0].shape, *v.attributes.items()) for v in inner if is_reduction(v)}
    if len(alike) > 1 or any(v.operation is LEAF for v in inner):
        return None
    sources = {v.inputs[0] for v in inner if v.operation.name == "gather"}
    return _known(nodes, inputs, outputs, sources)


def _meaning_of(node: Node) -> Meaning:
    return node.meaning or Meaning({}, {})


def _viewed(
    number: int, tensors: Mapping[str, Tensor], values: Mapping[str, tuple[Value, ...]]
) -> _Arguments | None:
    """Return tensors by value, without the leading axes of size 1 that a kernel adds."""
    views: _Arguments = {}
    for name, tensor in tensors.items():
        for value in values.get(name, ()):
            n = tensor.ndim - value.ndim
            if tensor.strides is None or tensor.dtype != value.dtype or n < 0:
                return None
            if tensor.shape != (1,) * n + value.shape:
                return None
            view = tensor.view(value.shape, tuple(tensor.strides[n:])) if n else tensor
            views[value] = number, name, view
    return views
