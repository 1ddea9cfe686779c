# SPDX-License-Identifier: Apache-2.0
"""From the table of families to cells: one case each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sycl_dnn.matrix.families import FAMILIES, Family
from sycl_dnn.verify.cases import Case, Reader
from sycl_dnn.verify.grammar import words_of_text


@dataclass(frozen=True)
class Cell:
    """A case and where it stands in the tables."""

    kind: str
    types: str
    direction: str
    layout: str
    case: Case

    @property
    def line(self) -> str:
        """The case in benchdnn's language."""
        return self.case.line


def case_of(line: str) -> Case | None:
    """Return the case of a line, None where the options make none.

    Raises
    ------
    sycl_dnn.verify.errors.CaseError
        The line cannot be read.
    """
    return next(iter(Reader().cases(words_of_text(line, "matrix"), Path())), None)


def _lines(family: Family) -> Iterator[tuple[tuple[str, str, str, str], str]]:
    for kind, problem in family.kinds.items():
        for types, given in family.types.items():
            options, _, only = given.partition("|")
            for direction in (d for d in family.directions if d.startswith(only)):
                way = f"--{family.option}={direction}" if direction else ""
                for layout, tags in family.layouts.items():
                    line = f"--{family.driver} {way} {options} {tags} {problem}"
                    yield (kind, types, direction, layout), line


def cells(drivers: Iterable[str] = FAMILIES) -> Iterator[Cell]:
    """Iterate over the cells of these drivers.

    Parameters
    ----------
    drivers : iterable of str
        benchdnn's names; all without.

    Raises
    ------
    ValueError
        A name is no driver of the matrix.
    """
    for driver in drivers:
        if driver not in FAMILIES:
            raise ValueError(f"matrix: drivers must be of {', '.join(FAMILIES)}, got {driver!r}")
        for place, line in _lines(FAMILIES[driver]):
            case = case_of(line)
            if case is not None:
                yield Cell(*place, case)
