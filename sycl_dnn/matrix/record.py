# SPDX-License-Identifier: Apache-2.0
"""A measured matrix as a file: targets, and what each said to each case.

The file is JSON with ``schema``, ``targets`` (name -> facts), ``answers`` (texts) and ``cases``
(line -> one index into ``answers`` for each target, -1 where it was not asked). An answer is the
name of an implementation, or a state and a reason with a colon and a blank between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sycl_dnn.matrix import kinds
from sycl_dnn.matrix.probe import Answer

SCHEMA = 1
MAX_BYTES = 64 << 20
_WITHOUT = ("refused", "invalid", "died")


class RecordError(ValueError):
    """A file that is no matrix."""


def text_of(answer: Answer) -> str:
    """Return an answer as the file has it."""
    return answer.impl if answer.impl else f"{answer.state}: {answer.reason}"


def state_of(text: str) -> str:
    """Return the state that an answer of the file stands for."""
    word = text.partition(": ")[0]
    return word if word in _WITHOUT else kinds.state(text)


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
        """Keep what a target said to a case."""
        self.cases.setdefault(line, {})[target] = text_of(answer)

    def add(self, other: Record) -> None:
        """Take over the targets of another matrix that this one does not have."""
        new = [name for name in other.targets if name not in self.targets]
        self.targets |= {name: other.targets[name] for name in new}
        for line, found in other.cases.items():
            taken = {name: found[name] for name in new if name in found}
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
        It cannot be read, or does not have the form; the text begins with the path.
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
