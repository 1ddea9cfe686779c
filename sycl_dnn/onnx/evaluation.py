# SPDX-License-Identifier: Apache-2.0
"""Node-by-node evaluation of a graph, with constant folding on the host."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn.errors import InvalidArguments, Unimplemented, UnsupportedOperator
from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.delayed_values import Delayed, opened
from sycl_dnn.onnx.host_values import FOLDED
from sycl_dnn.onnx.model_graph import Graph, Node, dtype_name
from sycl_dnn.onnx.operator_registry import Call, in_delayed_form
from sycl_dnn.program.numpy_copies import asnumpy
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.values import Tensor

#: Exceptions that operators may raise for invalid values.
_MISFITS = (
    TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError,
    NotImplementedError, RecursionError,
)  # fmt: skip
#: Data types supported on the device, by ml_dtypes' names.
_ON_DEVICE = frozenset(
    (
        "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64",
        "uint32", "uint16", "uint8", "bool",
    )
)  # fmt: skip
#: Constants up to this many bytes are shared by content.
_SMALL = 1024


class NeedsValue(UnsupportedOperator):
    """A value computed on the device is needed on the host while tracing."""


def is_host(value: Any) -> bool:
    """Whether a value is known on the host."""
    return isinstance(value, np.ndarray)


@functools.lru_cache(maxsize=64)
def fits_device(dtype: Any) -> bool:
    """Whether device arrays support a data type."""
    return str(np.dtype(dtype).name) in _ON_DEVICE


class Evaluation:
    """One evaluation of a model.

    queue : destination of constants
    module : provides the mode and the statistics to update
    float_dtype : replaces float32
    trace : the trace of the function that evaluates the model
    """

    def __init__(
        self, graph: Graph, queue: Any, module: Any, float_dtype: str, trace: Any = None
    ) -> None:
        self.graph, self.queue, self.module = graph, queue, module
        self.float_dtype, self._trace = float_dtype, trace
        #: Whether the node reads traced values: functions of constants are recorded then.
        self._is_recorded = False
        #: Number of turns of loops so far.
        self.n_turns = 0

    @property
    def training(self) -> bool:
        """Whether dropout is active and batch normalization uses batch statistics."""
        return bool(self.module.training)

    def dtype(self, number: int, call: Call) -> str:
        """Return the array dtype of an ONNX data type."""
        name = dtype_name(number)
        if name in ("unknown", "string"):
            call.refuse(f"data type {number} is not supported")
        return self.float_dtype if name == "float32" else name

    def device(self, value: Any) -> Any:
        """Return a value as an array on the device."""
        if not is_host(value):
            return value if value is None or isinstance(value, Tensor) else self._in_trace(value)
        if not fits_device(value.dtype):
            raise TypeError(f"the device has no arrays of {value.dtype.name}")
        is_small = value.nbytes <= _SMALL
        if not is_small and id(value) not in self.graph.constant_ids:
            return self._in_trace(to_device(value, self.queue))
        content = (value.dtype.name, value.shape, value.tobytes()) if is_small else id(value)
        key = (self.queue, content)
        array = self.graph.on_device.get(key)
        if array is None:
            array = self.graph.on_device[key] = to_device(value, self.queue)
        return self._in_trace(array)

    def _in_trace(self, array: Any) -> Any:
        """Return an array as a constant of the trace if other values are traced.

        Functions of constants would otherwise run now, each as a separate program.
        """
        return self._trace.capture(array) if self._is_recorded else array

    def once(self, name: str, sources: Sequence[np.ndarray], make: Callable[[], np.ndarray]) -> Any:
        """Return a device array computed from constants, cached for later calls.

        Functions of it are recorded in a trace, so that programs of all shapes share their results.
        """
        constants = self.graph.constant_ids
        key = (self.queue, name, *(
            id(v) if id(v) in constants else (v.dtype.name, v.shape, v.tobytes()) for v in sources
        ))  # fmt: skip
        if key not in self.graph.on_device:
            self.graph.on_device[key] = to_device(make(), self.queue)
        array = self.graph.on_device[key]
        return array if self._trace is None else self._trace.capture(array)

    def host(self, value: Any, call: Call) -> np.ndarray:
        """Return a value as a NumPy array."""
        if is_host(value):
            return np.asarray(value)
        call.node.reads_values = True
        if not isinstance(value, Tensor):
            return to_host(value)
        try:
            return np.asarray(value.asnumpy())  # a function that is differentiated has values
        except NeedsArrays:
            node = call.node
            rule = "the value of an input is needed before the program can be compiled"
            raise NeedsValue.of(node.title, node.version, node.name, rule) from None

    def evaluate(self, graph: Graph, values: Mapping[str, Any]) -> list[Any]:
        """Return a graph's outputs, given its inputs and the values of enclosing graphs."""
        scope: dict[str, Any] = {**values, **graph.constants}
        scope[""] = None
        self._evaluate_nodes(graph, scope)
        for output in graph.outputs:
            value = _value_in(scope, output.name)
            if isinstance(value, Delayed):
                with _name_errors(graph.maker(output.name)):
                    scope[output.name] = opened(value)
        return [scope[o.name] for o in graph.outputs]

    def _evaluate_nodes(self, graph: Graph, scope: dict[str, Any]) -> None:
        for node in graph.nodes:
            self.evaluate_node(node, scope)

    def evaluate_node(self, node: Node, scope: dict[str, Any]) -> None:
        """Add the results of a node to the values by name, and drop those last read by it."""
        with _name_errors(node):
            results = self._results(node, scope)
        scope.update((o, v) for o, v in zip(node.outputs, results, strict=False) if o)
        for name in node.last_reads:
            scope.pop(name, None)

    def _results(self, node: Node, scope: dict[str, Any]) -> tuple[Any, ...]:
        call = Call(node, self)
        if node.operator is None:
            call.refuse("the operator is not supported")
        if node.graphs:
            scope.update((name, opened(value)) for name, value in list(scope.items()))
        inputs = [_value_in(scope, name) for name in node.inputs]
        if not node.domain and any(isinstance(v, Delayed) for v in inputs):
            results = in_delayed_form(node.op, call, *inputs)
            if results is not None:
                return (results,)
        inputs = [opened(v) for v in inputs]
        if node.graphs:
            return tuple(node.operator.body(call, scope, *inputs))
        fold = FOLDED.get(node.op) if not node.domain else None
        if fold is not None and all(v is None or is_host(v) for v in inputs):
            results = fold(call, *inputs)
            if results is not NotImplemented:
                results = results if isinstance(results, tuple) else (results,)
                return tuple(np.asarray(v) for v in results)
        operator = node.operator
        self._is_recorded = self._trace is not None and any(isinstance(v, Tensor) for v in inputs)
        operands = [
            v if v is None else self.host(v, call) if i in operator.host
            else v if operator.mixed and is_host(v) else self.device(v)
            for i, v in enumerate(inputs)
        ]  # fmt: skip
        results = operator.body(call, *operands)
        return results if isinstance(results, tuple) else (results,)


@contextlib.contextmanager
def _name_errors(node: Node) -> Iterator[None]:
    """Name the node in errors."""
    try:
        yield
    except UnsupportedOperator:
        raise
    except Unimplemented as error:
        raise UnsupportedOperator.of(node.title, node.version, node.name, str(error)) from error
    except _MISFITS as error:
        raise InvalidArguments(
            f"{node.title}-{node.version} (node {node.name!r}): {error}"
        ) from error


def _value_in(scope: Mapping[str, Any], name: str) -> Any:
    if name not in scope:
        raise InvalidArguments(f"OnnxModel: value {name!r} must be a result of its node")
    return scope[name]


def to_device(value: np.ndarray, queue: Any) -> Any:
    """Copy a NumPy array, including ml_dtypes' bfloat16, to a queue."""
    dense = np.ascontiguousarray(value).reshape(value.shape)
    if value.dtype.name in dtypes.CARRIED:
        return Array.from_bits(dense.view(np.uint16), value.dtype.name, sycl_queue=queue)
    return sycl_dnn.asarray(dense, sycl_queue=queue)


def to_host(value: Any) -> np.ndarray:
    """Copy a device array to NumPy, with ml_dtypes' dtype if dpnp lacks it."""
    if isinstance(value, Array):
        return np.asarray(value.asnumpy()) if value.dtype != "bfloat16" else _bfloat16(value)
    return np.asarray(asnumpy(value))


def _bfloat16(value: Array) -> np.ndarray:
    import ml_dtypes

    return np.asarray(dpnp.asnumpy(value.bits)).view(ml_dtypes.bfloat16)
