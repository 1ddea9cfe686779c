# SPDX-License-Identifier: Apache-2.0
"""States of reductions over columns, in local memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sycl_dnn.kernels.combining import State
from sycl_dnn.kernels.spirv import Kernel, Value


class ColumnStates:
    """The states of several reductions, for each column of a span.

    Parameters
    ----------
    kernel : Kernel
    starts : sequence of list of Value
        Of each reduction, the state over no elements, in vectors.
    span : int
        Number of columns.
    """

    def __init__(self, kernel: Kernel, starts: Sequence[State], span: int) -> None:
        self._kernel, self.starts = kernel, starts
        counts: Counter[str] = Counter()
        #: Of each register of each state, where its columns begin.
        self._begins: list[list[Value]] = []
        for state in starts:
            self._begins.append([])
            for v in state:
                self._begins[-1].append(kernel.constant(counts[v.type] * span, "i32"))
                counts[v.type] += 1
        self._memory = {name: kernel.group_memory(name, n * span) for name, n in counts.items()}

    def of(self, column: Value) -> list[State]:
        """Load the states of the vector from a column on."""
        k = self._kernel
        return [
            [
                k.shared(self._memory[v.type], k.call("add", begin, column), v.width)
                for v, begin in zip(state, begins, strict=True)
            ]
            for state, begins in zip(self.starts, self._begins, strict=True)
        ]

    def keep(self, column: Value, states: Sequence[State]) -> None:
        """Store the states of the vector from a column on."""
        k = self._kernel
        for state, begins in zip(states, self._begins, strict=True):
            for v, begin in zip(state, begins, strict=True):
                k.share(self._memory[v.type], k.call("add", begin, column), v)
