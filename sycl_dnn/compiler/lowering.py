# SPDX-License-Identifier: Apache-2.0
"""From a function and its arguments to an executable: trace, passes, constants, program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call import nesting
from sycl_dnn.call.captures import Check
from sycl_dnn.call.numbers import FromNumber
from sycl_dnn.compiler import hints
from sycl_dnn.compiler.constants import Pool, settle
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.partitions import lower
from sycl_dnn.compiler.passes import Pass, in_order
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.dispatch.arguments import Seed, argument_of
from sycl_dnn.dispatch.call_plan import call_plan_of
from sycl_dnn.dispatch.executable import Executable
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.dispatch.program import finalized
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace_state import placement_error


class Lowered:
    """What a function became for arguments of one kind.

    Parameters
    ----------
    trace : CompileTrace
    leaves : list of Tensor
        Results of the function, in order.
    form
        How results are nested.
    n_given : int
        Arrays that a call gives; they were the trace's first arguments.
    pool : Pool
        What is computed from constants.
    targets : dict, optional
        By number of the result: what the caller wants it written to.
    extra : sequence of callable
        Further passes.
    switches : dict, optional
        By name: passes that are made, or not, against the defaults.
    lowering : str
        One of ``partitions.LOWERINGS``.
    """

    def __init__(
        self,
        trace: CompileTrace,
        leaves: list[Tensor],
        form: Any,
        n_given: int,
        pool: Pool,
        queue: Any,
        stream: Any,
        targets: dict[int, Any] | None = None,
        extra: Sequence[Pass] = (),
        switches: Mapping[str, bool] | None = None,
        lowering: str = "primitives",
    ) -> None:
        self.form = form
        #: Tells whether the function still holds what it was compiled with.
        self.check: Check | None = None
        finals = finalized(trace, leaves, targets)
        self.graph = graph = Graph(trace, finals, _sharing(finals, targets))
        self.n_recorded = len(graph.nodes)
        #: Results of the function; a pass may have added others.
        self.n_results = len(finals)
        for rewrite in in_order(switches or {}, extra):
            rewrite(graph)
        lower(graph, lowering, queue, stream)
        #: That of the arrays that the function holds itself; None without any.
        self._queue = queue if any(not isinstance(v, Seed) for _, v, _ in trace.captured) else None
        given = trace.arguments[:n_given]
        #: What the call's numbers become, in the order of the program's arguments.
        self._numbers: list[FromNumber] = [trace.tail[i] for i in sorted(trace.tail)]
        given += [trace.arguments[i] for i in sorted(trace.tail)]
        held = settle(graph, pool, queue, stream)
        self.executable = Executable(trace, list(graph.steps()), graph.finals, [*given, *held])
        #: For the table of calls; None where a call needs Python.
        self.call_plan = None if self._numbers else call_plan_of(self.executable, form)

    def arrays(self, call: Any, queue: Any) -> list[Any]:
        """Return the arrays of a call, and those that its numbers become.

        Raises
        ------
        dpnp.exceptions.ExecutionPlacementError
            The function holds arrays of another queue.
        """
        if self._queue is not None and self._queue != queue:
            raise placement_error(self._queue, queue)
        if not self._numbers:
            return call.arrays
        return [*call.arrays, *(n.array(call.numbers, queue) for n in self._numbers)]

    def results(self, registers: list[Any], given: list[Any]) -> Any:
        """Return what a call gives back, from the registers that it filled."""
        leaves = self.executable.leaves(registers, given)[: self.n_results]
        return self.form.build(leaves)


def traced(
    trace: CompileTrace, function: Callable[..., Any], args: Any, kwargs: Any,
    is_held: Callable[[Any], bool], numbered: Callable[..., Any] | None = None,
) -> tuple[list[Tensor], Any, int]:  # fmt: skip
    """Run a function over tensors; return the results, their form, and the number of arguments.

    Arrays for which ``is_held`` is true are constants. ``numbered(trace, args, kwargs)`` puts what
    stands for numbers of the call in their place.
    """

    def swap(value: Any) -> Any:
        if isinstance(value, Frozen) or is_held(value):
            return _Held(value)
        return argument_of(trace, value)

    # Arguments come before constants: a call gives the first ones.
    args, kwargs = nesting.replaced(args, swap), nesting.replaced(kwargs, swap)
    n_given = len(trace.arguments)
    if numbered is not None:
        args, kwargs = numbered(trace, args, kwargs)
    args, kwargs = _completed(args, trace), _completed(kwargs, trace)
    with hints.explained(function):
        result = function(*args, **kwargs)
    leaves, form = nesting.result_of(result, "compile", trace.capture)
    if trace.dtype is not None:
        leaves = [trace.convert(t, "float32") if t.dtype == trace.dtype else t for t in leaves]
    return leaves, form, n_given


def _sharing(finals: list[Tensor], targets: dict[int, Any] | None) -> list[Tensor]:
    """Return the results that share memory with an input of the call."""
    found = targets or {}
    return [t for i, t in enumerate(finals) if i in found and any(found[i][1:])]


class _Held:
    """A constant among arguments that are still to be captured."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _completed(value: Any, trace: CompileTrace) -> Any:
    """Return arguments with constants captured and tensors lowered."""
    if isinstance(value, _Held):
        return trace.capture(value.value)
    if isinstance(value, Tensor):
        return trace.lowered(value)
    node = tree.opened(value)
    if node is None or not node.children:
        return value
    return node.rebuilt([_completed(v, trace) for v in node.children])
