# SPDX-License-Identifier: Apache-2.0
"""How long nodes take, two ways in turn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import dpnp

from sycl_dnn._usm import KINDS
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.dispatch.executable import Executable
from sycl_dnn.dispatch.tensor import Storage

_ROUNDS = 9
#: A round runs so often that it takes about as many seconds.
_SPAN = 2e-3


def milliseconds(
    graph: Graph, first: Sequence[Node], second: Sequence[Node], queue: Any, stream: Any
) -> tuple[float, float]:
    """Return the least time of one run for two lists of nodes, over memory of their own.

    Each is run and waited for in turn with the other.
    """
    runs = [_Run(graph, nodes, queue, stream) for nodes in (first, second)]
    count = max(1, min(64, int(_SPAN / max(runs[0](1), runs[1](1), 1e-6))))
    times = [[run(count) for run in runs] for _ in range(_ROUNDS)]
    a, b = (1e3 * min(column) for column in zip(*times, strict=True))
    return a, b


class _Run:
    """Nodes as a program over zeros."""

    def __init__(self, graph: Graph, nodes: Sequence[Node], queue: Any, stream: Any) -> None:
        written = {id(t.storage) for n in nodes for t in n.outputs.values()}
        read: dict[int, Storage] = {
            id(t.storage): t.storage
            for n in nodes
            for t in n.inputs.values()
            if id(t.storage) not in written and t.storage.memory is None
        }
        arguments = list(read.values())
        finals = list(nodes[-1].outputs.values())
        self._executable = Executable(graph.trace, list(graph.steps(nodes)), finals, arguments)
        self._queue, self._stream = queue, stream
        self._arrays = [_zeros(storage, queue) for storage in arguments]

    def __call__(self, count: int) -> float:
        """Return the seconds of one run out of ``count``."""
        kind = KINDS["device"]
        self._executable.run(self._queue, self._stream, list(self._arrays), kind)
        self._queue.wait()
        start = time.perf_counter()
        for _ in range(count):
            self._executable.run(self._queue, self._stream, list(self._arrays), kind)
        self._queue.wait()
        return (time.perf_counter() - start) / count


def _zeros(storage: Storage, queue: Any) -> Any:
    return dpnp.zeros(max(storage.nbytes, 1), dtype="u1", sycl_queue=queue).get_array()
