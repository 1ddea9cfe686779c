# SPDX-License-Identifier: Apache-2.0
"""A call of a compiled function with its arrays bound."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core
from sycl_dnn._usm import KINDS, allocated
from sycl_dnn.compiler.lowering import Lowered
from sycl_dnn.compiler.structure import Given
from sycl_dnn.dispatch import allocation
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.dispatch.program import Segment


class Bound:
    """A program over given arrays. Made by ``Compiled.bind``.

    Calls submit it and return the result, always the same arrays.
    """

    def __init__(self, plan: Lowered, given: Given, queue: Any) -> None:
        self._executable = executable = plan.executable
        self._queue = queue
        _, self._stream = place_of(queue)
        kind = allocation.coerced_kind(given.arrays)
        self._registers = executable.registers(queue, self._stream, given.arrays, kind)
        self._given = given.objects
        for stage in executable.stages:
            if not isinstance(stage, Segment):
                stage.allocate(self._registers, queue)
        self._result = plan.results(self._registers, given.objects)
        self._calls = [self._call(stage) for stage in executable.stages]

    def _call(self, stage: Any) -> Any:
        is_program = isinstance(stage, Segment)
        if not is_program or any(self._registers[r].__class__ is bytes for r in stage.reads):
            return lambda: stage.run(self._registers, self._queue, self._stream)
        arena = None
        if stage.program.arena_bytes:
            nbytes = stage.program.arena_bytes
            arena = allocated(KINDS["device"], nbytes, self._queue, "intermediate values")
        arrays = [self._registers[r] for r in stage.reads]
        return _core.BoundProgram(stage.program, self._stream, arrays, arena, self._result)

    def __call__(self) -> Any:
        """Submit; return the result, which is there when the queue has come to it."""
        self._executable.draw_seeds(self._registers)
        for call in self._calls:
            call()
        return self._result
