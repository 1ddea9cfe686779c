# SPDX-License-Identifier: Apache-2.0
"""Lowering: from a function and its arguments to an executable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import dpnp

import sycl_dnn.compiler.gradient_passes  # noqa: F401 - for gradients of compiled functions
from sycl_dnn import _core, tree
from sycl_dnn._dpnp import span, usm_array
from sycl_dnn.call.arguments import Collected
from sycl_dnn.call.attribute_changes import AssignedAttributes, watch
from sycl_dnn.call.captures import Captures
from sycl_dnn.call.operation import check_out, check_traced_out
from sycl_dnn.call.placed_call import PlacedCall, Plan
from sycl_dnn.call.running_function import RunningFunction
from sycl_dnn.compiler import tracing
from sycl_dnn.compiler.constant_values import Pool, settle
from sycl_dnn.compiler.kept_graphs import Rewritten
from sycl_dnn.compiler.partitions import lower
from sycl_dnn.compiler.passes.batch_slicing import slice_batches
from sycl_dnn.compiler.passes.cleaning import clean, merge_gates
from sycl_dnn.compiler.passes.folding import fold
from sycl_dnn.compiler.passes.fusing import fuse, sum_in_place
from sycl_dnn.compiler.passes.joined_launches import join_launches
from sycl_dnn.compiler.passes.joined_products import join_products
from sycl_dnn.compiler.passes.kernel_fusion import fuse_kernels
from sycl_dnn.compiler.passes.lone_functions import keep_nan
from sycl_dnn.compiler.passes.product_operands import (
    pack_for_few_rows,
    read_in_place,
    scale_results,
)
from sycl_dnn.compiler.passes.turned_reorders import turn_copies
from sycl_dnn.compiler.passes.written_concatenations import (
    interleave_short_rows,
    write_into_parts,
)
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.lower.host_sequences import run_on_host
from sycl_dnn.lower.step_graph import Graph, Node, sharing_inputs
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.segments import finalized
from sycl_dnn.trace import array_writes, layout, nested_arguments
from sycl_dnn.trace.array import Target, carrier, check_strides, sharing
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.frozen import Frozen, Seed, argument_of
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.torch_methods import written as write_tensor
from sycl_dnn.trace.trace_state import placement_error
from sycl_dnn.trace.values import Tensor

Pass = Callable[[Graph], None]
#: Passes in order; each preserves what the graph computes.
PASSES: tuple[Pass, ...] = (
    clean,
    merge_gates,
    fold,
    scale_results,
    fuse,
    join_products,
    read_in_place,
    clean,
)
#: Passes that run after custom ones.
LAST_PASSES: tuple[Pass, ...] = (
    sum_in_place,
    pack_for_few_rows,
    slice_batches,
    keep_nan,
    fuse_kernels,
    join_launches,
    interleave_short_rows,
    write_into_parts,
    turn_copies,
)
#: Passes whose benefit depends on shape and machine, with their defaults.
SWITCHES: dict[str, bool] = {
    "join_products": True,
    "write_into_parts": True,
    "pack_for_few_rows": True,
    "slice_batches": True,
    "fuse_kernels": True,
    "join_launches": True,
    "turn_copies": True,
    "run_on_host": True,
}


def in_order(switches: Mapping[str, bool], extra: Sequence[Pass] = ()) -> tuple[Pass, ...]:
    """Return the enabled passes, including custom ones, in order."""
    enabled = SWITCHES | dict(switches)
    chosen = (*PASSES, *extra, *LAST_PASSES)
    return tuple(p for p in chosen if enabled.get(getattr(p, "__name__", ""), True))


def check_switches(switches: Mapping[str, bool]) -> None:
    """Raise ValueError if a switch is unknown."""
    for name in switches:
        if name not in SWITCHES:
            allowed = ", ".join(SWITCHES)
            raise ValueError(f"compile: passes must be among {allowed}, got {name!r}")


# --- Destinations passed by callers


def targets_of(
    name: str, leaves: list[Tensor], out: Any, arguments: Collected
) -> dict[int, Target] | None:
    """Return the destination arrays by result index; None without ``out``.

    Raises ValueError if ``out`` has a different number of arrays, or one has an incompatible shape,
    dtype or layout.
    """
    if out is None:
        return None
    pairs = enumerate(_paired(name, leaves, nested_arguments.arrays_of(out)))
    return {i: _target(name, tensor, array, arguments) for i, (tensor, array) in pairs}


def _paired(name: str, results: Sequence[Any], outs: Sequence[Any]) -> list[tuple[Any, Any]]:
    if len(outs) != len(results):
        raise ValueError(f"{name}: out must have {len(results)} arrays, got {len(outs)}")
    return list(zip(results, outs, strict=True))


def _target(name: str, tensor: Tensor, out: Any, arguments: Collected) -> Target:
    check_strides(name, out)
    check_out(name, out, tensor)
    array = out.get_array()
    desc = layout.strided(tensor.shape, tensor.dtype, array.strides)
    return Target(desc, *sharing(array, arguments.arrays))


def written(name: str, results: Any, out: Any) -> Any:
    """Copy results that no program wrote into the destination arrays; raises as `targets_of`."""
    pairs = _paired(name, *map(nested_arguments.arrays_of, (results, out)))
    for result, array in pairs:
        check_out(name, array, result)
    # A result may be a view of a destination.
    copies = [dpnp.copy(carrier(result)) for result, _ in pairs]
    for copy, (_, array) in zip(copies, pairs, strict=True):
        array_writes.assign(carrier(array), copy)
    return out


def written_in_trace(name: str, results: Any, out: Any) -> Any:
    """Write results of a call in a trace to tensors of the trace; raises as `targets_of`."""
    arrays = [[v for v in tree.leaves(n) if hasattr(v, "dtype")] for n in (results, out)]
    pairs = _paired(name, *arrays)
    for result, tensor in pairs:
        check_traced_out(name, tensor)
        check_out(name, tensor, result)
    # A result may be another's destination.
    copies = [clone_of(nested_arguments.replaced(r, t.trace.capture)) for r, t in pairs]
    for copy, (_, tensor) in zip(copies, pairs, strict=True):
        write_tensor(tensor, f"{name}(out=)", copy)
    return out


# --- Lowered


class Lowered(Plan):
    """A function lowered for one signature.

    rewritten_graph : its graph after all passes
    pool : values computed from constants
    targets : destination arrays by result index
    donated : indices of arrays that results may overwrite
    assigned : attributes whose values follow the results
    """

    check: Captures

    def __init__(
        self,
        trace: CompileTrace,
        rewritten_graph: Rewritten,
        pool: Pool,
        queue: Any,
        stream: Any,
        targets: dict[int, Any] | None = None,
        donated: Collection[int] = (),
        assigned: AssignedAttributes | None = None,
    ) -> None:
        self.assigned = assigned
        self.graph = graph = rewritten_graph.graph
        self.n_recorded = rewritten_graph.n_recorded
        # On CPUs, another thread builds kernels while primitives are created here.
        launches = [node for node in graph.nodes if is_kernel(node.primitive)]
        _core.Kernel.start_together([n.primitive for n in launches], list(map(_size_of, launches)))
        #: Queue of captured arrays; None if there are none.
        self._queue = queue if any(not isinstance(v, Seed) for _, v, _ in trace.captured) else None
        arguments = trace.arguments[: rewritten_graph.n_given]
        #: Captured arrays, which must not overlap donated ones.
        self.held = [v for _, v, _ in trace.captured if donated and not isinstance(v, Seed)]
        self.held_spans = [span(usm_array(v)) for v in self.held]
        held = settle(graph, pool, queue, stream)
        overlaps = any(t.overlaps or t.in_place for t in (targets or {}).values())
        executable = Executable(
            trace, list(graph.steps()), graph.finals, [*arguments, *held], keeps_order=overlaps,
            donated=[arguments[i] for i in sorted(donated)],
        )  # fmt: skip
        # A pass may have added results.
        super().__init__(executable, rewritten_graph.form, not assigned, rewritten_graph.n_results)

    def arrays(self, placed: PlacedCall, held: Sequence[Any] = ()) -> list[Any]:
        """Return the arrays of a call.

        Raises ExecutionPlacementError if a captured array belongs to another queue.
        """
        if self._queue is not None and self._queue != placed.queue:
            raise placement_error(self._queue, placed.queue)
        return placed.call.arrays


def rewritten(
    trace: CompileTrace,
    leaves: list[Tensor],
    form: Any,
    n_given: int,
    queue: Any,
    stream: Any,
    targets: dict[int, Any] | None = None,
    extra: Sequence[Pass] = (),
    switches: Mapping[str, bool] | None = None,
    lowering: str = "primitives",
) -> Rewritten:
    """Return the graph of a function after all passes.

    ``leaves``: results of the function, in order; ``form``: structure of the results; ``n_given``:
    number of arrays passed by a call, which come first among the trace's arguments; ``targets``:
    destination arrays by result index; ``extra``: additional passes; ``switches``: passes enabled
    or disabled by name, overriding the defaults; ``lowering``: one of ``partitions.LOWERINGS``.
    """
    finals = finalized(trace, leaves, targets)
    graph = Graph(trace, finals, sharing_inputs(finals, targets))
    n_recorded = len(graph.nodes)
    for rewrite in in_order(switches or {}, extra):
        rewrite(graph)
    lower(graph, lowering, queue, stream)
    if (SWITCHES | dict(switches or {}))["run_on_host"]:
        run_on_host(graph)  # the small steps among those that remain
    return Rewritten(graph, form, len(finals), n_given, n_recorded)


def traced(
    trace: CompileTrace, function: Callable[..., Any], args: Any, kwargs: Any,
    numbered: Callable[..., Any] | None = None,
) -> tuple[list[Tensor], Any, int, AssignedAttributes]:  # fmt: skip
    """Trace a function; return results, their structure, number of arguments, and attributes.

    Those in ``Held`` are constants. ``numbered(trace, args, kwargs)`` replaces numbers of the call
    by traced values.
    """

    def swap(value: Any) -> Any:
        if isinstance(value, Frozen):
            return Held(value)
        return trace.described(argument_of(trace, value))

    originals = [*args, *kwargs.values()]
    # Arguments precede constants: a call passes the first ones.
    args = nested_arguments.replaced(args, swap)
    # In the order of the call's key; a tree would sort the dict.
    kwargs = {name: nested_arguments.replaced(value, swap) for name, value in kwargs.items()}
    n_given = len(trace.arguments)
    run = RunningFunction(trace)
    if numbered is not None:
        args, kwargs = numbered(run, args, kwargs)
    args, kwargs = _completed(args, run), _completed(kwargs, run)
    watch(run, originals, [*args, *kwargs.values()])
    assigned: list[AssignedAttributes] = []

    def completed(result: Any) -> Any:
        assigned.append(AssignedAttributes(run, originals))
        return assigned[0].joined(result)

    with tracing.explained(function):
        result = run.result(function, args, kwargs, completed)
    leaves, form = nested_arguments.result_of(result, "compile", trace.capture)
    if trace.dtype is not None:
        leaves = [trace.convert(t, "float32") if t.dtype == trace.dtype else t for t in leaves]
    return leaves, form, n_given, assigned[0]


def _size_of(node: Node) -> int:
    """Return the size in bytes of what a step reads and writes."""
    tensors = (*node.inputs.values(), *node.outputs.values())
    return sum(t.desc.get_size() for t in tensors)


class Held:
    """A constant among the arguments, before it is captured."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _completed(value: Any, run: RunningFunction) -> Any:
    """Capture constants among the arguments, and lower tensors, as the function sees them."""
    if isinstance(value, Held):
        return run.capture(value.value)
    if isinstance(value, Tensor):
        return run.argument(run.traced.lowered(value), value)
    node = tree.opened(value)
    if node is None or not node.children:
        return value
    return node.rebuilt([_completed(v, run) for v in node.children])
