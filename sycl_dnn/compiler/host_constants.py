# SPDX-License-Identifier: Apache-2.0
"""Coefficients computed from constants in NumPy on CPUs: they take no primitive for each layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sycl_dnn import _core
from sycl_dnn._dpnp import host_view, usm_array, view
from sycl_dnn.compiler.step_graph import Graph, Node
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import ArrayStep
from sycl_dnn.trace.values import Storage, Tensor

Arrays = tuple[np.ndarray, ...]
#: Elements of a result beyond which primitives are faster: they use all threads, and do not keep
#: the weights of all layers until the end.
_MOST = 1 << 16


@dataclass(frozen=True)
class HostValues:
    """The function of a node over float32 arrays of constants, as data.

    Attributes
    ----------
    name : str
        One of ``FUNCTIONS``.
    settings : tuple
        Plain values, which precede the arrays.
    """

    name: str
    settings: tuple[Any, ...]

    def __call__(self, *arrays: np.ndarray) -> Arrays:
        """Return the results, rounded to float32 after each operation as primitives do."""
        with np.errstate(all="ignore"):
            return FUNCTIONS[self.name](*self.settings, *arrays)


def _normalization(
    eps: float, has_weight: bool, has_bias: bool, mean: np.ndarray, var: np.ndarray,
    *rest: np.ndarray,
) -> Arrays:  # fmt: skip
    """Return the a and b for which a normalization is ``x * a + b``."""
    supply = iter(rest)
    a = np.float32(1) / np.sqrt(var + np.float32(eps))
    a = a * next(supply) if has_weight else a
    b = mean * a
    return a, next(supply) - b if has_bias else -b


def _coefficients(
    over: tuple[int, ...], factors: tuple[tuple[bool, float | None], ...], has_bias: bool,
    weights: np.ndarray, *vectors: np.ndarray,
) -> Arrays:  # fmt: skip
    """Return weights and bias after products and sums with one value per output.

    Parameters
    ----------
    over : tuple of int
        The shape in which such values broadcast to the weights.
    factors : tuple
        For each, whether it is a product, and the number; None for the next of the vectors.
    has_bias : bool
        Whether the first of the vectors is the bias so far.
    """
    supply, n = (v.reshape(-1) for v in vectors), math.prod(over)
    scale, bias = None, next(supply) if has_bias else None
    for is_product, number in factors:
        vector = np.broadcast_to(next(supply) if number is None else np.float32(number), n)
        if not is_product:
            bias = vector if bias is None else bias + vector
        else:
            scale = vector if scale is None else scale * vector
            bias = None if bias is None else bias * vector
    changed = () if scale is None else (weights * scale.reshape(over),)
    return changed if bias is None else (*changed, bias)


FUNCTIONS: dict[str, Callable[..., Arrays]] = {
    "normalization": _normalization,
    "coefficients": _coefficients,
}


def recorded_on_host(
    graph: Graph, function: HostValues, inputs: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]
) -> list[Tensor] | None:
    """Record a function of constants; None if primitives are faster, or must compute them."""
    is_cpu = graph.trace.engine.kind is _core.engine_kind.cpu
    if not is_cpu or not all(_is_given(graph, t) for t in inputs):
        return None
    if any(math.prod(shape) > _MOST for shape in shapes):
        return None
    outputs = [_new(graph, shape) for shape in shapes]
    read, written = ({str(i): t for i, t in enumerate(ts)} for ts in (inputs, outputs))
    graph.trace.steps.append(ArrayStep(function, read, written))
    return outputs


def _new(graph: Graph, shape: tuple[int, ...]) -> Tensor:
    desc = layout.row_major(shape, "float32")
    return Tensor(graph.trace, Storage(desc), desc, "float32", shape)


def _is_given(graph: Graph, tensor: Tensor) -> bool:
    """Whether a tensor views captured float32 values, or what the host computes of such."""
    storage, writers = tensor.storage, graph.writers(tensor.storage)
    if tensor.dtype != "float32" or tensor.strides is None:
        return False
    if writers:
        is_host = all(isinstance(node.function, HostValues) for node in writers)
        return is_host and _is_reshaped(tensor)
    return storage.memory is not None or id(storage) in graph.trace.constant_storages()


def _is_reshaped(tensor: Tensor) -> bool:
    """Whether a tensor views all of a row-major array in another shape."""
    pairs = zip(tensor.shape, tensor.strides, layout.row_major_strides(tensor.shape), strict=True)
    is_row_major = all(stride == dense for n, stride, dense in pairs if n > 1)
    return is_row_major and tensor.desc.get_size() == tensor.storage.nbytes


def compute(nodes: Iterable[Node], captured: Mapping[int, Any], outs: Mapping[int, Any]) -> None:
    """Run nodes in order.

    Parameters
    ----------
    nodes : iterable of Node
    captured, outs : dict
        By id of a storage: the usm_ndarray that it is, or that its result is written to.
    """
    values: dict[int, np.ndarray] = {key: host_view(array) for key, array in outs.items()}
    for node in nodes:
        results = node.function(*(_values(t, values, captured) for t in node.inputs.values()))
        for tensor, result in zip(node.outputs.values(), results, strict=True):
            values.setdefault(id(tensor.storage), result)
            if id(tensor.storage) in outs:
                values[id(tensor.storage)][...] = result


def _values(
    tensor: Tensor, values: Mapping[int, np.ndarray], captured: Mapping[int, Any]
) -> np.ndarray:
    key, memory = id(tensor.storage), tensor.storage.memory
    if key in values:
        return values[key].reshape(tensor.shape)
    array = captured[key] if memory is None else usm_array(memory.owner[0])
    dtype = np.dtype("f4")
    start = tensor.offset // dtype.itemsize
    return host_view(view(array, tensor.shape, dtype, tensor.strides, start))
