# SPDX-License-Identifier: Apache-2.0
"""From traces to segments: dead-step elimination, memory planning, scheduling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from sycl_dnn import _core
from sycl_dnn._dpnp import place, usm_array
from sycl_dnn.onednn.shared_descriptors import shared
from sycl_dnn.program.donation import IN_PLACE
from sycl_dnn.program.host_copies import host_copy
from sycl_dnn.program.step_order import AnyStep, lifetimes, needs_of
from sycl_dnn.trace import layout
from sycl_dnn.trace.array import Target
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import ArrayStep, Planned, Step, is_kernel
from sycl_dnn.trace.values import MixedTraces, Storage, Tensor

# --- Memory planning: intermediate values with disjoint lifetimes share memory


class Places:
    """Offsets of values that use memory for a number of steps; ``capacity`` is their number."""

    def __init__(self, capacity: int) -> None:
        #: First and last step, first byte and the one after the last, by column.
        self._taken = np.empty((4, capacity), np.int64)
        self._count = 0

    def take(self, nbytes: int, first: int, last: int) -> int:
        """Reserve and return the lowest offset that is free from step ``first`` to ``last``."""
        firsts, lasts, starts, ends = self._taken[:, : self._count]
        alive = np.flatnonzero((firsts <= last) & (lasts >= first))
        in_order = alive[starts[alive].argsort()]
        # A free span begins after everything that begins before it.
        candidates = np.concatenate(([0], np.maximum.accumulate(ends[in_order])))
        fits = np.append(starts[in_order] - candidates[:-1] >= nbytes, True)
        offset = int(candidates[fits.argmax()])
        self._taken[:, self._count] = first, last, offset, offset + nbytes
        self._count += 1
        return offset


class Arena:
    """Offsets of scratchpads and intermediate storages of a segment.

    ``steps``: in execution order; ``placed``: storages that are already placed, by ``id``.
    """

    def __init__(self, steps: Sequence[Step], placed: Mapping[int, int]) -> None:
        #: By ``id`` of the storage.
        self.offsets: dict[int, int] = {}
        #: By step index: descriptor and offset.
        self.scratchpads: dict[int, tuple[Any, int]] = {}
        self.nbytes = 0
        spans = lifetimes(steps, placed)
        places = Places(len(spans))
        # Largest first, so that small ones fill the gaps.
        for key, (nbytes, first, last, desc) in sorted(spans.items(), key=lambda s: -s[1][0]):
            offset = places.take(nbytes, first, last)
            self.nbytes = max(self.nbytes, offset + nbytes)
            if key[0] == "scratchpad":
                self.scratchpads[key[1]] = (desc, offset)
            else:
                self.offsets[key[1]] = offset


# --- Segments


class _Reading(Protocol):
    """A step, or a node of a compiled function."""

    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]


S = TypeVar("S", bound=_Reading)


def live_steps(
    steps: Sequence[S], results: Iterable[Storage], keeps_collectives: bool = True
) -> list[S]:
    """Return the steps that the storages of results depend on, and all updates, in order.

    ``keeps_collectives``: whether to return all collectives too, since other ranks take part.
    """
    needed = {id(s) for s in results}
    live: list[S] = []
    for step in reversed(steps):
        written = [t.storage for t in step.outputs.values()]
        # A write to an argument updates the caller's array.
        is_update = any(id(s) in needed or s.argument is not None for s in written)
        if is_update or (keeps_collectives and starts_early(step)):
            live.append(step)
            needed |= {id(t.storage) for t in step.inputs.values()}
    return live[::-1]


def starts_early(step: Any) -> bool:
    """Whether later steps may overlap with a step, or a node: collectives, with ``start_into``."""
    return hasattr(getattr(step, "function", None), "start_into")


def scheduled(steps: Sequence[AnyStep], keeps_order: bool = False) -> list[list[AnyStep]]:
    """Group the steps so that those that can overlap start as early as possible.

    Each of these ends a group of its dependencies. Their order is kept, so that all ranks of a job
    run them in the same order. Other steps follow the last one that they depend on.

    ``steps``: in a valid execution order; ``keeps_order``: whether to keep the order because steps
    write to overlapping arrays.
    """
    early = [i for i, step in enumerate(steps) if starts_early(step)]
    if not early:
        return [list(steps)]
    before, placed = needs_of(steps), set[int]()
    lists: list[list[AnyStep]] = []
    for i in early:
        group = {i}
        stack = [i]
        while stack:
            predecessors = before[stack.pop()] - group - placed
            group |= predecessors
            stack.extend(predecessors)
        placed |= group
        lists.append([steps[j] for j in sorted(group)])
    last = [0] * len(steps)
    rest: dict[int, list[AnyStep]] = {}
    for i, step in enumerate(steps):
        last[i] = max((last[j] for j in before[i]), default=0)
        if starts_early(step):
            last[i] = i + 1
        if i not in placed:
            rest.setdefault(0 if keeps_order else last[i], []).append(step)
    return lists + [rest[number] for number in sorted(rest)]


def own_storage(
    trace: Trace, tensor: Tensor, used: set[int], target: Any = None,
    keeps_arguments: bool = True,
) -> Tensor:  # fmt: skip
    """Return a tensor with its own plain storage, copied if necessary.

    A returned argument remains the caller's array unless ``keeps_arguments`` is false.
    """
    untouched = tensor.storage.argument is not None and _is_array_of(tensor, tensor.storage)
    # Programs hold their constants: the caller may write to what it gets.
    untouched = (
        untouched and keeps_arguments and not (trace.is_compiled and tensor.storage.constant)
    )
    # Shapes () and (1,) share a descriptor, so the caller's shape is unknown.
    if target is None and untouched and not tensor.offset and tensor.desc.dims != (1,):
        return tensor
    target_desc = None if target is None else target.desc
    desc = _final_desc(tensor) if target_desc is None else target_desc
    is_own = (
        tensor.storage.argument is None
        and tensor.storage.memory is None
        and not tensor.storage.constant
        and id(tensor.storage) not in used
        and tensor.desc == desc
        and _fills(trace, tensor)
        and (target is None or not _conflicts(trace, target))
    )
    if not is_own:
        copy = Tensor(trace, Storage(desc), desc, tensor.dtype, tensor.shape)
        # A copy of a view was requested.
        moves = tensor.desc != desc and layout.is_dense(tensor.desc)
        inserted = moves or not tensor.desc.is_plain
        trace.steps.append(trace.copy_step(tensor, copy, inserted=inserted))
        tensor = copy
    used.add(id(tensor.storage))
    return tensor


def _is_array_of(tensor: Tensor, storage: Storage) -> bool:
    """Whether a tensor has dtype and layout of the array of its storage, whose shape may differ."""
    return tensor.desc == storage.desc and tensor.dtype == storage.dtype


def _final_desc(tensor: Tensor) -> Any:
    """Return the default dense layout of a result: its own axis order if plain."""
    if tensor.desc.is_plain:
        is_dense = layout.is_dense(tensor.desc)
        return tensor.desc if is_dense else layout.like(tensor.desc, tensor.dtype)
    final = layout.channels_last if tensor.ndim > 2 else layout.row_major
    return final(tensor.shape, tensor.dtype)


def _fills(trace: Trace, tensor: Tensor) -> bool:
    """Whether the tensor views all bytes of a storage that primitives write, in any shape."""
    storage_desc = tensor.storage.desc
    if tensor.desc == storage_desc:
        # Shapes () and (1,) share a descriptor; results of dpnp calls have their own shape.
        if not trace.is_written_by_call(tensor.storage) or trace.is_by_call(tensor):
            return True
        return storage_desc.dims != (1,) and _is_array_of(tensor, tensor.storage)
    same_size = not tensor.offset and tensor.desc.get_size() == storage_desc.get_size()
    return same_size and storage_desc.is_plain and not trace.is_written_by_call(tensor.storage)


def finalized(
    trace: Trace, results: Sequence[Tensor], targets: dict[int, Target] | None = None,
    keeps_arguments: bool = True,
) -> list[Tensor]:  # fmt: skip
    """Return the results in separate storages, as a call returns them.

    ``targets`` maps result indices to destination arrays. ``keeps_arguments``: whether a returned
    argument is the caller's array rather than a copy.
    """
    for tensor in results:
        if tensor.trace is not trace:
            raise MixedTraces(tensor, trace, tensor.trace)
    used: set[int] = set()
    targets = targets or {}
    if any(target.overlaps or target.in_place for target in targets.values()):
        results = [_apart(trace, tensor) for tensor in results]
    return [
        own_storage(trace, t, used, targets.get(i), keeps_arguments) for i, t in enumerate(results)
    ]


def _apart(trace: Trace, tensor: Tensor) -> Tensor:
    """Return a copy of a view of an argument, which a result might overwrite before it is read."""
    if tensor.storage.argument is None:
        return tensor
    desc = layout.like(tensor.desc, tensor.dtype)
    copy = Tensor(trace, Storage(desc), desc, tensor.dtype, tensor.shape)
    trace.steps.append(trace.copy_step(tensor, copy, inserted=True))
    return copy


def _conflicts(trace: Trace, target: Target) -> bool:
    """Whether writing to ``target`` could overwrite an input that is still needed."""
    if target.overlaps:
        return True
    if not target.in_place:
        return False
    only = trace.steps[0] if len(trace.steps) == 1 else None
    return not (isinstance(only, Step) and only.primitive and only.primitive.name in IN_PLACE)


def _memory_in_layout(tensor: Tensor) -> Any:
    """Return the destination memory with the layout of a view."""
    memory = tensor.storage.memory
    if tensor.desc == memory.desc and not tensor.offset:
        return memory
    buffer, start = place(usm_array(memory.owner[0]))
    spans = [(buffer, start + tensor.offset)]
    return _core.Memory(tensor.desc, memory.engine, spans, memory.owner, False, False)


class Segment:
    """A sequence of primitives compiled into one ``_core.Program`` over registers.

    The first ``n_kept`` registers have arrays that outlive a call that fails.
    """

    def __init__(
        self, engine: Any, steps: list[Step], registers: dict[int, int], n_kept: int
    ) -> None:
        #: Registers of the program's arrays, in order.
        self.reads: list[int] = []
        self._places: dict[int, int] = {}
        self._registers = registers
        self._values: list[tuple[Any, ...]] = []
        self._index: dict[tuple[Any, ...], int] = {}
        self._arena = Arena(steps, registers)
        rows = [self._row(i, step) for i, step in enumerate(steps)]
        writes = (i for i, step in enumerate(steps) if self._writes_kept(step, n_kept))
        first_kept = next(writes, len(steps))
        #: Whether it changes something that outlives a call that fails.
        self.changes_kept = first_kept < len(steps)
        self.program = _core.Program(
            engine, self._values, rows, len(self.reads), self._arena.nbytes, first_kept
        )

    def run(self, registers: list[Any], queue: Any, stream: Any) -> Any:
        """Submit the program on the arrays in ``registers``; return the event."""
        return self.program.run(stream, [registers[r] for r in self.reads])

    def _writes_kept(self, step: Step, n_kept: int) -> bool:
        written = [t.storage for t in step.outputs.values()]
        return any(
            s.memory is not None or self._registers.get(id(s), n_kept) < n_kept for s in written
        )

    def _row(self, index: int, step: Step) -> tuple[Any, list[tuple[int, int]]]:
        tensors = {**step.inputs, **step.outputs}
        kernel = _kernel_of(step.primitive)
        if kernel is not None:
            return kernel, [(i, self._value(t)) for i, t in enumerate(tensors.values())]
        args = [(_core.argument_id(n), self._value(t)) for n, t in tensors.items()]
        scratchpad = self._arena.scratchpads.get(index)
        if scratchpad is not None:
            desc, offset = scratchpad
            args.append((_core.argument_id("scratchpad"), self._add(("arena", 0, offset, desc))))
        primitive = step.primitive
        if isinstance(primitive, Planned):
            primitive = shared.primitive(primitive.primitive_desc, primitive.inserted)
        return primitive, args

    def _value(self, tensor: Tensor) -> int:
        storage = tensor.storage
        if storage.memory is not None:
            return self._add(("memory", _memory_in_layout(tensor), 0, tensor.desc))
        register = self._registers.get(id(storage))
        if register is None:
            offset = self._arena.offsets[id(storage)] + tensor.offset
            return self._add(("arena", 0, offset, tensor.desc))
        if register not in self._places:
            self._places[register] = len(self.reads)
            self.reads.append(register)
        return self._add(("array", self._places[register], tensor.offset, tensor.desc))

    def _add(self, value: tuple[Any, ...]) -> int:
        key = value if value[0] != "memory" else ("memory", id(value[1]))
        if key not in self._index:
            self._index[key] = len(self._values)
            self._values.append(value)
        return self._index[key]


def stretches(steps: Sequence[AnyStep]) -> list[list[Step] | ArrayStep]:
    """Group the steps into lists of primitives and single calls over arrays."""
    groups: list[list[Step] | ArrayStep] = []
    for step in steps:
        if isinstance(step, ArrayStep):
            groups.append(step)
        elif groups and isinstance(groups[-1], list):
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _kernel_of(primitive: Any) -> _core.Kernel | None:
    """Return the kernel of a step, or the host copy that replaces its reorder."""
    if primitive is None or is_kernel(primitive):
        return primitive
    return host_copy(primitive.primitive_desc)
