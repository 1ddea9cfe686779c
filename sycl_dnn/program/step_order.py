# SPDX-License-Identifier: Apache-2.0
"""Scheduling of steps to reduce peak memory: steps that free large values run early."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn.trace.steps import ArrayStep, Step, is_kernel

AnyStep = Step | ArrayStep

#: Alignment of values in bytes.
ALIGNMENT = 256
#: Values up to this size may be computed early, such as scalars read by updates of large arrays.
_SMALL = 4096
#: Shorter programs are not reordered.
_MIN_STEPS = 4

#: By kind and key: bytes, first and last step, and a scratchpad's descriptor.
Lifetimes = dict[tuple[str, int], tuple[int, int, int, Any]]


def lifetimes(steps: Sequence[AnyStep], placed: Mapping[int, int]) -> Lifetimes:
    """Return the lifetimes of unplaced values, by id of the storage, and of scratchpads.

    Raises RuntimeError if a step reads a value that no step writes before: a pass is wrong.
    """
    spans: Lifetimes = {}
    for index, step in enumerate(steps):
        for tensor in (*step.outputs.values(), *step.inputs.values()):
            storage = tensor.storage
            if id(storage) in placed or storage.memory is not None:
                continue
            key = ("storage", id(storage))
            span = spans.get(key)
            if span is None:
                if all(t.storage is not storage for t in step.outputs.values()):
                    raise RuntimeError(f"step {index} reads a value that is written later")
                spans[key] = (_rounded(storage.nbytes), index, index, None)
            elif span[2] != index:
                spans[key] = (span[0], span[1], index, None)
        if isinstance(step, ArrayStep) or step.primitive is None or is_kernel(step.primitive):
            continue
        desc = step.primitive.primitive_desc.scratchpad_desc
        if desc.size:
            spans["scratchpad", index] = (_rounded(desc.size), index, index, desc)
    return spans


def _rounded(nbytes: int) -> int:
    return (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def largest_need(spans: Lifetimes, n_steps: int) -> int:
    """Return the peak memory in bytes."""
    changes = [0] * (n_steps + 1)
    for nbytes, first, last, _ in spans.values():
        changes[first] += nbytes
        changes[last + 1] -= nbytes
    return max(itertools.accumulate(changes))


def needs_of(steps: Sequence[AnyStep], same: Mapping[int, int] | None = None) -> list[set[int]]:
    """Return for each step the indices of direct predecessors, sufficient for a valid order.

    These are the writers of what it reads or writes, and the readers of what it overwrites.
    Storages that ``same`` maps to one number share memory.
    """
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    predecessors: list[set[int]] = []
    for i, step in enumerate(steps):
        read, written = touched(step)
        if same:
            # Ids are positive, so shared memory gets negative keys.
            read, written = ({~same[k] if k in same else k for k in s} for s in (read, written))
        needed = {writer[key] for key in read | written if key in writer}
        for key in written:
            needed.update(readers.pop(key, ()))
            writer[key] = i
        for key in read:
            readers.setdefault(key, []).append(i)
        predecessors.append(needed - {i})
    return predecessors


def touched(step: AnyStep) -> tuple[set[int], set[int]]:
    """Return the ids of the storages that a step reads and writes."""
    return (
        {id(t.storage) for t in step.inputs.values()},
        {id(t.storage) for t in step.outputs.values()},
    )


def freeing_early(steps: list[Step], placed: Mapping[int, int]) -> list[Step]:
    """Return the steps in an order with lower peak memory, if there is one.

    A trace ends with the parameter updates, which would keep all gradients alive until then. Steps
    that free at least as much as they allocate run as soon as possible.

    ``steps``: in a valid execution order; ``placed``: memory that placed storages occupy, by
    ``id``.
    """
    if len(steps) < _MIN_STEPS:
        return steps
    spans = lifetimes(steps, placed)
    moved = _moved(steps, spans, needs_of(steps, placed))
    if all(map(operator.is_, moved, steps)):
        return steps
    before = largest_need(spans, len(steps))
    return moved if largest_need(lifetimes(moved, placed), len(steps)) < before else steps


def _moved(steps: list[Step], spans: Lifetimes, needs: list[set[int]]) -> list[Step]:
    #: Current and earliest position of each step; those needed by memory-freeing steps move early.
    place: list[int] = []
    early: list[int] = []
    #: By id of a large storage: the last position of a step that uses it.
    used: dict[int, int] = {}
    for i, step in enumerate(steps):
        keys = set.union(*touched(step))
        storage_spans = {k: spans["storage", k] for k in keys if ("storage", k) in spans}
        large = {k: span for k, span in storage_spans.items() if span[0] > _SMALL}
        dying = [k for k, (_, first, last, _) in large.items() if first < i == last]
        freed = sum(large[k][0] for k in dying)
        born = sum(nbytes for nbytes, first, last, _ in large.values() if first == i < last)
        earliest = max([-1, *(early[j] for j in needs[i]), *(used[k] for k in dying)])
        early.append(earliest if freed >= born else i)
        place.append(i)
        if freed > born:
            _pull(i, place, early, needs)
        for k in large:
            used[k] = max(used.get(k, -1), early[i])
    return [steps[i] for i in sorted(range(len(steps)), key=lambda i: (place[i], i))]


def _pull(number: int, place: list[int], early: list[int], needs: list[set[int]]) -> None:
    """Move a step and its predecessors to their earliest positions."""
    stack = [number]
    while stack:
        i = stack.pop()
        if early[i] < place[i]:
            place[i] = early[i]
            stack.extend(needs[i])
