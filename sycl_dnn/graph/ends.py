# SPDX-License-Identifier: Apache-2.0
"""Where data comes into a graph and leaves it: inputs, scalars, constants, results."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sycl_dnn import _core
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph import nodes
from sycl_dnn.graph.methods import Operations
from sycl_dnn.graph.node import Node
from sycl_dnn.graph.value import Value
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph

__all__ = ["Ends"]

_HOST_SCALARS = ("f32", "s32", "s64")


class Ends(Operations, _core.OpGraph):
    """The tensors of a graph that no operation makes, and those that a call returns."""

    def __init__(self, kind: Any, fpmath_mode: Any) -> None:
        super().__init__(kind, fpmath_mode)
        self.nodes: list[Node] = []
        self.inputs: dict[str, Value] = {}
        self.constants: list[Value] = []
        self._marked: list[Value] = []
        self._ids = itertools.count()

    def input(
        self,
        shape: Sequence[int | None] | None = None,
        dtype: Any = "f32",
        *,
        name: str = "",
        constant: bool = False,
    ) -> Value:
        """Return a tensor that each call gets.

        Parameters
        ----------
        shape : sequence of int or None, optional
            None for a size that only calls know, or for all of it.
        dtype : str or dtype
            ``"f32"``, ``"bf16"``, ``"s8"``... or ``"float32"``, ``"bfloat16"``, ``"int8"``...
        name : str, optional
            Of the argument of a call; ``in0``, ``in1``... by default.
        constant : bool
            It stays the same, so that oneDNN may keep what it derives from it if the constant
            tensor cache is on. That goes by addresses: see ``set_constant_tensor_cache_capacity``.

        Returns
        -------
        Value
        """
        name = name or f"in{len(self.inputs)}"
        self._check_name(name)
        kind = "constant" if constant else "variable"
        value = self._value(dtypes.graph_name(dtype, "Graph.input"), _shape(shape), name, kind)
        self.inputs[name] = value
        return value

    def scalar(self, dtype: Any, *, name: str = "") -> Value:
        """Return a number that each call gets and that stays on the host.

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
        """Return a tensor whose data the graph holds, the same in each call.

        Parameters
        ----------
        data : dpnp.ndarray, Array, numpy.ndarray or number
            Must not be written any more. What is not on the device is copied there.
        dtype : str or dtype, optional
            That of ``data`` by default; of a number ``"f32"``.
        name : str, optional

        Returns
        -------
        Value
            A number has shape ``(1,)``.
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
        """Make a value a result of the graph, also if operations read it.

        Results that nothing reads are there without this. Once any value is marked, calls return
        the marked ones only, in the order of the marks.
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
        """The results of a call, in their order."""
        if self._marked:
            return list(self._marked)
        read = {v.id for node in self.nodes for v in node.values if node.operation.name != "end"}
        ended = {node.inputs["src"].id for node in self.nodes if node.operation.name == "end"}
        made = [v for node in self.nodes for v in node.outputs]
        return [v for v in made if v.id not in read or v.id in ended]

    def _value(
        self, dtype: str, shape: Any, name: str, kind: str = "undef", data: Any = None
    ) -> Value:
        return Value(
            cast("Graph", self), next(self._ids), dtype, shape, name=name, property=kind, data=data
        )

    def _check_name(self, name: str) -> None:
        if name in self.inputs:
            raise InvalidArguments(f"Graph.input: name must be new, got {name!r}")
        self._require_open("Graph.input")

    def _require_open(self, what: str) -> None:
        if self.is_finalized:
            raise InvalidArguments(f"{what}: the graph must not be finalized yet")


def _shape(shape: Any) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    made = tuple(shape)
    for size in made:
        if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer))):
            raise TypeError(f"Graph.input: shape must hold integers or None, got {shape}")
        if size is not None and size < 0:
            raise InvalidArguments(f"Graph.input: shape must not be negative, got {shape}")
    return tuple(None if n is None else int(n) for n in made)
