# SPDX-License-Identifier: Apache-2.0
"""Record what computes nodes from traced tensors; their gradients are nodes as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sycl_dnn import _core
from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import Node, Number, in_order, leaf, number
from sycl_dnn.kernels.expression import expression_of, is_elementwise
from sycl_dnn.kernels.fused_elementwise import (
    ON_CPU,
    ON_GPU,
    Form,
    Grid,
    grid_of,
    module_of,
    name_of,
    numbers_of,
    units_of,
)
from sycl_dnn.kernels.launching import launched, units
from sycl_dnn.lower.expansion import expanded
from sycl_dnn.lower.reduction_lowering import ReductionLaunch
from sycl_dnn.lower.region import Region, is_reduction
from sycl_dnn.ops.shape import broadcast_to
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    axis_order,
    expand_rank,
    filled,
    narrow,
    reshape,
    row_major,
    untaped,
)

Known = dict[Node, Tensor]
#: Reductions of no elements.
_OF_NOTHING = {"sum": 0, "prod": 1, "any": False, "all": True}


def computed(
    definition: Callable[..., Node], *operands: Tensor | Number, dtype: str = ""
) -> Tensor:
    """Record what a function of nodes defines, for tensors; derivatives of any order follow.

    Parameters
    ----------
    definition : callable
        Takes one node for each operand and returns a node.
    *operands : Tensor or number
        At least one tensor; of dtypes that oneDNN describes.
    dtype : str
        Of numbers, which the kernel reads like tensors: another number compiles nothing.
    """
    trace = next(v.trace for v in operands if isinstance(v, Tensor))
    tensors = [v if isinstance(v, Tensor) else filled(trace, v, (), dtype) for v in operands]
    known = {leaf(("operand", i), t.shape, str(t.dtype)): t for i, t in enumerate(tensors)}
    (result,) = _recorded([definition(*known)], known, list(known))
    return result


def _recorded(results: Sequence[Node], known: Known, leaves: Sequence[Node]) -> list[Tensor]:
    """Record nodes as one entry of the tape; ``leaves`` are the variables among the known ones."""
    trace = next(iter(known.values())).trace
    with untaped(trace):
        tensors = Lowering(trace, known).tensors(results)
    inputs = {str(i): known[node] for i, node in enumerate(leaves)}
    outputs = {str(i): tensor for i, tensor in enumerate(tensors)}
    params = {"results": tuple(results), "leaves": tuple(leaves)}
    trace.tape.append(Entry("nodes", inputs, outputs, params))
    return tensors


@rule_for("nodes")
def _gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    results, leaves = entry.params["results"], entry.params["leaves"]
    numbers = [int(name) for name in grads]
    seeds = [leaf(("seed", len(leaves), n), results[n].shape, results[n].dtype) for n in numbers]
    names = [name for name in entry.inputs if name in needed]
    wrt = [leaves[int(name)] for name in names]
    gradients = pullback([results[n] for n in numbers], seeds, wrt)
    pairs = [(name, g) for name, g in zip(names, gradients, strict=True) if g is not None]
    if not pairs:
        return {}
    known = {leaves[int(name)]: tensor for name, tensor in entry.inputs.items()}
    known |= {results[int(name)]: tensor for name, tensor in entry.outputs.items()}
    for seed, n in zip(seeds, numbers, strict=True):
        known[seed] = trace.convert(grads[str(n)], seed.dtype)
    made = _recorded([g for _, g in pairs], known, [*leaves, *seeds])
    return dict(zip([name for name, _ in pairs], made, strict=True))


class Lowering:
    """The tensors of nodes, recorded in one trace.

    Parameters
    ----------
    trace : Trace
    known : dict
        Tensors that exist already, by node; nothing before them is recorded.
    """

    def __init__(self, trace: Trace, known: Mapping[Node, Tensor]) -> None:
        self._trace = trace
        self._tensors: Known = dict(known)

    def tensors(self, results: Sequence[Node]) -> list[Tensor]:
        """Return the tensors of nodes."""
        results = expanded(results, self._tensors)
        order = in_order(results, self._tensors)
        levels: dict[Node, int] = {}
        for node in order:
            level = max([levels.get(given, 0) for given in node.inputs], default=0)
            levels[node] = level + (not is_elementwise(node))
        whole = [node for node in order if not is_elementwise(node)]
        alone = [node for node in whole if not is_reduction(node)]
        read = {given for node in alone for given in node.inputs} | set(results)
        for level in range(max(levels.values(), default=0) + 1):
            for node in whole:
                if levels[node] == level and node not in self._tensors:
                    if is_reduction(node):
                        self._reduced(node, order, results)
                    else:
                        self._tensors[node] = self._single(node)
            wanted = [
                n for n in order if n in read and levels[n] == level and n not in self._tensors
            ]
            for shape in dict.fromkeys(node.shape for node in wanted):
                self._fused([node for node in wanted if node.shape == shape])
        return [self._tensors[node] for node in results]

    def _single(self, node: Node) -> Tensor:
        """Record a node that is not element-wise."""
        x = self._tensors[node.inputs[0]]
        name = node.operation.name
        if name == "reshape":
            return reshape(x, node.shape)
        if name == "slice":
            for axis, (start, step, length) in enumerate(node.attributes["cuts"]):
                if (start, step, length) != (0, 1, x.shape[axis]):
                    x = narrow(x, axis, start, length, step)
            return x
        raise NotImplementedError(f"{name}: it is not recorded from nodes yet")

    # --- Reductions over the same axes as one kernel, with what is around them

    def _reduced(self, node: Node, order: Sequence[Node], results: Sequence[Node]) -> None:
        shape = node.inputs[0].shape
        if 0 in shape:
            # A result without elements may have rows, which any operation has.
            value = number(_OF_NOTHING.get(node.operation.name, 0), node.dtype)
            made = broadcast_to(value, node.shape)
            self._fused([made])
            self._tensors[node] = self._tensors[made]
            return
        region = Region(node, order, self._tensors, results, is_deep=True)
        launch = self._launch_of(region)
        if launch.n_parts > 1 and region.is_nested:
            # All processors are to share in each pass.
            region = Region(node, order, self._tensors, results, is_deep=False)
            launch = self._launch_of(region)
        self._tensors |= zip(region.outputs, launch.recorded(), strict=True)

    def _launch_of(self, region: Region) -> ReductionLaunch:
        inputs = self._inputs_of(region.outputs)
        operands = [self._readable(self._tensors[node], len(region.shape)) for node in inputs]
        return ReductionLaunch(
            self._trace, region.outputs, inputs, operands, region.shape, region.axes
        )

    # --- Element-wise nodes of one shape as one kernel

    def _fused(self, nodes: Sequence[Node]) -> None:
        shape = nodes[0].shape
        if 0 in shape:
            for node in nodes:
                self._tensors[node] = zeros(self._trace, shape, node.dtype)
            return
        inputs = self._inputs_of(nodes)
        operands = [self._readable(self._tensors[node], len(shape)) for node in inputs]
        whole = next((t for t in operands if t.shape == shape), None)
        order = axis_order(whole, len(shape))
        outs = [_out(node, order) for node in nodes]
        strides: list[Sequence[int]] = [_spread(t) for t in operands]
        strides += [layout.permuted_strides(shape, order)] * len(nodes)
        in_order_of_memory = [[of[k] for k in order] for of in strides]
        grid = grid_of([shape[k] for k in order], in_order_of_memory)
        made = self._launched(nodes, inputs, operands, outs, grid)
        self._tensors |= zip(nodes, made, strict=True)

    def _inputs_of(self, nodes: Sequence[Node]) -> list[Node]:
        """Return the known nodes that nodes are computed from, each once."""
        reached, inputs = set[Node](), dict[Node, None]()
        stack = list(reversed(nodes))
        while stack:
            node = stack.pop()
            if node in self._tensors:
                inputs[node] = None
            elif node not in reached:
                reached.add(node)
                stack.extend(reversed(node.inputs))
        return list(inputs)

    def _readable(self, x: Tensor, rank: int) -> Tensor:
        plain = row_major(x) if x.desc is None else self._trace.plain(x)
        return expand_rank(plain, rank)

    def _launched(
        self,
        nodes: Sequence[Node],
        inputs: Sequence[Node],
        operands: Sequence[Tensor],
        outs: Sequence[Out],
        grid: Grid,
    ) -> list[Tensor]:
        is_cpu = self._trace.engine.kind is _core.engine_kind.cpu
        schedule = ON_CPU if is_cpu else ON_GPU
        form = Form(expression_of(nodes, inputs), grid.classes, schedule)
        grid.check(str(nodes[0].operation))
        n_units = units_of(grid, schedule)
        n_groups = min(n_units, 4 * units(operands[0])) if operands else n_units
        numbers = numbers_of(form, grid, n_groups, n_units)
        return launched(
            self._trace, module_of(form), name_of(form), operands, outs, numbers, n_groups,
            schedule.n_items,
        )  # fmt: skip


def _out(node: Node, order: Sequence[int]) -> Out:
    strides = layout.permuted_strides(node.shape, order)
    return Out(node.shape, node.dtype, layout.strided(node.shape, node.dtype, strides))


def _spread(x: Tensor) -> list[int]:
    """Return the strides of a tensor that is repeated along its axes of size 1."""
    return [0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True)]
