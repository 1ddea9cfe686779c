# SPDX-License-Identifier: Apache-2.0
"""Tables that benchmarks write into pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], n_numbers: int = 0) -> str:
    """Return a table as Markdown; the last ``n_numbers`` columns are aligned to the right."""
    marks = ["---"] * (len(head) - n_numbers) + ["--:"] * n_numbers
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, marks, *rows))


def write(page: Path, **tables: str) -> None:
    """Put each table between the comments of a page that have its name."""
    text = page.read_text()
    for name, result in tables.items():
        begin, end = (f"<!-- {name}: {part} -->\n" for part in ("begin", "end"))
        before, found, rest = text.partition(begin)
        after = rest.partition(end)[2]
        assert found, f"{page.name} has no place for {name}"
        text = f"{before}{begin}\n{result}\n{end}{after}"
    page.write_text(text)
