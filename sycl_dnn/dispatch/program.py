# SPDX-License-Identifier: Apache-2.0
"""Turn a trace into what runs: dead steps dropped, memory planned, one program per stretch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import dpnp

from sycl_dnn import _core
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.arena import Arena
from sycl_dnn.dispatch.outputs import Target
from sycl_dnn.dispatch.record import ArrayStep, Out, Step
from sycl_dnn.dispatch.tensor import MIXED, Storage, Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.onednn import Memory

AnyStep = Step | ArrayStep


def live_steps(steps: Sequence[AnyStep], wanted: Iterable[Storage]) -> list[AnyStep]:
    """Return the steps that the storages in ``wanted`` depend on, and the updates, in order."""
    needed = {id(s) for s in wanted}
    kept: list[AnyStep] = []
    for step in reversed(steps):
        made = [t.storage for t in step.outputs.values()]
        # What writes to an argument is an update of the caller's array.
        if any(id(s) in needed or s.argument is not None for s in made):
            kept.append(step)
            needed |= {id(t.storage) for t in step.inputs.values()}
    return kept[::-1]


def own_storage(trace: Trace, tensor: Tensor, taken: set[int], wanted: Any = None) -> Tensor:
    """Return the tensor alone in a plain storage of its own, copied if it is not.

    An argument that a function returns as it is stays the caller's array.
    """
    untouched = tensor.storage.argument is not None and tensor.desc == tensor.storage.desc
    if tensor.desc is None:
        return _own_array(trace, tensor)
    # Shapes () and (1,) have one descriptor, so which of them the caller gave is not known.
    if wanted is None and untouched and not tensor.offset and tensor.desc.dims != (1,):
        return tensor
    given = None if wanted is None else wanted.desc
    desc = _final_desc(tensor) if given is None else given
    alone = (
        tensor.storage.argument is None
        and tensor.storage.memory is None
        and not tensor.storage.constant
        and id(tensor.storage) not in taken
        and tensor.desc == desc
        and _fills(trace, tensor)
        and (wanted is None or not _conflicts(trace, wanted))
    )
    if not alone:
        copied = Tensor(trace, Storage(desc), desc, tensor.dtype, tensor.shape)
        # A copy of a view is what the function was asked for.
        moves = tensor.desc != desc and layout.is_dense(tensor.desc)
        inserted = moves or not tensor.desc.is_plain
        trace.steps.append(trace.copy_step(tensor, copied, inserted=inserted))
        tensor = copied
    taken.add(id(tensor.storage))
    return tensor


def _final_desc(tensor: Tensor) -> Any:
    """Return the dense layout that a result gets of itself: its own order of axes if plain."""
    if tensor.desc.is_plain:
        is_dense = layout.is_dense(tensor.desc)
        return tensor.desc if is_dense else layout.like(tensor.desc, tensor.dtype)
    final = layout.channels_last if tensor.ndim > 2 else layout.row_major
    return final(tensor.shape, tensor.dtype)


def _fills(trace: Trace, tensor: Tensor) -> bool:
    """Whether the tensor shows all bytes of a storage, in whatever shape, that primitives write."""
    whole = tensor.storage.desc
    if tensor.desc == whole:
        return True
    same_size = not tensor.offset and tensor.desc.get_size() == whole.get_size()
    return same_size and whole.is_plain and not trace.is_written_by_call(tensor.storage)


def _own_array(trace: Trace, tensor: Tensor) -> Tensor:
    """Return an array of a dtype that oneDNN lacks, copied unless a call of dpnp made it so."""
    if trace.is_by_call(tensor):
        return tensor
    return trace.array_call(dpnp.copy, [tensor], [Out(tensor.shape, tensor.dtype)])[0]


def finalized(
    trace: Trace, results: Sequence[Tensor], targets: dict[int, Target] | None = None
) -> list[Tensor]:
    """Return the results in storages of their own, as a call hands them out.

    ``targets`` has, by number of the result, what the caller wants it written to.
    """
    for tensor in results:
        if tensor.trace is not trace:
            raise RuntimeError(MIXED.format(tensor.shape, tensor.dtype))
    taken: set[int] = set()
    targets = targets or {}
    return [own_storage(trace, t, taken, targets.get(i)) for i, t in enumerate(results)]


#: Primitives that may write over their first input.
_IN_PLACE = ("eltwise_forward", "softmax_forward", "binary", "layer_normalization_forward")


def _conflicts(trace: Trace, target: Target) -> bool:
    """Whether writing to ``target`` could destroy an input that is still needed."""
    if target.overlaps:
        return True
    if not target.in_place:
        return False
    only = trace.steps[0] if len(trace.steps) == 1 else None
    return not (isinstance(only, Step) and only.primitive and only.primitive.name in _IN_PLACE)


def _seen_as(tensor: Tensor) -> Any:
    """Return the memory that stands for good, with the layout of a view of it."""
    memory = tensor.storage.memory
    if tensor.desc == memory.desc and not tensor.offset:
        return memory
    array = dpnp.reshape(memory.owner[0], -1)
    return Memory(tensor.desc, memory.engine, array[tensor.offset // array.itemsize :])


class Segment:
    """A stretch of primitives as one ``_core.Program`` over registers."""

    def __init__(self, engine: Any, steps: list[Step], registers: dict[int, int]) -> None:
        #: Registers whose arrays the program takes, in its order.
        self.reads: list[int] = []
        self._places: dict[int, int] = {}
        self._registers = registers
        self._values: list[tuple[Any, ...]] = []
        self._index: dict[tuple[Any, ...], int] = {}
        self._arena = Arena(steps, registers)
        rows = [self._row(i, step) for i, step in enumerate(steps)]
        self.program = _core.Program(
            engine, self._values, rows, len(self.reads), self._arena.nbytes
        )

    def run(self, registers: list[Any], queue: Any, stream: Any) -> Any:
        """Submit the program over the arrays in ``registers``; return the event."""
        return self.program.run(stream, [registers[r] for r in self.reads])

    def _row(self, index: int, step: Step) -> tuple[Any, list[tuple[int, int]]]:
        tensors = {**step.inputs, **step.outputs}
        args = [(_core.argument_id(n), self._value(t)) for n, t in tensors.items()]
        scratchpad = self._arena.scratchpads.get(index)
        if scratchpad is not None:
            desc, offset = scratchpad
            args.append((_core.argument_id("scratchpad"), self._add(("arena", 0, offset, desc))))
        return step.primitive, args

    def _value(self, tensor: Tensor) -> int:
        storage = tensor.storage
        if storage.memory is not None:
            return self._add(("memory", _seen_as(tensor), 0, tensor.desc))
        register = self._registers.get(id(storage))
        if register is None:
            offset = self._arena.offsets[id(storage)] + tensor.offset
            return self._add(("arena", 0, offset, tensor.desc))
        if register not in self._places:
            self._places[register] = len(self.reads)
            self.reads.append(register)
        kind = "scalar" if storage.scalar else "array"
        return self._add((kind, self._places[register], tensor.offset, tensor.desc))

    def _add(self, value: tuple[Any, ...]) -> int:
        key = value if value[0] != "memory" else ("memory", id(value[1]))
        if key not in self._index:
            self._index[key] = len(self._values)
            self._values.append(value)
        return self._index[key]


def stretches(steps: Sequence[AnyStep]) -> list[list[Step] | ArrayStep]:
    """Group the steps: lists of primitives, and single calls over arrays."""
    groups: list[list[Step] | ArrayStep] = []
    for step in steps:
        if isinstance(step, ArrayStep):
            groups.append(step)
        elif groups and isinstance(groups[-1], list):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups
