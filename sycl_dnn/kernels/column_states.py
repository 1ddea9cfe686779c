# SPDX-License-Identifier: Apache-2.0
"""States of reductions over columns, in local memory."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.kernels.combining import State
from sycl_dnn.kernels.spirv import Kernel, Value


class ColumnStates:
    """The states of several reductions, for each column of a span.

    ``starts``: of each reduction, the state over no elements, in vectors; ``span``: number of
    columns.
    """

    def __init__(self, kernel: Kernel, starts: Sequence[State], span: int) -> None:
        self._kernel, self.starts = kernel, starts
        self._memory = [[kernel.group_memory(v.type, span) for v in state] for state in starts]

    def of(self, column: Value) -> list[State]:
        """Load the states of the vector from a column on."""
        k = self._kernel
        return [
            [k.shared(memory, column, v.width) for v, memory in zip(state, of_state, strict=True)]
            for state, of_state in zip(self.starts, self._memory, strict=True)
        ]

    def keep(self, column: Value, states: Sequence[State]) -> None:
        """Store the states of the vector from a column on."""
        for state, of_state in zip(states, self._memory, strict=True):
            for v, memory in zip(state, of_state, strict=True):
                self._kernel.share(memory, column, v)
