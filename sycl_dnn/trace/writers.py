# SPDX-License-Identifier: Apache-2.0
"""Index of the steps of a trace by the storages that they write."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.trace.steps import ArrayStep, Step
from sycl_dnn.trace.values import Storage


class Writers:
    """The steps of a trace by the storages that they write, in order.

    A trace only appends to its list of steps, so each query reads the steps added since the
    last one: each step is read once.
    """

    def __init__(self) -> None:
        self._steps: Sequence[Step | ArrayStep] = ()
        self._by_storage: dict[Storage, list[Step | ArrayStep]] = {}
        #: Steps that were read so far.
        self.n_read = 0

    def of(self, storage: Storage, steps: Sequence[Step | ArrayStep]) -> list[Step | ArrayStep]:
        """Return those of ``steps``, the trace's list, that write a storage."""
        if steps is not self._steps:  # another list: steps that are recorded apart
            self._steps, self._by_storage, self.n_read = steps, {}, 0
        for step in steps[self.n_read :]:
            for tensor in step.outputs.values():
                writers = self._by_storage.setdefault(tensor.storage, [])
                if not writers or writers[-1] is not step:
                    writers.append(step)
        self.n_read = len(steps)
        return self._by_storage.get(storage, [])
