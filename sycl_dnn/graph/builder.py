# SPDX-License-Identifier: Apache-2.0
"""``Graph``: builds, partitions and compiles a graph of oneDNN operations."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph import nodes, pictures
from sycl_dnn.graph.compiled_graph import CompiledGraph
from sycl_dnn.graph.methods import Operations
from sycl_dnn.graph.nodes import Node, Value
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.graph.table import Operation


_HOST_SCALARS = ("f32", "s32", "s64")


def _shape(shape: Any) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    result = tuple(shape)
    for size in result:
        if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer))):
            raise TypeError(f"Graph.input: shape must hold integers or None, got {shape}")
        if size is not None and size < 0:
            raise InvalidArguments(f"Graph.input: shape must not be negative, got {shape}")
    return tuple(None if n is None else int(n) for n in result)


# --- Graph


class Graph(Operations, _core.OpGraph):
    """A graph of oneDNN operations: build it, inspect its partitions, compile it, call it.

    Each operation is a method, named as in oneDNN's C header. Tensors are positional, attributes
    keyword arguments. Python numbers are accepted as constants.

    Parameters
    ----------
    engine : {"cpu", "gpu"} or Engine
        The kind of device to partition for.
    fpmath_mode : str or fpmath_mode, optional
        The precision to which oneDNN may reduce f32 internally, such as ``"bf16"``.
    data_format : {"NXC", "NCX"}, optional
        The default of convolutions, pooling and normalizations: channels-last, as in oneDNN, or
        channels-first, as in PyTorch. ``"NCX"`` also changes the default of ``weights_format`` to
        ``OIX`` (``IOX``).

    Examples
    --------
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn.graph import Graph
    >>> g = Graph("cpu")
    >>> x, w = g.input((8, 16), "f32", name="x"), g.input((16, 4), "f32", name="w")
    >>> y = g.relu(g.matmul(x, w))
    >>> x_array, w_array = F.ones(8, 16, device="cpu"), F.ones(16, 4, device="cpu")
    >>> g.compile("cpu")(x=x_array, w=w_array).shape
    (8, 4)

    Notes
    -----
    Source: oneDNN ``dnnl::graph::graph``. The low level (``add_op``, ``get_partitions``...) is
    available too.
    """

    def input(
        self,
        shape: Sequence[int | None] | None = None,
        dtype: Any = "f32",
        *,
        name: str = "",
        constant: bool = False,
    ) -> Value:
        """Add an input, an argument of each call.

        Parameters
        ----------
        shape : sequence of int or None, optional
            None for a size, or the whole shape, that is only known at the call.
        dtype : str or dtype
            ``"f32"``, ``"bf16"``, ``"s8"``... or ``"float32"``, ``"bfloat16"``, ``"int8"``...
        name : str, optional
            Name of the call's argument; ``in0``, ``in1``... by default.
        constant : bool
            Whether the tensor never changes, so that oneDNN may cache data derived from it in its
            constant tensor cache, which identifies tensors by address: see
            ``set_constant_tensor_cache_capacity``.

        Returns
        -------
        Value

        Examples
        --------
        >>> from sycl_dnn import graph
        >>> graph.Graph("cpu").input((None, 16), "bf16", name="x").shape
        (None, 16)
        """
        name = name or f"in{len(self.inputs)}"
        self._check_name(name)
        kind = "constant" if constant else "variable"
        value = self._value(dtypes.graph_name(dtype, "Graph.input"), _shape(shape), name, kind)
        self.inputs[name] = value
        return value

    def scalar(self, dtype: Any, *, name: str = "") -> Value:
        """Add a host scalar, an argument of each call.

        Parameters
        ----------
        dtype : {"f32", "s32", "s64"}
        name : str, optional

        Returns
        -------
        Value
        """
        kind = dtypes.graph_name(dtype, "Graph.scalar")
        if kind not in _HOST_SCALARS:
            raise InvalidArguments(f"Graph.scalar: dtype must be f32, s32 or s64, got {kind}")
        name = name or f"in{len(self.inputs)}"
        self._check_name(name)
        self.inputs[name] = value = self._value(kind, (), name, "host_scalar")
        return value

    def constant(self, data: Any, dtype: Any = None, *, name: str = "") -> Value:
        """Add a constant tensor.

        Parameters
        ----------
        data : dpnp.ndarray, Array, numpy.ndarray or number
            Must not be modified afterwards. Data that is not on the device is copied there.
        dtype : str or dtype, optional
            The dtype of ``data`` by default; ``"f32"`` for a number.
        name : str, optional

        Returns
        -------
        Value
            A number has shape ``(1,)``.

        Examples
        --------
        >>> from sycl_dnn import graph
        >>> graph.Graph("cpu").constant(2.5).shape
        (1,)
        """
        if not hasattr(data, "get_array"):
            number = np.ndim(data) == 0
            kind = dtypes.graph_name(dtype or ("f32" if number else data.dtype), "Graph.constant")
            data = nodes.host_data(np.atleast_1d(data), kind)
        kind = nodes.dtype_of_data(data)
        value = self._value(kind, tuple(data.shape), name, "constant", data)
        self.constants.append(value)
        return value

    def output(self, value: Value, *, name: str = "") -> Value:
        """Mark a value as a result of the graph, even if operations read it.

        By default, values that no operation reads are the results. Once any value is marked, only
        marked values are returned, in the order of the marks.

        Examples
        --------
        >>> from sycl_dnn import graph
        >>> g = graph.Graph("cpu")
        >>> hidden = g.output(g.relu(g.input((2, 3))))
        >>> y = g.output(g.exp(hidden))
        >>> len(g.outputs)
        2
        """
        if not isinstance(value, Value) or value.graph is not self:
            raise InvalidArguments(f"Graph.output: value must belong to this graph, got {value!r}")
        if value.node is None:
            raise InvalidArguments(
                f"Graph.output: value must be the result of an operation, got {value}"
            )
        self._require_open("output")
        if value not in self._marked:
            self._marked.append(value)
        if name:
            value.name = name
        return value

    @property
    def outputs(self) -> list[Value]:
        """The results of a call, in order."""
        if self._marked:
            return list(self._marked)
        inner = self._inner_ids()
        return [v for node in self.nodes for v in node.outputs if v.id not in inner]

    def _inner_ids(self) -> set[int]:
        """Return the ids of the values that operations read and that have no ``End``."""
        read = {v.id for node in self.nodes for v in node.values if node.operation.name != "end"}
        return read - {n.inputs["src"].id for n in self.nodes if n.operation.name == "end"}

    def _value(
        self, dtype: str, shape: Any, name: str, kind: str = "undef", data: Any = None
    ) -> Value:
        return Value(self, next(self._ids), dtype, shape, name=name, property=kind, data=data)

    def _check_name(self, name: str) -> None:
        if name in self.inputs:
            raise InvalidArguments(f"Graph.input: name must be new, got {name!r}")
        self._require_open("Graph.input")

    def _require_open(self, caller: str) -> None:
        if self.is_finalized:
            raise InvalidArguments(f"{caller}: the graph must not be finalized yet")

    def __init__(
        self,
        engine: str | _core.Engine = "cpu",
        fpmath_mode: Any = None,
        *,
        data_format: str = "NXC",
    ) -> None:
        kind = engine.kind if isinstance(engine, _core.Engine) else engine
        super().__init__(kind, fpmath_mode)
        if data_format not in ("NXC", "NCX"):
            raise InvalidArguments(
                f"Graph: data_format must be 'NXC' or 'NCX', got {data_format!r}"
            )
        self.data_format = data_format
        self.nodes: list[Node] = []
        self.inputs: dict[str, Value] = {}
        self.constants: list[Value] = []
        self._marked: list[Value] = []
        self._ids = itertools.count()
        self._ending = threading.Lock()

    def wildcard(
        self,
        function: Callable[..., Any],
        *inputs: Value,
        shapes: Sequence[Sequence[int]],
        dtypes: Sequence[str],
        name: str = "",
    ) -> tuple[Value, ...]:
        """Add a Python function, which oneDNN does not optimize.

        Parameters
        ----------
        function : callable
            Receives a dpnp array (or Array) per input, and returns one per entry of ``shapes``.
        *inputs : Value
        shapes, dtypes : sequences
            Of the returned arrays.
        name : str, optional

        Returns
        -------
        tuple of Value

        Notes
        -----
        Source: oneDNN ``Wildcard``.
        """
        return nodes.add_wildcard(self, function, inputs, shapes, dtypes, name)

    def finalize(self) -> None:
        """Finish building. Results that operations read get an ``End``, as oneDNN requires."""
        with self._ending:
            if not self.is_finalized:
                self._end_results()
                # oneDNN does not report it for finalized graphs.
                self.fpmath = self.get_fpmath_mode()
                super().finalize()

    def _end_results(self) -> None:
        inner = self._inner_ids()
        for value in self._marked:
            if value.id in inner:
                self.end(value)

    def partitions(self, policy: str = "fusion") -> list[_core.Partition]:
        """Return oneDNN's partitions of the graph in execution order.

        Parameters
        ----------
        policy : {"fusion", "debug"}
            ``debug`` makes each operation its own partition.

        Returns
        -------
        list of Partition

        Examples
        --------
        >>> from sycl_dnn import graph
        >>> g = graph.Graph("cpu")
        >>> y = g.relu(g.matmul(g.input((8, 16)), g.input((16, 4))))
        >>> len(g.partitions())  # both operations in one
        1
        """
        self.finalize()
        return self.get_partitions(policy)

    def compile(self, target: Any = None, *, policy: str = "fusion") -> CompiledGraph:
        """Compile the graph into a callable object.

        Parameters
        ----------
        target : dpctl.SyclQueue, Engine or filter string, optional
            Where to run; by default the default queue of the graph's kind of device.
        policy : {"fusion", "debug"}

        Returns
        -------
        CompiledGraph

        Raises
        ------
        InvalidArguments
            The graph was built for the other kind of device.
        """
        return CompiledGraph(self, target, policy)

    def to_dot(self) -> str:
        """Return Graphviz source; partitions are colored clusters once the graph is finalized."""
        return pictures.to_dot(self)

    def to_mermaid(self) -> str:
        """Return a Mermaid flowchart, with partitions as in ``to_dot``."""
        return pictures.to_mermaid(self)

    def to_svg(self) -> str:
        """Return an SVG picture, with partitions as in ``to_dot``."""
        return pictures.to_svg(self)

    def summary(self) -> str:
        """Return a table of the partitions and their operations; finalizes the graph.

        Examples
        --------
        >>> from sycl_dnn import graph
        >>> g = graph.Graph("cpu")
        >>> y = g.relu(g.input((2, 3)))
        >>> "ReLU" in g.summary()
        True
        """
        return pictures.of_graph(self)

    def add_operation(self, row: Operation, arguments: dict[str, Any]) -> Any:
        """Add an operation of the table; called by the methods."""
        self._require_open(row.name)
        return nodes.add(self, row, arguments)

    def __repr__(self) -> str:
        if not hasattr(self, "nodes"):  # the constructor failed
            return "<Graph that could not be made>"
        state = "finalized" if self.is_finalized else "open"
        return f"<Graph of {len(self.nodes)} operations for {self.engine_kind.name}, {state}>"
