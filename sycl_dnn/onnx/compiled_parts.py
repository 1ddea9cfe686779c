# SPDX-License-Identifier: Apache-2.0
"""Parts of a graph between nodes that need values on the host, as compiled programs.

A model whose conditions, counts or shapes depend on values runs node by node. The nodes in between
run as one program: from the first call on, or in a loop from the second turn with the same shapes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from sycl_dnn.compiler.decorator import compile
from sycl_dnn.nn import folded_calls, module_tree
from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.delayed_values import opened
from sycl_dnn.onnx.evaluation import Evaluation, fits_device, is_host
from sycl_dnn.onnx.host_values import PASSED
from sycl_dnn.trace.values import Tensor

#: Operators with host values as results, from which NumPy computes the next ones.
_STEPS_ON_HOST = ("NonMaxSuppression", "NonZero")
#: Fewer nodes run one by one.
_MIN_NODES = 3
#: Most programs of a part, so that one whose shapes grow in each turn is not always compiled.
_MAX_PROGRAMS = 16
#: Most shapes that are remembered until they come again.
_MAX_SEEN = 1 << 12


class Part:
    """Consecutive nodes, none of which reads values, with the programs that compute them.

    ``later``: the values that other nodes read, or that are results of the graph.
    """

    def __init__(self, nodes: list[Any], later: set[str]) -> None:
        self.nodes = nodes
        computed = {name for node in nodes for name in node.outputs if name}
        read = {name for node in nodes for name in node.reads}
        self._inputs = tuple(sorted(read - computed))
        self.results = tuple(sorted(computed & later))
        self._on_host = _names_on_host(nodes)
        self.last_reads = frozenset(name for node in nodes for name in node.last_reads)
        #: By program of the module whose weights are constants, or this part: programs by key.
        self._programs: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._seen: set[Any] = set()

    def run(self, run: EvaluationInParts, scope: dict[str, Any], is_outside: bool) -> bool:
        """Compute the nodes by a program; return False to compute them one by one.

        ``is_outside`` is whether no loop runs the nodes.
        """
        owner = folded_calls.program_of(run.module)
        fixed, values = self._sorted(run, scope, owner is not None)
        if not values:
            return False
        key = self._key(run, fixed, values)
        programs = self._programs.setdefault(owner or self, {})
        program = programs.get(key)
        if program is None:
            is_first = is_outside and not self._seen
            if not self._is_repeated(owner, key) and not is_first or len(programs) >= _MAX_PROGRAMS:
                return False
            program = programs[key] = _Program(self, run, fixed, is_outside)
        results = program(values)
        if results is None:
            return False
        scope.update(results)
        return True

    def _is_repeated(self, owner: Any, key: Any) -> bool:
        seen = (None if owner is None else id(owner), key)
        if seen in self._seen:
            return True
        if len(self._seen) >= _MAX_SEEN:
            self._seen.clear()
        self._seen.add(seen)
        return False

    def _sorted(
        self, run: EvaluationInParts, scope: dict[str, Any], is_folded: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values that are part of the program, and its arguments."""
        fixed, values = {}, {}
        for name in self._inputs:
            value = opened(scope[name])
            is_weight = is_folded and value is run.weights.get(name)
            is_constant = is_host(value) and (
                name in self._on_host
                or id(value) in run.graph.constant_ids
                or not fits_device(value.dtype)
            )
            if value is None or is_weight or is_constant:
                fixed[name] = value
            else:
                values[name] = run.device(value)
        return fixed, values

    def _key(self, run: EvaluationInParts, fixed: dict[str, Any], values: dict[str, Any]) -> Any:
        constants = run.graph.constant_ids
        contents = tuple(
            (name, id(v) if id(v) in constants else (v.dtype.name, v.shape, v.tobytes()))
            for name, v in fixed.items() if is_host(v)
        )  # fmt: skip
        shapes = tuple((tuple(v.shape), dtypes.name_of(v.dtype)) for v in values.values())
        return run.float_dtype, run.queue, contents, shapes

    def evaluate(self, run: Evaluation, scope: dict[str, Any]) -> dict[str, Any]:
        """Compute the nodes in a trace, and return the values that are read later."""
        for node in self.nodes:
            run.evaluate_node(node, scope)
        return {name: opened(scope[name]) for name in self.results}


class _Function:
    """Computes a part from values of some shapes; its class declares that it does not change."""

    guarded_by_identity = True

    def __init__(
        self, part: Part, run: EvaluationInParts, fixed: dict[str, Any], is_outside: bool
    ) -> None:
        self.__name__, self._is_outside = type(run.module).__name__, is_outside
        # Parts outlive modules, whose weights programs hold.
        self._module: Any = weakref.ref(run.module)
        self._part: Any = weakref.ref(part)
        self._run_settings = run.graph, run.queue, run.float_dtype
        self._fixed = fixed
        #: Results that depend on shapes only.
        self.host_results: dict[str, Any] = {}

    def content(self) -> bytes | None:
        """Return a key of the program, except for the weights, if no loop runs it."""
        text = folded_calls.content_of(self._module()) if self._is_outside else None
        if text is None:
            return None
        fixed = [
            (name, (v.dtype.name, v.shape, v.tobytes()) if is_host(v) else v is None)
            for name, v in self._fixed.items()
        ]
        part, (*_, float_dtype) = self._part(), self._run_settings
        computed = [node.outputs for node in part.nodes]
        return text + repr((computed, part.results, float_dtype, fixed)).encode()

    def leaves(self) -> list[Any]:
        """Return the weights."""
        return module_tree.walked(self._module())[0]

    def __call__(self, values: dict[str, Any]) -> Any:
        """Return values by name; a tuple if none is on the host, since only these are kept."""
        trace = next((v.trace for v in values.values() if isinstance(v, Tensor)), None)
        if trace is None:
            raise NotImplementedError("the part has no program; its nodes run one by one")
        graph, queue, float_dtype = self._run_settings
        run = Evaluation(graph, queue, self._module(), float_dtype, trace)
        fixed = {
            name: v if v is None or is_host(v) else trace.capture(v)
            for name, v in self._fixed.items()
        }
        results = self._part().evaluate(run, {"": None, **fixed, **values})
        self.host_results = {n: v for n, v in results.items() if is_host(v)}
        if not self.host_results:
            return tuple(results.values())
        return {n: v for n, v in results.items() if n not in self.host_results}


class _Program:
    """The compiled function of a part."""

    def __init__(
        self, part: Part, run: EvaluationInParts, fixed: dict[str, Any], is_outside: bool
    ) -> None:
        self._function, self._names = _Function(part, run, fixed, is_outside), part.results
        self._compiled: Callable[..., Any] | None = compile(self._function)

    def __call__(self, values: dict[str, Any]) -> dict[str, Any] | None:
        """Return values by name; None if the nodes must run one by one."""
        if self._compiled is None:
            return None
        try:
            results = self._compiled(values)
        except (NotImplementedError, *_MISFITS):
            self._compiled = None
            return None
        if isinstance(results, tuple):
            return dict(zip(self._names, results, strict=True))
        return {**results, **self._function.host_results}


#: Exceptions of operators; nodes that run one by one raise them again, with their names.
_MISFITS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError)


def _names_on_host(nodes: list[Any]) -> frozenset[str]:
    """Return the names of values that operators need on the host."""
    needed: set[str] = set()
    for node in reversed(nodes):
        needed |= {n for i, n in enumerate(node.inputs) if n and i in node.operator.host}
        if node.op in PASSED and needed & set(node.outputs):
            needed |= set(node.inputs)
    return frozenset(needed)


def parts_of(graph: Any) -> list[Any]:
    """Return the nodes of a graph in order, consecutive ones that read no values as parts."""
    n_readers = sum(node.reads_values for node in graph.nodes)
    if graph.parts is None or graph.parts[0] != n_readers:
        graph.parts = n_readers, list(_parts(graph))
    return list(graph.parts[1])


def _parts(graph: Any) -> Iterator[Any]:
    nodes, start = graph.nodes, 0
    constants = {*graph.constants, *(n.outputs[0] for n in nodes if n.title == "Constant")}
    known: set[str] = set()
    while start < len(nodes):
        end = start
        while end < len(nodes) and not nodes[end].reads_values:
            end += 1
        on_host = _nodes_on_host(nodes[start:end], constants, known)
        later = {name for node in (*on_host, *nodes[end:]) for name in node.reads}
        later |= {o.name for o in graph.outputs}
        # Programs are kept on disk if all of their results are on the device.
        on_host += [n for n in nodes[start:end] if n.title == "Constant" and later & {*n.outputs}]
        yield from (node for node in nodes[start:end] if node in on_host)
        rest = [node for node in nodes[start:end] if node not in on_host]
        if len(rest) >= _MIN_NODES:
            yield Part(rest, later)
        else:
            yield from rest
        for step in nodes[end : end + 1]:
            yield step
            if step.title in _STEPS_ON_HOST:
                known.update(step.outputs)
        start = end + 1


def _nodes_on_host(nodes: list[Any], constants: set[str], known: set[str]) -> list[Any]:
    """Return the nodes that NumPy computes from known values and constants, and note these."""
    found = []
    for node in nodes:
        read = {*filter(None, node.inputs)}
        if node.title in PASSED and read & known and read <= known | constants:
            known.update(node.outputs)
            found.append(node)
    return found


class EvaluationInParts(Evaluation):
    """An evaluation that computes parts of its graphs by programs."""

    def __init__(
        self, graph: Any, queue: Any, module: Any, float_dtype: str, weights: dict[str, Any]
    ) -> None:
        super().__init__(graph, queue, module, float_dtype)
        self.weights = weights

    def _evaluate_nodes(self, graph: Any, scope: dict[str, Any]) -> None:
        if self.training:  # nodes update statistics
            super()._evaluate_nodes(graph, scope)
            return
        for part in parts_of(graph):
            if not isinstance(part, Part):
                self.evaluate_node(part, scope)
            elif not part.run(self, scope, graph is self.graph):
                for node in part.nodes:
                    self.evaluate_node(node, scope)
            else:
                for name in part.last_reads:
                    scope.pop(name, None)
