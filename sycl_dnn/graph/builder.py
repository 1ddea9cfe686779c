# SPDX-License-Identifier: Apache-2.0
"""Graph: operations as methods, then partitions, then something to call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph import nodes, picture, summary
from sycl_dnn.graph.ends import Ends
from sycl_dnn.graph.value import Value

if TYPE_CHECKING:
    from sycl_dnn.graph.compiled import CompiledGraph
    from sycl_dnn.graph.table import Operation

__all__ = ["Graph"]


class Graph(Ends):
    """A graph of oneDNN's operations: build it, look at its partitions, compile it, call it.

    Each operation is a method named as in oneDNN's C header. Tensors come first, attributes by
    keyword. A Python number in the place of a tensor stands for a constant.

    Parameters
    ----------
    engine : {"cpu", "gpu"} or Engine
        For which kind of device the graph is partitioned.
    fpmath_mode : str or fpmath_mode, optional
        Which conversions of f32 oneDNN may do inside, such as ``"bf16"``.
    data_format : {"NXC", "NCX"}, optional
        What convolutions, pooling, norms... take where a call does not say it: channels last, as
        oneDNN does, or second as in PyTorch. ``"NCX"`` also changes the default of
        ``weights_format`` to output channels, input channels, kernel (``OIX``, ``IOX``).

    Examples
    --------
    >>> g = Graph("cpu")
    >>> x, w = g.input((8, 16), "f32", name="x"), g.input((16, 4), "f32", name="w")
    >>> y = g.relu(g.matmul(x, w))
    >>> outs = g.compile(queue)(x=x_array, w=w_array)

    Notes
    -----
    Source: oneDNN ``dnnl::graph::graph``; the low level (``add_op``, ``get_partitions``...) is
    there as well.
    """

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
        self._ending = threading.Lock()

    def wildcard(
        self,
        function: Callable[..., Any],
        *inputs: Value,
        shapes: Sequence[Sequence[int]],
        dtypes: Sequence[str],
        name: str = "",
    ) -> tuple[Value, ...]:
        """Put a Python function into the graph, which oneDNN leaves alone.

        Parameters
        ----------
        function : callable
            Gets a dpnp array (or Array) for each input; returns as many as there are ``shapes``.
        *inputs : Value
        shapes, dtypes : sequences
            Of what it returns.
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
        """End building. Results that operations read get an ``End``, as oneDNN wants it."""
        with self._ending:
            if not self.is_finalized:
                self._end_results()
                # oneDNN does not tell it of a finalized graph.
                self.fpmath = self.get_fpmath_mode()
                super().finalize()

    def _end_results(self) -> None:
        read = {v.id for node in self.nodes for v in node.values if node.operation.name != "end"}
        ended = {node.inputs["src"].id for node in self.nodes if node.operation.name == "end"}
        for value in self._marked:
            if value.id in read - ended:
                self.end(value)

    def partitions(self, policy: str = "fusion") -> list[_core.Partition]:
        """Return what oneDNN made of the graph, in an order in which it can run.

        Parameters
        ----------
        policy : {"fusion", "debug"}
            ``debug`` makes a partition of each operation.

        Returns
        -------
        list of Partition
        """
        self.finalize()
        return self.get_partitions(policy)

    def compile(self, target: Any = None, *, policy: str = "fusion") -> CompiledGraph:
        """Return the graph as something to call.

        Parameters
        ----------
        target : dpctl.SyclQueue, Engine or filter string, optional
            Where it runs; the default queue of the graph's kind of device otherwise.
        policy : {"fusion", "debug"}

        Returns
        -------
        CompiledGraph

        Raises
        ------
        InvalidArguments
            The graph was made for the other kind of device.
        """
        from sycl_dnn.graph.compiled import CompiledGraph

        return CompiledGraph(self, target, policy)

    def to_dot(self) -> str:
        """Return Graphviz text; partitions are coloured clusters once the graph is finalized."""
        return picture.to_dot(self)

    def to_mermaid(self) -> str:
        """Return a Mermaid flowchart, with partitions as ``to_dot`` shows them."""
        return picture.to_mermaid(self)

    def to_svg(self) -> str:
        """Return an SVG picture, with partitions as ``to_dot`` shows them."""
        return picture.to_svg(self)

    def summary(self) -> str:
        """Return a table of the partitions and their operations; finalizes the graph."""
        return summary.of_graph(self)

    def add_operation(self, row: Operation, given: dict[str, Any]) -> Any:
        """Add an operation of the table with its arguments by name; the methods call this."""
        self._require_open(row.name)
        return nodes.add(self, row, given)

    def __repr__(self) -> str:
        state = "finalized" if self.is_finalized else "open"
        return f"<Graph of {len(self.nodes)} operations for {self.engine_kind.name}, {state}>"
