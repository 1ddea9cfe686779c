# SPDX-License-Identifier: Apache-2.0
"""From the table of families to cells: one case each; equal answers become one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sycl_dnn.tools.matrix.families import FAMILIES, Family
from sycl_dnn.tools.verify.case_files import Case, Reader, words_of_text


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
    sycl_dnn.tools.verify.driver.CaseError
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


# --- Few rows for many cells: cells that have the same answers become one row

#: What is merged first: fields of a cell.
_ORDER = ("layout", "direction", "types", "kind")
_FIELDS = ("kind", "types", "direction", "layout")

Values = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """Cells with the same answers: every combination of these names that makes a case."""

    kind: Values
    types: Values
    direction: Values
    layout: Values
    answers: Values


def _merged(rows: list[Row], field: str) -> list[Row]:
    groups: dict[tuple, dict[str, None]] = {}
    for row in rows:
        rest = tuple(() if f == field else getattr(row, f) for f in (*_FIELDS, "answers"))
        groups.setdefault(rest, {}).update(dict.fromkeys(getattr(row, field)))
    found = []
    for rest, values in groups.items():
        parts = dict(zip((*_FIELDS, "answers"), rest, strict=True)) | {field: tuple(values)}
        found.append(Row(**parts))
    return found


def fold(cells: Iterable[tuple[Cell, Values]]) -> list[Row]:
    """Merge cells by layout, then by direction, type and kind.

    Parameters
    ----------
    cells : iterable of (Cell, answers)
        Cells of one driver with an answer for each target.

    Returns
    -------
    list of Row
        In the order of the first cell of each.
    """
    rows = [
        Row((c.kind,), (c.types,), (c.direction,), (c.layout,), answers) for c, answers in cells
    ]
    for field in _ORDER:
        rows = _merged(rows, field)
    return rows
