# SPDX-License-Identifier: Apache-2.0
"""Collectives in traced functions, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.distributed.collective import Collective
from sycl_dnn.distributed.group import Group
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor


class CollectiveStep:
    """A collective as a program step with one input and one output array."""

    #: Name of the step in reports.
    row = "collective"

    def __init__(self, collective: Collective, group: Group) -> None:
        self._collective = collective
        self._group = group
        self.__qualname__ = collective.words

    def run_into(
        self, stream: Any, inputs: Sequence[tuple[Any, int]], outputs: Sequence[tuple[Any, int]]
    ) -> None:
        """Submit over memory, given as pairs of a USM object and a byte offset."""
        self._collective.submit(self._group, stream, inputs[0], outputs[0])

    def start_into(
        self, stream: Any, inputs: Sequence[tuple[Any, int]], outputs: Sequence[tuple[Any, int]]
    ) -> Any:
        """Submit so that later steps overlap; return the object to join for the result."""
        return self._collective.submit(self._group, stream, inputs[0], outputs[0], starts=True)


def recorded(
    tensor: Tensor,
    collective: Collective,
    group: Group,
    shape: tuple[int, ...],
    gradient: Callable[[Tensor], Tensor] | None,
) -> Tensor:
    """Record a collective on a traced tensor; ``gradient`` maps the result's gradient."""
    return tensor.trace.logged(_recorded, tensor, collective, group, shape, gradient)


def _recorded(tensor: Tensor, collective: Any, group: Any, shape: Any, gradient: Any) -> Tensor:
    trace: Any = tensor.trace
    row_major = layout.row_major(tensor.shape, tensor.dtype)
    dense = tensor if tensor.desc == row_major else trace.reorder(tensor, row_major)

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        if gradient is None:
            raise NotImplementedError(f"{collective.words} has no gradient")
        return {"0": gradient(grads["0"])}

    step = CollectiveStep(collective, group)
    out = Out(shape, tensor.dtype)
    return trace.array_call(step, [tensor], [out], rule, reads=[dense], is_repeated=True)[0]
