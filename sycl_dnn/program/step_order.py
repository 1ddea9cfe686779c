# SPDX-License-Identifier: Apache-2.0
"""The order of steps: what ends the need for large values runs as soon as it can."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn.trace.steps import ArrayStep, Step, is_kernel

AnyStep = Step | ArrayStep

#: Every value starts at a multiple of this many bytes.
ALIGNMENT = 256
#: Values of up to this many bytes may be made early: numbers that an update of large ones reads.
_SMALL = 4096
#: Fewer steps have no order to choose.
_LEAST_STEPS = 4

#: By kind and number: bytes, first and last step, and the descriptor of a scratchpad.
Lifetimes = dict[tuple[str, int], tuple[int, int, int, Any]]


def lifetimes(steps: Sequence[AnyStep], placed: Mapping[int, int]) -> Lifetimes:
    """Return when each value without a place is needed, by id of its storage, and scratchpads."""
    spans: Lifetimes = {}
    for index, step in enumerate(steps):
        for tensor in (*step.inputs.values(), *step.outputs.values()):
            storage = tensor.storage
            if id(storage) in placed or storage.memory is not None:
                continue
            key = ("storage", id(storage))
            first = spans[key][1] if key in spans else index
            spans[key] = (_rounded(storage.nbytes), first, index, None)
        if isinstance(step, ArrayStep) or step.primitive is None or is_kernel(step.primitive):
            continue
        desc = step.primitive.primitive_desc.scratchpad_desc
        if desc.size:
            spans["scratchpad", index] = (_rounded(desc.size), index, index, desc)
    return spans


def _rounded(nbytes: int) -> int:
    return (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def largest_need(spans: Lifetimes, n_steps: int) -> int:
    """Return the most bytes that are needed during one step."""
    changes = [0] * (n_steps + 1)
    for nbytes, first, last, _ in spans.values():
        changes[first] += nbytes
        changes[last + 1] -= nbytes
    return max(itertools.accumulate(changes))


def needs_of(steps: Sequence[AnyStep], same: Mapping[int, int] | None = None) -> list[set[int]]:
    """Return for each step the numbers of those that must run before it, some of them at least.

    Those are the writers of what it reads or writes, and the readers of what it overwrites.
    Storages that have one number in ``same``, by their id, are one memory.
    """
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    found: list[set[int]] = []
    for i, step in enumerate(steps):
        read, written = touched(step)
        if same:
            # Ids are positive, so numbers are made negative.
            read, written = ({~same[k] if k in same else k for k in s} for s in (read, written))
        needed = {writer[key] for key in read | written if key in writer}
        for key in written:
            needed.update(readers.pop(key, ()))
            writer[key] = i
        for key in read:
            readers.setdefault(key, []).append(i)
        found.append(needed - {i})
    return found


def touched(step: AnyStep) -> tuple[set[int], set[int]]:
    """Return the ids of the storages that a step reads, and of those that it writes."""
    return (
        {id(t.storage) for t in step.inputs.values()},
        {id(t.storage) for t in step.outputs.values()},
    )


def freeing_early(steps: list[Step], placed: Mapping[int, int]) -> list[Step]:
    """Return the steps in an order that needs less memory at one time, if there is one.

    A trace has the update of parameters at its end, so all gradients would live until then. Steps
    that free no less than they take follow what they need at once.

    Parameters
    ----------
    steps : list of Step
        In an order in which they can run.
    placed : dict
        By ``id`` of a storage: the number of the place of those that have one.
    """
    if len(steps) < _LEAST_STEPS:
        return steps
    spans = lifetimes(steps, placed)
    moved = _moved(steps, spans, needs_of(steps, placed))
    before = largest_need(spans, len(steps))
    return moved if largest_need(lifetimes(moved, placed), len(steps)) < before else steps


def _moved(steps: list[Step], spans: Lifetimes, needs: list[set[int]]) -> list[Step]:
    #: Where each step goes, and where it could: there it goes if one that frees memory needs it.
    place: list[int] = []
    early: list[int] = []
    #: By id of a large storage: the last place of a step that touches it.
    used: dict[int, int] = {}
    for i, step in enumerate(steps):
        keys = set.union(*touched(step))
        known = {k: spans["storage", k] for k in keys if ("storage", k) in spans}
        large = {k: span for k, span in known.items() if span[0] > _SMALL}
        dying = [k for k, (_, first, last, _) in large.items() if first < i == last]
        freed = sum(large[k][0] for k in dying)
        born = sum(nbytes for nbytes, first, last, _ in large.values() if first == i < last)
        could = max([-1, *(early[j] for j in needs[i]), *(used[k] for k in dying)])
        early.append(could if freed >= born else i)
        place.append(i)
        if freed > born:
            _pull(i, place, early, needs)
        for k in large:
            used[k] = max(used.get(k, -1), early[i])
    return [steps[i] for i in sorted(range(len(steps)), key=lambda i: (place[i], i))]


def _pull(number: int, place: list[int], early: list[int], needs: list[set[int]]) -> None:
    """Move a step to where it could go, and those that it needs there."""
    found = [number]
    while found:
        i = found.pop()
        if early[i] < place[i]:
            place[i] = early[i]
            found.extend(needs[i])
