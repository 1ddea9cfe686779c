# SPDX-License-Identifier: Apache-2.0
"""What differs between two matrices, and whether something got worse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sycl_dnn.matrix import kinds
from sycl_dnn.matrix.record import Record, state_of

_SHOWN = 200


@dataclass(frozen=True)
class Change:
    """A case to which a target gives another answer than before."""

    target: str
    line: str
    old: str
    new: str

    @property
    def direction(self) -> int:
        """Negative if the new answer is worth less: optimised, simple, ref, refused, died."""
        old, new = (kinds.rank(state_of(text)) for text in (self.old, self.new))
        return new - old

    def __str__(self) -> str:
        return f"  {self.target}  {self.line}\n      {self.old} -> {self.new}"


@dataclass
class Difference:
    """Changes by what they are, and what only one side has.

    elsewhere : targets that were measured on two devices: their names, old and new
    unknown : targets that the old side lacks
    """

    changes: list[Change] = field(default_factory=list)
    compared: int = 0
    only_old: int = 0
    only_new: int = 0
    elsewhere: dict[str, tuple[str, str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    @property
    def worse(self) -> list[Change]:
        """Changes for the worse."""
        return [c for c in self.changes if c.direction < 0]

    @property
    def failures(self) -> list[Change]:
        """Changes for the worse on one and the same device."""
        return [c for c in self.worse if c.target not in self.elsewhere]

    @property
    def better(self) -> list[Change]:
        """Changes for the better."""
        return [c for c in self.changes if c.direction > 0]

    @property
    def other(self) -> Counter[tuple[str, str]]:
        """Changes between answers of the same worth: (old, new) -> how many."""
        return Counter((c.old, c.new) for c in self.changes if c.direction == 0)


def compare(old: Record, new: Record) -> Difference:
    """Return what changed, over the targets and cases that both have.

    Parameters
    ----------
    old, new : Record

    Returns
    -------
    Difference
    """
    found = Difference()
    shared = old.targets.keys() & new.targets.keys()
    found.unknown = sorted(new.targets.keys() - shared)
    for target in sorted(shared):
        devices = old.targets[target].get("device", ""), new.targets[target].get("device", "")
        if devices[0] != devices[1]:
            found.elsewhere[target] = devices
    for line, answers in new.cases.items():
        before = old.cases.get(line, {})
        for target in sorted(shared & answers.keys()):
            if target not in before:
                found.only_new += 1
                continue
            found.compared += 1
            if before[target] != answers[target]:
                found.changes.append(Change(target, line, before[target], answers[target]))
    drivers = {line.split()[0] for line in new.cases}
    for line, before in old.cases.items():
        if line.split()[0] in drivers:
            found.only_old += len((shared & before.keys()) - new.cases.get(line, {}).keys())
    return found


def lines(found: Difference) -> list[str]:
    """Return a difference as text."""
    text = []
    for title, changes in (("worse", found.worse), ("better", found.better)):
        if changes:
            text.append(f"{title}:")
            text += [str(change) for change in changes[:_SHOWN]]
            text += [f"  ... and {len(changes) - _SHOWN} more"] if len(changes) > _SHOWN else []
    if found.other:
        text.append("of the same worth:")
        text += [f"  {n} times {old} -> {new}" for (old, new), n in found.other.most_common()]
    counts = f"{len(found.worse)} worse, {len(found.better)} better, {found.other.total()} other"
    for target, (before, now) in found.elsewhere.items():
        text.append(f"{target}: measured on {before}, now on {now}: what differs does not count")
    text += [f"{target}: not in the old matrix, nothing to compare" for target in found.unknown]
    text.append(f"{found.compared} answers compared: {counts}")
    if found.only_old or found.only_new:
        text.append(f"answers on one side only: {found.only_old} old, {found.only_new} new")
    return text
