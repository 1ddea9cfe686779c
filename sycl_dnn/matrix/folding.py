# SPDX-License-Identifier: Apache-2.0
"""Few rows for many cells: cells that have the same answers become one row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sycl_dnn.matrix.cells import Cell

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
