# SPDX-License-Identifier: Apache-2.0
"""Places of intermediate values in one buffer: those that are never needed together overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn.dispatch.busy import Busy
from sycl_dnn.dispatch.record import Step

#: Every value starts at a multiple of this many bytes.
ALIGNMENT = 256


class Arena:
    """Offsets of the storages that live only inside one stretch of steps, and of scratchpads.

    Parameters
    ----------
    steps : list of Step
        In the order of execution.
    placed : dict
        By ``id`` of a storage: those that have a place already.
    """

    def __init__(self, steps: Sequence[Step], placed: Mapping[int, int]) -> None:
        #: By ``id`` of the storage.
        self.offsets: dict[int, int] = {}
        #: By number of the step: descriptor and offset.
        self.scratchpads: dict[int, tuple[Any, int]] = {}
        self.nbytes = 0
        spans = self._lifetimes(steps, placed)
        busy = Busy((first, last) for _, first, last, _ in spans.values())
        # Large values first: the small ones then fill the gaps.
        for key, (nbytes, first, last, desc) in sorted(spans.items(), key=lambda s: -s[1][0]):
            offset = busy.take(nbytes, first, last)
            self.nbytes = max(self.nbytes, offset + nbytes)
            if key[0] == "scratchpad":
                self.scratchpads[key[1]] = (desc, offset)
            else:
                self.offsets[key[1]] = offset

    @staticmethod
    def _lifetimes(
        steps: Sequence[Step], placed: Mapping[int, int]
    ) -> dict[tuple[str, int], tuple[int, int, int, Any]]:
        spans: dict[tuple[str, int], tuple[int, int, int, Any]] = {}
        for index, step in enumerate(steps):
            for tensor in (*step.inputs.values(), *step.outputs.values()):
                storage = tensor.storage
                if id(storage) in placed or storage.memory is not None:
                    continue
                key = ("storage", id(storage))
                first = spans[key][1] if key in spans else index
                spans[key] = (_rounded(storage.nbytes), first, index, None)
            if step.primitive is None:
                continue
            desc = step.primitive.primitive_desc.scratchpad_desc
            if desc.size:
                spans["scratchpad", index] = (_rounded(desc.size), index, index, desc)
        return spans


def _rounded(nbytes: int) -> int:
    return (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
