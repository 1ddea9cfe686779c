# SPDX-License-Identifier: Apache-2.0
"""``Executable``: a traced function, ready to run on arrays; calls over arrays as stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import dpnp
import numpy as np
from dpctl.memory import USMAllocationError

from sycl_dnn import _core
from sycl_dnn._dpnp import view
from sycl_dnn.errors import OutOfMemory, Unimplemented
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.constants import Constants
from sycl_dnn.program.donation import are_alone, overwritten_arguments
from sycl_dnn.program.intermediates import Intermediates
from sycl_dnn.program.segments import (
    Segment,
    live_steps,
    scheduled,
    starts_early,
    stretches,
)
from sycl_dnn.program.step_order import freeing_early, touched
from sycl_dnn.program.writing_calls import HostCall, WritingCall, writing_class
from sycl_dnn.trace import allocation, array_writes, profile_notes
from sycl_dnn.trace.allocation import wrap
from sycl_dnn.trace.array import wrapped
from sycl_dnn.trace.frozen import Frozen, Seed
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import ArrayStep, Step
from sycl_dnn.trace.trace_state import placement_error
from sycl_dnn.trace.values import Storage, Tensor


class ArrayCall:
    """A function of dpnp arrays as a stage of an executable."""

    def __init__(self, step: ArrayStep, registers: Mapping[int, int]) -> None:
        self.function = step.function
        self._takes_queue = getattr(step.function, "takes_queue", False)
        self._name = profile_notes.name_of(step.function)
        self._reads = [
            (registers[id(t.storage)], t.shape, t.strides, t.offset, dtypes.array_dtype(t.dtype))
            for t in step.inputs.values()
        ]
        self._writes = [
            (registers[id(t.storage)], t.shape, dtypes.array_dtype(t.dtype))
            for t in step.outputs.values()
        ]

    def allocate(self, registers: list[Any], queue: Any) -> None:
        """Allocate the results, to which ``run`` writes."""
        for register, shape, dtype in self._writes:
            if registers[register] is None:
                try:
                    array = dpnp.empty(shape, dtype=dtype, sycl_queue=queue)
                except USMAllocationError as error:
                    raise self._no_memory() from error
                registers[register] = array.get_array()

    def run(self, registers: list[Any], queue: Any, stream: Any) -> None:
        """Call the function and put its results into registers or existing arrays."""
        arguments = [_view(registers[r], *rest) for r, *rest in self._reads]
        keywords = {"queue": queue} if self._takes_queue else {}
        try:
            results = profile_notes.array_call(
                self._name, lambda: self.function(*arguments, **keywords), arguments, queue
            )
        except (USMAllocationError, RuntimeError) as error:
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from error
        results = results if isinstance(results, (tuple, list)) else [results]
        for (register, shape, dtype), array in zip(self._writes, results, strict=True):
            dense = dpnp.ascontiguousarray(array, dtype=dtype).reshape(shape)
            if registers[register] is None:
                registers[register] = dense.get_array()
            else:
                wrap(registers[register])[...] = dense

    @property
    def _shapes(self) -> str:
        return ", ".join(str(shape) for _, shape, _ in self._writes)

    def _no_memory(self) -> OutOfMemory:
        return OutOfMemory(f"{self._name}: no memory for a result of {self._shapes}")

    def _explained(self, error: Exception) -> Exception | None:
        """Add the name of the function to errors that would be unhelpful without it."""
        if isinstance(error, USMAllocationError):
            return self._no_memory()
        if "id-queries-range" in str(error):
            return Unimplemented(
                f"{self._name}: dpnp has no kernel for 2**31 elements or more, got a result of "
                f"{self._shapes}; call it on parts"
            )
        return None


def _view(array: Any, shape: Any, strides: Any, offset: int, dtype: Any) -> Any:
    return wrap(view(array, shape, dtype, strides, offset // dtype.itemsize))


# --- Executable


class Executable:
    """The programs of a trace, and the registers for their arrays.

    Registers hold the arguments, then constants, then the allocations of each call.

    steps : steps to run, in order; those that no result depends on are omitted
    finals : results of a call, each from ``own_storage``
    arguments : arrays passed by a call, in order
    saved : storages that a call also returns, for a later reverse pass
    keeps_order : as for ``scheduled``
    donated : arguments that results may overwrite
    """

    def __init__(
        self,
        trace: Trace,
        steps: Sequence[Step | ArrayStep],
        finals: Sequence[Tensor],
        arguments: Sequence[Storage],
        saved: Sequence[Storage] = (),
        keeps_order: bool = False,
        donated: Sequence[Storage] = (),
    ) -> None:
        self._keep = (trace, finals)  # keeps the ids of storages unique
        argument_set = set(arguments)
        self.captured = [c for c in trace.captured if c[2].storage in argument_set]
        self._registers = {id(s): i for i, s in enumerate(arguments)}
        self.n_registers = self._n_arguments = len(arguments)
        #: Arguments that calls may pass as the bytes of a number.
        self.numbers = [(i, np.dtype(s.dtype)) for i, s in enumerate(arguments) if s.scalar]
        self.blanks: list[tuple[int, allocation.Blank]] = []
        returned = [*(t.storage for t in finals), *saved]
        #: Results that view their whole storage in another shape than the step that writes it.
        self._shown = {id(t.storage): t for t in finals if t.storage.argument is None}
        live = live_steps(steps, returned)
        self.constants = Constants(self, trace.engine, live, saved)
        constant_ids = {id(s) for s in self.constants.steps}
        lists = scheduled([s for s in live if id(s) not in constant_ids], keeps_order)
        groups = [group for steps in lists for group in stretches(steps)]
        #: Indices of arguments that results overwrite.
        self.overwritten = self._take(groups, finals, donated, saved)
        returned_ids = {id(s) for s in returned}
        for group, crossing in zip(groups, _crossing(groups), strict=True):
            self._number(group, crossing | returned_ids)
        self.results = [self._registers[id(t.storage)] for t in finals]
        self.result_dtypes = [str(t.dtype) for t in finals]
        self.saved = [self._registers[id(s)] for s in saved]
        self.stages = [self._stage(trace.engine, g, keeps_order) for g in groups]
        self._joined_before = _joins(groups)
        self._first_change = self._find_first_change()
        #: Results allocated by calls over arrays, unless the caller passes a destination.
        self._by_arrays = set(self.results) - {r for r, _ in self.blanks}
        self._by_arrays -= set(range(self._n_arguments))
        written = {id(t.storage) for s in live for t in s.outputs.values()}
        self._written = [(self._registers[id(s)], n) for s, n in trace.written if id(s) in written]
        #: Arguments whose memory a call changes.
        self._changed = {r for r, _ in self._written} | self.overwritten
        self._alone = {self._registers[id(s)] for s in trace.alone if id(s) in written}
        self._intermediates = self._kept_intermediates()
        #: What a call allocates besides.
        self._others = [b for b in self.blanks if b[0] not in self._intermediates.registers]
        self._find_short_ways()

    def _find_short_ways(self) -> None:
        only = self.stages[0] if len(self.stages) == 1 else None
        #: The single program that a call submits; None if there are more stages.
        self.only_segment = only if isinstance(only, Segment) and not self._written else None
        #: The same if there are only arguments and results: the fastest path.
        self._single = None if self.captured or self.constants else self.only_segment
        #: Number of arrays passed by a call; captured ones follow.
        self.n_given = self._n_arguments - len(self.captured)

    def _find_first_change(self) -> int:
        """Return the first stage whose effects outlive a call in which a later one fails.

        Until then programs may run while the driver builds kernels, which it may refuse. A program
        at the end waits by itself.
        """
        last = len(self.stages) - 1
        for number, stage in enumerate(self.stages):
            if isinstance(stage, Segment):
                is_change = stage.changes_kept and number < last
            else:
                is_change = not isinstance(stage, HostCall) or stage.writes_below(self._n_arguments)
            if is_change:
                return number
        return last + 1

    def finish_builds(self) -> None:
        """Wait until the driver has built all kernels; raise if it refuses one."""
        for program in self.programs:
            program.finish_builds()

    def _kept_intermediates(self) -> Intermediates:
        """Return the arrays between stages, if each stage is a program or a call of NumPy.

        Such a call waits for what precedes it, so only the last stage may be unfinished.
        """
        calls = [s for s in self.stages if isinstance(s, HostCall)]
        others = [s for s in self.stages if not isinstance(s, (HostCall, Segment))]
        outside = {*self.results, *self.saved, *self._changed}
        inside = [b for b in self.blanks if b[0] not in outside] if calls and not others else []
        kept = Intermediates(inside)
        for call in calls:
            call.kept = kept.registers
        return kept

    def is_given_or_captured(self) -> bool:
        """Whether the arguments are those of a call, followed by captured arrays."""
        captured = {self._registers[id(tensor.storage)] for *_, tensor in self.captured}
        return captured == set(range(self.n_given, self._n_arguments))

    def give(self, kind: type = object) -> list[Any]:
        """Turn captured values of a class into arguments; return them in that order."""
        given = [value for _, value, _ in self.captured if isinstance(value, kind)]
        self.captured = [c for c in self.captured if not isinstance(c[1], kind)]
        self._find_short_ways()
        return given

    def register(self, storage: Storage) -> int:
        """Return the register of a storage, adding one if it is new."""
        if id(storage) not in self._registers:
            self._registers[id(storage)] = self.n_registers
            self.n_registers += 1
        return self._registers[id(storage)]

    def is_argument(self, storage: Storage) -> bool:
        """Whether the caller passes a storage."""
        return self._registers.get(id(storage), self._n_arguments) < self._n_arguments

    def _take(
        self, groups: Sequence[list[Step] | ArrayStep], finals: Sequence[Tensor],
        donated: Sequence[Storage], saved: Sequence[Storage],
    ) -> frozenset[int]:  # fmt: skip
        """Assign registers of arguments to results; return which."""
        if not donated:
            return frozenset()
        fixed = {id(t.storage) for s in self.constants.steps for t in s.inputs.values()}
        donated = [s for s in donated if id(s) not in fixed and not s.constant]
        steps = [s for g in groups for s in (g if isinstance(g, list) else [g])]
        overwritten = overwritten_arguments(steps, finals, donated, saved)
        self._registers |= {key: self._registers[id(s)] for key, s in overwritten.items()}
        return frozenset(self._registers[id(s)] for s in overwritten.values())

    def _number(self, group: list[Step] | ArrayStep, needed: set[int]) -> None:
        """Assign registers to storages of this group that others or the caller need."""
        for step in group if isinstance(group, list) else [group]:
            for tensor in step.outputs.values():
                is_new = id(tensor.storage) not in self._registers
                if is_new and (id(tensor.storage) in needed or isinstance(step, ArrayStep)):
                    register = self.register(tensor.storage)
                    if isinstance(step, Step) or writing_class(step):
                        blank_tensor = self._shown.get(id(tensor.storage), _whole(tensor))
                        self.blanks.append((register, allocation.blank_of(blank_tensor)))

    def _stage(
        self, engine: Any, group: list[Step] | ArrayStep, keeps_order: bool
    ) -> Segment | ArrayCall | WritingCall:
        if isinstance(group, ArrayStep):
            return (writing_class(group) or ArrayCall)(group, self._registers)
        steps = group if keeps_order else freeing_early(group, self._registers)
        return Segment(engine, steps, self._registers, self._n_arguments)

    def run(
        self, queue: Any, stream: Any, arguments: list[Any], kind: Any,
        outs: dict[int, Any] | None = None, frozen: dict[int, Any] | None = None,
        numbers: Sequence[float] = (),
    ) -> list[Any]:  # fmt: skip
        """Submit, and return the registers.

        ``arguments``: arrays passed by the caller, as objects with ``_pointer``; ``kind``:
        allocator of the results; ``outs``: destination arrays by result index; ``frozen``: by
        argument index: the owner of its packed copies; ``numbers``: those among the arguments of
        the call.
        """
        stream.let_go()
        if self._single is not None:
            registers = self._allocated(queue, arguments, kind, outs, self.blanks)
            self._run_over(registers, queue, stream, outs)
            return registers
        registers = self._allocated(queue, arguments, kind, outs, self._others)
        self._intermediates.fill(registers, queue, kind)
        self._complete(registers, queue, stream, frozen, numbers)
        last = self._run_over(registers, queue, stream, outs)
        self._intermediates.give_back(registers, queue, kind, last)
        return registers

    def _run_over(self, registers: list[Any], queue: Any, stream: Any, outs: Any) -> Any:
        stages = [partial(s.run, registers, queue, stream) for s in self.stages]
        first = 0 if outs else self._first_change
        if first < len(stages):
            stages[first] = partial(self._run_after_builds, stages[first])
        changed = [registers[r] for r in self._changed]
        return self.submit(stream, stages, [*(outs or {}).values(), *changed])

    def _run_after_builds(self, stage: Callable[[], Any]) -> Any:
        self.finish_builds()
        return stage()

    def submit(self, stream: Any, stages: Sequence[Callable[[], Any]], written: Any = ()) -> Any:
        """Run the stages in order; then record their writes, which others may read.

        Returns what the last stage returns: an event if it is a program.
        """
        try:
            return self._submit(stream, stages)
        finally:
            array_writes.note(*written)

    def _submit(self, stream: Any, stages: Sequence[Callable[[], Any]]) -> Any:
        """Run the stages in order; join overlapping ones before stages that need them."""
        if not self._joined_before:
            last = None
            for stage in stages:
                last = stage()
            return last
        started: dict[int, Any] = {}
        try:
            for number, stage in enumerate(stages):
                for earlier in self._joined_before[number]:
                    _join(started.pop(earlier, None), stream)
                started[number] = stage()
        finally:
            for call in started.values():
                _join(call, stream)

    def registers(
        self,
        queue: Any,
        stream: Any,
        arguments: list[Any],
        kind: Any,
        outs: dict[int, Any] | None = None,
        frozen: dict[int, Any] | None = None,
        numbers: Sequence[float] = (),
    ) -> list[Any]:
        """Prepare the registers of a call without submitting; parameters as for ``run``."""
        registers = self._allocated(queue, arguments, kind, outs, self.blanks)
        self._complete(registers, queue, stream, frozen, numbers)
        return registers

    def _allocated(
        self, queue: Any, arguments: list[Any], kind: Any, outs: dict[int, Any] | None,
        blanks: Sequence[tuple[int, allocation.Blank]],
    ) -> list[Any]:  # fmt: skip
        registers = arguments + [None] * (self.n_registers - len(arguments))
        for register, dtype in self.numbers:
            value = registers[register]
            if value.__class__ is bytes:
                registers[register] = allocation.scalar_of_bytes(value, dtype, queue)
        targets = {self.results[i]: a for i, a in outs.items()} if outs else {}
        for register, blank in blanks:
            registers[register] = (
                targets[register] if register in targets else blank.new(queue, kind)
            )
        if outs:
            for register in self._by_arrays.intersection(targets):
                registers[register] = targets[register]
        return registers

    @property
    def seeds(self) -> dict[int, Seed]:
        """The captured seeds by register."""
        captured = [(value, t.storage) for _, value, t in self.captured]
        return {self._registers[id(s)]: v for v, s in captured if isinstance(v, Seed)}

    def written(self, registers: list[Any]) -> list[Any]:
        """Return the results of a call, and the arguments whose memory it changes."""
        return [registers[r] for r in {*self.results, *self._changed}]

    def _complete(
        self, registers: list[Any], queue: Any, stream: Any, frozen: Any, numbers: Sequence[float]
    ) -> None:
        """Fill the registers that the caller does not pass: captured arrays, seeds, constants."""
        frozen = dict(frozen or {})
        for index, value, tensor in self.captured:
            register = self._registers[id(tensor.storage)]
            if isinstance(value, Seed):
                array = value.array(queue, numbers, is_kept=register in self.results)
            else:
                array = value.get_array()
                if array.sycl_queue != queue:
                    raise placement_error(array.sycl_queue, queue)
            registers[register] = array
            if isinstance(value, Frozen):
                frozen[index] = value
        self.constants.fill(registers, queue, stream, frozen)
        for register, name in self._written:
            if not registers[register].flags.writable:
                raise ValueError(f"{name} must be writable and without negative strides")
        if self._alone and not are_alone(registers[: self._n_arguments], self._alone, ()):
            raise ValueError(
                "an array that a function is given and writes to must not share memory with "
                "another argument; pass a copy"
            )

    def leaves(self, registers: list[Any], arguments: list[Any]) -> list[Any]:
        """Return the results of a call: new arrays, or arrays from ``arguments``."""
        return [
            arguments[r] if r < len(arguments) else wrapped(registers[r], dtype)
            for r, dtype in zip(self.results, self.result_dtypes, strict=True)
        ]

    @property
    def programs(self) -> list[Any]:
        """The ``_core.Program`` objects, in order."""
        return [s.program for s in self.stages if isinstance(s, Segment)]


def _join(started: Any, stream: Any) -> None:
    if isinstance(started, _core.StartedCollective):
        started.join(stream)


def _joins(groups: Sequence[list[Step] | ArrayStep]) -> list[list[int]]:
    """Return for each group the indices of those to join first; [] if none starts early."""
    running: dict[int, tuple[set[int], set[int]]] = {}
    joined = []
    for number, group in enumerate(groups):
        steps = [group] if isinstance(group, ArrayStep) else group
        read, written = (set().union(*sides) for sides in zip(*map(touched, steps), strict=True))
        needed = [
            earlier
            for earlier, (reads, writes) in running.items()
            if writes & (read | written) or reads & written
        ]
        joined.append(needed)
        for earlier in needed:
            del running[earlier]
        if isinstance(group, ArrayStep) and starts_early(group):
            running[number] = read, written
    return joined if any(isinstance(g, ArrayStep) and starts_early(g) for g in groups) else []


def _whole(tensor: Tensor) -> Tensor:
    """Return the tensor, or one over its whole storage if it covers only part."""
    storage = tensor.storage
    if not tensor.offset and tensor.desc.get_size() == storage.nbytes:
        return tensor
    return Tensor(tensor.trace, storage, storage.desc, tensor.dtype, storage.desc.dims)


def _crossing(groups: Sequence[list[Step] | ArrayStep]) -> list[set[int]]:
    """Return for each group the ids of the storages it writes that others or calls read."""
    readers: dict[int, set[int]] = {}
    for number, group in enumerate(groups):
        is_call = isinstance(group, ArrayStep)
        for step in [group] if isinstance(group, ArrayStep) else group:
            for tensor in step.inputs.values():
                # A call is treated as another group even for its own results.
                readers.setdefault(id(tensor.storage), set()).add(-1 if is_call else number)
    crossing = []
    for number, group in enumerate(groups):
        steps = [group] if isinstance(group, ArrayStep) else group
        written_ids = {id(t.storage) for s in steps for t in s.outputs.values()}
        crossing.append({key for key in written_ids if readers.get(key, set()) - {number}})
    return crossing
