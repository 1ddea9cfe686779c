# SPDX-License-Identifier: Apache-2.0
"""Lowering of nodes to steps on traced tensors; gradients are lowered in the same way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sycl_dnn import _core
from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import Node, Number, in_order, leaf, number, value_of
from sycl_dnn.kernels.contiguous_runs import contiguous_run
from sycl_dnn.kernels.elementwise_schedule import ON_GPU, Grid, grid_of, on_cpu, units_of
from sycl_dnn.kernels.expression import COSTLY
from sycl_dnn.kernels.forms import Form, name_of
from sycl_dnn.kernels.fused_elementwise import module_of, numbers_of
from sycl_dnn.kernels.launching import launched, new_results, units
from sycl_dnn.kernels.node_expressions import (
    Reads,
    expression_of,
    is_elementwise,
    reads_of,
)
from sycl_dnn.kernels.passed_numbers import with_passed_numbers
from sycl_dnn.lower import expansion
from sycl_dnn.lower.chaining import Chains, Stage
from sycl_dnn.lower.reduction_lowering import ReductionLaunch, elementwise_plans
from sycl_dnn.lower.region import Region, is_reduction, is_scan, longest_first
from sycl_dnn.lower.region_arrays import RegionArrays, coordinate_strides, indexed_axes
from sycl_dnn.lower.scan_lowering import ScanLaunch
from sycl_dnn.lower.scatter_lowering import SCATTERS, scattered
from sycl_dnn.ops.selection import CONCAT
from sycl_dnn.ops.shape import BROADCAST, broadcast_to
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import ArrayStep, Entry, Meaning, Out, Step, is_kernel
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    axis_order,
    filled,
    narrow,
    note_repeated,
    readable,
    repeated,
    reshape,
    spread_strides,
    untaped,
)

NodeTensors = dict[Node, Tensor]
#: Results of reductions over no elements.
_OF_EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True}

#: Number of elements above which storing them costs more than another launch.
_OFTEN = 1 << 18


def computed(
    definition: Callable[..., Node | tuple[Node, ...]],
    *operands: Tensor | Number,
    dtype: str = "",
) -> Tensor:
    """Record the first result of a function of nodes; see ``all_computed``."""
    return all_computed(definition, *operands, dtype=dtype)[0]


def all_computed(
    definition: Callable[..., Node | tuple[Node, ...]],
    *operands: Tensor | Number,
    dtype: str = "",
) -> tuple[Tensor, ...]:
    """Record a function of nodes for tensors; it has derivatives of any order.

    ``definition``: takes one node for each operand and returns a node, or several, which the
    gradient reads again. ``*operands``: at least one tensor; dtypes that oneDNN can describe.
    ``dtype``: dtype of numbers, which are passed as tensors: another value does not recompile.
    """
    trace = next(v.trace for v in operands if isinstance(v, Tensor))
    tensors = [v if isinstance(v, Tensor) else filled(trace, v, (), dtype) for v in operands]
    leaves = _leaves_of(tensors)
    defined = definition(*leaves)
    results = defined if isinstance(defined, tuple) else (defined,)
    return tuple(recorded(results, leaves, list(leaves)))


def meaning(
    definition: Callable[..., Node], operands: Sequence[Tensor], record: Callable[[], Tensor]
) -> Tensor:
    """Return the result of ``record()``; its derivatives are those of a definition."""
    leaves = _leaves_of(operands)
    with untaped(operands[0].trace):
        tensor = record()
    _put_on_tape([definition(*leaves)], leaves, list(leaves), [tensor])
    return tensor


def _leaves_of(operands: Sequence[Tensor]) -> NodeTensors:
    return {leaf(("operand", i), t.shape, str(t.dtype)): t for i, t in enumerate(operands)}


def recorded(
    results: Sequence[Node],
    existing: NodeTensors,
    leaves: Sequence[Node],
    like: Mapping[Node, Tensor] | None = None,
) -> list[Tensor]:
    """Record nodes as one tape entry; ``leaves`` are the variables among the existing ones.

    Results take the memory order of their operands, or else that of their tensor in ``like``.
    """
    trace = next(iter(existing.values())).trace
    nodes = list(results)
    if trace.training:
        nodes += expansion.read_unrounded(results, leaves)
        nodes += expansion.read_draws(results, leaves)
    tensors = lowered(trace, nodes, existing, like or {})
    _put_on_tape(nodes, existing, leaves, tensors)
    return tensors[: len(results)]


def lowered(
    trace: Trace,
    nodes: Sequence[Node],
    existing: Mapping[Node, Tensor],
    like: Mapping[Node, Tensor],
) -> list[Tensor]:
    """Return the tensors of nodes, not on the tape; parameters as for ``Lowering``.

    The same nodes over tensors in the same layouts, as in repeated layers, are lowered once.
    """
    known, alike = tuple(existing), tuple(like)

    def body(*tensors: Tensor) -> list[Tensor]:
        pairs = list(zip((*known, *alike), tensors, strict=True))
        n = len(known)
        return Lowering(trace, dict(pairs[:n]), dict(pairs[n:])).tensors(nodes)

    key = (lowered, tuple(nodes), known, alike)
    with untaped(trace):
        known_tensors = (*existing.values(), *like.values())
        tensors: list[Tensor] = trace.joined(key, body, known_tensors, {}, is_taped=False)
    return tensors


def _put_on_tape(
    results: Sequence[Node],
    existing: NodeTensors,
    leaves: Sequence[Node],
    tensors: Sequence[Tensor],
) -> None:
    """Put nodes on the tape of the trace that has their tensors."""
    trace = tensors[0].trace
    inputs = {str(i): existing[node] for i, node in enumerate(leaves)}
    outputs = {str(i): tensor for i, tensor in enumerate(tensors)}
    params = {"results": tuple(results), "leaves": tuple(leaves)}
    trace.tape.append(Entry("nodes", inputs, outputs, params))


@rule_for("nodes")
def gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Record the gradients of an entry of nodes, as an entry of nodes."""
    results, leaves = entry.params["results"], entry.params["leaves"]
    numbers = [int(name) for name in grads]
    seeds = [leaf(("seed", len(leaves), n), results[n].shape, results[n].dtype) for n in numbers]
    names = [name for name in entry.inputs if name in needed]
    wrt = [leaves[int(name)] for name in names]
    gradients = pullback([results[n] for n in numbers], seeds, wrt)
    pairs = [(name, g) for name, g in zip(names, gradients, strict=True) if g is not None]
    if not pairs:
        return {}
    read_again = expansion.reading_results([g for _, g in pairs], results)
    pairs = [(name, g) for (name, _), g in zip(pairs, read_again, strict=True)]
    existing = {leaves[int(name)]: tensor for name, tensor in entry.inputs.items()}
    existing |= {results[int(name)]: tensor for name, tensor in entry.outputs.items()}
    for seed, n in zip(seeds, numbers, strict=True):
        existing[seed] = trace.convert(grads[str(n)], seed.dtype)
    grad_nodes, variables = [g for _, g in pairs], [*leaves, *seeds]
    like = {g: entry.inputs[name] for name, g in pairs}
    grad_tensors = recorded(grad_nodes, existing, variables, like)
    return dict(zip([name for name, _ in pairs], grad_tensors, strict=True))


class Lowering:
    """The tensors of nodes in one trace.

    ``existing``: existing tensors by node; their inputs are not recorded. ``like``: tensors of the
    same shape by result: see ``recorded``.
    """

    def __init__(self, trace: Trace, existing: NodeTensors, like: Mapping[Node, Tensor]) -> None:
        self._trace, self._like = trace, like
        self._tensors: NodeTensors = dict(existing)
        #: Reductions and scans that only kernels they are part of read.
        self._inner = set[Node]()
        #: Views that nodes are written into.
        self._places: NodeTensors = {}
        self._chains = Chains(trace)

    def tensors(self, results: Sequence[Node]) -> list[Tensor]:
        """Return the tensors of nodes."""
        n_steps = len(self._trace.steps)
        results = self._prepared(results)
        order = in_order(results, self._tensors)
        levels, read = self._levels_of(order, results)
        self._places = self._places_of([n for n in results if n.operation is CONCAT])
        self._record(order, results, levels, read)
        self._chains.finish()
        if self._trace.fuses_kernels:
            self._explain(self._trace.steps[n_steps:])
        return [self._tensors[node] for node in results]

    def _prepared(self, results: Sequence[Node]) -> list[Node]:
        """Return results in operations that kernels compute; ``like`` follows."""
        unexpanded = results
        if not self._trace.fuses_kernels:
            results = expansion.joined(results)
        results = expansion.expanded(results, self._tensors)
        results = expansion.reading_sources(results, self._sources(), self._tensors)
        pairs = zip(unexpanded, results, strict=True)
        self._like = {expanded: self._like[node] for node, expanded in pairs if node in self._like}
        return results

    def _levels_of(
        self, order: Sequence[Node], results: Sequence[Node]
    ) -> tuple[dict[Node, int], set[Node]]:
        """Return the pass that computes each node, and the nodes that passes write to memory."""
        gathered = self._read_from_memory(order)
        read = gathered | set(results)
        levels: dict[Node, int] = {}
        for node in order:
            before = max([self._level(node, n, levels) for n in node.inputs], default=0)
            levels[node] = before + (not is_elementwise(node))
        early = [node for node in order if node in read and not levels[node]]
        is_free = self._trace.fuses_kernels and gathered.isdisjoint(early)
        if is_free and all(map(self._is_read_quickly, early)):
            # Reductions do not wait for them, so one launch may compute both.
            levels |= dict.fromkeys(early, 1)
        if not self._trace.fuses_kernels:
            read |= {n for n in _repeated(results) if levels.get(n) == 0}
        return levels, read

    def _record(
        self, order: Sequence[Node], results: Sequence[Node], levels: Mapping[Node, int],
        read: AbstractSet[Node],
    ) -> None:  # fmt: skip
        """Record the passes in order."""
        launched_nodes = longest_first([node for node in order if not is_elementwise(node)], order)
        for level in range(max(levels.values(), default=0) + 1):
            for node in launched_nodes:
                if levels[node] == level and not (node in self._tensors or node in self._inner):
                    if is_reduction(node):
                        self._reduced(node, order, results)
                    elif is_scan(node):
                        self._scanned(node, order, results)
                    else:
                        self._tensors[node] = self._single(node)
            fused_nodes = [
                n for n in order if n in read and levels[n] == level and n not in self._tensors
            ]
            for shape in dict.fromkeys(node.shape for node in fused_nodes):
                self._fused([node for node in fused_nodes if node.shape == shape])

    def _places_of(self, joined: Sequence[Node]) -> NodeTensors:
        """Return views of new tensors, such as concatenations, for values not in memory yet."""
        places: NodeTensors = {}
        for node in joined:
            like, axis, start = self._like.get(node), node.attributes["axis"], 0
            order = axis_order(like, len(node.shape))
            whole = new_results(self._trace, [_out(node, order)])[0]
            assert whole.strides is not None
            for part in node.inputs:
                offset = start * whole.strides[axis]
                start += part.shape[axis]
                if part not in self._tensors and part.size:
                    places.setdefault(part, whole.view(part.shape, whole.strides, offset))
            places[node] = whole
        return places

    def _is_read_quickly(self, node: Node) -> bool:
        """Whether the elements of a node take no longer to compute than to read."""
        reads = reads_of([node], self._tensors)
        full_size = [n for n in reads.inputs if n.size == node.size > 1]
        names = {n.operation.name for n in in_order([node], self._tensors)}
        is_plain = not (reads.gathers or reads.places) and names.isdisjoint(COSTLY)
        return is_plain and len(full_size) < 2

    def _sources(self) -> dict[Node, Node]:
        """Return, for existing arrays that repeat fewer elements, the broadcast of these."""
        sources: dict[Node, Node] = {}
        for node, tensor in list(self._tensors.items()):
            source = repeated(tensor)
            if source is not None:
                small = leaf(("source", node), source.shape, node.dtype)
                self._tensors[small] = source
                sources[node] = broadcast_to(small, node.shape)
        return sources

    def _explain(self, steps: Sequence[Step | ArrayStep]) -> None:
        """Note which nodes kernels read and which they compute."""
        nodes: dict[Any, list[Node]] = {}
        for node, tensor in self._tensors.items():
            nodes.setdefault(_place(tensor), []).append(node)

        def named(tensors: Mapping[str, Tensor]) -> dict[str, tuple[Node, ...]]:
            return {n: tuple(nodes[_place(t)]) for n, t in tensors.items() if _place(t) in nodes}

        for step in steps:
            if isinstance(step, Step) and is_kernel(step.primitive):
                step.meaning = Meaning(named(step.inputs), named(step.outputs))

    def _level(self, node: Node, input_node: Node, levels: dict[Node, int]) -> int:
        """Return the first pass in which a node can read an input."""
        level = levels.get(input_node, 0)
        is_gathered = node.operation.name == "gather" and input_node is node.inputs[0]
        return level + (is_gathered and input_node not in self._tensors)

    def _read_from_memory(self, order: Sequence[Node]) -> set[Node]:
        """Return the nodes that are not part of the kernels that read them."""
        read = set[Node]()
        for node in order:
            if node.operation.name == "gather":
                read.add(node.inputs[0])
            elif not (is_elementwise(node) or is_reduction(node) or is_scan(node)):
                read.update(node.inputs)
        return read

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
        if name == "concat":
            return self._joined(node)
        if name in SCATTERS:
            inputs = [self._tensors[operand] for operand in node.inputs]
            return scattered(inputs, node.attributes["axis"], node.shape, SCATTERS[name])
        raise NotImplementedError(f"{name}: it is not recorded from nodes yet")

    def _joined(self, node: Node) -> Tensor:
        """Return the tensor of a concatenation, after copies of parts that are not in place."""
        whole, axis, start = self._places[node], node.attributes["axis"], 0
        assert whole.strides is not None
        for part in node.inputs:
            place = whole.view(part.shape, whole.strides, start * whole.strides[axis])
            start += part.shape[axis]
            if part.size and _place(self._tensors[part]) != _place(place):
                self._trace.written_into(whole, place, self._trace.plain(self._tensors[part]))
        return whole

    # --- Reductions over the same axes, fused with surrounding nodes

    def _reduced(self, node: Node, order: Sequence[Node], results: Sequence[Node]) -> None:
        shape = node.inputs[0].shape
        if 0 in shape:
            # A result without elements may still have rows; use the identity element.
            value = number(_OF_EMPTY.get(node.operation.name, 0), node.dtype)
            identity = broadcast_to(value, node.shape)
            self._fused([identity])
            self._tensors[node] = self._tensors[identity]
            return
        region = Region(node, order, self._tensors, results, is_deep=True)
        launch = self._launch_of(region)
        if region.is_nested and (launch.n_parts > 1 or launch.is_far_apart):
            # Every pass should use all processors, and read memory in its order.
            region = Region(node, order, self._tensors, results, is_deep=False)
            launch = self._launch_of(region)
        self._tensors |= zip(region.outputs, launch.recorded(), strict=True)
        self._inner |= region.computed

    def _launch_of(self, region: Region) -> ReductionLaunch:
        return ReductionLaunch(RegionArrays(self._trace, region, self._tensors), self._chains)

    def _scanned(self, node: Node, order: Sequence[Node], results: Sequence[Node]) -> None:
        if 0 in node.shape:
            self._fused([node])
            return
        region = Region(node, order, self._tensors, results, is_deep=False)
        arrays = RegionArrays(self._trace, region, self._tensors)
        launch = ScanLaunch(arrays, is_reversed=node.attributes["is_reversed"])
        self._tensors |= zip(region.outputs, launch.recorded(), strict=True)
        self._inner |= region.computed

    # --- Element-wise nodes of one shape, fused

    def _fused(self, nodes: Sequence[Node]) -> None:
        shape = nodes[0].shape
        if 0 in shape:
            for node in nodes:
                self._tensors[node] = zeros(self._trace, shape, node.dtype)
            return
        reads = reads_of(nodes, self._tensors)
        operands = [readable(self._tensors[node], len(shape)) for node in reads.inputs]
        sources = [readable(self._tensors[n.inputs[0]], len(shape)) for n in reads.gathers]
        full_size = [t for t in operands if t.shape == shape] or sources
        full_size = full_size or [self._like[node] for node in nodes if node in self._like]
        order = axis_order(full_size[0] if full_size else None, len(shape))
        # Kernels store vectors: along the innermost axis, elements of a place must be neighbors.
        inner = next((k for k in reversed(order) if shape[k] != 1), None)
        found = [self._places.get(node) for node in nodes]
        places = [p if p is None or inner is None or p.strides[inner] == 1 else None for p in found]
        outs = [
            _out(node, order) if place is None else Out(node.shape, node.dtype, place.desc)
            for node, place in zip(nodes, places, strict=True)
        ]
        strides: list[Sequence[int]] = [spread_strides(t) for t in operands]
        for node, source in zip(reads.gathers, sources, strict=True):
            strides.append(spread_strides(source, node.attributes["axes"]))
        dense = layout.permuted_strides(shape, order)
        strides += [coordinate_strides(node, len(shape)) for node in reads.places]
        strides += [dense if place is None else place.strides for place in places]
        in_order_of_memory = [[array_strides[k] for k in order] for array_strides in strides]
        grid = grid_of([shape[k] for k in order], in_order_of_memory)
        tensors = self.launched(nodes, reads, [*operands, *sources], outs, grid, places)
        self._tensors |= zip(nodes, tensors, strict=True)
        for node, tensor in zip(nodes, tensors, strict=True):
            if node.operation is BROADCAST and node.inputs[0] in self._tensors:
                note_repeated(tensor, self._tensors[node.inputs[0]])

    def launched(
        self,
        nodes: Sequence[Node],
        reads: Reads,
        operands: Sequence[Tensor],
        outs: Sequence[Out],
        grid: Grid,
        places: Sequence[Tensor | None] = (),
    ) -> list[Tensor]:
        """Record element-wise nodes: as a stage of the last kernel if it can, or as a kernel.

        ``places`` are tensors that results are written into; None for new ones.
        """
        expression = expression_of(nodes, reads.inputs, reads)
        indexed = indexed_axes(reads.gathers, operands[len(reads.inputs) :])
        has_places = any(place is not None for place in places)
        if not has_places and self._chains.may_append(operands, len(reads.inputs)):
            plans, slabs = elementwise_plans(
                expression, grid.sizes, grid.strides, units(operands[0])
            )
            stages = [Stage(p, slabs, operands, outs, indexed) for p in plans]
            appended = self._chains.appended(stages)
            if appended is not None:
                return appended
        is_cpu = self._trace.engine.kind is _core.engine_kind.cpu
        schedule = on_cpu(expression, grid) if is_cpu else ON_GPU
        run = contiguous_run(expression, grid, indexed[::2]) if schedule.in_columns else ()
        schedule = schedule.along(run)
        expression, passed_numbers = with_passed_numbers(expression)
        form = Form(expression, grid.classes, schedule)
        grid.check(str(nodes[0].operation))
        n_units = units_of(grid, schedule)
        n_groups = min(n_units, 4 * units(operands[0])) if operands else n_units
        numbers = numbers_of(grid, n_groups, n_units, [*passed_numbers, *indexed, *run])
        return launched(
            self._trace, partial(module_of, form), name_of(form), operands, outs, numbers, n_groups,
            schedule.n_items, n_elementwise=len(reads.inputs), form=form,
            n_visited=math.prod(grid.sizes), places=places,
        )  # fmt: skip


def _out(node: Node, order: Sequence[int]) -> Out:
    strides = layout.permuted_strides(node.shape, order)
    return Out(node.shape, node.dtype, layout.strided(node.shape, node.dtype, strides))


def _place(tensor: Tensor) -> tuple[Any, ...]:
    """Return what tells a view from others, independent of leading axes of size 1."""
    n = next((k for k, size in enumerate(tensor.shape) if size != 1), tensor.ndim)
    strides = None if tensor.strides is None else tuple(spread_strides(tensor)[n:])
    return tensor.storage, tensor.offset, tensor.dtype, tensor.shape[n:], strides


def _repeated(results: Sequence[Node]) -> list[Node]:
    """Return the small sources of broadcast results for later readers."""
    pairs = [(r.inputs[0], r) for r in results if r.operation is BROADCAST and r.size >= _OFTEN]
    return [source for source, r in pairs if 8 * source.size <= r.size and value_of(source) is None]
