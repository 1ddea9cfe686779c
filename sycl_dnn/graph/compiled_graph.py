# SPDX-License-Identifier: Apache-2.0
"""``CompiledGraph``: a graph that is called with arrays, and its constants."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn import _core
from sycl_dnn._dpnp import array_in
from sycl_dnn.call import cache
from sycl_dnn.call.cache import CacheInfo, Plans
from sycl_dnn.device import default_queue
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.functional import asarray
from sycl_dnn.graph import pictures
from sycl_dnn.graph.nodes import HostData, Value
from sycl_dnn.graph.partition_plan import Number, Plan
from sycl_dnn.graph.tensor import Tensor, element_strides, logical_tensor_of
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import allocation
from sycl_dnn.trace.array import Array

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph


def set_constant_tensor_cache_capacity(engine_kind: Any, megabytes: int) -> None:
    """Set the capacity of oneDNN's cache of data derived from constant tensors; 0 disables it.

    Parameters
    ----------
    engine_kind : engine_kind or str
    megabytes : int

    Raises
    ------
    InvalidArguments
        oneDNN rejects the value.

    Notes
    -----
    The cache identifies constants by address, so their memory must not be modified or freed while
    it is enabled. A partition keeps the setting under which it was compiled; oneDNN's cache of
    compiled partitions is cleared, since it would return partitions with the old setting.

    Source: oneDNN developer guide, "Constant Tensor Cache".
    """
    _core.set_constant_tensor_cache_capacity(engine_kind, megabytes)
    capacity = _core.get_compiled_partition_cache_capacity()
    _core.set_compiled_partition_cache_capacity(0)
    _core.set_compiled_partition_cache_capacity(capacity)


# --- Constants on the device

#: Types for which dpnp has a dtype.
_OWN = ("bool", "float32", "float16", "int64", "int32", "int8", "uint8")


def constant_tensor(value: Value, engine: _core.Engine, queue: Any) -> Tensor:
    """Return the tensor of a constant on a queue.

    Raises ExecutionPlacementError if the constant's array belongs to another queue.
    """
    array = _on_device(value, queue)
    return Tensor(logical_tensor_of(array, value.id, property_type="constant"), engine, array)


def _on_device(value: Value, queue: Any) -> Any:
    data = value._data
    if isinstance(data, HostData):
        expected = dtypes.LONG[data.dtype]
        if expected in _OWN:
            return array_in(data.values, expected, sycl_queue=queue)
        return asarray(data.values.astype("f4"), expected, sycl_queue=queue)
    if data.sycl_queue != queue:
        raise dpnp.exceptions.ExecutionPlacementError(
            f"Graph.constant: {value.name} must be on the queue that the graph is compiled for"
        )
    return data


# --- CompiledGraph

#: Maximum number of plans of a compiled graph, one per combination of shapes and strides.
MOST_PLANS = 32
#: Array classes whose calls can be repeated without Python.
_REPEATED = (dpnp.ndarray, Array)


class CompiledGraph:
    """A graph compiled for a queue by ``Graph.compile``; calling it runs the partitions in order.

    It may be called from several threads. Partitions are compiled in the first call with new input
    shapes or strides.

    Attributes
    ----------
    graph : Graph
    queue : dpctl.SyclQueue
    partitions : list of Partition

    Examples
    --------
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn import graph
    >>> g = graph.Graph("cpu")
    >>> y = g.relu(g.input((2, 3), "f32", name="x"))
    >>> run = g.compile()
    >>> run(x=F.ones(2, 3, device="cpu")).shape
    (2, 3)
    """

    def __init__(self, graph: Graph, target: Any = None, policy: str = "fusion") -> None:
        self.graph = graph
        self.queue = _queue_of(graph, target)
        place, self.stream = place_of(self.queue)
        self.engine = place.engine
        if self.engine.kind is not graph.engine_kind:
            raise InvalidArguments(
                f"Graph.compile: target must be a {graph.engine_kind.name} as the graph says, "
                f"got {self.engine}"
            )
        self.partitions = graph.partitions(policy)
        self._constants: dict[int, Any] = {}
        self._plans = Plans(MOST_PLANS, cache.plans.calls.sibling())
        self._repeat = self._plans.calls.call
        cache.watch(self)
        if all(v.has_known_shape for v in graph.inputs.values()):
            self.plan_for({v.id: (v.shape, None) for v in graph.inputs.values()})

    def __call__(self, *args: Any, **arrays: Any) -> Any:
        """Run with one array per input, by name or in order of the inputs.

        Parameters
        ----------
        *args, **arrays : dpnp.ndarray, Array, or number for a host scalar
            On the graph's queue, with the dtype and shape of the input and any strides.

        Returns
        -------
        dpnp.ndarray or Array, or tuple of them
            Results in the order of ``graph.outputs``, ordered with dpnp's own work.

        Raises
        ------
        InvalidArguments
            An array is missing, or its shape does not match.
        TypeError
            An argument has another dtype.
        dpnp.exceptions.ExecutionPlacementError
            An array belongs to another queue.
        """
        match = self._repeat((), args, arrays, None)
        if match is not NotImplemented:
            return match
        plan, tensors, kind = self._prepared(args, arrays)
        result = plan.run(tensors, self.stream, kind)
        self._remember(plan, args, arrays)
        return result[0] if len(result) == 1 else tuple(result)

    def _remember(self, plan: Plan, args: tuple[Any, ...], arrays: dict[str, Any]) -> None:
        """Let calls like this completed one bypass Python, if possible."""
        inputs = self.graph.inputs
        names = (*list(inputs)[: len(args)], *arrays)
        if not all(type(v) in _REPEATED for v in (*args, *arrays.values())):
            return
        call_plan = plan.call_plan([inputs[name].id for name in names])
        if call_plan is not None:
            usm = [v.get_array() for v in (*args, *arrays.values())]
            self._plans.calls.remember(
                (), args, arrays, None, usm, plan.key, weakref.ref(plan), call_plan,
                self.stream, allocation.pool_of(self.queue),
            )  # fmt: skip

    def _prepared(
        self, args: tuple[Any, ...], arrays: dict[str, Any]
    ) -> tuple[Plan, dict[int, Any], Any]:
        """Return the plan for the arguments, their tensors, and the allocator of results."""
        provided = self._bind(args, arrays)
        inputs = self.graph.inputs
        plan = self.plan_for({v.id: self._checked(v, n, provided[n]) for n, v in inputs.items()})
        tensors = {v.id: self._tensor(plan, v, provided[n]) for n, v in inputs.items()}
        usm = [a.get_array() for a in provided.values() if hasattr(a, "get_array")]
        return plan, tensors, allocation.coerced_kind(usm)

    def summary(self, *args: Any, rounds: int = 5, **arrays: Any) -> str:
        """Return a table of the steps: operations, implementation, scratchpad and time.

        Parameters
        ----------
        *args, **arrays
            As for a call; without them no times are measured.
        rounds : int
            Number of runs; the minimum time in milliseconds is reported. Each step is timed
            separately, so the times add up to more than a call takes.

        Returns
        -------
        str
        """
        if not args and not arrays and self.graph.inputs:
            if not self._plans.size:
                raise InvalidArguments("summary: arrays must be given before the first call")
            return pictures.of_plan(self.plans[-1])
        plan, tensors, kind = self._prepared(args, arrays)
        return pictures.of_plan(plan, pictures.timed(plan, tensors, self.stream, kind, rounds))

    def plan_for(self, signature: dict[int, tuple[Any, Any]]) -> Plan:
        """Return the plan for input shapes and strides by id, compiling it if it is new."""
        key = tuple(
            (id, shape, _row_major(shape) if strides is None else tuple(strides))
            for id, (shape, strides) in signature.items()
        )
        with self._plans.lock:
            plan = self._plans.get(key)
            if plan is None:
                inputs = {id: (shape, strides) for id, shape, strides in key}
                plan = self._plans.make(key, lambda: Plan(self, inputs), "graph")
                plan.key = key
            return plan

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, current and maximum number of plans."""
        return self._plans.info()

    def resize(self, capacity: int) -> None:
        """Set the maximum number of plans, up to ``MOST_PLANS``."""
        self._plans.resize(min(capacity, MOST_PLANS))

    def clear(self) -> None:
        """Drop all plans; later calls recompile the partitions."""
        self._plans.clear()

    @property
    def plans(self) -> list[Plan]:
        """The current plans."""
        return list(self._plans)

    def constant(self, value: Value) -> Tensor:
        """Return a constant's tensor on this queue."""
        with self._plans.lock:
            result = self._constants.get(value.id)
            if result is None:
                result = constant_tensor(value, self.engine, self.queue)
                self._constants[value.id] = result
            return result

    def _bind(self, args: tuple[Any, ...], arrays: dict[str, Any]) -> dict[str, Any]:
        names = list(self.graph.inputs)
        if len(args) > len(names):
            raise InvalidArguments(f"graph: takes {len(names)} arrays, got {len(args)}")
        provided = dict(zip(names, args, strict=False))
        for name, array in arrays.items():
            if name not in self.graph.inputs:
                raise InvalidArguments(f"graph: inputs are {', '.join(names)}, got {name!r}")
            if name in provided:
                raise InvalidArguments(f"graph: {name} must be given once, got two")
            provided[name] = array
        missing = [name for name in names if name not in provided]
        if missing:
            raise InvalidArguments(f"graph: {missing[0]} must be given, got nothing for it")
        return provided

    def _checked(self, value: Value, name: str, array: Any) -> tuple[Any, Any]:
        """Return shape and strides of a valid argument."""
        if value.property == "host_scalar":
            return (), ()
        if not hasattr(array, "get_array"):
            raise TypeError(
                f"graph: {name} must be a dpnp array or an Array, got {type(array).__name__}"
            )
        dtype = dtypes.graph_name(array.dtype, f"graph: {name}")
        if dtype != value.dtype:
            raise TypeError(f"graph: {name} must have dtype {value.dtype}, got {dtype}")
        shape = tuple(array.shape)
        if value.shape is not None and (
            len(shape) != len(value.shape)
            or any(n is not None and n != m for n, m in zip(value.shape, shape, strict=True))
        ):
            raise InvalidArguments(f"graph: {name} must have shape {value.shape}, got {shape}")
        if array.sycl_queue != self.queue:
            raise dpnp.exceptions.ExecutionPlacementError(
                f"graph: {name} must be on the graph's queue, on {self.engine.sycl_device.name}"
            )
        return shape, element_strides(array)

    def _tensor(self, plan: Plan, value: Value, array: Any) -> Any:
        layout = plan.layouts[value.id]
        if value.property == "host_scalar":
            return Number(layout, array)
        return Tensor(layout, self.engine, array)

    def __repr__(self) -> str:
        return f"<CompiledGraph of {len(self.partitions)} partitions on the {self.engine}>"


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * max(n, 1))
    return tuple(strides[::-1]) if shape else ()


def _queue_of(graph: Graph, target: Any) -> Any:
    if target is None:
        return default_queue(graph.engine_kind.name)
    if isinstance(target, _core.Engine):
        return target.sycl_queue
    if isinstance(target, str):
        return default_queue(target)
    return target
