# SPDX-License-Identifier: Apache-2.0
"""Calibration: ranges of values in a compiled function, and scales for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn.compiler.passes.folding import ROWS
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.trace.array import wrapped
from sycl_dnn.trace.values import Storage, Tensor

_MIN_RANGE = 1e-12


class Scale(NamedTuple):
    """An integer representation: ``scale * (q - zero)``."""

    dtype: str
    scale: float
    zero: int = 0


def scale_of(low: float, high: float, may_be_signed: bool = True) -> Scale:
    """Return the scale and zero point that cover a range best.

    uint8 if there are no negative values or only a few small ones; otherwise symmetric int8, if
    allowed.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    if may_be_signed and low < 0 and -low > 0.5 * high:
        return Scale("int8", max(high, -low, _MIN_RANGE) / 127)
    step = max(high - low, _MIN_RANGE) / 255
    return Scale("uint8", step, int(round(-low / step)))


def integer_candidates(graph: Graph) -> dict[Any, Node]:
    """Return the nodes that can be quantized, keyed by what identifies their weights.

    Keys do not depend on argument shapes: they consist of the array that weights derive from and
    the number of earlier uses of it.
    """
    constants = constant_ids(graph)
    sources = {id(t.storage): v for _, v, t in graph.trace.captured}
    uses: dict[int, int] = {}
    candidates: dict[Any, Node] = {}
    for node in graph.nodes:
        if node.row not in ROWS or not node.has_dst:
            continue
        weights = node.inputs["weights"]
        if id(weights.storage) not in constants or not weights.is_float:
            continue
        origin = _largest_source(graph, weights.storage, sources)
        if origin is None:
            continue
        if not (node.inputs["src"].is_float and node.dst.is_float) or node.attr.get("set_scales"):
            continue
        use = uses[origin] = uses.get(origin, -1) + 1
        candidates[origin, use] = node
    return candidates


def _largest_source(graph: Graph, storage: Storage, sources: dict[int, Any]) -> int | None:
    """Return the id of the largest captured array that a constant derives from."""
    seen, todo, best = set(), [storage], None
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if id(item) in sources and (best is None or item.nbytes > best.nbytes):
            best = item
        todo += [t.storage for w in graph.writers(item) for t in w.inputs.values()]
    return None if best is None else id(sources[id(best)])


class Observer:
    """A pass that adds the inputs and outputs of products to the results of a program."""

    def __init__(self) -> None:
        #: Index of the additional result, by product key and argument name.
        self.places: dict[Any, int] = {}

    def __call__(self, graph: Graph) -> None:
        """Add the values to the results of the graph."""
        positions: dict[int, int] = {}
        extra: list[Tensor] = []
        for key, node in integer_candidates(graph).items():
            for name, tensor in (("src", node.inputs["src"]), ("dst", node.dst)):
                storage = tensor.storage
                if storage.memory is not None:
                    continue
                if id(storage) not in positions:
                    positions[id(storage)] = len(extra)
                    extra.append(_whole_storage(graph, tensor))
                place = (*key, name)
                self.places[place] = positions[id(storage)]
        graph.add_finals(extra)


def _whole_storage(graph: Graph, tensor: Tensor) -> Tensor:
    storage = tensor.storage
    return Tensor(graph.trace, storage, storage.desc, tensor.dtype, storage.desc.dims)


class Ranges:
    """Observed minima and maxima, by product key and argument name."""

    def __init__(self, method: str, percentile: float) -> None:
        self._method = method
        self._percentile = percentile
        self._found: dict[Any, tuple[float, float]] = {}

    def note(self, observer: Observer, arrays: Sequence[Any], dtypes: Sequence[str]) -> None:
        """Include the additional results of one call."""
        ranges: dict[int, tuple[float, float]] = {}
        for key, place in observer.places.items():
            if place not in ranges:
                ranges[place] = self._range(wrapped(arrays[place], dtypes[place]))
            low, high = ranges[place]
            if key in self._found:
                low, high = min(low, self._found[key][0]), max(high, self._found[key][1])
            self._found[key] = (low, high)

    def _range(self, array: Any) -> tuple[float, float]:
        wide = array if isinstance(array, dpnp.ndarray) else array.astype("float32")
        if self._method == "minmax":
            return float(dpnp.min(wide)), float(dpnp.max(wide))
        ends = (100 - self._percentile, self._percentile)
        low, high = np.percentile(dpnp.asnumpy(wide), ends)
        return float(low), float(high)

    def knows(self, key: Any) -> bool:
        """Whether calibration has observed a product's inputs and outputs."""
        return all((*key, name) in self._found for name in ("src", "dst"))

    def range(self, key: Any, name: str) -> tuple[float, float]:
        """Return the observed minimum and maximum of a product's argument."""
        place: tuple[Any, ...] = (*key, name)
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)
