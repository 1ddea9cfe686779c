# SPDX-License-Identifier: Apache-2.0
"""A measured matrix: stored in a file, filled, and compared with another one.

The file is JSON with ``schema``, ``targets`` (name -> facts), ``answers`` (texts) and ``cases``
(line -> one index into ``answers`` for each target, -1 where it was not asked). An answer is the
name of an implementation, or a state and a reason with a colon and a blank between.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.matrix.families import Cell
from sycl_dnn.tools.explain import probe
from sycl_dnn.tools.explain.probe import LEVELS, Answer, ProbeError, Prober, target_name

SCHEMA = 1
MAX_BYTES = 64 << 20
_WITHOUT = ("refused", "invalid", "died")


class RecordError(ValueError):
    """A file that is not a matrix."""


def text_of(answer: Answer) -> str:
    """Return an answer in the form of the file."""
    return answer.impl if answer.impl else f"{answer.state}: {answer.reason}"


def state_of(text: str) -> str:
    """Return the state that an answer of the file represents."""
    word = text.partition(": ")[0]
    return word if word in _WITHOUT else probe.state(text)


@dataclass
class Record:
    """A matrix.

    targets : name -> facts: device, kind, isa, simulated, driver, threads, versions
    cases : line -> target -> answer
    absent : levels of the instruction set that the machine does not have
    """

    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    cases: dict[str, dict[str, str]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def put(self, target: str, line: str, answer: Answer) -> None:
        """Store the answer of a target to a case."""
        self.cases.setdefault(line, {})[target] = text_of(answer)

    def add(self, other: Record) -> None:
        """Add the targets of another matrix that this one lacks."""
        new = [name for name in other.targets if name not in self.targets]
        self.targets |= {name: other.targets[name] for name in new}
        for line, answers in other.cases.items():
            taken = {name: answers[name] for name in new if name in answers}
            if taken:
                self.cases.setdefault(line, {}).update(taken)
        self.absent = self.absent or other.absent

    def save(self, path: Path) -> None:
        """Write the file, a line for each case."""
        names = list(self.targets)
        answers: dict[str, int] = {}
        rows = {
            line: [answers.setdefault(f[n], len(answers)) if n in f else -1 for n in names]
            for line, f in self.cases.items()
        }
        parts = {"schema": SCHEMA, "absent": self.absent}
        head = [f'"{key}": {json.dumps(value)}' for key, value in parts.items()]
        head += [_block("targets", "{}", (_pair(k, v) for k, v in self.targets.items()))]
        head += [_block("answers", "[]", (json.dumps(text) for text in answers))]
        head += [_block("cases", "{}", (_pair(k, v) for k, v in rows.items()))]
        path.write_text("{" + ",\n".join(head) + "}\n")


def _pair(key: str, value: Any) -> str:
    return f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"


def _block(name: str, brackets: str, lines: Iterator[str]) -> str:
    return f'"{name}": {brackets[0]}\n' + ",\n".join(lines) + f"\n{brackets[1]}"


def load(path: Path) -> Record:
    """Read a file that `Record.save` wrote.

    Raises
    ------
    RecordError
        It cannot be read, or has another form; the message begins with the path.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RecordError(f"{path}: a matrix must have at most {MAX_BYTES} bytes")
        data = json.loads(path.read_text())
        if data["schema"] != SCHEMA:
            raise RecordError(f"{path}: schema must be {SCHEMA}, got {data['schema']}")
        return _record(data)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from error
    except (KeyError, TypeError, IndexError, AttributeError, json.JSONDecodeError) as error:
        raise RecordError(f"{path}: must be a matrix of this command, got {error!r}") from error


def _record(data: dict[str, Any]) -> Record:
    names, answers = list(data["targets"]), data["answers"]
    cases = {
        line: {n: answers[i] for n, i in zip(names, row, strict=False) if i >= 0}
        for line, row in data["cases"].items()
    }
    return Record(data["targets"], cases, data["absent"])


#: The states that are counted, in the order of the numbers.
COUNTED = ("optimized", "simple", "ref", "refused", "invalid", "died")


def counts(record: Record) -> dict[str, dict[str, list[int]]]:
    """Return how many cases of each driver have each of `COUNTED`: driver -> target -> numbers."""
    result: dict[str, dict[str, list[int]]] = {}
    for line, answers in record.cases.items():
        targets = result.setdefault(line.split()[0].removeprefix("--"), {})
        for target, text in answers.items():
            numbers = targets.setdefault(target, [0] * len(COUNTED))
            numbers[COUNTED.index(state_of(text))] += 1
    return result


# --- Filling a record: the selected targets, and all cells on each


def _is_meant(prober: Prober, absent: list[str]) -> bool:
    """Whether the machine has the requested level; record the level as absent otherwise."""
    if prober.isa in ("", prober.facts["isa"]) or prober.facts["kind"] != "cpu":
        return True
    absent.append(prober.isa)
    return False


def _probers(device: str, levels: tuple[str, ...], absent: list[str]) -> Iterator[Prober]:
    """Iterate over processes: one for a GPU, one for each level of the CPU that there is."""
    first, *rest = levels or LEVELS
    with Prober(device, first) as prober:
        if _is_meant(prober, absent):
            yield prober
        if prober.facts["kind"] != "cpu":
            return
    for level in rest:
        with Prober(device, level) as prober:
            if _is_meant(prober, absent):
                yield prober


def measure(
    devices: Iterable[str], levels: tuple[str, ...], cells: list[Cell], tell: Callable[[str], None]
) -> Record:
    """Return the matrix of these cells on these devices.

    Parameters
    ----------
    devices : filter strings of dpctl's
    levels : of the CPU; empty for all that the machine has
    cells : what to ask
    tell : takes a line for each target

    Raises
    ------
    ProbeError
        There is no such device, or the machine has none of the levels.
    """
    record = Record()
    for device in devices:
        for prober in _probers(device, levels, record.absent):
            name = target_name(prober.facts)
            record.targets[name] = prober.facts
            for cell in cells:
                record.put(name, cell.line, prober.ask(cell.case))
            tell(f"{name}: {len(cells)} descriptors asked for")
    if not record.targets:
        raise ProbeError(f"this machine has none of the levels {', '.join(levels)}")
    return record


# --- Differences between two matrices, and whether anything got worse

_SHOWN = 200


@dataclass(frozen=True)
class Change:
    """A case to which a target gives a different answer than before."""

    target: str
    line: str
    old: str
    new: str

    @property
    def direction(self) -> int:
        """Negative if the new answer is worth less: optimized, simple, ref, refused, died."""
        old, new = (probe.rank(state_of(text)) for text in (self.old, self.new))
        return new - old

    def __str__(self) -> str:
        return f"  {self.target}  {self.line}\n      {self.old} -> {self.new}"


@dataclass
class Difference:
    """Changes by kind, and what only one side has.

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
        return [c for c in self.changes if c.direction < 0]

    @property
    def failures(self) -> list[Change]:
        """Changes for the worse on the same device."""
        return [c for c in self.worse if c.target not in self.elsewhere]

    @property
    def better(self) -> list[Change]:
        return [c for c in self.changes if c.direction > 0]

    @property
    def other(self) -> Counter[tuple[str, str]]:
        """Changes between answers of equal worth: (old, new) -> how many."""
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
    result = Difference()
    shared = old.targets.keys() & new.targets.keys()
    result.unknown = sorted(new.targets.keys() - shared)
    for target in sorted(shared):
        devices = old.targets[target].get("device", ""), new.targets[target].get("device", "")
        if devices[0] != devices[1]:
            result.elsewhere[target] = devices
    for line, answers in new.cases.items():
        before = old.cases.get(line, {})
        for target in sorted(shared & answers.keys()):
            if target not in before:
                result.only_new += 1
                continue
            result.compared += 1
            if before[target] != answers[target]:
                result.changes.append(Change(target, line, before[target], answers[target]))
    drivers = {line.split()[0] for line in new.cases}
    for line, before in old.cases.items():
        if line.split()[0] in drivers:
            result.only_old += len((shared & before.keys()) - new.cases.get(line, {}).keys())
    return result


def lines(diff: Difference) -> list[str]:
    """Return a difference as text."""
    text = []
    for title, changes in (("worse", diff.worse), ("better", diff.better)):
        if changes:
            text.append(f"{title}:")
            text += [str(change) for change in changes[:_SHOWN]]
            text += [f"  ... and {len(changes) - _SHOWN} more"] if len(changes) > _SHOWN else []
    if diff.other:
        text.append("of the same worth:")
        text += [f"  {n} times {old} -> {new}" for (old, new), n in diff.other.most_common()]
    counts = f"{len(diff.worse)} worse, {len(diff.better)} better, {diff.other.total()} other"
    for target, (before, now) in diff.elsewhere.items():
        text.append(f"{target}: measured on {before}, now on {now}: what differs does not count")
    text += [f"{target}: not in the old matrix, nothing to compare" for target in diff.unknown]
    text.append(f"{diff.compared} answers compared: {counts}")
    if diff.only_old or diff.only_new:
        text.append(f"answers on one side only: {diff.only_old} old, {diff.only_new} new")
    return text
